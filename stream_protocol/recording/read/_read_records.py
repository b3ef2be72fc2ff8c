"""Opens a file of recorded ADK events, detects the file's format from its first bytes, and reads its records.

A recording is read more than once, but a pipe can be read only once. So ``rereadable`` first copies a pipe to a file.
"""

import re
import shutil
import stat
import tempfile
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import IO, Final

from stream_protocol.adk import WarnOnce
from stream_protocol.recording.read._documents import read_json, read_yaml
from stream_protocol.recording.read._lines import PIECE, Lines
from stream_protocol.recording.read._parsing import parse_yaml_text, place_of_byte
from stream_protocol.recording.read._records import NOT_A_RECORDING, Record, RecordingError
from stream_protocol.recording.read._sqlite import read_store
from stream_protocol.recording.read._sse_captures import read_capture

EXPECTED: Final = ".expected"
"""The part that the pytest plugin adds to a file name: ``weather.expected.jsonl`` has the stream of
``weather.jsonl``."""

_SQLITE: Final = b"SQLite format 3\0"
_SSE_LINE: Final = re.compile(r"(?:data|event|id|retry)(?::|\r?\n|\Z)|:|HTTP/\d")
"""Pattern for the beginning of an SSE stream, or of an HTTP head that ``curl --include`` writes."""
_YAML_KEY: Final = re.compile(
    r"^ {0,8}(?:- +)?\{?(?:app_?name|events|recordings|sessions?|conversation|author|eval_?cases"
    r"|eval_?(?:set_?|case_?)?id|agent_?data|query) *:",
    re.MULTILINE | re.IGNORECASE,
)
_COMPRESSED: Final = (b"\x1f\x8b", b"PK\3\4", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""The first bytes of gzip, zip, bzip2, xz and zstd files."""


_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
"""The first bytes of UTF-16 texts, as some Windows programs save them."""

_JSON_BEGINNING: Final = re.compile(r'\{|\[(?!\[?[A-Za-z])|"\{')
"""Pattern for the beginning of JSON, but not of TOML and INI files, such as ``[project]``. The last case is for JSON
inside a JSON string, which ADK 1 wrote.
"""


class Form(Enum):
    """The format of a recording file."""

    STORE = auto()
    """An SQLite file of an ADK session service."""
    CAPTURE = auto()
    """A capture of server-sent events."""
    JSON = auto()
    """One JSON document, or a JSON document on each line."""
    YAML = auto()


def detect_form(head: bytes) -> Form | None:
    """Return the format of a file from its first ``PIECE`` bytes; ``None`` if the format is unknown."""
    text = text_of(head)
    if head.startswith(_SQLITE):
        return Form.STORE
    if "\0" in text:
        return None
    if _YAML_KEY.search(text) and text[:1] not in "{[":
        return Form.YAML
    if _SSE_LINE.match(text):
        return Form.CAPTURE
    return Form.JSON if _JSON_BEGINNING.match(text) else None


def text_of(head: bytes) -> str:
    """Return the first bytes of a file as text, without leading white space."""
    return head.decode("utf-8-sig", "replace").lstrip()


def why_unknown(head: bytes) -> str:
    text = text_of(head)
    if not text:
        return "nothing in it but white space" if head else "the file is empty"
    if head.startswith(_COMPRESSED):
        return "it is compressed; unpack it first"
    if head.startswith(_UTF16):
        return "it is UTF-16; save it as UTF-8"
    if "\0" in text:
        return "not a text file"
    try:
        getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut off
        if len(head) < PIECE:
            parse_yaml_text(head)
    except UnicodeDecodeError as error:
        return f"{place_of_byte(head, error.start)} is not UTF-8"
    except RecordingError as error:
        return f"{NOT_A_RECORDING} ({error})"
    return NOT_A_RECORDING


def read_records(path: Path, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    """Yield the records of a file. Files with one event per line are read line by line.

    Raises ``RecordingError`` if the file is not a recording.
    """
    empty = True
    with open_recording(path) as stream:
        for record in _read_form(stream, path, session, warn):
            empty = False
            yield record
    if empty:
        raise RecordingError("no events in it")


def _read_form(stream: IO[bytes], path: Path, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    head = stream.read(PIECE)
    stream.seek(0)
    match detect_form(head):
        case Form.STORE:
            return read_store(path, session, warn)
        case Form.CAPTURE:
            return read_capture(stream, session)
        case Form.YAML:
            return read_yaml(Lines(stream), session)
        case Form.JSON:
            return read_json(Lines(stream), session, warn)
        case None:
            raise RecordingError(why_unknown(head))


@contextmanager
def open_recording(path: Path) -> Iterator[IO[bytes]]:
    """Context manager that opens a recording file. Raises ``RecordingError`` for a pipe, a device or an unreadable
    file."""
    with _os_errors():
        if not _can_be_read_again(path):
            raise RecordingError("a recording is read more than once, which a pipe or device cannot be")
        with path.open("rb") as stream:
            yield stream


@contextmanager
def rereadable(path: str) -> Iterator[Path]:
    """Context manager that returns the path of a file that can be read several times. This is ``path`` itself, or a
    temporary copy if ``path`` is a pipe or a device.

    Raises ``RecordingError`` for an unreadable file, and for a pipe without a recording.
    """
    with _os_errors():
        if _can_be_read_again(Path(path)):
            yield Path(path)
            return
        with Path(path).open("rb") as stream:
            head = stream.read(PIECE)
            if detect_form(head) is None:  # The pipe may be endless, so it is not copied.
                raise RecordingError(why_unknown(head))
            with copy_of_stream(head, stream) as copy:
                yield copy


@contextmanager
def copy_of_stream(head: bytes, rest: IO[bytes]) -> Iterator[Path]:
    """Context manager that copies a stream to a temporary file, and returns the path of the file.

    ``head``: the bytes that were already read from the stream. ``rest``: the stream after these bytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        with path.open("wb") as copy:
            copy.write(head)
            shutil.copyfileobj(rest, copy)
        yield path


@contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read") from None


def _can_be_read_again(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except ValueError:  # the path has a null character
        raise RecordingError("no path of a file") from None
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)  # opening a directory raises an error with the reason


def is_expectation(path: Path) -> bool:
    """Return True if the file name ends in ``.expected.jsonl``. Such a file is not a recording. It contains the
    expected stream of a recording.
    """
    return path.stem.endswith(EXPECTED)
