"""The recordings that a server has, by name. They are read when it starts, and a turn's events again when it is
played."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from stream_protocol.recording import RecordedTurn, Recording, load_recording
from stream_protocol.recording.read import RecordingError
from stream_protocol.replay_server._recorded_turns import Scene, scene_of
from stream_protocol.wire import ChatRequestError

logger = logging.getLogger(__name__)

SEPARATOR: Final = "--"
"""Between a recording's name and the rest of a chat's id: each test has a chat of its own, ``weather--test-7``."""


@dataclass(frozen=True, eq=False)
class Tape:
    """One recording and its turns."""

    recording: Recording
    scenes: tuple[Scene, ...]
    changed: datetime
    """When the file was written last."""

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.recording.path.stem

    @property
    def file(self) -> str:
        """The file's name, for people."""
        return self.recording.path.name

    def turn(self, scene: Scene) -> RecordedTurn:
        """The turn with its events. Raises ``ChatRequestError`` for a file that has changed since it was read."""
        try:
            turn = next(islice(self.recording.turns(), scene.number - 1, None), None)
        except (OSError, RecordingError):
            turn = None
        if turn is None or turn.message_id != scene.message_id:
            raise ChatRequestError(f"{self.file} has changed since the server was started.", status=409)
        return turn

    def listed(self) -> dict[str, Any]:
        """The recording as a chat in a list of chats."""
        words = next((scene.said[0].value for scene in self.scenes if scene.said), None)
        return {"id": self.name, "title": words, "updatedAt": self.changed.isoformat()}


class RecordingLibrary:
    """Tapes in the order of their names; at least one."""

    def __init__(self, tapes: Mapping[str, Tape]) -> None:
        self._tapes = tapes

    def __iter__(self) -> Iterator[Tape]:
        return iter(self._tapes.values())

    def named(self, chat_id: str) -> Tape | None:
        """The tape that a chat's id names: ``weather``, or ``weather--`` and anything."""
        named = [name for name in self._tapes if chat_id == name or chat_id.startswith(name + SEPARATOR)]
        return self._tapes[max(named, key=len)] if named else None


def load_library(path: str | Path, *, session: str | None = None) -> RecordingLibrary:
    """The recording in a file, or those in a folder, where files that are none are skipped with a warning.

    ``session`` says which one, in a file that holds several. Raises ``RecordingError``.
    """
    path = Path(path)
    tapes = [_load(path, session)] if not path.is_dir() else [*_load_all(path, session)]
    library: dict[str, Tape] = {}
    for tape in tapes:
        if (other := library.setdefault(tape.name, tape)) is not tape:
            raise RecordingError(f"{other.file} and {tape.file} have the same name but for its ending")
    if not library:
        raise RecordingError("no recordings in it")
    return RecordingLibrary(library)


def _load_all(folder: Path, session: str | None) -> Iterator[Tape]:
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            try:
                yield _load(file, session)
            except RecordingError as error:
                logger.warning("%s is skipped: %s", file, error)


def _load(file: Path, session: str | None) -> Tape:
    try:
        recording = load_recording(file, session=session)
        changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        scenes = tuple(scene_of(number, turn) for number, turn in enumerate(recording.turns(), 1))
        return Tape(recording, scenes, changed)
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read") from None
