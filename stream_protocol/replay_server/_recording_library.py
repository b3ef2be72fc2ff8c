"""The recordings of a replay server, by name. All files are read at the start. A turn is read again when it is
played.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from stream_protocol.recording import RecordedTurn, Recording, RecordingError, load_recording
from stream_protocol.recording.read import is_expectation
from stream_protocol.replay_server._turn_summaries import TurnSummary, summarize_turn
from stream_protocol.serving.base import is_folder
from stream_protocol.wire import ChatRequestError, check_instance, check_mapping, check_path, check_text

logger = logging.getLogger(__name__)

MAX_WARNINGS: Final = 3
"""Maximum number of files that warnings name if they are skipped."""

SEPARATOR: Final = "--"
"""The text between a recording's name and the rest of a chat id, as in ``weather--test-7``.

It lets several tests replay the same recording in different chats.
"""


@dataclass(frozen=True, eq=False)
class LibraryEntry:
    """A recording, and summaries of its turns."""

    recording: Recording
    turns: tuple[TurnSummary, ...]
    changed: datetime
    """The modification time of the file."""

    @property
    def name(self) -> str:
        """The name of the file without its last suffix."""
        return self.recording.path.stem

    @property
    def file(self) -> str:
        return self.recording.path.name

    @property
    def title(self) -> str | None:
        """The first text of the user in the recording; ``None`` if it was not recorded."""
        return next((turn.user_parts[0].value for turn in self.turns if turn.user_parts), None)

    def read_turn(self, turn: TurnSummary) -> RecordedTurn:
        """Read the turn with its events. Raises ``ChatRequestError`` if the file has changed since the server's
        start.
        """
        try:
            found = next(islice(self.recording.turns(), turn.number - 1, None), None)
        except (OSError, RecordingError):
            found = None
        if found is None or found.message_id != turn.message_id:
            text = f"{self.file} has changed since the server was started: restart the server."
            raise ChatRequestError(text, status=409)
        return found


class RecordingLibrary:
    """The recordings of a replay server, by name."""

    def __init__(self, entries: Mapping[str, LibraryEntry]) -> None:
        check_mapping("entries", entries)
        for entry in entries.values():
            check_instance(
                "entries", entry, LibraryEntry, "recordings by their names", hint="load_library(path) finds them"
            )
        self._entries = entries

    def __iter__(self) -> Iterator[LibraryEntry]:
        return iter(self._entries.values())

    def find(self, chat_id: str) -> LibraryEntry | None:
        """Return the recording that a chat id names; ``None`` if there is none. ``weather`` and ``weather--test-7``
        name the recording ``weather``.
        """
        names = [name for name in self._entries if chat_id == name or chat_id.startswith(name + SEPARATOR)]
        return self._entries[max(names, key=len)] if names else None


def load_library(path: str | Path, *, session: str | None = None) -> RecordingLibrary:
    """Load the recording in a file, or all recordings in a folder. ``session``: the id of the session to use if a file
    has several sessions.

    In a folder, files that are not recordings are skipped with a warning. Expected streams of the pytest plugin are
    skipped without a warning. Raises ``RecordingError`` if there is no recording, or if the names of two files differ
    only in their suffix.
    """
    check_path("path", path)
    check_text("session", session, or_none=True)
    path = Path(path)
    entries = _load_all(path, session) if is_folder(path) else iter([_load(path, session)])
    by_name: dict[str, LibraryEntry] = {}
    for entry in entries:
        if (other := by_name.setdefault(entry.name, entry)) is not entry:
            raise RecordingError(f"the names of {other.file} and {entry.file} differ only in the suffix: rename one")
    if not by_name:
        raise RecordingError("the folder has no recordings")
    return RecordingLibrary(by_name)


def _load_all(folder: Path, session: str | None) -> Iterator[LibraryEntry]:
    skipped = 0
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith(".") and not is_expectation(file):
            try:
                yield _load(file, session)
            except RecordingError as error:
                skipped += 1
                if skipped <= MAX_WARNINGS:
                    logger.warning("%s is skipped: %s", file, error)
    if skipped > MAX_WARNINGS:
        logger.warning("%d more files of %s are skipped", skipped - MAX_WARNINGS, folder)


def _load(file: Path, session: str | None) -> LibraryEntry:
    if is_expectation(file):
        raise RecordingError("the file is the expected stream of a test: pass the recording beside it")
    try:
        recording = load_recording(file, session=session)
        changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        turns = tuple(summarize_turn(number, turn) for number, turn in enumerate(recording.turns(), 1))
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read") from None
    return LibraryEntry(recording, turns, changed)
