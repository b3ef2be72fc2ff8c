"""``Tasks``, ``Timers``: background tasks and timers of an object; ``cancel_and_wait``: cancels tasks reliably."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from contextvars import Context

T = TypeVar("T")

CANCEL_SECONDS: Final = 0.2
"""Seconds before a task that has not ended is cancelled again."""


class Tasks:
    """Set of running tasks. It keeps each task alive, because the event loop has only a weak reference to a task."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """Return the number of running tasks."""
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        """Iterate over the running tasks."""
        return iter([*self._tasks])

    def start(self, work: Coroutine[Any, Any, T], context: Context | None = None) -> asyncio.Task[T]:
        """Starts a task. ``context``: the context variables of the task; by default a copy of the caller's."""
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self, seconds: float) -> int:
        """Waits up to ``seconds`` until all tasks have ended. Returns the number of tasks that still run.

        A later call does not wait for these tasks again.
        """
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        self._tasks.clear()
        return len(late)


class Timers:
    """Timers of one object, by name. A new timer replaces the timer with the same name."""

    def __init__(self) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._closed = False

    def __contains__(self, name: str) -> bool:
        """Return True if a timer of this name was started, and not cancelled."""
        return name in self._timers

    def start(self, name: str, seconds: float | None, action: Callable[[], object]) -> None:
        """Calls ``action`` after ``seconds``. If ``seconds`` is ``None``, only cancels the timer of this name."""
        self.cancel(name)
        if seconds is not None and not self._closed:
            self._timers[name] = asyncio.get_running_loop().call_later(seconds, action)

    def cancel(self, name: str) -> None:
        """Cancels the timer of this name, if there is one."""
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        """Cancels all timers."""
        for name in [*self._timers]:
            self.cancel(name)

    def close(self) -> None:
        """Cancels all timers. Later calls of ``start`` do nothing."""
        self._closed = True
        self.cancel_all()


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until all have ended.

    A task that has not ended is cancelled again, because redis-py 8 sometimes swallows a cancellation.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
