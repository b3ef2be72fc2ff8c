"""The log of one run: what its response is made of, whether somebody reads along or not."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

MAX_BATCH: Final = 256
"""Events that a reader takes in one piece: few writes to the socket, and a bounded copy for a late reader."""


class MemoryRunLog:
    """An append-only list of encoded events in this process, with any number of readers at their own pace.

    A writer never waits. A reader that falls behind costs nothing but the log itself: it keeps only its position.
    """

    def __init__(self) -> None:
        self._events: list[bytes] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the last event is there: nothing will be appended any more."""
        return self._closed

    def append(self, *events: bytes) -> None:
        """Adds events at the end and wakes the readers."""
        self._events.extend(events)
        self._wake()

    def close(self) -> None:
        """Ends the log, and each reader once it has read what is there."""
        self._closed = True
        self._wake()

    async def read(self) -> AsyncIterator[bytes]:
        """Everything from the first event on, joined where several events are there, until the log is closed."""
        position = 0
        while True:
            batch = self._events[position : position + MAX_BATCH]
            if batch:
                position += len(batch)
                yield b"".join(batch)
            elif self._closed:
                return
            else:
                await self._change()

    async def _change(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        finally:
            if future in self._waiting:
                self._waiting.remove(future)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
