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


class Callback:
    """Callback of the loop, which can be cancelled: a cheap ``asyncio.TimerHandle``.

    ``due``: the time of a timer; ``None`` for a callback that is due at once.
    """

    __slots__ = ("arguments", "callback", "context", "due")

    def __init__(
        self, callback: Callable[..., object], arguments: tuple[Any, ...], context: Context, due: float | None
    ) -> None:
        self.callback: Callable[..., object] | None = callback
        self.arguments = arguments
        self.context = context
        self.due = due

    def cancel(self) -> None:
        """Run nothing."""
        self.callback = None
        self.arguments = ()

    def cancelled(self) -> bool:
        """Return True after ``cancel``."""
        return self.callback is None

    def when(self) -> float:
        """Return the true time of a timer."""
        assert self.due is not None
        return self.due


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
        self._held: list[Callback] = []

    def at(self, true_time: float) -> float:
        """Return this process's time for a true time."""
        return self._offset + self._rate * true_time

    def true_time(self, own_time: float) -> float:
        """Return the true time for a time of this process."""
        return (own_time - self._offset) / self._rate

    def hold(self, handle: Callback) -> None:
        """Store a callback that is due while the process is frozen."""
        self._held.append(handle)

    def freeze(self) -> None:
        """Run nothing until ``thaw``."""
        self.is_frozen = True

    def thaw(self) -> list[Callback]:
        """Continue. Returns the due callbacks: first those that arrived, then the timers, as a loop of ``asyncio``."""
        self.is_frozen = False
        held, self._held = self._held, []
        return sorted(held, key=lambda handle: handle.due is not None)

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

    _stopping: bool
    _ready: deque[Callback]

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        """True time."""
        self._callbacks = 0
        self._tasks = 0
        self._timers = 0
        self._due: list[tuple[float, int, Callback]] = []
        """A heap of the timers: when each is due, by the true time, and its number."""
        self._tasks_of: dict[Process, list[NumberedTask]] = {}

    def time(self) -> float:
        """Return the time of the running process."""
        process = PROCESS.get()
        return self.now if process is None else process.at(self.now)

    def call_soon(  # type: ignore[override]  # typeshed has the types of variadic arguments
        self, callback: Callable[..., object], *arguments: Any, context: Context | None = None
    ) -> Callback:
        """Call back soon."""
        handle = Callback(callback, arguments, copy_context() if context is None else context, None)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # there is only one thread

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *arguments: Any, context: Context | None = None
    ) -> Callback:
        """Call back after so many seconds of the running process."""
        return self.call_at(self.time() + delay, callback, *arguments, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *arguments: Any, context: Context | None = None
    ) -> Callback:
        """Call back at this time of the running process."""
        process = PROCESS.get()
        due = when if process is None else process.true_time(when)
        while process is not None and process.at(due) < when:  # rounded down: the timer would come too early
            due = math.nextafter(due, math.inf)
        return self._call_at_true_time(due, callback, arguments, copy_context() if context is None else context)

    def call_after(self, seconds: float, callback: Callable[[], object], context: Context) -> None:
        """Calls back after so many true seconds, in the context of no process."""
        _ = self._call_at_true_time(self.now + seconds, callback, (), context)

    def _call_at_true_time(
        self, due: float, callback: Callable[..., object], arguments: tuple[Any, ...], context: Context
    ) -> Callback:
        timer = Callback(callback, arguments, context, due)
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

    def create_task(  # type: ignore[override]
        self, work: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> NumberedTask:
        """Start a task, of the running process if its context has no other."""
        context = copy_context() if context is None else context
        process = context.get(PROCESS)
        if process is None:  # an empty context is of the same process all the same
            process = PROCESS.get()
            context.run(PROCESS.set, process)
        self._tasks += 1
        task = NumberedTask(self._tasks, work, loop=self, name=name, context=context)
        if process is not None:
            self._tasks_of.setdefault(process, []).append(task)
        return task

    def _run_once(self) -> None:
        """Run callbacks until the loop is stopped."""
        while not self._stopping:
            self._run_ready()

    def _run_ready(self) -> None:
        """Run the ready callbacks, or jump to the next timer."""
        due, ready = self._due, self._ready
        while due and due[0][2].callback is None:
            heapq.heappop(due)
        if not ready:
            if not due:
                raise EndlessError("Nothing is left that could happen.")
            self.now = max(self.now, due[0][0])
        while due and due[0][0] <= self.now:
            ready.append(heapq.heappop(due)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle.callback is None:
                continue
            process = handle.context.get(PROCESS)
            if process is not None and process.is_frozen:
                process.hold(handle)
                continue
            self._callbacks += 1
            try:
                handle.context.run(handle.callback, *handle.arguments)
            except Exception as error:  # noqa: BLE001 - as a loop does
                self.call_exception_handler({"message": f"Exception in {handle.callback}", "exception": error})
        if self._callbacks > MAX_CALLBACKS:
            raise EndlessError(f"More than {MAX_CALLBACKS} callbacks.")

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
