"""Posts to a run about steering messages, and its replies, as bytes: they may pass through the store of a run log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import uuid4

import orjson

from stream_protocol.serving.adk_runner import Receipt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_protocol.serving.adk_runner import SteeringInbox
    from stream_protocol.serving.base import RunOverrides
    from stream_protocol.wire import UIMessage

Reply: TypeAlias = Receipt | Literal["taken-in"]
"""``taken-in``: a model call has read the message."""


@dataclass(frozen=True, kw_only=True)
class NextTurn:
    """The turn that begins by itself after a run, with a message that came too late for the run."""

    message: Mapping[str, Any]
    overrides: RunOverrides
    """Those of the run."""
    was_stopped: bool
    """True if the user stopped the run: the message is stored, and not answered."""


def delivery(message: UIMessage) -> bytes:
    """The post with a steering message. Each is another one: the run may refuse a message, and accept it later."""
    return orjson.dumps({"message": message, "attempt": uuid4().hex})


def question(message_id: str) -> bytes:
    """The post that asks the run to reply when a model call reads the message, or when the run ends."""
    return orjson.dumps({"await": message_id})


async def reply_to(inbox: SteeringInbox, post: bytes) -> Reply:
    """Handles a post to the run with this inbox."""
    fields: dict[str, Any] = orjson.loads(post)
    if (message_id := fields.get("await")) is not None:
        return "taken-in" if await inbox.wait_until_taken_in(message_id) else "finished"
    return await inbox.receive(fields["message"])
