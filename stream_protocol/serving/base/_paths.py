"""Looks at paths that a user has typed. A path that no file can have is no error here."""

from pathlib import Path


def is_file(path: Path) -> bool:
    """Return True if the path is a file. Return False on an error, for example for an unreadable folder or a long
    name."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return True if the path is a folder. Return False on an error."""
    try:
        return path.is_dir()
    except OSError:
        return False
