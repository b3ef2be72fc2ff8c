"""Reads the lines of a file with their numbers. The size of lines and documents is limited."""

from collections.abc import Iterable, Iterator
from typing import IO, Final

from stream_protocol.recording.read._records import RecordingError
from stream_protocol.wire.client import Line, OverlongLineError, split_lines

MAX_LINE: Final = 64 * 2**20
"""Maximum number of characters of a line, or of an SSE event with several lines.

The largest request with an inline image that Gemini accepts has a third of this length.
"""

PIECE: Final = 64 * 2**10
"""The number of bytes that are read in one step, and from which the file's format is detected."""

MAX_DOCUMENT: Final = 256 * 2**20
"""Maximum number of bytes of a file that is read as a whole. The parsed document takes ten times as much memory."""


class Lines:
    """Iterates over the lines of a file. Blank lines are skipped."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.number = 0
        """The number of the newest line, from 1."""
        self.cut_off = False
        """True if the newest line has no line end, and may be incomplete."""

    def __iter__(self) -> Iterator[bytes]:
        while line := self._stream.readline(MAX_LINE + 1):
            self.number += 1
            if len(line) > MAX_LINE:
                raise _too_long("line", self.number)
            self.cut_off = not line.endswith(b"\n")
            if line := line.strip():
                yield line

    def rest(self) -> bytes:
        """Return the rest of the file. Raises ``RecordingError`` for more than ``MAX_DOCUMENT`` bytes."""
        rest = self._stream.read(MAX_DOCUMENT + 1)
        if len(rest) > MAX_DOCUMENT:
            raise RecordingError(f"it must be read as a whole and is longer than {MAX_DOCUMENT // 2**20} MiB")
        return rest


def text_lines(pieces: Iterable[bytes]) -> Iterator[Line]:
    """Yield the lines of a text that is read in pieces. Invalid UTF-8 becomes U+FFFD, as in the AI SDK's client."""
    try:
        yield from split_lines(pieces, max_length=MAX_LINE)
    except OverlongLineError as error:
        raise _too_long("line", error.number) from None


def event_lines(pieces: Iterable[bytes]) -> Iterator[Line]:
    """Yield the lines of an SSE stream. Raises ``RecordingError`` for a line or event longer than ``MAX_LINE``."""
    length = 0
    for line in text_lines(pieces):
        length = length + len(line.text) if line.text else 0
        if length > MAX_LINE:
            raise _too_long("the event at line", line.number)
        if line.text.startswith("{"):
            raise RecordingError(f"line {line.number} is JSON without `data:`, in an event stream")
        yield line


def _too_long(what: str, number: int) -> RecordingError:
    return RecordingError(f"{what} {number} is longer than {MAX_LINE // 2**20} Mi characters")
