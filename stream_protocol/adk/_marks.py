"""Data that this library adds to the ``custom_metadata`` of events.

- A steering message is a user message that a run receives while the agent works. It is stored before the next model
  call. The assistant message then continues.
- A posted event is an event that a tool sends to the client while the tool runs, with ``stream_protocol.agents``. ADK
  does not know posted events. This library handles them like partial events.
- A nested event is an event of an agent that runs inside a tool call in a separate session, as with ``AgentTool``.
  While the agent runs, its events are sent inside posted events. Later, the event with the tool's response contains the
  nested events, up to a limit.
- An answered number belongs to a function response. If several calls have the same id, the number shows which of them
  the response answers.
- A note is the title or the approval reason that a tool declares for users. The run's plugin adds notes before ADK
  stores the events.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from stream_protocol.adk._facts import NestedEvent, NestedEvents
from stream_protocol.adk._known_call import stored_reference

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import FunctionResponse

T = TypeVar("T")

METADATA_KEY: Final = "adk_ui_stream"
"""The key of this library's object in ``custom_metadata``."""

STEERING_KEY: Final = "steering"
"""The key of a steering message's data (its ``id``) in the object under ``METADATA_KEY``."""

CONTEXT_KEY: Final = "context"
"""The key of the client's context, in a request's body and in a steering message's data."""

POSTED_KEY: Final = "adk_ui_stream_posted"
"""The key in ``custom_metadata`` that marks a posted event, with its kind as value."""

POSTED_WIDGETS: Final = "widgets"
"""The kind of a posted event with UI widgets, which hold an app's data or the progress of a call."""

POSTED_NESTED: Final = "nested"
"""The kind of a posted event with a nested event."""

NESTED_EVENT: Final = "adk_ui_stream_nested_event"
"""The key of a nested event in the ``custom_metadata`` of a posted event. The value is ``{"call_id": …, "event": …}``,
and ``"number"`` if an earlier call of the same event has the same id."""

NESTED_EVENTS: Final = "adk_ui_stream_nested_events"
"""The key of stored nested events in the ``custom_metadata`` of an event with function responses.

The value maps call ids to ``{"events": […], "omitted": …}``. If several responses have the same id, the value is a list
with one such object, or ``null``, for each response.
"""

CARDS_KEY: Final = "adk_ui_stream_cards"
"""The key of tool titles and approval notes: ``{"titles": {TOOL: TITLE}, "approvals": {CALL_ID: NOTE}}``."""

ANSWERED_KEY: Final = "adk_ui_stream_answered"
"""The key of answered numbers in ``custom_metadata``: ``{CALL_ID: [NUMBER, …]}``.

The list has the number of the answered call, or ``null``, for each function response with this id. An id is left out if
its responses answer the calls with this id in order.
"""


def steering_id(event: "Event") -> str | None:
    """Return the id of the steering message (sent while the agent works) in an event; ``None`` for every other
    event."""
    return steering_mark_id(event.custom_metadata)


def steering_mark(custom_metadata: Any) -> dict[str, Any] | None:
    """Return the data of the steering message (sent while the agent works) in an event's ``custom_metadata``: its id,
    and the client's context if there is one. Return ``None`` for every other event.
    """
    message_id = steering_mark_id(custom_metadata)
    if message_id is None:
        return None
    context = custom_metadata[METADATA_KEY][STEERING_KEY].get(CONTEXT_KEY)
    return {"id": message_id} if context is None else {"id": message_id, CONTEXT_KEY: context}


def steering_mark_id(custom_metadata: Any) -> str | None:
    """Return the id of the steering message (sent while the agent works) in an event's ``custom_metadata``; ``None``
    for every other event.
    """
    match custom_metadata:
        case {"adk_ui_stream": {"steering": {"id": str(message_id)}}}:
            return message_id
    return None


def posted_kind(event: "Event") -> str | None:
    """Return the kind of an event that a running tool sent; ``None`` for an event of ADK."""
    metadata = event.custom_metadata
    kind = metadata.get(POSTED_KEY) if metadata else None
    return kind if isinstance(kind, str) else None


