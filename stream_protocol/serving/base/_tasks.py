"""The background tasks of one object, and the end of tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from contextvars import Context

T = TypeVar("T")

CANCEL_SECONDS: Final = 0.2
"""The pause before a task that goes on is cancelled again."""


class Tasks:
    """Keeps a reference to each task until the task ends: the event loop has only a weak one."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """The number of tasks that have not ended."""
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        """The tasks that have not ended."""
        return iter([*self._tasks])

    def start(self, work: Coroutine[Any, Any, T], context: Context | None = None) -> asyncio.Task[T]:
        """Starts a task. ``context``: its context variables; a copy of the present ones by default."""
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self, seconds: float) -> int:
        """Waits until all tasks have ended, at most for so many seconds. Returns the number of tasks that go on.

        A later call does not wait for these again.
        """
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        self._tasks.clear()
        return len(late)


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until all have ended.

    A task that goes on is cancelled again: redis-py 8 swallows a cancellation at times.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
