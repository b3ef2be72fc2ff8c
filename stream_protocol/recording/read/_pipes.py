"""Pipes as files: a recording is read more than once."""

import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stream_protocol.recording.read._detect import PIECE, form_of, nothing_known
from stream_protocol.recording.read._unreadable import RecordingError


@contextmanager
def as_file(path: str) -> Iterator[Path]:
    """The path itself, or, of a pipe or device, that of a copy. Raises ``RecordingError`` for what is no recording."""
    try:
        if not _is_stream(path):
            yield Path(path)
            return
        with Path(path).open("rb") as stream:
            head = stream.read(PIECE)
            if form_of(head) is None:  # perhaps endless
                raise RecordingError(nothing_known(head))
            with copied(head, stream) as copy:
                yield copy
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read") from None


@contextmanager
def copied(head: bytes, rest: IO[bytes]) -> Iterator[Path]:
    """The path of a file with what has been read of a stream, and with its rest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        with path.open("wb") as copy:
            copy.write(head)
            shutil.copyfileobj(rest, copy)
        yield path


def _is_stream(path: str) -> bool:
    try:
        mode = Path(path).stat().st_mode
    except ValueError:  # a null character in it
        raise RecordingError("no path of a file") from None
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
