"""Adds details of the client's request to user events. A recording has the request; a stored session has our
metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_protocol.adk import is_user_event, is_user_message
from stream_protocol.session.transcript import EventMetadata, update_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from google.adk.events import Event


def as_requested(events: Iterable[Event], body: Mapping[str, Any], taken_ids: set[str]) -> Iterator[Event]:
    """Yield copies of the events with the id of the user's message and the user's reasons for decisions, as the service
    stores them.

    ``body``: the unchecked body of the request that led to the events. ``taken_ids``: message ids that are already
    used. The function uses none of them again, and adds the new id. The given events are not changed.
    """
    messages = [message for message in _list(body, "messages") if isinstance(message, dict)]
    ids = [message.get("id") for message in messages if message.get("role") == "user"]
    edited = body.get("messageId")
    message_id = edited if edited in ids else next(reversed(ids), None)
    reasons = dict(_reasons(messages[-1])) if messages else {}
    for given in events:
        event, changes = given, dict[str, Any]()
        if is_user_message(event) and isinstance(message_id, str) and message_id and message_id not in taken_ids:
            changes = {"message_id": message_id}
            taken_ids.add(message_id)
        elif reasons and is_user_event(event):
            changes = {"reasons": {**reasons, **EventMetadata.of(event).reasons}}
        if changes:
            event = event.model_copy()
            update_metadata(event, **changes)
        yield event


def _reasons(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the id and the reason of each approval or denial in the message that has a reason."""
    for part in _list(message, "parts"):
        match part:
            case {"approval": {"id": str(approval_id), "reason": str(reason)}}:
                yield approval_id, reason


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []
