"""Read the events of an agent that runs inside a tool call, in a session of its own, as with ``AgentTool``.

Events of the outer session carry the agent's events in ``custom_metadata``, which no model reads. While the tool runs,
a posted event carries one nested event. The event with the tool's response carries all nested events that are stored.
"""

from typing import TYPE_CHECKING, Final

from stream_protocol.adk._call_index import CallReference
from stream_protocol.adk._facts import NestedEvent, NestedEvents
from stream_protocol.adk._running_calls import item_of

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import FunctionResponse

NESTED_EVENT: Final = "adk_ui_stream_nested_event"
"""Key in the ``custom_metadata`` of a posted event: ``{"call_id": …, "event": …}``.

``"number"`` is added if the call is not the first with its id in its event. See ``CallReference``.
"""

NESTED_EVENTS: Final = "adk_ui_stream_nested_events"
"""Key in the ``custom_metadata`` of an event with function responses.

The value is a mapping from call ids to ``{"events": […], "omitted": …}``. If the event has several responses to an id,
the value is a list of them, in the order of the responses. ``null`` stands for a response without nested events.
"""


def carried_event(event: "Event") -> NestedEvent | None:
    """Return the nested event that this event carries, if it is a posted event of a nested agent."""
    metadata = event.custom_metadata or {}
    match metadata.get(NESTED_EVENT):
        case {"call_id": str(call_id), "event": inner}:
            number = metadata[NESTED_EVENT].get("number", 0)
            reference = CallReference(call_id, "", event.author, event.branch, number)
            return NestedEvent(reference, inner)
    return None


def nested_events(event: "Event", response: "FunctionResponse") -> NestedEvents | None:
    """Return the nested events that are stored with this response of the event; ``None`` if there are none."""
    metadata = event.custom_metadata
    if not metadata or not isinstance(stored := metadata.get(NESTED_EVENTS), dict):
        return None
    kept = stored.get(response.id)
    match item_of(event, response, kept) if isinstance(kept, list) else kept:
        case {"events": list(events), "omitted": int(omitted)}:
            return NestedEvents(events, omitted)
    return None
