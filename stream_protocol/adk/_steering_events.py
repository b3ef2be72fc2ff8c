"""Steering messages: messages of the user that a run takes in while it works, before one of its model calls.

The stored event is the user's, with a mark of ours. It neither begins a message of the chat nor another response: the
assistant's message goes on.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from google.adk.events import Event

METADATA_KEY: Final = "adk_ui_stream"
"""Our key in ``custom_metadata``. All that we keep on a stored event is one object under it."""

STEERING_KEY: Final = "steering"
"""The key of the mark in that object. The mark has the message's ``id``."""


def steering_id(event: "Event") -> str | None:
    """Return the id of the steering message that the event holds; ``None`` for every other event."""
    return steering_mark_id(event.custom_metadata)


def steering_mark_id(custom_metadata: Any) -> str | None:
    """``steering_id``, of the metadata alone."""
    match custom_metadata:
        case {"adk_ui_stream": {"steering": {"id": str(message_id)}}}:
            return message_id
    return None
