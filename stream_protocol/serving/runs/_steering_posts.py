"""Encodes the messages that a request and a run on another worker exchange about a steering message. The store of the
run log transports them as bytes.

A steering message is a user message to an active run. The agent reads it before its next model call.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast
from uuid import uuid4

import orjson

from stream_protocol.serving.adk_runner import Receipt
from stream_protocol.serving.base import abandon, closing_refusal, wait_for_first

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream_protocol.serving.adk_runner import SteeringInbox
    from stream_protocol.serving.base import RunOverrides
    from stream_protocol.serving.run_logs import RunInfo, RunLog
    from stream_protocol.wire import UIMessage

Reply: TypeAlias = Receipt | Literal["taken-in"]
"""The reply of a run to a steering request. ``taken-in``: a model call has read the steering message."""


STOPPED: Final = "stopped"
"""The ``since_stop`` of a ``NextTurn`` after a stopped run. The new run is then stopped, too."""


@dataclass(frozen=True, kw_only=True)
class NextTurn:
    """A user message that came too late for a run. A new run begins with this message."""

    message: Mapping[str, Any]
    context: Any
    """The client's context that came with the message."""
    overrides: RunOverrides
    """The overrides of the previous run."""
    since_stop: str | None
    """The id of the chat's newest stop before the previous run, or ``STOPPED``: see ``Run``. If a later stop exists,
    the new run stores its message, but gets no reply."""


def delivery(message: UIMessage, context: Any) -> bytes:
    """Encode a steering message (a user message to an active run), which a request then sends to the run. ``context``:
    the context from the client.

    Each call returns different bytes, so that a run can accept a message that it refused before.
    """
    return orjson.dumps({"message": message, "context": context, "attempt": uuid4().hex})


def question(message_id: str) -> bytes:
    """Encode a question to a run: has a model call read the steering message ``message_id`` (a user message to the
    active run)? The run replies when a model call reads the message, or when the run ends.
    """
    return orjson.dumps({"await": message_id})


async def post(
    run_log: RunLog, chat: str, run: RunInfo, content: bytes, patience: float | None, closing: asyncio.Event | None
) -> Reply | None:
    """Send the bytes ``content`` to a run on any worker, and return the reply of the run.

    Returns ``finished`` if the run has ended, and ``None`` after ``patience`` seconds without a reply. Raises
    ``ChatRequestError`` (503) when ``closing`` is set.
    """
    reply = asyncio.create_task(_post(run_log, chat, run, content, patience))
    try:
        if closing is not None:
            await wait_for_first(asyncio.wait({reply}), closing.wait())
            if not reply.done():
                raise closing_refusal()
        return await reply
    finally:
        abandon(reply)


async def _post(run_log: RunLog, chat: str, run: RunInfo, content: bytes, patience: float | None) -> Reply | None:
    try:
        async with asyncio.timeout(patience):
            reply = await run_log.post(chat, run.run_id, content)
    except TimeoutError:
        return None
    return "finished" if reply is None else cast("Reply", reply.decode())


async def reply_to(inbox: SteeringInbox, post: bytes, holds_lease: Callable[[], bool]) -> Reply:
    """Handle bytes that a request has sent to a run, and return the reply. ``post``: the result of the function
    ``delivery`` or ``question``. ``inbox``: the steering messages of the run (user messages that come while it is
    active). ``holds_lease``: see ``SteeringInbox.receive``.
    """
    fields: dict[str, Any] = orjson.loads(post)
    if (message_id := fields.get("await")) is not None:
        return "taken-in" if await inbox.wait_until_taken_in(message_id) else "finished"
    return await inbox.receive(fields["message"], fields.get("context"), holds_lease)
