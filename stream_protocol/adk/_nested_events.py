"""The events of an agent that runs inside a tool call, as ``AgentTool`` runs it: in a session of its own.

They are carried in the ``custom_metadata`` of events of the outer session, which no model reads. While the tool runs, a
posted event carries one event. The event with the tool's response carries all that are kept.
"""

from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk._facts import NestedEvent, NestedEvents

if TYPE_CHECKING:
    from google.adk.events import Event

NESTED_EVENT: Final = "adk_ui_stream_nested_event"
"""Key in the ``custom_metadata`` of a posted event: ``{"call_id": …, "event": …}``."""

NESTED_EVENTS: Final = "adk_ui_stream_nested_events"
"""Key in the ``custom_metadata`` of an event with responses: id of the call -> ``{"events": […], "omitted": …}``."""


def nested_event(metadata: dict[str, Any]) -> NestedEvent | None:
    """Return the nested event that a posted event with this metadata carries."""
    match metadata.get(NESTED_EVENT):
        case {"call_id": str(call_id), "event": event}:
            return NestedEvent(call_id, event)
    return None


def carried_event(event: "Event") -> "NestedEvent | None":
    """Return the nested event that this event carries, if it is a posted event of a nested agent."""
    return nested_event(event.custom_metadata) if event.custom_metadata else None


def nested_events(event: "Event", call_id: str | None) -> NestedEvents | None:
    """Return the nested events that are kept with the response to this call; ``None`` if there are none."""
    match event.custom_metadata and event.custom_metadata.get(NESTED_EVENTS):
        case dict() as kept:
            match kept.get(call_id):
                case {"events": list(events), "omitted": int(omitted)}:
                    return NestedEvents(events, omitted)
    return None
