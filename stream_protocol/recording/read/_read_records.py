"""A file of recorded ADK events, in whatever form -> its records.

What it is, is told by its content. Nothing here knows ADK; the records are JSON.
"""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stream_protocol.convert import WarnOnce
from stream_protocol.recording.read._detect import PIECE, Form, form_of, nothing_known
from stream_protocol.recording.read._documents import read_json, read_yaml
from stream_protocol.recording.read._lines import Lines
from stream_protocol.recording.read._records import Record
from stream_protocol.recording.read._sqlite import read_store
from stream_protocol.recording.read._sse_captures import read_capture
from stream_protocol.recording.read._unreadable import RecordingError


def read_records(path: Path, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    """The records of a recording, in order; those of forms on lines one by one as they are asked for.

    Raises ``RecordingError`` for what is none.
    """
    empty = True
    with _opened(path) as stream:
        for record in _records(stream, path, session, warn):
            empty = False
            yield record
    if empty:
        raise RecordingError("no events in it")


def _records(stream: IO[bytes], path: Path, session: str | None, warn: WarnOnce) -> Iterator[Record]:
    head = stream.read(PIECE)
    stream.seek(0)
    match form_of(head):
        case Form.STORE:
            return read_store(path, session)
        case Form.CAPTURE:
            return read_capture(stream, session)
        case Form.YAML:
            return read_yaml(Lines(stream), session)
        case Form.JSON:
            return read_json(Lines(stream), session, warn)
        case None:
            raise RecordingError(nothing_known(head))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        if not _can_be_read_again(path):
            raise RecordingError("a recording is read more than once, which a pipe or device cannot be")
        with path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read") from None


def _can_be_read_again(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except ValueError:  # a null character in it
        raise RecordingError("no path of a file") from None
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)  # opening a directory tells what is wrong
