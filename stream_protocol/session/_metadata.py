"""What we keep on stored events, in their ``custom_metadata``, and how it is read back.

The run config carries what only the client knows of a turn: ADK puts that on every event of the run, and we read it
from the user's own event alone. Events that we append ourselves say what the page was shown and what is hidden from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.genai.types import Content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events import Event

METADATA_KEY: Final = "adk_ui_stream"
"""Our key in ``custom_metadata``. All that we keep on an event is one object under it."""

STATE_PREFIX: Final = "_adk_ui_stream:"
"""What our keys in a session's state begin with. An instruction cannot name such a key (``{key}``), ``adk-state`` parts
leave it out, and ADK keeps it from the agents of an ``AgentTool``."""

OUTCOME_KEY: Final = "sealed"
"""On an event that we append: how the run ended. For people who look at a session: this package never reads it."""

HIDDEN_EVENTS_KEY: Final = "untold"
"""On an event that we append: the ids of stored events that are hidden from the page."""

SHOWN_CONTENT_KEY: Final = "told"
"""On an event that we append: the content that the page is shown in place of the stored one, which is for the model."""

EVENT_INTERVAL: Final = 0.001
"""Seconds between events that we make. ADK orders events by their time, and SQL stores round it to microseconds."""


def client_message_id(event: Event) -> str | None:
    """The id that the client gave the user's message; ``None`` if no chat client sent it."""
    message_id = own_metadata(event).get("message_id")
    return message_id if isinstance(message_id, str) and message_id else None


def sent_files(event: Event) -> list[dict[str, str] | None]:
    """For each part of the user's message the ``mediaType`` and ``filename`` of the file that came with it, ``None``
    for any other part. Empty if no file came with the message."""
    files = own_metadata(event).get("files")
    return files if isinstance(files, list) else []


def approval_reasons(event: Event) -> dict[str, str]:
    """Approval id -> why the user decided so, of the answers that this event holds."""
    reasons = own_metadata(event).get("reasons")
    return reasons if isinstance(reasons, dict) else {}


def shown_events(events: Sequence[Event]) -> list[Event]:
    """The events as the page was shown them: without those that are hidden from it, and with the content that it saw.

    A response can end before its run does: the last events of such a run are stored, and hidden from the page.
    """
    hidden = {event_id for event in events for event_id in own_metadata(event).get(HIDDEN_EVENTS_KEY, ())}
    return [_with_shown_content(event) for event in events if event.id not in hidden]


def _with_shown_content(event: Event) -> Event:
    content = own_metadata(event).get(SHOWN_CONTENT_KEY)
    if content is None:
        return event
    return event.model_copy(update={"content": Content.model_validate(content)})


def own_metadata(event: Event) -> dict[str, Any]:
    """What we keep on an event; empty if there is nothing."""
    known = (event.custom_metadata or {}).get(METADATA_KEY)
    return known if isinstance(known, dict) else {}
