"""The app's hook ``on_finish``: called with the messages of the chat when a response has ended."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from stream_protocol.wire import ClientStreamError, UIMessage
from stream_protocol.wire.client import MessageReducer, parse_sse

if TYPE_CHECKING:
    from stream_protocol.wire import AiSdkVersion

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a response ended."""

    kind: Literal["finished", "error", "aborted"]
    finish_reason: str | None = None
    """As on the ``finish`` chunk; ``None`` for the other kinds."""


OnFinish: TypeAlias = Callable[[Sequence[UIMessage], UIMessage, Outcome], Awaitable[None] | None]
"""Called with all messages, the assistant's last; with the assistant's message alone; and with how it ended.

The assistant's message is what the client has: the stream is folded by the client's own rules. The other messages come
from the stored session, not from the request. Only if the history is the client's (``ChatService(history=…)``), they
are the messages of the request.
"""


async def notify(
    hook: OnFinish,
    sent: Iterable[bytes],
    *,
    before: Callable[[], Sequence[UIMessage]],
    continues: bool,
    ai_sdk: AiSdkVersion,
) -> None:
    """Calls the hook. A failure of the hook is logged.

    ``sent``: the SSE events of the response. ``before``: returns the messages before the response. ``continues``: the
    response continued the last of them.
    """
    try:
        *earlier, last = before()
        if not continues:
            earlier.append(last)
        message, outcome = _fold(sent, last if continues else None, ai_sdk)
        result = hook([*earlier, message], message, outcome)
        if inspect.isawaitable(result):
            await result
    except Exception:
        logger.exception("`on_finish` failed.")


def _fold(sent: Iterable[bytes], continued: UIMessage | None, ai_sdk: AiSdkVersion) -> tuple[UIMessage, Outcome]:
    """The assistant's message as the client has it, and how the response ended."""
    reducer = MessageReducer(ai_sdk=ai_sdk, message=continued)
    kind: Literal["finished", "error", "aborted"] = "finished"
    try:
        for chunk in parse_sse(sent):
            if chunk["type"] == "abort":
                kind = "aborted"
            reducer.apply(chunk)
    except ClientStreamError:
        kind = "error"
    return reducer.message, Outcome(kind=kind, finish_reason=reducer.finish_reason)
