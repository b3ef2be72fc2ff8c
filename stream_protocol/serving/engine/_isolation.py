"""Provides ``Isolation``. While a worker executes a suspect, it executes no other run. A suspect is a run that may
crash its worker.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

from stream_protocol.serving.base import wait_for_first

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator


class Isolation:
    """Counts the runs of this worker. Executes a suspect (a run that may crash its worker) without other runs, for a
    limited time.

    ``alone``: the limit in seconds: see ``ServiceTimes``.
    """

    def __init__(self, alone: float) -> None:
        self._alone = alone
        self._running = 0
        self._has_suspect = False
        self.holds_back = False
        """True while new runs have to wait for a suspect."""
        self._changed = asyncio.Event()
        """Set, and replaced by a new event, when a value of this object changes."""

    @property
    def is_empty(self) -> bool:
        return not self._running and not self._has_suspect

    @asynccontextmanager
    async def beside_others(self, stopped: asyncio.Event) -> AsyncIterator[None]:
        """Context manager for an ordinary run. First waits while a suspect (a run that may crash its worker) needs this
        worker alone. Setting ``stopped`` ends the wait.
        """
        while self.holds_back and not stopped.is_set():
            await self._next_change(stopped)
        with self._counted():
            yield

    @asynccontextmanager
    async def alone(self, stopped: asyncio.Event, let_in: Callable[[], Awaitable[None]]) -> AsyncIterator[bool]:
        """Context manager for a suspect: a run that may crash its worker. Two suspects are never executed together.
        Yields True if the run is the only run of this worker.

        First waits up to ``ServiceTimes.alone`` seconds until all other runs have ended. If all have ended, new runs
        may start after another ``ServiceTimes.alone`` seconds. ``let_in``: function that is called before new runs may
        start. ``let_in`` must not raise an exception.
        """
        while self._has_suspect and not stopped.is_set():
            await self._next_change(stopped)
        if stopped.is_set():
            with self._counted():
                yield False
            return
        self._has_suspect = True
        self._set(holds_back=True)
        admitting: asyncio.Task[None] | None = None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._alone):
                    while self._running and not stopped.is_set():
                        await self._next_change(stopped)
            is_alone = not self._running
            if is_alone:
                admitting = asyncio.create_task(self._let_in_later(let_in))
            else:
                self._set(holds_back=False)
            with self._counted():
                yield is_alone
        finally:
            if admitting is not None:
                admitting.cancel()
            self._has_suspect = False
            self._set(holds_back=False)

    async def _let_in_later(self, let_in: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(self._alone)
        await let_in()
        self._set(holds_back=False)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._tell()

    def _set(self, *, holds_back: bool) -> None:
        self.holds_back = holds_back
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _next_change(self, stopped: asyncio.Event) -> None:
        await wait_for_first(self._changed.wait(), stopped.wait())
