"""What only the client knows of a turn, where ADK stores it: on the user's own event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.genai.types import Content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events import Event

METADATA_KEY: Final = "adk_ui_stream"
"""Our key in ``RunConfig.custom_metadata``. ADK puts it on every event of the run; only the user's own is read."""


UNTOLD: Final = "untold"
"""On an event of ours: the ids of events that the page was not told of, though they are stored."""

TOLD: Final = "told"
"""On an event of ours: the content that the page was told, where the model is not to read it."""


def client_message_id(event: Event) -> str | None:
    """The id that the client gave the user's message; ``None`` if it came by another way than a chat client."""
    message_id = own_metadata(event).get("message_id")
    return message_id if isinstance(message_id, str) and message_id else None


def sent_files(event: Event) -> list[dict[str, str] | None]:
    """For each part of the user's message the ``mediaType`` and ``filename`` of the file that came with it, ``None``
    for any other part. Empty without such a file."""
    files = own_metadata(event).get("files")
    return files if isinstance(files, list) else []


def approval_reasons(event: Event) -> dict[str, str]:
    """Approval id -> why the user decided so, of the answers that this event holds."""
    reasons = own_metadata(event).get("reasons")
    return reasons if isinstance(reasons, dict) else {}


def shown_events(events: Sequence[Event]) -> list[Event]:
    """The events as a page was told of them: a response can end before its run, whose last events it misses then."""
    untold = {event_id for event in events for event_id in own_metadata(event).get(UNTOLD, ())}
    return [_as_told(event) for event in events if event.id not in untold]


def _as_told(event: Event) -> Event:
    told = own_metadata(event).get(TOLD)
    if told is None:
        return event
    return event.model_copy(update={"content": Content.model_validate(told)})


def own_metadata(event: Event) -> dict[str, Any]:
    """What we keep on an event."""
    known = (event.custom_metadata or {}).get(METADATA_KEY)
    return known if isinstance(known, dict) else {}
