"""Opens files of recordings. A recording is read more than once, so ``rereadable`` copies a pipe to a file first."""

import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stream_protocol.recording.read._detect_form import PIECE, detect_form, why_unknown
from stream_protocol.recording.read._records import RecordingError


@contextmanager
def open_recording(path: Path) -> Iterator[IO[bytes]]:
    """The open file. Raises ``RecordingError`` if it cannot be opened or read, and for a pipe or a device."""
    with _os_errors():
        if not _can_be_read_again(path):
            raise RecordingError("a recording is read more than once, which a pipe or device cannot be")
        with path.open("rb") as stream:
            yield stream


@contextmanager
def rereadable(path: str) -> Iterator[Path]:
    """The path itself; for a pipe or a device the path of a temporary copy.

    Raises ``RecordingError`` for what cannot be read, and for a pipe whose content is no recording.
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
    """The path of a temporary file with the whole stream: ``head``, which was already read from it, and the rest."""
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
    except ValueError:  # a null character in the path
        raise RecordingError("no path of a file") from None
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)  # opening a directory says what is wrong with it
