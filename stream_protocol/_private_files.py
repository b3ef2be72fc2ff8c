"""Create files and folders that only the account of this process can read."""

import os
import sys
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700

_OTHERS: Final = 0o007

_BESIDE_A_STORE: Final = ("", "-journal", "-wal", "-shm")


def open_private(path: str, flags: int) -> int:
    """Open a file. A new file gets mode 0600. Pass this function as ``opener`` to ``open``."""
    return os.open(path, flags, PRIVATE_FILE)


def make_private_folder(path: Path) -> None:
    """Create a folder and its missing parents with mode 0700. An existing folder keeps its mode."""
    if not path.parent.exists():
        make_private_folder(path.parent)
    path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def make_private_store(path: str) -> None:
    """Make the file of an SQLite database private, before SQLite opens the database.

    A new file gets mode 0600. If other accounts can access an existing database, it also gets mode 0600. SQLite's
    additional files next to it are changed in the same way. An ``OSError`` is ignored: if it matters, SQLite raises an
    error when it opens the database.
    """
    with suppress(OSError, ValueError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
    for suffix in _BESIDE_A_STORE:
        with suppress(OSError, ValueError):
            file = Path(path + suffix)
            if file.stat().st_mode & _OTHERS:
                file.chmod(PRIVATE_FILE)


if sys.platform == "win32":

    def lock_file(_file: FileIO) -> bool:
        """For Windows: return True and lock nothing, because only one process serves there."""
        return True
else:
    import fcntl

    def lock_file(file: FileIO) -> bool:
        """Lock an open file until it is closed. Return False if a different process has locked it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
