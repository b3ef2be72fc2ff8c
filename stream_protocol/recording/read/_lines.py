"""A file's lines, counted, and none of them endless."""

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from stream_protocol.recording.read._unreadable import MAX_DOCUMENT, MAX_LINE, RecordingError, overlong
from stream_protocol.wire.client import Line, OverlongLineError, split_lines


class Lines:
    """The lines of a file that have not been read yet; blank ones are skipped."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.number = 0
        """Of the line read last, from 1."""
        self.cut_off = False
        """Whether that line has no end: the file ends in it."""

    def __iter__(self) -> Iterator[bytes]:
        while line := self._stream.readline(MAX_LINE + 1):
            self.number += 1
            if len(line) > MAX_LINE:
                raise overlong(self.number)
            self.cut_off = not line.endswith(b"\n")
            if line := line.strip():
                yield line

    def rest(self) -> bytes:
        """All that follows."""
        rest = self._stream.read(MAX_DOCUMENT + 1)
        if len(rest) > MAX_DOCUMENT:
            raise RecordingError(f"it must be read as a whole and is longer than {MAX_DOCUMENT // 2**20} MiB")
        return rest


def text_lines(pieces: Iterable[bytes]) -> Iterator[Line]:
    """The lines of a text that comes in pieces, by the client's rules; bad UTF-8 is U+FFFD."""
    try:
        yield from split_lines(pieces, max_length=MAX_LINE)
    except OverlongLineError as error:
        raise overlong(error.number) from None


def event_lines(pieces: Iterable[bytes]) -> Iterator[Line]:
    """``text_lines`` of an event stream, whose events are not endless either."""
    length = 0
    for line in text_lines(pieces):
        length = length + len(line.text) if line.text else 0
        if length > MAX_LINE:
            raise overlong(line.number, "event")
        if line.text.startswith("{"):
            raise RecordingError(f"line {line.number} is JSON without `data:`, in an event stream")
        yield line


def parsed(text: bytes, first_line: int = 1) -> Any:
    """The JSON value of a text that begins at a line. Raises ``RecordingError`` with the line of what is wrong."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordingError(f"line {first_line + error.lineno - 1} is not JSON") from None
    except UnicodeDecodeError:
        raise RecordingError("not a text file") from None
    except RecursionError:
        raise RecordingError(f"line {first_line} is nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise RecordingError(f"line {first_line} has a number that is too long") from None
