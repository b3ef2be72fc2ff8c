"""The file of one chat. One turn at a time opens it and appends lines.

Each line is one ``write`` call of the operating system. A killed process leaves whole lines, and at most one line that
is cut off, which the next turn removes. Nothing is synced: a power failure can lose the last lines.
"""

import os
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Final

from stream_protocol._private_files import make_private_folder, open_private
from stream_protocol.recording.write._recording_lines import FIRST_BYTES

MAX_FILES: Final = 16
"""The most files of one chat. There is a second one only if several processes write the chat at the same time."""

_BLOCK: Final = 2**16


class ChatFileError(OSError):
    """The file cannot be written. ``str(error)`` is one line that says why."""


class ChatFile:
    """An open recording. This process has its lock until ``close``."""

    def __init__(self, stream: FileIO) -> None:
        self._stream = stream

    def append(self, line: bytes) -> None:
        """Writes a line at once. Raises ``OSError``, also if only a part of the line could be written."""
        if self._stream.write(line) != len(line):
            raise ChatFileError("the disk took only a part of a line")

    def close(self) -> None:
        """Closes the file, which releases its lock."""
        self._stream.close()


def open_chat_file(path: Path, header: bytes) -> ChatFile:
    """Opens the file at ``path`` to append a turn. If another process has its lock, opens the next file beside it.

    Writes the header to a new file. Removes a last line that was cut off. Raises ``OSError``.
    """
    make_private_folder(path.parent)
    for candidate in _candidates(path):
        stream = FileIO(candidate, "a+", opener=open_private)
        try:
            if _lock(stream):
                _prepare(stream, header)
                return ChatFile(stream)
        except BaseException:
            stream.close()
            raise
        stream.close()
    raise ChatFileError(f"{MAX_FILES} processes write {path}")


def _candidates(path: Path) -> Iterator[Path]:
    yield path
    for number in range(2, MAX_FILES + 1):
        yield path.with_name(f"{path.stem}.{number}{path.suffix}")


def _prepare(stream: FileIO, header: bytes) -> None:
    stream.seek(0)
    if not FIRST_BYTES.startswith(stream.read(len(FIRST_BYTES))):
        raise ChatFileError("the file is there, and no recording of this version")
    end = _end_of_lines(stream)
    stream.truncate(end)
    if not end:
        ChatFile(stream).append(header)


def _end_of_lines(stream: FileIO) -> int:
    """The offset of the end of the last whole line."""
    end = stream.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        stream.seek(start)
        newline = stream.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


if sys.platform == "win32":

    def _lock(_stream: FileIO) -> bool:
        """Takes no lock: on Windows one process serves."""
        return True
else:
    import fcntl

    def _lock(stream: FileIO) -> bool:
        """Takes the lock; ``False`` if another process has it. It ends when the file is closed or the process ends."""
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
