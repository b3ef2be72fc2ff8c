"""``CachedProbe``: a cache for the result of a health check."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Generic, TypeVar

T = TypeVar("T")


class CachedProbe(Generic[T]):
    """A cache for the result or the exception of ``ask``, for ``seconds``. Concurrent callers share one call."""

    def __init__(self, ask: Callable[[], Awaitable[T]], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._asking: asyncio.Task[T] | None = None
        self._fresh_until = 0.0

    async def get(self) -> T:
        """Returns the cached result, or calls ``ask``. Raises its exception."""
        if self._asking is None or (self._asking.done() and asyncio.get_running_loop().time() >= self._fresh_until):
            self._asking = asyncio.create_task(self._ask_now(), context=Context())  # not the caller's context
        return await asyncio.shield(self._asking)

    async def _ask_now(self) -> T:
        try:
            return await self._ask()
        finally:
            self._fresh_until = asyncio.get_running_loop().time() + self._seconds
