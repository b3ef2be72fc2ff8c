"""Provides ``Claim`` and ``Taken``."""

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
    """The result of an attempt to claim a chat that has an active run."""

    run: RunInfo
    reader: RunReader | None = None
    """A reader of the active run's response, if the run's request has the same idempotency key."""


class NotRecordedError(Exception):
    """Raised if the engine could not store a new run. The run has not begun."""


class Claim:
    """Reserves a chat for a request or a recovery, until the end of the run is stored. The end of a ``with`` block
    releases the claim, unless ``start`` was called. ``release``: function that ends the run's lease. ``tasks``:
    contains the task of the run."""

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
        """Raises ``ChatRequestError`` (503) if this worker has lost the right to change the chat. Another worker may
        then have accepted a message. So each change of the stored chat needs this check."""
        if not await self.run.holds_lease():
            raise unreachable_refusal(RUN_LOG)

    def hold(self, slot: RunSlot) -> None:
        """Keeps a slot within the limits of runs until the claim is released."""
        log = self.run.log
        slot.used_until(lambda: log.closed)
        self._slots.append(slot)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a task for the run's work. The end of the task releases the claim."""
        self._execution = self._tasks.start(self._work(work))

    def release(self) -> None:
        """Ends the run's lease, and frees the slots. Called once; after ``start`` only by the task."""
        self._free_chat(self.run)
        while self._slots:  # without these references, the memory of a response is freed with its run
            self._slots.pop().free()

    async def wait_until_accepted(self) -> None:
        """Waits until the user's message is stored. With an engine, also waits until the run is stored.

        If the run ends earlier, raises ``ChatRequestError`` (409 after a stop, 503 for an unreachable store), or the
        agent's exception.
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
        """Return the error for a request whose run has ended before the user's message was stored.

        A cancelled run was waiting for the session store, so it is unknown if the message is stored. The client can
        safely retry.
        """
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
