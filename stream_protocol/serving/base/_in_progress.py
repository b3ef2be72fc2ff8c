"""The calls of a service that are being answered: what they ask may be closed only after them."""

from __future__ import annotations

import asyncio


class InProgress:
    """Counts calls. Each call is a ``with`` block."""

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
        """Waits until no call is in progress, at most for so many seconds."""
        waiting = asyncio.create_task(self._idle.wait())
        await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()
