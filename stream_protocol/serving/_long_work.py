"""Work in memory alone that may be long: done in a thread then, so that other chats go on meanwhile.

What a request asks for is found, and a stored session is read, in less than a millisecond as a rule. With 20 MiB of
files or thousands of events it takes a second, in short steps: between two of them Python lets the event loop go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread
from anyio.lowlevel import RunVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

    from stream_protocol.wire import ChatRequest

T = TypeVar("T")

LARGE_REQUEST: Final = 128 * 1024
"""Bytes of a body. What is smaller takes less than a thread would."""

LONG_SESSION: Final = 200
"""Events of a session, or chats of a list. Up to 0.1 ms is needed for each; fewer take less than a thread would."""

_ONE_AT_A_TIME: Final[RunVar[anyio.CapacityLimiter]] = RunVar("adk_ui_stream_long_work")
"""Of each event loop: every thread that is at work slows the loop down."""


async def long_work(work: Callable[[], T], *, request: ChatRequest | None = None, items: Sized = ()) -> T:
    """Returns what ``work`` returns. If it is about a large request or many items, it is done in a thread, one after
    the other.

    ``items``: the events of a session, or the chats of a list. They and the request must be the caller's own, and
    ``work`` may use nothing that belongs to the event loop.
    """
    if len(items) <= LONG_SESSION and (request is None or request.size < LARGE_REQUEST):
        return work()
    try:
        limiter = _ONE_AT_A_TIME.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _ONE_AT_A_TIME.set(limiter)
    return await anyio.to_thread.run_sync(work, limiter=limiter)
