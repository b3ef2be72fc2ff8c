"""Helpers for asyncio: tasks, timers, time limits, cancellation and cached probes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

T = TypeVar("T")

CANCEL_SECONDS: Final = 0.2
"""Seconds after which a task is cancelled again if it has not ended."""


class Tasks:
    """Set of running tasks. The set keeps its tasks alive, because the event loop has only weak references to tasks."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        return iter([*self._tasks])

    def start(self, work: Coroutine[Any, Any, T], context: Context | None = None) -> asyncio.Task[T]:
        """Starts a task. ``context``: the task's context variables. The default is a copy of the caller's context."""
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self, seconds: float) -> int:
        """Waits up to ``seconds`` until all tasks have ended. Returns the number of tasks that still run, and removes
        them from the set.
        """
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(self._tasks, timeout=seconds)
        self._tasks.clear()
        return len(late)


class Timers:
    """Named timers. A new timer replaces the timer with an equal name."""

    def __init__(self) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._closed = False

    def start(self, name: str, seconds: float | None, action: Callable[[], object]) -> None:
        """Starts a timer that calls ``action`` after ``seconds``. Cancels an earlier timer with this name. With
        ``seconds=None``, only cancels the earlier timer.
        """
        self.cancel(name)
        if seconds is not None and not self._closed:
            self._timers[name] = asyncio.get_running_loop().call_later(seconds, action)

    def cancel(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        for name in [*self._timers]:
            self.cancel(name)

    def close(self) -> None:
        """Cancels all timers. Later calls of ``start`` do nothing."""
        self._closed = True
        self.cancel_all()


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until all have ended. A task that does not end is cancelled again, because redis-py 8
    sometimes swallows a cancellation.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)


async def wait_for_first(*works: Coroutine[Any, Any, object], seconds: float | None = None) -> bool:
    """Waits until one of the coroutines has ended, and cancels the others. Exceptions of the coroutines are ignored.

    ``seconds``: the time limit; ``None`` for no limit. Returns False if no coroutine has ended within the time limit.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        await cancel_and_wait(tasks)


class InProgress:
    """Counts the running ``with`` blocks of this object."""

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
        """Waits up to ``seconds`` until no ``with`` block runs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()


class CachedProbe(Generic[T]):
    """Calls ``ask``, and caches its result or exception for ``seconds``. Concurrent callers share one call of
    ``ask``.
    """

    def __init__(self, ask: Callable[[], Awaitable[T]], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._asking: asyncio.Task[T] | None = None
        self._fresh_until = 0.0

    async def get(self) -> T:
        """Returns the result of ``ask``, or raises its exception. Calls ``ask`` only if nothing is cached."""
        if self._asking is None or (self._asking.done() and asyncio.get_running_loop().time() >= self._fresh_until):
            self._asking = asyncio.create_task(self._ask_now(), context=Context())  # not the caller's context
        return await asyncio.shield(self._asking)

    async def _ask_now(self) -> T:
        try:
            return await self._ask()
        finally:
            self._fresh_until = asyncio.get_running_loop().time() + self._seconds


class HookTimeoutError(Exception):
    """Raised if a hook of the app, or a store, took too long."""


async def with_timeout(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of ``work``. ``seconds``: the time limit; ``None`` for no limit.

    If the limit is reached, the work is cancelled, and ``HookTimeoutError`` is raised. The function does not wait until
    the cancelled work has ended, because the work may ignore the cancellation.

    Every call of the app's hooks and session store needs a limit. Otherwise, a hook that hangs would block the chat
    until the server restarts.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise HookTimeoutError(f"It took longer than {seconds} seconds.")
        return task.result()
    finally:
        abandon(task)


def abandon(task: asyncio.Task[Any]) -> None:
    """Cancels a task whose result is no longer needed. Its exception is ignored."""
    if task.done():
        ignore_failure(task)
    else:
        task.add_done_callback(ignore_failure)
        task.cancel()


def ignore_failure(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of a finished task that nobody awaits. Otherwise, asyncio would log that the exception was
    never retrieved.
    """
    if not task.cancelled():
        task.exception()
