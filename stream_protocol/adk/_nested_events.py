"""Read the events of an agent that runs inside a tool call, in a session of its own, as with ``AgentTool``.

Events of the outer session carry the agent's events in ``custom_metadata``, which no model reads. While the tool runs,
a posted event carries one nested event. The event with the tool's response carries all nested events that are stored.
"""

from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk._facts import NestedEvent, NestedEvents

if TYPE_CHECKING:
    from google.adk.events import Event

NESTED_EVENT: Final = "adk_ui_stream_nested_event"
"""Key in the ``custom_metadata`` of a posted event: ``{"call_id": …, "event": …}``."""

NESTED_EVENTS: Final = "adk_ui_stream_nested_events"
"""Key in the ``custom_metadata`` of an event with function responses.

The value is a mapping from call ids to ``{"events": […], "omitted": …}``.
"""


def nested_event(metadata: dict[str, Any]) -> NestedEvent | None:
    """Return the nested event in the metadata of a posted event; ``None`` if there is none."""
    match metadata.get(NESTED_EVENT):
        case {"call_id": str(call_id), "event": event}:
            return NestedEvent(call_id, event)
    return None


def carried_event(event: "Event") -> "NestedEvent | None":
    """Return the nested event that this event carries, if it is a posted event of a nested agent."""
    return nested_event(event.custom_metadata) if event.custom_metadata else None


def nested_events(event: "Event", call_id: str | None) -> NestedEvents | None:
    """Return the nested events that are stored with the response to this call; ``None`` if there are none."""
    match event.custom_metadata and event.custom_metadata.get(NESTED_EVENTS):
        case dict() as kept:
            match kept.get(call_id):
                case {"events": list(events), "omitted": int(omitted)}:
                    return NestedEvents(events, omitted)
    return None
