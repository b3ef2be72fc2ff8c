"""Checks paths that a user has typed. For an invalid path, such as one that is too long, the functions return False and
raise no error.
"""

from pathlib import Path


def is_file(path: Path) -> bool:
    """Return True if the path is a file. Also returns False if the path cannot be checked, for example because the name
    is too long or the folder is unreadable.
    """
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return True if the path is a folder. Also returns False if the path cannot be checked."""
    try:
        return path.is_dir()
    except OSError:
        return False
