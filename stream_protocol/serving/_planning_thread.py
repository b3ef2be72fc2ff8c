"""Planning large requests in a thread, one after the other.

To plan a request is work in memory alone. For most it takes less than a millisecond; for one with 20 MiB of files, or
with a long history of the client's, it takes a second. It is made of short steps, so the event loop goes on between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from stream_protocol.wire import ChatRequest

P = ParamSpec("P")
T = TypeVar("T")

LARGE: Final = 128 * 1024
"""Bytes of the body of a request that is planned in a thread: what is smaller takes less than the thread would."""


class Planning:
    """Does what the requests of one service need."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def do(self, request: ChatRequest, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns what ``work`` returns. If the request is large, it is done in a thread, and nothing else beside it:
        each thread that is at work slows down the loop."""
        if request.size < LARGE:
            return work(*args, **kwargs)
        async with self._turn:
            return await anyio.to_thread.run_sync(partial(work, *args, **kwargs))
