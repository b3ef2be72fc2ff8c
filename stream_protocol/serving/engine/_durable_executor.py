"""Provides ``DurableExecutor``, which executes runs with an engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from google.adk.agents.invocation_context import new_invocation_context_id

from stream_protocol.serving.base import ENGINE, abandon, closing_refusal
from stream_protocol.serving.engine._isolation import Isolation
from stream_protocol.serving.engine._local_runs import DurableService, LocalRun, LocalRuns, is_away
from stream_protocol.serving.engine._orphaned_runs import OrphanedRuns
from stream_protocol.serving.engine._records import record_of
from stream_protocol.serving.runs import Executor, NotRecordedError
from stream_protocol.session.transcript import EventMetadata

if TYPE_CHECKING:
    from google.adk.sessions import Session

    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.engine._engine import Execution, OrphanedRun
    from stream_protocol.serving.runs import Claim, FoundOrphans, Job, Run

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)


def _of_engine(
    method: Callable[Concatenate[DurableExecutor, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[DurableExecutor, P], Coroutine[Any, Any, T]]:
    """Decorator for a method: raise ``ChatRequestError`` (503) if the engine does not respond in time."""

    @wraps(method)
    async def limited(self: DurableExecutor, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._store.with_timeout(method(self, *args, **kwargs), of=ENGINE)

    return limited


class DurableExecutor(Executor):
    """Executes runs with an engine, which stores unfinished runs. If a worker of the deployment dies, recovers its
    runs.
    """

    def __init__(self, service: DurableService) -> None:
        super().__init__(service.runs, service.work)
        service.engine.attach(service.deployment)
        self._service = service
        self._engine = service.engine
        self._store = service.store
        self._times = service.times
        self._isolation = Isolation(service.times.alone)
        self._local = LocalRuns(service)
        self._orphans = OrphanedRuns(service, self._local, self._isolation)

    async def start(self) -> None:
        await self._orphans.start()

    def drain(self) -> None:
        """Stops recovering the runs of other workers. If this worker is killed after this call, its runs do not count
        as crashed.
        """
        self._orphans.drain()
        self._local.drain()

    async def aclose(self) -> None:
        await self._local.aclose()
        await self._orphans.aclose()
        await self._engine.aclose()

    async def execute(self, run: Run, job: Job) -> None:
        """Executes a new run. If this worker dies, another worker can recover the run.

        If the engine cannot store the run, raises ``NotRecordedError`` before the run begins. If this worker has lost
        the lease of the chat (the right to run an agent in it), returns before the run begins.
        """
        with self._work.observed(run, job):
            if job.invocation_id is None:
                job = job.changed(invocation_id=new_invocation_context_id())
            record = record_of(run, job, self._service.deployment)
            run.belong_to(record.id)
            local = LocalRun(record, run)

            async def work(execution: Execution) -> None:
                if await self._local.may_begin(local):
                    durable = job if record.refusal else job.with_runner(execution.runner)
                    await self._work.do(run, durable, durable.events(run))

            async with self._isolation.beside_others(run.agent_task.is_ending):
                try:
                    await self._local.execute(local, self._engine.execute(record, self._service.runner, run.id, work))
                except Exception as error:
                    if local.is_kept:
                        raise
                    logger.exception("A request was refused: the engine could not record its run.")
                    raise NotRecordedError from error

    @_of_engine
    async def recover_same(self, key: ChatKey, claim: Claim) -> FoundOrphans:
        others, idempotency_key = False, claim.run.idempotency_key
        for each in self._local.in_chat(key):  # such a run has lost the chat's lease, and becomes an orphaned run
            if each.record.idempotency_key == idempotency_key:
                await each.is_over.wait()
        for orphan in await self._orphans.in_chat(key):
            if orphan.record.idempotency_key != idempotency_key:
                others = True
            elif await self._orphans.recover(claim, orphan):
                return "recovered"
        return "others" if others or self._local.in_chat(key) else "none"

    @_of_engine
    async def recover(self, key: ChatKey) -> None:
        for each in self._local.in_chat(key):
            await each.is_over.wait()
        for orphan in await self._orphans.in_chat(key):
            await self._orphans.claim_and_recover(orphan)

    @_of_engine
    async def cancel(self, key: ChatKey) -> None:
        for each in self._local.in_chat(key):
            await self._engine.cancel(each.record)
        for orphan in await self._in_stored_chat(key):
            await self._engine.cancel(orphan.record)

    @_of_engine
    async def stop(self, key: ChatKey) -> bool:
        """Stops the active run of the chat, and all orphaned runs: unfinished runs of dead workers. Returns False if
        the chat had no run.

        When this method returns, the engine has stored the stop, so no worker executes a stopped run again. A worker
        that recovers a stopped run only stores its end. Runs that begin later are not stopped.
        """
        unfinished: list[LocalRun | OrphanedRun] = [*self._local.in_chat(key)]
        reading = asyncio.create_task(self._in_stored_chat(key))
        try:
            # An unreachable engine must not delay the stop of the active run.
            await asyncio.wait({reading}, timeout=self._times.engine)
            active = await self._runs.stop(key)
            unfinished += await reading
        finally:
            abandon(reading)
        known = {each.record.idempotency_key for each in unfinished}
        if active is not None and (active.phase == "claimed" or active.idempotency_key not in known):
            await self._runs.wait_until_accepted(key, active.run_id)  # the engine may have stored this run since
            unfinished += [each for each in await self._in_stored_chat(key) if each.record.id == active.run_id]
        ends = [(each.record.idempotency_key, await self._local.ends.store(each)) for each in unfinished]
        # Another worker may have begun to recover one of these runs before the engine stored the stop.
        await self._runs.stop_recovery(key, {stopped for stopped, end in ends if end.outcome != "finish"})
        return active is not None or bool(unfinished)

    async def lacks_message(self, key: ChatKey, session: Session) -> bool:
        """See ``Executor.lacks_message``. Returns False if the engine is unreachable."""
        try:
            async with asyncio.timeout(self._times.engine):
                orphans = await self._orphans.in_chat(key)
        except Exception as error:
            if not is_away(error):
                raise
            return False
        stored = {EventMetadata.of(event).idempotency_key for event in session.events} if orphans else set()
        return any(orphan.record.idempotency_key not in stored for orphan in orphans)

    async def wait_for_message(self, key: ChatKey, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wait_until_recovered(key)
        except Exception as error:
            if not is_away(error):
                raise

    async def wait_until_recovered(self, key: ChatKey) -> bool:
        """Waits until the chat has no orphaned run (an unfinished run of a dead worker), or has a running response.
        Waits at most ``ServiceTimes.recovery`` seconds. Always returns True.
        """
        await self._store.with_timeout(self._wait_until_recovered(key), of=ENGINE)
        return True

    async def _wait_until_recovered(self, key: ChatKey) -> None:
        deadline = asyncio.get_running_loop().time() + self._times.recovery
        while asyncio.get_running_loop().time() < deadline and await self._orphans.in_chat(key):
            if await self._runs.is_open(key):
                return
            if self._runs.is_closed:
                raise closing_refusal()
            await asyncio.sleep(self._times.recovery_check)

    async def _in_stored_chat(self, key: ChatKey) -> Sequence[OrphanedRun]:
        """Return the orphaned runs of the chat. Return an empty sequence if the session store lacks the chat."""
        orphans = await self._orphans.in_chat(key)
        return orphans if orphans and await self._store.session_without_events(key) is not None else ()
