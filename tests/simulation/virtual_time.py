"""An event loop on a virtual clock, which runs several workers in one thread.

Nothing waits: when no callback is ready, the clock jumps to the next timer. Each worker has a clock of its own, which
may be fast or slow. A worker can be frozen, as by SIGSTOP, and killed, as by SIGKILL.

``looptime`` and aiotools' ``VirtualClock`` make the clock of a whole loop virtual. Neither freezes a part of a loop.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from asyncio import events
from collections import deque
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

MAX_CALLBACKS: Final = 60_000
"""Maximum callbacks of one schedule. A schedule needs about two thousand; more mean an endless loop."""


class Process:
    """Simulated process: its clock, and its callbacks while it is frozen.

    ``rate``: seconds of its clock in one true second. ``offset``: its clock at the true time 0.
    """

    def __init__(self, name: str, *, rate: float = 1.0, offset: float = 0.0) -> None:
        self.name = name
        self.is_frozen = False
        self.is_dead = False
        self._rate = rate
        self._offset = offset
        self._held: list[asyncio.Handle] = []

    def at(self, true_time: float) -> float:
        """Return this process's time for a true time."""
        return self._offset + self._rate * true_time

    def true_time(self, own_time: float) -> float:
        """Return the true time for a time of this process."""
        return (own_time - self._offset) / self._rate

    def hold(self, handle: asyncio.Handle) -> None:
        """Store a callback that is due while the process is frozen."""
        self._held.append(handle)

    def freeze(self) -> None:
        """Run nothing until ``thaw``."""
        self.is_frozen = True

    def thaw(self) -> list[asyncio.Handle]:
        """Continue. Returns the due callbacks: first those that arrived, then the timers, as a loop of ``asyncio``."""
        self.is_frozen = False
        held, self._held = self._held, []
        return sorted(held, key=lambda handle: isinstance(handle, asyncio.TimerHandle))

    def kill(self) -> None:
        """Run nothing any more."""
        self.is_frozen = self.is_dead = True


PROCESS: Final[ContextVar[Process | None]] = ContextVar("process", default=None)
"""Process of the running code; ``None`` for clients, networks and stores."""


class NumberedTask(asyncio.Task[Any]):
    """Task whose hash is its number, so that sets of tasks have the same order in each execution."""

    def __init__(self, number: int, *arguments: Any, **options: Any) -> None:
        self._number = number
        super().__init__(*arguments, **options)

    def __hash__(self) -> int:
        return self._number


class EndlessError(Exception):
    """A schedule does not end."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Event loop without sockets and threads."""

    _ready: deque[asyncio.Handle]

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        """True time."""
        self._callbacks = 0
        self._tasks = 0
        self._timers = 0
        self._due: list[tuple[float, int, asyncio.TimerHandle]] = []
        """A heap of the timers: when each is due, by the true time, and its number."""
        self._tasks_of: dict[Process, list[NumberedTask]] = {}
        self.set_task_factory(self._numbered)

    def time(self) -> float:
        """Return the time of the running process."""
        process = PROCESS.get()
        return self.now if process is None else process.at(self.now)

    def call_at(  # type: ignore[override]  # typeshed has the types of variadic arguments
        self, when: float, callback: Callable[..., object], *arguments: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back at this time of the running process."""
        process = PROCESS.get()
        due = when if process is None else process.true_time(when)
        while process is not None and process.at(due) < when:  # rounded down: the timer would come too early
            due = math.nextafter(due, math.inf)
        return self._call_at_true_time(due, callback, arguments, context)

    def call_after(self, seconds: float, callback: Callable[[], object], context: Context) -> None:
        """Calls back after so many true seconds, in the context of no process."""
        _ = self._call_at_true_time(self.now + seconds, callback, (), context)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *arguments: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call back soon: there is only one thread."""
        return self.call_soon(callback, *arguments, context=context)

    def _call_at_true_time(
        self, due: float, callback: Callable[..., object], arguments: Any, context: Context | None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(due, callback, arguments, self, context)
        self._timers += 1
        heapq.heappush(self._due, (due, self._timers, timer))
        return timer

    def start_in(self, process: Process, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task in this process."""
        context = Context()
        context.run(PROCESS.set, process)
        return self.create_task(work, context=context)

    def thaw(self, process: Process) -> None:
        """Let a frozen process continue."""
        self._ready.extend(process.thaw())

    def forgive(self) -> None:
        """Reset the count of callbacks."""
        self._callbacks = 0

    def tasks_of(self, process: Process) -> list[NumberedTask]:
        """Return the unfinished tasks of this process."""
        self._tasks_of[process] = left = [task for task in self._tasks_of.get(process, []) if not task.done()]
        return left

    def _numbered(
        self, loop: asyncio.AbstractEventLoop, work: Any, *, context: Context | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        context = copy_context() if context is None else context
        process = context.get(PROCESS) or PROCESS.get()
        context.run(PROCESS.set, process)  # an empty context is of the same process all the same
        self._tasks += 1
        task = NumberedTask(self._tasks, work, loop=loop, context=context, **options)
        if process is not None:
            self._tasks_of.setdefault(process, []).append(task)
        return task

    def _run_once(self) -> None:
        """Run the ready callbacks, or jump to the next timer."""
        due, ready = self._due, self._ready
        while due and due[0][2].cancelled():
            heapq.heappop(due)
        if not ready:
            if not due:
                raise EndlessError("Nothing is left that could happen.")
            self.now = max(self.now, due[0][0])
        while due and due[0][0] <= self.now:
            ready.append(heapq.heappop(due)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle.cancelled():
                continue
            process = handle._context.get(PROCESS)  # type: ignore[attr-defined]  # noqa: SLF001 - no other way
            if process is not None and process.is_frozen:
                process.hold(handle)
            else:
                self._callbacks += 1
                handle._run()  # noqa: SLF001 - as a loop does
        if self._callbacks > MAX_CALLBACKS:
            raise EndlessError(f"More than {MAX_CALLBACKS} callbacks.")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled timer stays in the heap until it is due."""

    def _process_events(self, event_list: Any) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: there is only one thread."""


def run(loop: VirtualLoop, work: Coroutine[Any, Any, Any], afterwards: Coroutine[Any, Any, Any]) -> None:
    """Run the work to its end, and then the cleanup."""
    events.set_event_loop(loop)
    try:
        try:
            loop.run_until_complete(work)
        finally:
            loop.forgive()
            loop.run_until_complete(afterwards)
    finally:
        events.set_event_loop(None)
        loop.close()
