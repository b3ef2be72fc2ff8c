"""What an app with a database of its own is told once a response is over."""

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
"""Called with all messages, the assistant's last; with that message alone; and with how it ended.

The assistant's message is folded from what was sent, by the client's own rules. The others are those of the stored
session: what a client says of earlier messages counts for nothing. Where the history is the client's, they are as it
sent them with this request.
"""


async def tell(
    hook: OnFinish,
    sent: Iterable[bytes],
    *,
    before: Callable[[], Sequence[UIMessage]],
    continues: bool,
    ai_sdk: AiSdkVersion,
) -> None:
    """Calls the hook. Its failure is logged and harms nothing: the response is over.

    ``before``: the messages when the response began. ``continues``: it went on with the last of them.
    """
    try:
        *earlier, last = before()
        if not continues:
            earlier.append(last)
        message, outcome = _folded(sent, last if continues else None, ai_sdk)
        result = hook([*earlier, message], message, outcome)
        if inspect.isawaitable(result):
            await result
    except Exception:
        logger.exception("`on_finish` failed.")


def _folded(sent: Iterable[bytes], continued: UIMessage | None, ai_sdk: AiSdkVersion) -> tuple[UIMessage, Outcome]:
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
