"""``DurableExecutor``: executes runs so that another worker can go on with them, with an ``Engine``."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from google.adk.agents.invocation_context import new_invocation_context_id

from stream_protocol.serving.base import ENGINE
from stream_protocol.serving.engine._engine import ToldEnd
from stream_protocol.serving.engine._isolation import Isolation
from stream_protocol.serving.engine._local_runs import DurableService, LocalRun, LocalRuns, is_away
from stream_protocol.serving.engine._orphaned_runs import OrphanedRuns
from stream_protocol.serving.engine._records import record_of
from stream_protocol.serving.engine._shown import has_finished
from stream_protocol.serving.runs import Executor, NotRecordedError
from stream_protocol.session.transcript import EventMetadata

if TYPE_CHECKING:
    from google.adk.sessions import Session

    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.engine._engine import Execution
    from stream_protocol.serving.runs import Claim, FoundOrphans, Job, Run

logger = logging.getLogger(__name__)


class DurableExecutor(Executor):
    """Executes runs with an engine, and recovers the orphaned runs of the deployment."""

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
        """Connects to the engine, and recovers orphaned runs from now on. Later calls do nothing."""
        await self._orphans.start()

    def drain(self) -> None:
        """Recovers no more runs. If this worker is killed from now on, no run is blamed for that."""
        self._orphans.drain()
        self._local.drain()

    async def aclose(self) -> None:
        """Recovers no more runs, and leaves the engine."""
        await self._local.aclose()
        await self._orphans.aclose()
        await self._engine.aclose()

    async def execute(self, run: Run, job: Job) -> None:
        """Executes a new run, so that another worker can go on with it.

        Raises ``NotRecordedError`` if the engine cannot record the run: nothing of it was done then.
        """
        with self._work.observed(run, job):
            if job.invocation_id is None:
                job = replace(job, invocation_id=new_invocation_context_id())
            record = record_of(run, job, self._service.deployment)
            local = LocalRun(record, run)

            async def held(execution: Execution) -> None:
                await self._local.note_record(local)
                held_job = job if record.refusal else job.with_runner(execution.runner)
                await self._work.do(run, held_job, held_job.events(run.abort_signal, run.idempotency_key))

            async with self._isolation.beside_others(run.is_ending):
                try:
                    await self._local.execute(local, self._engine.execute(record, self._service.runner, run.id, held))
                except Exception as error:
                    if local.is_kept:
                        raise
                    logger.exception("A request was refused: the engine could not record its run.")
                    raise NotRecordedError from error

    async def recover_same(self, key: ChatKey, claim: Claim) -> FoundOrphans:
        """Recovers the orphaned run that answers just this request, with the claim that the request has on its chat.

        Other orphaned runs of the chat stay as they are: only a new message ends them. See ``cancel`` and ``recover``.
        """
        return await self._store.with_timeout(self._recover_same(key, claim), of=ENGINE)

    async def recover(self, key: ChatKey) -> None:
        """Recovers the orphaned runs of the chat, for a request that waits for their end."""
        await self._store.with_timeout(self._recover(key), of=ENGINE)

    async def cancel(self, key: ChatKey) -> None:
        """Ends the orphaned runs of the chat, which is claimed."""
        await self._store.with_timeout(self._cancel(key), of=ENGINE)

    async def stop(self, key: ChatKey) -> bool:
        """Stops the run of the chat, and its orphaned runs. Returns whether there was anything.

        No worker executes any of these runs again, even if this worker or the worker of a run dies. A worker that
        recovers such a run only stores its end.
        """
        return await self._store.with_timeout(self._stop(key), of=ENGINE)

    async def lacks_message(self, key: ChatKey, session: Session) -> bool:
        """Returns whether an orphaned run of the chat has not stored what its request says. Without the engine nobody
        knows.
        """
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
        """Waits up to so many seconds until the chat has no such run."""
        try:
            async with asyncio.timeout(seconds):
                await self._wait_until_recovered(key)
        except Exception as error:
            if not is_away(error):
                raise

    async def wait_until_recovered(self, key: ChatKey) -> bool:
        """Waits until the chat has no orphaned run, for a page that resumes. Returns ``True``."""
        await self._store.with_timeout(self._wait_until_recovered(key), of=ENGINE)
        return True

    async def _recover_same(self, key: ChatKey, claim: Claim) -> FoundOrphans:
        others, idempotency_key = False, claim.run.idempotency_key
        for each in self._local.in_chat(key):  # it has lost the chat's lease, and is about to be left
            if each.record.idempotency_key == idempotency_key:
                await each.is_over.wait()
        for orphan in await self._orphans.in_chat(key):
            if orphan.record.idempotency_key != idempotency_key:
                others = True
            elif await self._orphans.recover(claim, orphan):
                return "recovered"
        return "others" if others or self._local.in_chat(key) else "none"

    async def _recover(self, key: ChatKey) -> None:
        for each in self._local.in_chat(key):
            await each.is_over.wait()
        for orphan in await self._orphans.in_chat(key):
            await self._orphans.claim_and_recover(orphan)

    async def _cancel(self, key: ChatKey) -> None:
        for each in self._local.in_chat(key):
            await self._engine.cancel(each.record)
        if (orphans := await self._orphans.in_chat(key)) and await self._has_chat(key):
            for orphan in orphans:
                await self._engine.cancel(orphan.record)

    async def _stop(self, key: ChatKey) -> bool:
        beginning = await self._runs.not_accepted_yet(key)
        local, reading = self._local.in_chat(key), asyncio.create_task(self._orphans.in_chat(key))
        try:
            # What begins from now on is not meant. But an engine that does not answer keeps nobody from stopping a run.
            await asyncio.wait({reading}, timeout=self._times.engine)
            stopped = await self._runs.stop(key)
            orphans = await reading
        finally:
            reading.cancel()
        for each in local:
            await self._local.mark_ended(each)
        if beginning is not None:  # its record may have been written since
            await self._runs.wait_until_accepted(key, beginning)
            orphans = [
                *orphans,
                *(orphan for orphan in await self._orphans.in_chat(key) if orphan.record.id == beginning),
            ]
        if is_ours := bool(orphans) and await self._has_chat(key):
            # One that has finished only needs to be forgotten: its calls may wait for the user.
            orphans = [each for each in orphans if not has_finished(await self._runs.written(key, each.log_id))]
            for orphan in orphans:
                if orphan.told_end is None:
                    await self._engine.mark(orphan.record, orphan.log_id, ToldEnd("stopped"))
            # Another worker may have begun to recover one of them before that.
            await self._runs.stop_if_answering(key, {orphan.record.idempotency_key for orphan in orphans})
        return is_ours or stopped or bool(local)

    async def _wait_until_recovered(self, key: ChatKey) -> None:
        deadline = asyncio.get_running_loop().time() + self._times.recovery
        while asyncio.get_running_loop().time() < deadline and await self._orphans.in_chat(key):
            if await self._runs.is_open(key):
                return
            await asyncio.sleep(self._times.recovery_check)

    async def _has_chat(self, key: ChatKey) -> bool:
        return await self._store.session_without_events(key) is not None
