"""Provides ``LocalRuns``, the durable runs of this worker."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from stream_protocol.serving.base import HookTimeoutError, Tasks
from stream_protocol.serving.engine._run_ends import RunEnds, log_absence
from stream_protocol.serving.errors import is_unreachable
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from google.adk.runners import Runner

    from stream_protocol.serving.base import ServiceTimes
    from stream_protocol.serving.chats import ChatKey, ChatStore
    from stream_protocol.serving.engine._engine import Deployment, Engine, LiveState, RunRecord
    from stream_protocol.serving.runs import ActiveRuns, Planner, Run, RunWork


@dataclass(frozen=True, kw_only=True)
class DurableService:
    """The objects that the durable runs of one service use. Workers recover only runs of their own ``deployment``."""

    engine: Engine
    runner: Runner
    deployment: Deployment
    runs: ActiveRuns
    store: ChatStore
    planner: Planner
    work: RunWork
    times: ServiceTimes


class LocalRun:
    """One execution of a durable run on this worker. ``earlier``: the run id (in the run log) of the previous
    execution; ``None`` for a new run.
    """

    def __init__(self, record: RunRecord, run: Run, *, earlier: str | None = None) -> None:
        self.record = record
        self.run = run
        self.earlier = earlier
        self.is_over = asyncio.Event()
        """Set when this worker has ended the run, or has left it to other workers."""
        self.is_kept = False
        """True once the run may begin: the engine has stored this execution, and this worker has the right to execute
        the run."""
        self.has_record = asyncio.Event()
        """Set when the engine has stored the run, in this execution or in an earlier one."""
        if earlier is not None:
            self.has_record.set()

    @property
    def key(self) -> ChatKey:
        return self.record.key

    @property
    def log_id(self) -> str:
        return self.run.id

    @property
    def is_recorded(self) -> bool:
        """True if the engine has stored this execution of the run."""
        return self.is_kept or (self.earlier is None and self.has_record.is_set())

    def keep(self) -> None:
        self.has_record.set()
        self.is_kept = True


class LocalRuns:
    """The durable runs of this worker. Reports their states to the engine.

    A failed report of an end is repeated. Until the report succeeds, the chat can have no other run, because another
    worker could continue the ended run.
    """

    def __init__(self, service: DurableService) -> None:
        self._engine = service.engine
        self._runs = service.runs
        self._times = service.times
        self._local: dict[LocalRun, asyncio.Task[None]] = {}
        """The runs of this worker, each with the task that stores the run's end in the engine."""
        self._tasks = Tasks()
        self._draining = False
        self._closed = asyncio.Event()
        self.ends = RunEnds(service, self._closed)

    def in_chat(self, key: ChatKey) -> list[LocalRun]:
        return [local for local in self._local if local.key == key]

    def drain(self) -> None:
        """Stores in the engine that other workers may continue all runs of this worker. If this worker is killed later,
        its runs do not count as crashed.
        """
        self._draining = True
        for local in self._local:
            _ = self._tasks.start(self._mark(local, "left"))

    async def aclose(self) -> None:
        """Ends the reports to the engine. Waits up to ``ServiceTimes.engine`` seconds for unfinished reports, then
        cancels them.
        """
        self._closed.set()
        if not (tasks := [*self._tasks]):
            return
        await asyncio.wait(tasks, timeout=self._times.engine)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def execute(self, local: LocalRun, execution: Coroutine[None, None, None]) -> None:
        """Executes a run, and reports its state to the engine.

        - A stop is stored immediately, so that no worker executes the run again.
        - An ended run is deleted from the engine.
        - A run that other workers continue is marked as ``left``.

        A run may lose the lease of the chat (its right to be the only active run) before it begins. If it is a new run,
        it is deleted. If it is a recovered run, it stays in the engine, and other workers recover it.
        """
        run, task = local.run, asyncio.current_task()
        assert task is not None
        reporting = self._local[local] = self._tasks.start(self.ends.report(local, task))
        ending: asyncio.Task[None] | None = None
        try:
            await execution
        finally:
            del self._local[local]
            local.is_over.set()
            if run.was_left:
                ending = self._tasks.start(self._mark(local, "left"))
            elif local.is_kept and run.outcome not in (None, "finish") and not await run.holds_lease():
                ending = reporting  # this worker could not store the end; the worker with the chat's lease stores it
            elif local.is_kept or (run.log.closed and await run.holds_lease()):
                ending = self._tasks.start(self._forget_ended(local))
            elif local.earlier is None:  # the request is refused, but the engine may have stored the run
                _ = self._tasks.start(self.ends.repeat(local.record, partial(self._forget_refused, local)))
            if ending is not reporting:
                reporting.cancel()
            if ending is not None:
                await asyncio.shield(ending)

    async def may_begin(self, local: LocalRun) -> bool:
        """Records that the engine has stored a new run, so that other workers can recover it. Returns True if the run
        may begin.

        Returns False if this worker has lost the lease of the chat: the right to run an agent in it. Another run may
        then have answered the request.
        """
        local.has_record.set()
        if self._draining:  # `drain` was called before the engine had stored the run
            _ = self._tasks.start(self._mark(local, "left"))
        if not await local.run.holds_lease():
            return False
        local.keep()
        local.run.allow_recovery()
        if local.run.agent_task.abort_signal.is_set():  # the stop came before the run was stored
            await asyncio.shield(self._local[local])
        return True

    async def forget(self, record: RunRecord) -> None:
        await self.ends.repeat(record, partial(self._engine.cancel, record))

    async def _forget_ended(self, local: LocalRun) -> None:
        """Delete an ended run of this worker from the engine. If another worker has begun to recover the run, delete it
        only if it ended with ``finish``.
        """
        is_finished = local.run.outcome == "finish"
        cancel = partial(self._engine.cancel, local.record) if is_finished else partial(self._cancel_if_newest, local)
        await self.ends.repeat(local.record, partial(cancel, has_ended=True))

    async def _cancel_if_newest(self, local: LocalRun, *, has_ended: bool = False) -> None:
        """Delete the run from the engine, unless another worker has begun to execute it again."""
        for orphan in await self._engine.unfinished(local.key):
            if orphan.record.id == local.record.id and orphan.log_id in (local.log_id, local.earlier):
                await self._engine.cancel(local.record, has_ended=has_ended)

    async def let_others_in(self, local: LocalRun) -> None:
        """Stores in the engine that the run ``local`` is no longer the only run of this worker. A crash of the worker
        may then have another cause.
        """
        while not self._draining and not local.run.agent_task.is_ending.is_set():
            with suppress(Exception):  # without the engine, no other run can begin
                await self._engine.mark(local.record, local.log_id, "running")
                return
            await asyncio.sleep(self._times.forgetting)

    async def _mark(self, local: LocalRun, state: LiveState) -> None:
        if not local.is_recorded or self._closed.is_set():
            return
        try:
            await self._engine.mark(local.record, local.log_id, state)
        except Exception as error:  # noqa: BLE001 - a worker that shuts down does not retry
            log_absence(f"Run {local.record.id} may be counted as one that has crashed its worker.", error)

    async def _forget_refused(self, local: LocalRun) -> bool:
        """Delete the run of a refused request, unless another worker executes it again. If the chat has an active run,
        delete nothing and return False.
        """
        claim = await self._runs.claim_free(local.key, local.record.idempotency_key)
        if claim is None:
            return False
        with claim:  # the claim prevents a recovery of the run
            await self._cancel_if_newest(local)
        return True


def is_away(error: Exception) -> bool:
    """Return True if the error means that a store is unreachable. A later attempt may then succeed."""
    return is_unreachable(error) or isinstance(error, (RunLogError, ChatRequestError, HookTimeoutError))
