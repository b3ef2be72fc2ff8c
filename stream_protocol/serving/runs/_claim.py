"""Provides ``Claim`` and ``Taken``. A ``Claim`` is the right to begin a run in a chat. A request gets a ``Taken``
instead if the chat has an active run.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_protocol.serving.base import (
    ENGINE,
    RUN_LOG,
    SESSION_STORE,
    stopped_refusal,
    unreachable_refusal,
    wait_for_first,
)
from stream_protocol.serving.runs._run import LeaseLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Self

    from stream_protocol.serving.base import RunSlot, Tasks
    from stream_protocol.serving.run_logs import RunInfo, RunReader
    from stream_protocol.serving.runs._run import Run


@dataclass(frozen=True)
class Taken:
    """The active run of a chat, found by a request that tried to claim the chat."""

    run: RunInfo
    reader: RunReader | None = None
    """A reader of the active run's response, if the run's request has the same idempotency key."""


class NotRecordedError(Exception):
    """Raised if the engine could not store a new run. The agent was not started."""


class Claim:
    """Reserves a chat for a request or a recovery, until the end of the run is stored.

    Use a claim in a ``with`` statement, which releases the claim at the end unless ``start`` was called. ``release``:
    function that ends the lease of the run: its right to be the chat's only active run. ``tasks``: the set to which the
    task of the run is added.
    """

    def __init__(self, run: Run, release: Callable[[Run], None], tasks: Tasks) -> None:
        self.run = run
        self._free_chat = release
        self._tasks = tasks
        self._slots: list[RunSlot] = []
        self._execution: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        if self._execution is None:
            self.release()

    async def check_lease(self) -> None:
        """Raises ``ChatRequestError`` (503) if this worker has lost the right to change the chat. Call this method
        before each change of the stored chat.
        """
        if not await self.run.holds_lease():
            raise unreachable_refusal(RUN_LOG)

    def hold(self, slot: RunSlot) -> None:
        """Keeps a slot, a place within the limits of active runs, until the claim is released."""
        log = self.run.log
        slot.used_until(lambda: log.closed)
        self._slots.append(slot)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a task that executes ``work``. The claim is released at the end of the task."""
        self._execution = self._tasks.start(self._work(work))

    def release(self) -> None:
        """Ends the lease of the run (its right to be the chat's only active run), and frees the slots. Must be called
        only once.
        """
        self._free_chat(self.run)
        while self._slots:  # without these references, the memory of a response is freed with its run
            self._slots.pop().free()

    async def wait_until_accepted(self) -> None:
        """Waits until the user's message is stored. With an engine, also waits until the engine has stored the run.

        If the run ends before that, raises the exception of the agent, or ``ChatRequestError``. The status is 409 after
        a stop, and 503 for an unreachable store.
        """
        assert self._execution is not None
        await wait_for_first(self.run.opened.wait(), asyncio.wait({self._execution}))
        if not self.run.is_open:
            raise self._failure(self._execution)

    async def _work(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            try:
                await self.run.steering.close()  # even a run that has not begun may have steering messages
            finally:
                self.release()

    def _failure(self, execution: asyncio.Task[None]) -> BaseException:
        """Return the error for a request if its run has ended before the user's message was stored."""
        failure = None if execution.cancelled() else execution.exception()
        match failure or self.run.observer.error:
            case None if self.run.was_left:
                return unreachable_refusal(ENGINE)
            case None if execution.cancelled():
                return unreachable_refusal(SESSION_STORE)
            case None:
                return stopped_refusal()
            case NotRecordedError():
                return unreachable_refusal(ENGINE)
            case LeaseLostError():
                return unreachable_refusal(RUN_LOG)
            case error:
                return error
