"""Steering messages: user messages that a run receives while it works, before one of its model calls.

The stored event has the user as author, and a mark of this library. It begins neither a message of the chat nor a
response: the assistant's message continues.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from google.adk.events import Event

METADATA_KEY: Final = "adk_ui_stream"
"""The key of this library's object in the ``custom_metadata`` of a stored event."""

STEERING_KEY: Final = "steering"
"""The key of the mark in this library's object. The mark has the message's ``id``."""

CONTEXT_KEY: Final = "context"
"""The key of the page's context: in the mark, and in the body of a request."""


def steering_id(event: "Event") -> str | None:
    """Return the id of the steering message in an event; ``None`` for every other event."""
    return steering_mark_id(event.custom_metadata)


def steering_mark(custom_metadata: Any) -> dict[str, Any] | None:
    """Return the mark without the data that only the server needs; ``None`` if the event has no steering message."""
    message_id = steering_mark_id(custom_metadata)
    if message_id is None:
        return None
    context = custom_metadata[METADATA_KEY][STEERING_KEY].get(CONTEXT_KEY)
    return {"id": message_id} if context is None else {"id": message_id, CONTEXT_KEY: context}


def steering_mark_id(custom_metadata: Any) -> str | None:
    """Return the id of the steering message from the event's ``custom_metadata``; ``None`` if there is none."""
    match custom_metadata:
        case {"adk_ui_stream": {"steering": {"id": str(message_id)}}}:
            return message_id
    return None
