"""Finds the recording that a test names."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stream_protocol.recording import Recording, load_recording

EXPECTED: Final = ".expected"
"""The end of the stem of an expectation's file. It is in the folder of its recording, and is no recording."""


class RecordingNotFoundError(LookupError):
    """No file has the name, or more than one. ``str(error)`` says in which folders they were looked for."""


@dataclass(frozen=True)
class RecordingFinder:
    """``finder("booking")`` loads the recording of that name."""

    folders: tuple[Path, ...]
    """The folders that are searched, in this order."""

    def __call__(self, name: str, *, session: str | None = None) -> Recording:
        """The recording in the first folder that has the file ``name``, with or without its last suffix.

        ``session`` chooses one of a file that holds several. Raises ``RecordingNotFoundError``, and ``RecordingError``
        for a file that is no recording.
        """
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
        if is_named and path.is_file() and not path.stem.endswith(EXPECTED):
            yield path