def is_posted_data(event: "Event") -> bool:
    """Return True if a running tool has sent the app's data in this event. The tool may belong to an agent inside a
    tool call. ADK stores the data in a later event."""
    while (carried := carried_event(event)) is not None and not isinstance(carried.event, dict):
        event = carried.event
    return posted_kind(event) == POSTED_WIDGETS


def carried_event(event: "Event") -> NestedEvent | None:
    """Return the nested event that a posted event contains: an event of an agent inside a tool call. Return ``None`` if
    there is none.
    """
    metadata = event.custom_metadata or {}
    match metadata.get(NESTED_EVENT):
        case {"call_id": str(call_id), "event": inner}:
            return NestedEvent(stored_reference(call_id, metadata[NESTED_EVENT], event.author, event.branch), inner)
    return None


def nested_events(event: "Event", response: "FunctionResponse") -> NestedEvents | None:
    """If ``event`` contains the events of an agent that ran inside a tool call, return them. ``response``: the function
    response to this call.
    """
    metadata = event.custom_metadata
    if not metadata or not isinstance(stored := metadata.get(NESTED_EVENTS), dict):
        return None
    kept = stored.get(response.id)
    match item_of(event, response, kept) if isinstance(kept, list) else kept:
        case {"events": list(events), "omitted": int(omitted)}:
            return NestedEvents(events, omitted)
    return None


def answered_number(event: "Event", response: "FunctionResponse") -> int | None:
    """Return the number of the answered call: its position among the calls with the same id. Return ``None`` if the
    event does not store the number.
    """
    match event.custom_metadata and event.custom_metadata.get(ANSWERED_KEY):
        case dict() as numbers if isinstance(listed := numbers.get(response.id), list):
            number = item_of(event, response, listed)
            return number if isinstance(number, int) else None
    return None


def items_by_id(event: "Event", items: Iterable[T]) -> dict[str, list[T]]:
    """Group items by the id of their function response. The keys of the result are the ids.

    ``items``: one item for each function response of the event, in order.
    """
    lists: dict[str, list[T]] = defaultdict(list)
    for response, item in zip(event.get_function_responses(), items, strict=True):
        lists[response.id or ""].append(item)
    return lists


def item_of(event: "Event", response: "FunctionResponse", listed: Sequence[Any]) -> Any:
    """Return the item that belongs to ``response``. ``listed``: one item for each function response of the event that
    has this id, in order.
    """
    same_id = [each for each in event.get_function_responses() if each.id == response.id]
    return next((item for each, item in zip(same_id, listed, strict=False) if each is response), None)


class ApprovalNote(NamedTuple):
    """The texts that a tool declares for its approval requests. ``reason``: a text that tells the user why approval is
    needed. ``descriptor``: any JSON for the client.
    """

    reason: str | None = None
    descriptor: Any = None

    def to_json(self) -> dict[str, Any]:
        """Return the note as JSON, without fields that are ``None``."""
        return {key: value for key, value in self._asdict().items() if value is not None}


NO_NOTE: Final = ApprovalNote()


def noted_title(event: "Event", tool: str) -> str | None:
    """Return the title that the event stores for a tool; ``None`` if there is none."""
    title = _note(event, "titles").get(tool)
    return title if isinstance(title, str) else None


def noted_approval(event: "Event", call_id: str | None) -> ApprovalNote:
    """Return the approval note that the event stores for a call; an empty note if there is none."""
    note = _note(event, "approvals").get(call_id)
    if not isinstance(note, dict):
        return NO_NOTE
    reason = note.get("reason")
    return ApprovalNote(reason if isinstance(reason, str) else None, note.get("descriptor"))


def _note(event: "Event", key: str) -> Mapping[Any, Any]:
    notes = (event.custom_metadata or {}).get(CARDS_KEY)
    found = notes.get(key) if isinstance(notes, dict) else None
    return found if isinstance(found, dict) else {}
