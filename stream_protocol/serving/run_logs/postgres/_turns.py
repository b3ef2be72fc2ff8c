"""Limits the number of SQL statements that use a connection at the same time. Other statements wait in a queue."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class NoTurnError(Exception):
    """Raised if an SQL statement has waited too long for a connection."""


class Turns:
    """Lets ``count`` SQL statements use a connection at the same time. In the queue, urgent statements come before all
    others.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._urgent = deque[asyncio.Future[None]]()
        self._others = deque[asyncio.Future[None]]()

    @asynccontextmanager
    async def turn(self, *, urgent: bool, seconds: float) -> AsyncGenerator[None]:
        """Context manager for one SQL statement. First waits until a connection is free. Raises ``NoTurnError`` after
        ``seconds``.
        """
        await self._take(self._urgent if urgent else self._others, seconds)
        try:
            yield
        finally:
            self._give_back()

    def refuse_all(self) -> None:
        """Raises ``NoTurnError`` in all waiting statements."""
        for waiting in (self._urgent, self._others):
            for future in waiting:
                if not future.done():
                    future.set_exception(NoTurnError)
            waiting.clear()

    async def _take(self, waiting: deque[asyncio.Future[None]], seconds: float) -> None:
        if self._free:
            self._free -= 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except BaseException as error:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._give_back()  # the connection became free at the same time as the cancellation
            if isinstance(error, TimeoutError):
                raise NoTurnError from None
            raise

    def _give_back(self) -> None:
        for waiting in (self._urgent, self._others):
            while waiting:
                future = waiting.popleft()
                if not future.done():
                    future.set_result(None)
                    return
        self._free += 1
