"""``InProgress``: counts the open calls of a service, so that the stores are closed after them."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class InProgress:
    """Counter of the open calls. Each call is a ``with`` block."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> None:
        self._count += 1
        self._idle.clear()

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def wait(self, seconds: float) -> None:
        """Waits up to ``seconds`` until no call is open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
