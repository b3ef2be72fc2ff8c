"""Finds a recording by its name."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stream_protocol.recording import Recording, load_recording
from stream_protocol.recording.read import is_expectation
from stream_protocol.wire import argument_error, check_instance, check_text


class RecordingNotFoundError(LookupError):
    """Raised if no file or several files match the name. ``str(error)`` names the searched folders."""


@dataclass(frozen=True)
class RecordingFinder:
    """Loads recordings by name from the given folders: ``finder("booking")`` loads the recording ``booking``."""

    folders: tuple[Path, ...]
    """The folders to search, in this order."""

    def __post_init__(self) -> None:
        if not isinstance(self.folders, tuple | list):
            raise argument_error("folders", "a list of folders", self.folders)
        for folder in self.folders:
            check_instance("folders", folder, Path, "a list of folders, each a Path")

    def __call__(self, name: str, *, session: str | None = None) -> Recording:
        """Load the recording from the first folder that has a file with this name. ``name`` may omit the last suffix.

        ``session``: the session to load, if the file has several. Raises ``RecordingNotFoundError`` if no file or
        several files match the name. Raises ``RecordingError`` if the file is not a recording.
        """
        check_text("name", name, empty=False, expected="the name of a recording")
        for folder in self.folders:
            found = sorted(_matching_files(folder, name))
            if len(found) > 1:
                files = " and ".join(path.name for path in found)
                raise RecordingNotFoundError(f'"{name}" may be {files} in {folder}: give the whole name.')
            if found:
                return load_recording(found[0], session=session)
        looked = " or ".join(str(folder / name) for folder in self.folders)
        raise RecordingNotFoundError(f'There is no recording "{name}": no file {looked}, with any suffix.')


def _matching_files(folder: Path, name: str) -> Iterator[Path]:
    wanted = folder / name
    if not wanted.parent.is_dir():
        return
    for path in wanted.parent.iterdir():
        is_named = wanted.name in (path.name, path.stem)
        if is_named and path.is_file() and not is_expectation(path):
            yield path
