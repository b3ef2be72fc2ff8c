"""Provides ``Recovery``, which executes the run of a dead worker again. But if the client has already received the end
of the response, ``Recovery`` only stores this end.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from google.adk.events import Event

from stream_protocol.adk import read
from stream_protocol.serving.engine._engine import OtherVersionError, ToldEnd
from stream_protocol.serving.engine._local_runs import LocalRun, is_away
from stream_protocol.serving.engine._repeated_run import RepeatedRun
from stream_protocol.serving.engine._shown import as_log, shown_before, texts_in, unfinished_texts
from stream_protocol.serving.telemetry import count_failed_recovery, recoveries
from stream_protocol.session import for_client_only
from stream_protocol.stream import RunLimitError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence

    from stream_protocol.serving.engine._engine import Execution, OrphanedRun, RunRecord
    from stream_protocol.serving.engine._isolation import Isolation
    from stream_protocol.serving.engine._local_runs import DurableService, LocalRuns
    from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
    from stream_protocol.serving.runs import Job, Run

logger = logging.getLogger(__name__)

OTHER_VERSION_TEXT: Final = "The server was updated, and this answer cannot be gone on with. Ask again."
"""Error text for the client if another version of the agents has begun the run."""

CRASHES_TEXT: Final = "The server broke down several times during this answer, and has given it up. Ask in another way."
"""Error text for the client if the run has crashed several workers."""


@dataclass(frozen=True, kw_only=True)
class RecoveryTools:
    """The objects that all recoveries of a service use. ``note_failure``: function that is called after a failed
    recovery.
    """

    service: DurableService
    local: LocalRuns
    isolation: Isolation
    note_failure: Callable[[RunRecord, Exception], None]


class Recovery:
    """The recovery of one run of a dead worker.

    ``run``: the new execution of the run. ``refusal``: the error text for the client if the run cannot be executed
    again; otherwise ``None``.
    """

    def __init__(
        self,
        tools: RecoveryTools,
        run: Run,
        job: Job,
        orphan: OrphanedRun,
        sessions: ResumedSessions,
        refusal: str | None,
    ) -> None:
        self._tools = tools
        self._run = run
        self._job = replace(job, invocation_id=orphan.record.invocation_id)
        self._orphan = orphan
        self._record = orphan.record
        self._sessions = sessions
        self._refusal = refusal
        self._local = LocalRun(orphan.record, run, earlier=orphan.log_id)

    async def execute(self) -> None:
        """Recovers the run. Must be called in a separate task."""
        first_run = (self._record.id, self._record.trace)
        with self._tools.service.work.observed(self._run, self._job, first_run=first_run):
            await self._execute()

    async def _execute(self) -> None:
        orphan, isolation, ending = self._orphan, self._tools.isolation, self._run.agent_task.is_ending
        end = await self._tools.local.ends.find(orphan)
        if self._run.was_left:
            return
        self._run.output.add_earlier(shown_before(end, self._sessions.earlier))
        if end is not None and end.outcome in ("error", "timeout") and not self._run.is_open:
            await self._in_turn(self._discard())
        elif end is not None:
            await self._in_turn(self._end_as_told(end))
        elif orphan.is_given_up:
            await self._in_turn(self._refuse(CRASHES_TEXT, "crashes"))
        elif reason := self._record.refusal or self._refusal:
            await self._in_turn(self._refuse(reason, "refused"))
        elif orphan.is_suspect:
            let_in = partial(self._tools.local.let_others_in, self._local)
            async with isolation.alone(ending, let_in) as alone:
                if not self._run.was_left:
                    await self._in_turn(self._execute_again(alone=alone))
        else:
            async with isolation.beside_others(ending):
                if not self._run.was_left:
                    await self._in_turn(self._execute_again(alone=False))

    async def _in_turn(self, execution: Coroutine[None, None, None]) -> None:
        await self._tools.local.execute(self._local, execution)

    async def _execute_again(self, *, alone: bool) -> None:
        record, run, is_fenced = self._record, self._run, False

        async def held(execution: Execution) -> None:
            nonlocal is_fenced
            self._local.keep()
            if run.was_left:
                return
            await self._sessions.fence(self._run.id)
            is_fenced = True
            logger.info("Run %s of chat %s is recovered.", record.id, record.chat_id)
            recoveries.add(1)
            repeated_run = RepeatedRun(self._sessions, execution, await self._logs(), run.log)
            job = self._job.with_runner(execution.runner)
            run.steering.begin(self._sessions.accepted, taken_in=self._sessions.steering, earlier=repeated_run)
            await self._tools.service.work.do(run, job, repeated_run.shown(job.events(run)))

        try:
            await self._tools.service.engine.execute_again(
                record, self._tools.service.runner, run.id, held, alone=alone
            )
            if not self._local.is_kept:
                run.leave()  # another worker has ended the run
        except OtherVersionError:
            if not run.is_open:
                return await self._discard()
            await self._refuse(OTHER_VERSION_TEXT, "other_version")
        except Exception as error:
            if is_fenced:
                raise
            run.leave()  # the engine or the session store is unreachable now; the run is unchanged
            self._tools.note_failure(record, error)

    async def _discard(self) -> None:
        """Delete a run if its user message is not stored. The client can send the request again."""
        await self._tools.local.forget(self._record)
        self._run.leave()

    async def _refuse(self, text: str, reason: str) -> None:
        """End the run with an error, and do not execute it again. The client gets the stored part of the message, then
        the error.
        """
        record = self._record
        if await self._fence():
            if reason == "crashes":
                given_up = "Run %s of chat %s is given up: %d workers have crashed while they executed it."
                logger.error(given_up, record.id, record.chat_id, self._orphan.crashes)
            else:
                ended = "Run %s of chat %s is ended in place of being recovered: %s"
                logger.error(ended, record.id, record.chat_id, text)
            count_failed_recovery(reason)
            await self._end(ToldEnd("error", text))

    async def _end_as_told(self, end: ToldEnd) -> None:
        """Store the end that the client has received, because the session does not have it."""
        if await self._fence():
            ended = "Run %s of chat %s had ended (%s). Its end is stored."
            logger.info(ended, self._record.id, self._record.chat_id, end.outcome)
            if end.error_text:
                self._run.repeat_error_text(end.error_text)
            await self._end(end)

    async def _end(self, end: ToldEnd) -> None:
        logs = await self._logs()
        events = _ending(self._job, logs, self._run, self._sessions, end)
        await self._tools.service.work.do(self._run, self._job, events)

    async def _fence(self) -> bool:
        """Make the session store refuse later events of the dead worker: see ``ResumedSessions.fence``. Return False if
        this worker must leave the run to other workers.
        """
        try:
            await self._sessions.fence(self._run.id)
        except Exception as error:  # noqa: BLE001 - any error of the store
            self._tools.note_failure(self._record, error)
            if is_away(error):
                self._run.leave()
        self._run.allow_recovery(allowed=False)
        return not self._run.was_left

    async def _logs(self) -> list[list[bytes]]:
        runs = self._tools.service.runs
        return [await runs.written(self._record.key, log_id) for log_id in self._sessions.executions]


async def _ending(
    job: Job, logs: Sequence[list[bytes]], run: Run, sessions: ResumedSessions, end: ToldEnd
) -> AsyncGenerator[Event]:
    """End a run without a new execution. Yield an empty event with the invocation id, then the stored events of the
    run, then its last partial texts. A partial text is the text of a model call during which a worker died.

    ``logs``: the SSE events of each earlier execution, the oldest first. ``end``: the end of the run for the client.
    """
    invocation_id = job.invocation_id or ""
    yield Event(author="user", invocation_id=invocation_id)
    author = job.runner.agent.name
    shown = shown_before(end, sessions.earlier)
    for event in shown:
        said = read(event)
        author = author if said.by_user else said.speaker[0]
        yield event
    *earlier, last = logs
    logs = [*earlier, last or as_log(end.unfinished_text)]
    again = texts_in([*run.log.events()])
    for unfinished in unfinished_texts(logs, again, author=author, invocation_id=invocation_id):
        # If all stored events were shown, the model reads the text, too.
        await sessions.append_shown(unfinished if len(shown) == len(sessions.earlier) else for_client_only(unfinished))
        yield unfinished
    match end.outcome:
        case "abort":
            run.stop()
        case "timeout":
            run.stop_at_limit(end.error_text, "It had come to a limit before its worker broke down.")
        case "error":
            raise RunLimitError(end.error_text)
