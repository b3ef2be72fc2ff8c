"""Searches folders for targets (agents and apps), so that an error message can suggest them. A search has a time limit,
and a limit for the number of files.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Final

from stream_protocol.serving.adk_runner._source_targets import (
    AGENT_FILES,
    is_agent_folder,
    module_name,
    source_targets,
)
from stream_protocol.serving.base import is_file, is_folder

_IGNORED: Final = frozenset({"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv"})

_SYSTEM: Final = ("/dev", "/proc", "/sys")
"""Folders without files of users. In ``/proc``, links lead to the folders of other processes."""

_MAX_FOLDERS: Final = 300
"""The maximum number of folders, and of Python files, that one search opens."""

_MAX_ENTRIES: Final = 5000
"""The maximum number of directory entries that one search lists."""

_MAX_BYTES: Final = 500_000

_MAX_SECONDS: Final = 2.0
"""The time after which a search ends with the results so far."""


def agent_folders(folder: Path) -> list[Path]:
    """Return the folders up to three levels below ``folder`` that look like agents. ADK may be unable to load some of
    them.
    """
    return [path for path in _Search().folders(folder, levels=3) if _looks_like_agent(path)]


def module_targets(folder: Path, *, of_agents: bool = False) -> list[str]:
    """Return the targets (agents and apps) in the Python files of ``folder`` and its packages, as ``module:attribute``.

    ``of_agents``: True to also search the packages that are agent folders.
    """
    search = _Search()
    packages = [path for path in search.folders(folder, levels=1) if of_agents or not _looks_like_agent(path)]
    files = (file for path in (folder, *packages) for file in search.python_files(path))
    return [target for file in islice(files, _MAX_FOLDERS) for target in targets_of(file, folder)]


def file_targets(folder: Path) -> list[str]:
    """Return the targets of the Python files directly in ``folder``, as ``module:attribute``. Files that Python cannot
    import from the working directory are left out.
    """
    return [target for file in islice(_Search().python_files(folder), _MAX_FOLDERS) for target in targets_of(file)]


def targets_of(file: Path, root: Path = Path()) -> list[str]:
    """Return the targets in a Python file, as ``module:attribute``. ``root``: the folder from which Python imports the
    file.
    """
    module = module_name(file, root)
    return [f"{module}:{name}" for name in source_targets(file, root)] if module is not None else []


def is_below(folder: Path, root: Path) -> bool:
    """Return True if ``folder`` is ``root`` or below it, after symbolic links and ``..`` are resolved."""
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root))


class _Search:
    """One search, with limits for its time and the number of folders and files. Unreadable folders and system folders
    count as empty.
    """

    def __init__(self) -> None:
        self._entries = _MAX_ENTRIES
        self._deadline = monotonic() + _MAX_SECONDS

    def folders(self, folder: Path, levels: int) -> Iterator[Path]:
        """Yield the folders up to ``levels`` levels below ``folder``. Also yields agent folders and symbolic links, but
        does not search inside them.
        """
        waiting = [(folder, levels)]
        for _ in range(_MAX_FOLDERS):
            if not waiting:
                return
            parent, left = waiting.pop(0)
            names = [path for path in self._list(parent) if not path.name.startswith(".") and path.name not in _IGNORED]
            kept = [path for path in names if is_folder(path)]
            yield from kept
            if left > 1:
                waiting += [(path, left - 1) for path in kept if not path.is_symlink() and not self._is_agent(path)]

    def python_files(self, folder: Path) -> Iterator[Path]:
        for file in self._list(folder):
            if file.suffix == ".py" and is_file(file) and not self._is_late() and file.stat().st_size <= _MAX_BYTES:
                yield file

    def _list(self, folder: Path) -> list[Path]:
        if self._is_late() or not _may_be_searched(folder):
            return []
        try:
            with os.scandir(folder) as entries:
                found = [folder / entry.name for entry in islice(entries, self._entries)]
        except OSError:
            return []
        self._entries -= len(found)
        return sorted(found)

    def _is_agent(self, folder: Path) -> bool:
        return self._is_late() or _looks_like_agent(folder)

    def _is_late(self) -> bool:
        return monotonic() > self._deadline


def _may_be_searched(folder: Path) -> bool:
    """Return False for system folders and for the parents of the user's home. Such folders may contain files of other
    users.
    """
    real = Path(os.path.realpath(folder))
    home = Path(os.path.realpath(Path("~").expanduser()))
    return real != real.parent and real not in home.parents and not any(real.is_relative_to(each) for each in _SYSTEM)


def _looks_like_agent(folder: Path) -> bool:
    return any(is_file(folder / file) for file in AGENT_FILES) or is_agent_folder(folder)
