"""Posted events: events that a tool sends to the response while it runs.

A posted event is an ADK event that no runner yields and no session stores. Code inside a run makes it, and posts it to
the run's channel (``stream_protocol.agents``). From there it goes through the reader, the conversion and the recorder,
as all other events do. So a replay of the recording also shows it. A posted event is a fragment. It has a mark with the
kind of the posted event.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from google.adk.events import Event

POSTED_KEY: Final = "adk_ui_stream_posted"
"""The key of the mark in ``custom_metadata``. Its value is the kind of the event."""

POSTED_WIDGETS: Final = "widgets"
"""The kind of a posted event with UI widgets in its actions: data of an app, or the progress of a call."""

POSTED_NESTED: Final = "nested"
"""The kind of a posted event that carries a nested event. See ``_nested_events``."""


def posted_kind(event: "Event") -> str | None:
    """Return the kind of a posted event; ``None`` for an event that ADK made."""
    metadata = event.custom_metadata
    kind = metadata.get(POSTED_KEY) if metadata else None
    return kind if isinstance(kind, str) else None
