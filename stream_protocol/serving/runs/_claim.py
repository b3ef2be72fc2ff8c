"""Provides ``Claim``, which reserves a chat for a request or for the recovery of a run. The claim lasts until the run
has ended and is stored. ``Taken`` is the other result of an attempt to claim a chat."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_protocol.serving.base import ENGINE, RUN_LOG, SESSION_STORE, stopped_refusal, unreachable_refusal
from stream_protocol.serving.runs._run import LeaseLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Self

    from stream_protocol.serving.base import RunSlot, Tasks
    from stream_protocol.serving.run_logs import RunInfo, RunReader
    from stream_protocol.serving.runs._run import Run


@dataclass(frozen=True)
class Taken:
    """The result of an attempt to claim a chat that already has an active run."""

    run: RunInfo
    reader: RunReader | None = None
    """A reader of the active run's response. ``None`` unless the run's request has the same idempotency key."""


class NotRecordedError(Exception):
    """Raised if the engine could not store a new run. The run has not begun."""


class Claim:
    """Reserves a chat for one run. The end of a ``with`` block releases the claim, unless ``start`` was called.
    ``release``: function that frees the chat. ``tasks``: the set in which ``start`` keeps the task of the run."""

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
        """Releases the claim of the chat, unless ``start`` was called."""
        if self._execution is None:
            self.release()

    async def check_lease(self) -> None:
        """Raises ``ChatRequestError`` (503) if this worker has lost the lease of the chat, which is its right to change
        the chat. Must be called before the stored chat is changed. If this worker did not renew the lease in time,
        another worker may have accepted a message of the chat."""
        if not await self.run.holds_lease():
            raise unreachable_refusal(RUN_LOG)

    def hold(self, slot: RunSlot) -> None:
        """Keeps a slot until the claim is released. The slot counts toward the limits of runs: see ``RunSlots``."""
        log = self.run.log
        slot.used_until(lambda: log.closed)
        self._slots.append(slot)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a task for the run's work. The end of the task releases the claim."""
        self._execution = self._tasks.start(self._work(work))

    def release(self) -> None:
        """Frees the chat and the slots. Called once. After ``start``, the task calls this method at its end."""
        self._free_chat(self.run)
        while self._slots:  # without these references, the memory of a response is freed with its run
            self._slots.pop().free()

    async def wait_until_accepted(self) -> None:
        """Waits until the user's message is stored. With an engine, also waits until the engine has stored the run.

        If the run ends earlier, raises the reason: ``ChatRequestError`` with 409 after a stop, with 503 for an
        unreachable store, or the agent's exception.
        """
        assert self._execution is not None
        opened = asyncio.create_task(self.run.opened.wait())
        try:
            await asyncio.wait({opened, self._execution}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
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

        A cancelled run was waiting for the session store. So it is unknown if the message is stored. A retry of the
        client is safe, whether or not the message is stored.
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
