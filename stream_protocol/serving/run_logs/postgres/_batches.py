"""Collects items for a short time, so that one SQL statement serves many runs."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")

GATHER_SECONDS: Final = 0.002
"""Seconds that the first item of a batch waits for more items."""

MAX_ITEMS: Final = 256

MAX_BYTES: Final = 2**22
"""The maximum number of bytes in one batch, unless a single item is larger."""


class Batches(Generic[Item, Result]):
    """Collects items, and processes them in batches.

    A batch begins ``GATHER_SECONDS`` after its first item was added, but not before the previous batch is processed.

    ``do``: function that processes the items of a batch, and returns the results in the same order. If ``do`` raises an
    exception, ``add`` raises it for each item. ``size``: function that returns the size of an item in bytes.
    """

    def __init__(
        self, do: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], *, size: Callable[[Item], int]
    ) -> None:
        self._do = do
        self._size = size
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._task: asyncio.Task[None] | None = None

    async def add(self, item: Item) -> Result:
        """Adds an item to the next batch, waits until the batch is processed, and returns the result of the item."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._task is None:
            # The context is empty, because the task's log records must not name the chat that starts the task.
            self._task = asyncio.create_task(self._do_all(), context=Context())
        return await future

    async def _do_all(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(GATHER_SECONDS)
                await self._do_some(self._take())
        finally:
            self._task = None

    def _take(self) -> list[tuple[Item, asyncio.Future[Result]]]:
        count, size = 0, 0
        for item, _ in self._waiting[:MAX_ITEMS]:
            size += self._size(item)
            if count and size > MAX_BYTES:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return [(item, future) for item, future in taken if not future.done()]

    async def _do_some(self, taken: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._do([item for item, _ in taken]) if taken else ()
        except Exception as error:  # noqa: BLE001 - `add` raises it
            for _, future in taken:
                if not future.done():
                    future.set_exception(error)
        else:
            for (_, future), result in zip(taken, results, strict=True):
                if not future.done():
                    future.set_result(result)
