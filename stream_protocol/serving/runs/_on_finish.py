"""Calls the app's hook ``on_finish`` with the messages of the chat at the end of a response."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import anyio.to_thread

from stream_protocol.serving.base import HookTimeoutError, run_off_loop, with_timeout
from stream_protocol.wire import ClientStreamError, UIMessage
from stream_protocol.wire.client import MessageReducer, parse_sse

if TYPE_CHECKING:
    from google.adk.events import Event

    from stream_protocol.stream import Ending
    from stream_protocol.wire import AiSdkVersion

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The way in which a response ended. The hook ``on_finish`` gets this object."""

    kind: Ending
    """``finish``, ``error``, ``timeout`` or ``abort``. ``timeout``: the run has exceeded a limit of the server."""
    finish_reason: str | None = None
    """The ``finishReason`` of the ``finish`` chunk; ``None`` if the response ended in another way."""


OnFinish: TypeAlias = Callable[[Sequence[UIMessage], UIMessage, Outcome], Awaitable[None] | None]
"""Hook at the end of a response. Its arguments are all messages of the chat, the assistant message, and the outcome.

An ``async def`` runs on the event loop. A plain ``def`` runs in a thread, so that it blocks no other chat. The chat
stays busy until the hook returns, or until ``ServiceLimits.hook_timeout`` is over. Start a task for longer work.

The assistant message is built from the stream by the client's rules, so it equals the client's message. If the response
showed nothing, the message has no parts. The list of all messages then lacks this message, because clients cannot load
it. The other messages come from the stored session. If the client sends the history (``ChatService(history=…)``), the
other messages come from the request.
"""


async def notify(
    hook: OnFinish,
    sent: Sequence[bytes],
    *,
    stored: Sequence[Event],
    before: Callable[[], Sequence[UIMessage]],
    continues: bool,
    ending: Ending | None,
    ai_sdk: AiSdkVersion,
    timeout: float | None,  # noqa: ASYNC109 - the hook may swallow the cancellation that `asyncio.timeout` waits for
) -> None:
    """Calls the hook ``on_finish``, and logs its errors. Cancels the hook after ``timeout`` seconds.

    ``before``: a function that returns the messages of the chat that come before the response. ``continues``: True if
    the response continued the last message. ``ending``: the ``outcome`` of the ``Run``.
    """

    def folded() -> tuple[list[UIMessage], UIMessage, Outcome]:
        *earlier, last = before()
        if not continues:
            earlier.append(last)
        message, outcome = _fold(sent, last if continues else None, ai_sdk)
        if ending == "timeout":
            outcome = replace(outcome, kind=ending)
        shown = [message] if message["parts"] else []
        return [*earlier, *shown], message, outcome

    try:
        what = await run_off_loop(folded, size=sum(map(len, sent)), events=stored)
        await with_timeout(timeout, _call(hook, *what))
    except HookTimeoutError as error:
        logger.error("`on_finish` was cancelled. %s", error)  # noqa: TRY400 - a traceback would not help
    except Exception:
        logger.exception("`on_finish` failed.")


async def _call(hook: OnFinish, *what: *tuple[Sequence[UIMessage], UIMessage, Outcome]) -> None:
    if inspect.iscoroutinefunction(hook):
        await hook(*what)
        return
    result = await anyio.to_thread.run_sync(hook, *what, abandon_on_cancel=True)
    if inspect.isawaitable(result):
        await result


def _fold(sent: Iterable[bytes], continued: UIMessage | None, ai_sdk: AiSdkVersion) -> tuple[UIMessage, Outcome]:
    reducer = MessageReducer(ai_sdk=ai_sdk, message=continued)
    kind: Ending = "finish"
    try:
        for chunk in parse_sse(sent):
            if chunk["type"] == "abort":
                kind = "abort"
            reducer.apply(chunk)
    except ClientStreamError:
        kind = "error"
    return reducer.message, Outcome(kind=kind, finish_reason=reducer.finish_reason)
