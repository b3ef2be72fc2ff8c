"""Provides ``OrphanedRuns``, which finds and recovers the runs of dead workers."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextvars import Context
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from stream_protocol.serving.adk_runner import with_sessions
from stream_protocol.serving.base import RunOverrides
from stream_protocol.serving.engine._local_runs import is_away
from stream_protocol.serving.engine._records import planned_again
from stream_protocol.serving.engine._recovery import Recovery, RecoveryTools
from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
from stream_protocol.serving.engine._run_ends import log_absence
from stream_protocol.serving.errors import log_error
from stream_protocol.session import NothingToRun
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.engine._engine import OrphanedRun, RunRecord
    from stream_protocol.serving.engine._isolation import Isolation
    from stream_protocol.serving.engine._local_runs import DurableService, LocalRuns
    from stream_protocol.serving.runs import Claim

logger = logging.getLogger(__name__)

Result: TypeAlias = Literal["recovered", "over", "absent"]
"""Result of a recovery. ``recovered``: the run's response continues. ``over``: the run has ended, or its request can be
sent again. ``absent``: this session store does not have the chat."""

UNRECOVERABLE_TEXT: Final = "The server broke down, and this answer cannot be recovered. Ask again."
"""Error text for the client after ``MAX_FAILURES`` failed recoveries."""

MAX_FAILURES: Final = 5
"""The maximum number of failed recoveries of a run on this worker. Failures because of an unreachable store do not
count."""


class OrphanedRuns:
    """Finds and recovers the orphaned runs of a service: unfinished runs of dead workers."""

    def __init__(self, service: DurableService, local: LocalRuns, isolation: Isolation) -> None:
        self._service = service
        self._isolation = isolation
        self._engine = service.engine
        self._runner = service.runner
        self._runs = service.runs
        self._times = service.times
        self._tools = RecoveryTools(service=service, local=local, isolation=isolation, note_failure=self._note_failure)
        self._absent: set[str] = set()
        """The ids (``RunRecord.id``) of runs whose chats are not in this session store."""
        self._failures = Counter[str]()
        """The number of failed recoveries on this worker, by ``RunRecord.id``."""
        self._postponed = set[str]()
        """The ids of runs whose recovery failed because of an unreachable store."""
        self._suspects: dict[str, float] = {}
        """The time at which this worker first found each suspect run: see ``OrphanedRun.is_suspect``."""
        self._watching: asyncio.Task[None] | None = None
        self._draining = False

    async def start(self) -> None:
        await self._engine.start()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), context=Context())

    def drain(self) -> None:
        self._draining = True

    async def aclose(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def in_chat(self, key: ChatKey | None = None) -> Sequence[OrphanedRun]:
        """Return the unfinished runs of a chat, except runs that this worker executes.

        ``key``: the chat; ``None`` for all chats.
        """
        await self.start()
        return [orphan for orphan in await self._engine.unfinished(key) if orphan.record.id not in self._absent]

    async def claim_and_recover(self, orphan: OrphanedRun) -> None:
        """Claims the chat of a run, and recovers the run. Does nothing if the chat has an active run."""
        record = orphan.record
        key = record.key
        claim = await self._runs.claim_free(key, record.idempotency_key)
        if claim is None:
            return
        with claim:
            # Another worker may have recovered and ended the run since.
            now = next((left for left in await self.in_chat(key) if left.record.id == record.id), None)
            if now is not None:
                try:
                    await self.recover(claim, now)
                except Exception as error:
                    if is_away(error):
                        self._postponed.add(record.id)
                        raise  # the store may also be unreachable for all other runs
                    self._note_failure(record, error)

    async def recover(self, claim: Claim, orphan: OrphanedRun) -> bool:
        """Recovers a run. Returns False if the run cannot continue. ``claim``: this worker's right to execute a run in
        the chat.
        """
        record = orphan.record
        match await self._recover(claim, orphan):
            case "recovered":
                return True
            case "over":
                await self._engine.cancel(record)
            case "absent":
                self._absent.add(record.id)
                logger.warning("Run %s is left alone: its chat is not in this session store.", record.id)
        return False

    async def _recover(self, claim: Claim, orphan: OrphanedRun) -> Result:
        """Start the recovery of a run. If the run cannot continue, store nothing."""
        record, run = orphan.record, claim.run
        is_hopeless = orphan.is_given_up or self._failures[record.id] >= MAX_FAILURES
        session = await self._service.store.look_up(record.key)
        if session is None:
            return "absent"
        sessions = ResumedSessions(self._runner.session_service, session, record)
        if sessions.is_over or sessions.lacks_rewind:
            return "over"
        request, request_plan, refusal = await planned_again(
            self._runner, record, sessions, loads_files=not is_hopeless
        )
        refusal = UNRECOVERABLE_TEXT if is_hopeless else refusal
        if isinstance(request_plan, NothingToRun) or (refusal is not None and not sessions.has_input):
            return "over"  # the user's message is not stored, so the request was not accepted and can be sent again
        run.continue_message(request)
        overrides = RunOverrides(state_delta=record.state_delta, artifact_base=record.artifact_base)
        runner = with_sessions(self._runner, sessions)
        job = self._service.planner.job(request, request_plan, sessions.found, overrides, runner, lambda _: run.open())
        run.belong_to(record.id)
        run.allow_recovery()
        if sessions.has_input:
            run.open()
        claim.start(Recovery(self._tools, run, job, orphan, sessions, refusal).execute())
        return "recovered"

    async def _watch(self) -> None:
        told = False
        while True:
            try:
                if not self._draining:
                    await self._look()
                told = False
            except ChatRequestError:
                pass  # the run log is unreachable, which is logged, or this worker shuts down
            except Exception as error:
                away = is_away(error)
                if not away:
                    logger.exception("Runs that were left by their worker could not be looked for.")
                elif not told:
                    log_absence("Runs that were left by their worker cannot be looked for just now.", error)
                told = away
            await asyncio.sleep(self._times.look)

    async def _look(self) -> None:
        found = await self.in_chat()
        self._forget_others(orphan.record.id for orphan in found)
        orphans = {orphan.record.key: orphan for orphan in found}
        free = await self._runs.without_run(list(orphans)) if orphans else set()
        for key in sorted((key for key in orphans if key in free), key=lambda key: self._order(orphans[key])):
            if self._isolation.holds_back:
                return
            if self._may_recover(orphans[key]):
                await self.claim_and_recover(orphans[key])
                await asyncio.sleep(0)  # lets the task of the recovery begin

    def _order(self, orphan: OrphanedRun) -> tuple[bool, bool]:
        """Return the sort key of a run. Runs that may crash their worker come first. A run comes last if its last
        recovery failed because of an unreachable store.
        """
        return orphan.record.id in self._postponed, not orphan.is_suspect

    def _may_recover(self, orphan: OrphanedRun) -> bool:
        """Return True if this worker may recover the run now.

        If the run may crash its worker, a busy worker waits ``ServiceTimes.suspect`` seconds, so that an idle worker
        can recover the run first.
        """
        if not orphan.is_suspect or orphan.is_given_up or self._isolation.is_empty:
            return True
        now = asyncio.get_running_loop().time()
        return now >= self._suspects.setdefault(orphan.record.id, now) + self._times.suspect

    def _forget_others(self, found: Iterable[str]) -> None:
        left = {*found}
        self._postponed &= left
        for noted in (self._suspects, self._failures):
            for record_id in noted.keys() - left:
                del noted[record_id]

    def _note_failure(self, record: RunRecord, error: Exception) -> None:
        if record.id not in self._failures:
            logger.error("Run %s of chat %s could not be recovered. It is tried again.", record.id, record.chat_id)
            log_error(logger, error)
        self._failures[record.id] += not is_away(error)
