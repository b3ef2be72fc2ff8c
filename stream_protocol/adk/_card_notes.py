"""Notes on events for the display of tools: the titles and reasons that tools declare for users.

The run's plugin gets the notes from the tools. It writes them to the events before the events are stored, so every
reader of the events has the notes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from google.adk.events import Event

CARDS_KEY: Final = "adk_ui_stream_cards"
"""The key of the notes in an event's ``custom_metadata``: ``{"titles": {TOOL: TITLE}, "approvals": {CALL_ID: NOTE}}``.
"""


class ApprovalNote(NamedTuple):
    """The reason and the descriptor that a tool declares for the users who approve its calls."""

    reason: str | None = None
    descriptor: Any = None

    def to_json(self) -> dict[str, Any]:
        """Return the note as JSON, without fields that are ``None``."""
        return {key: value for key, value in self._asdict().items() if value is not None}


NO_NOTE: Final = ApprovalNote()


def noted_title(event: "Event", tool: str) -> str | None:
    """Return the title of a tool from the event's notes; ``None`` if there is none."""
    title = _note(event, "titles").get(tool)
    return title if isinstance(title, str) else None


def noted_approval(event: "Event", call_id: str | None) -> ApprovalNote:
    """Return the note for the approval of a call; an empty note if there is none."""
    note = _note(event, "approvals").get(call_id)
    if not isinstance(note, dict):
        return NO_NOTE
    reason = note.get("reason")
    return ApprovalNote(reason if isinstance(reason, str) else None, note.get("descriptor"))


def _note(event: "Event", key: str) -> Mapping[Any, Any]:
    notes = (event.custom_metadata or {}).get(CARDS_KEY)
    found = notes.get(key) if isinstance(notes, dict) else None
    return found if isinstance(found, dict) else {}
