"""The runs that workers have left: finds them, and sees that one worker recovers each of them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import ExitStack, aclosing, suppress
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.events import Event

from stream_protocol.adk import read
from stream_protocol.serving._time_limit import HookTimeoutError
from stream_protocol.serving.engine._engine import NotRecordedError, OtherVersionError, RunRecord, ToldEnd
from stream_protocol.serving.engine._isolation import Isolation
from stream_protocol.serving.engine._records import record_of
from stream_protocol.serving.engine._shown import shown_and_not_said, shown_before, told_end
from stream_protocol.serving.errors import is_unreachable, log_error
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.serving.telemetry import count_failed_recovery, recoveries
from stream_protocol.session import for_page_alone
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.stream import RunLimitError
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence

    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.engine._engine import Deployment, Engine, Execution, LiveState, OrphanedRun
    from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
    from stream_protocol.serving.runs import ActiveRuns, ChatKey, Job, Run, RunLimits

    Work: TypeAlias = Callable[[Run, Job, AsyncGenerator[Event]], Awaitable[None]]
    """Runs the agent of a job, whose events these are, and stores the end."""

    Recover: TypeAlias = Callable[[Run, OrphanedRun, ExitStack, bool], Awaitable["Recovery"]]
    """Recovers a run, whose chat is claimed until the stack ends. The flag: the run is only to be ended."""

logger = logging.getLogger(__name__)

Recovery: TypeAlias = Literal["recovered", "over", "absent"]
"""Result of a recovery. ``recovered``: its response goes on. ``over``: there is nothing to go on with.
``absent``: its chat is not in this session store, so nothing is known of it."""

Settled: TypeAlias = Literal["recovered", "others", "none"]
"""The runs that a request finds left in its chat. ``recovered``: one of them answers this request, and goes on.
``others``: they answer other requests. ``none``: there are none."""

OTHER_VERSION_TEXT: Final = "The server was updated, and this answer cannot be gone on with. Ask again."
"""Error text for the page of a run that another version of the agents began."""

CRASHES_TEXT: Final = "The server broke down several times during this answer, and has given it up. Ask in another way."
"""Error text for the page of a run that has crashed its workers."""

UNRECOVERABLE_TEXT: Final = "The server broke down, and this answer cannot be recovered. Ask again."
"""Error text for the page of a run whose recovery fails each time."""

ENGINE_SECONDS: Final = 1.0
"""Seconds that a stop waits for the engine before it stops the run, and a history before it is read without."""

LOOK_SECONDS: Final = 2.0
"""Between two looks for runs that were left."""

FORGETTING_SECONDS, MAX_FORGETTING_SECONDS = 0.2, 5.0
"""Between two attempts to forget a run, while the engine cannot: at first, and at most."""

WAIT_SECONDS: Final = 0.2
"""Between two looks whether a run has been recovered."""

TAKING_UP_SECONDS: Final = 30.0
"""Seconds that a page that resumes waits for a run to be recovered: its lease must expire first."""

SUSPECT_SECONDS: Final = 30.0
"""Seconds for which a worker that executes other runs leaves a suspect to workers that execute none."""

MAX_FAILURES: Final = 5
"""Attempts of this worker to recover a run. Attempts that fail because a store is away do not count."""


class _ChatTakenError(Exception):
    """Another run holds the chat."""


@dataclass
class _Here:
    """A run that this worker executes."""

    record: RunRecord
    run: Run
    is_kept: bool = False
    """True once the engine knows of this execution."""
    is_ended: bool = False
    """True once the engine is told the end that the page was told. Nothing else is noted of this execution then."""
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when this worker has ended or left the run."""

    @property
    def log_id(self) -> str:
        """The run's id in the run log."""
        return self.run.id

    @property
    def told_end(self) -> ToldEnd | None:
        """The end of a run that was ended. ``None`` if it has finished: another execution would finish, too."""
        shown = tuple(self.run.output.shown_ids) if self.run.log.closed else None
        match self.run.outcome:
            case "finish":
                return None
            case "error" | "timeout" as outcome:
                told = told_end(list(self.run.log.events()))
                text = "" if told is None else told.error_text
                return ToldEnd("failed" if outcome == "error" else "timeout", text, shown)
            case "abort" | None:
                return ToldEnd("stopped", shown=shown)


class LeftRuns:
    """The runs of dead workers. ``has_chat``: whether the session store has a chat."""

    def __init__(
        self,
        engine: Engine,
        runner: Runner,
        runs: ActiveRuns,
        limits: RunLimits,
        deployment: Deployment,
        recover: Recover,
        has_chat: Callable[[ChatKey], Awaitable[bool]],
    ) -> None:
        self._engine = engine
        self._runner = runner
        self._runs = runs
        self._limits = limits
        self._deployment = deployment
        self._recover_run = recover
        self._has_chat = has_chat
        self._isolation = Isolation()
        self._here: dict[str, _Here] = {}
        """The runs that this worker executes, by the records' ids."""
        self._unforgotten: set[str] = set()
        """The records' ids of runs that have ended and wait for the engine."""
        self._absent: set[str] = set()
        """The records' ids of runs whose chats are not in this session store."""
        self._failures = Counter[str]()
        """By the records' ids: how often a recovery has failed here."""
        self._postponed = set[str]()
        """The records' ids of runs whose store was away at a recovery."""
        self._suspects: dict[str, float] = {}
        """By the records' ids: when a suspect was seen here first."""
        self._background: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._draining = False
        self._closed = asyncio.Event()

    async def launch(self) -> None:
        """Connects to the engine, and looks for runs from now on. Later calls do nothing."""
        await self._engine.launch()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), context=Context())

    def drain(self) -> None:
        """Recovers no more runs. If this worker is killed from now on, no run is blamed for that."""
        self._draining = True
        for here in self._here.values():
            self._start(self._mark(here, "left"))

    async def aclose(self) -> None:
        """Looks no more, and leaves the engine."""
        self._closed.set()
        waiting = [*self._background, *([self._watching] if self._watching is not None else [])]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await self._engine.aclose()

    async def of_chat(self, key: ChatKey) -> Sequence[OrphanedRun]:
        """The chat's runs that have not ended and do not go on in this worker: their worker may be dead."""
        await self.launch()
        return [orphan for orphan in await self._engine.unfinished(key) if orphan.record.id not in self._absent]

    async def settle(self, key: ChatKey, digest: str, run: Run, claim: ExitStack) -> Settled:
        """Recovers the run that answers just this request, with the claim that the request has on its chat.

        Other runs that were left there stay as they are: only new words end them. See ``cancel`` and ``recover``.
        """
        others = False
        for each in self._here_in(key):  # it has lost the chat's lease, and is about to be left
            if each.record.digest == digest:
                await each.is_over.wait()
        for orphan in await self.of_chat(key):
            if orphan.record.digest != digest:
                others = True
            elif await self._recover(run, orphan, claim):
                return "recovered"
        return "others" if others or self._here_in(key) else "none"

    async def recover(self, key: ChatKey) -> None:
        """Recovers the runs that were left in the chat, for a request that waits for their end."""
        for each in self._here_in(key):
            await each.is_over.wait()
        for orphan in await self.of_chat(key):
            await self._claim(orphan)

    async def cancel(self, key: ChatKey) -> None:
        """Ends the runs that were left in the chat, which is claimed."""
        for each in self._here_in(key):
            await self._engine.cancel(each.record)
        if (orphans := await self.of_chat(key)) and await self._has_chat(key):
            for orphan in orphans:
                await self._engine.cancel(orphan.record)

    async def stop(self, key: ChatKey, stop: Callable[[], Awaitable[bool]]) -> bool:
        """Stops what runs in the chat, by ``stop``, and the runs that were left there. Returns whether there was
        anything. No worker executes any of it again then, whatever becomes of this one and of that which runs it: one
        that recovers a run only stores its end."""
        beginning = await self._runs.not_accepted_yet(key)
        here, reading = self._here_in(key), asyncio.create_task(self.of_chat(key))
        try:
            # What begins from now on is not meant. But an engine that does not answer keeps nobody from stopping a run.
            await asyncio.wait({reading}, timeout=ENGINE_SECONDS)
            stopped = await stop()
            left = await reading
        finally:
            reading.cancel()
        for each in here:
            await self._mark_ended(each)
        if beginning is not None:  # its record may have been written since
            await self._runs.wait_until_accepted(key, beginning)
            left = [*left, *(orphan for orphan in await self.of_chat(key) if orphan.record.id == beginning)]
        if is_ours := bool(left) and await self._has_chat(key):
            for orphan in left:
                if orphan.told_end is None:
                    await self._engine.mark(orphan.record, orphan.log_id, ToldEnd("stopped"))
            # Another worker may have begun to recover one of them before that.
            await self._runs.stop_if_answering(key, {orphan.record.digest for orphan in left})
        return is_ours or stopped or bool(here)

    async def lacks_words(self, key: ChatKey, session: Session) -> bool:
        """Whether the chat has a run that was left before the session had what it answers. Without the engine nobody
        knows, and nobody waits."""
        try:
            async with asyncio.timeout(ENGINE_SECONDS):
                left = await self.of_chat(key)
        except Exception as error:
            if not _is_away(error):
                raise
            return False
        stored = {EventMetadata.of(event).request for event in session.events} if left else set()
        return any(orphan.record.digest not in stored for orphan in left)

    async def wait_for_words(self, key: ChatKey, seconds: float) -> None:
        """Waits up to so many seconds until the chat has no such run."""
        try:
            async with asyncio.timeout(seconds):
                await self.wait_until_taken_up(key)
        except Exception as error:
            if not _is_away(error):
                raise

    async def wait_until_taken_up(self, key: ChatKey) -> None:
        """Waits until the chat has no run that was left, for a page that resumes."""
        deadline = asyncio.get_running_loop().time() + TAKING_UP_SECONDS
        while asyncio.get_running_loop().time() < deadline and await self.of_chat(key):
            if await self._runs.is_open(key):
                return
            await asyncio.sleep(WAIT_SECONDS)

    async def execute(self, run: Run, job: Job, work: Work) -> None:
        """Does the work of a new run, so that another worker can go on with it.

        Raises ``NotRecordedError`` if the engine cannot record the run: nothing of it was done then.
        """
        if job.invocation_id is None:
            job = replace(job, invocation_id=new_invocation_context_id())
        record = record_of(run, job, self._deployment)
        here = _Here(record, run)

        async def held(execution: Execution) -> None:
            here.is_kept = run.can_be_taken_up = True
            if self._draining:  # `drain` came before the record
                self._start(self._mark(here, "left"))
            if run.abort_signal.is_set():  # the stop came before the record, and found nothing to mark
                await self._until_done(record, partial(self._mark_ended, here))
            held_job = job if record.refusal else job.with_runner(execution.runner)
            await work(run, held_job, held_job.events(run.abort_signal, run.request))

        async with self._isolation.beside_others(run.is_ending):
            try:
                await self._executed(run, here, self._engine.execute(record, self._runner, run.id, held))
            except Exception as error:
                if here.is_kept:
                    raise
                logger.exception("A request was refused: the engine could not record its run.")
                raise NotRecordedError from error

    async def execute_again(
        self, run: Run, job: Job, orphan: OrphanedRun, sessions: ResumedSessions, work: Work, refusal: str | None
    ) -> None:
        """Does the work of a run that another worker has left. ``refusal``: why its page is only told how it ends."""
        job = replace(job, invocation_id=orphan.record.invocation_id)
        here = _Here(orphan.record, run)
        refuse = partial(self._refuse, run, job, orphan, sessions, work)
        again = partial(self._execute_again, run, job, orphan, sessions, work, here)
        log = await self._runs.written((orphan.record.user_id, orphan.record.chat_id), orphan.log_id)
        end = orphan.told_end or told_end(log)
        if run.was_left:
            return
        run.output.add_earlier(shown_before(end, sessions.earlier, log))
        if end is not None and end.state != "stopped" and not run.is_open:
            await self._executed(run, here, self._discard(run, orphan.record))
        elif end is not None:
            await self._executed(run, here, self._end_as_told(run, job, orphan, sessions, work, log, end))
        elif orphan.is_given_up:
            await self._executed(run, here, refuse(CRASHES_TEXT, "crashes"))
        elif reason := orphan.record.refusal or refusal:
            await self._executed(run, here, refuse(reason, "refused"))
        elif orphan.is_suspect:
            async with self._isolation.alone(run.is_ending, partial(self._let_others_in, here)) as alone:
                if not run.was_left:
                    await self._executed(run, here, again(alone=alone))
        else:
            async with self._isolation.beside_others(run.is_ending):
                if not run.was_left:
                    await self._executed(run, here, again(alone=False))

    async def _execute_again(
        self,
        run: Run,
        job: Job,
        orphan: OrphanedRun,
        sessions: ResumedSessions,
        work: Work,
        here: _Here,
        *,
        alone: bool,
    ) -> None:
        record, is_fenced = orphan.record, False

        async def held(execution: Execution) -> None:
            nonlocal is_fenced
            here.is_kept = True
            if run.was_left:
                return
            await sessions.fence()
            is_fenced = True
            logger.info("Run %s of chat %s is recovered.", record.id, record.chat_id)
            recoveries.add(1)
            log = await self._runs.written((record.user_id, record.chat_id), execution.log_id or "")
            held_job = job.with_runner(execution.runner)
            events = held_job.events(run.abort_signal, run.request)
            await work(run, held_job, _with_shown(events, log, run, execution, sessions))

        try:
            await self._engine.execute_again(record, self._runner, run.id, held, alone=alone)
            if not here.is_kept:
                run.leave()  # somebody has ended it meanwhile
        except OtherVersionError:
            if not run.is_open:
                return await self._discard(run, record)
            await self._refuse(run, job, orphan, sessions, work, OTHER_VERSION_TEXT, "other_version")
        except Exception as error:
            if is_fenced:
                raise
            run.leave()  # as it was found: the engine or the session store cannot do it just now
            self._note_failure(record, error)

    async def _discard(self, run: Run, record: RunRecord) -> None:
        """Forgets a run of whose request nothing is stored: the request may begin anew."""
        await self._forget(record)
        run.leave()

    async def _refuse(
        self, run: Run, job: Job, orphan: OrphanedRun, sessions: ResumedSessions, work: Work, text: str, reason: str
    ) -> None:
        """Ends a run that is not executed again. Its page gets what is stored of the message, and then the error."""
        record = orphan.record
        if await self._fence(run, record, sessions):
            if reason == "crashes":
                given_up = "Run %s of chat %s is given up: %d workers have crashed while they executed it."
                logger.error(given_up, record.id, record.chat_id, orphan.crashes)
            else:
                ended = "Run %s of chat %s is ended in place of being recovered: %s"
                logger.error(ended, record.id, record.chat_id, text)
            count_failed_recovery(reason)
            log = await self._runs.written((record.user_id, record.chat_id), orphan.log_id)
            await work(run, job, _ending(job, log, run, sessions, ToldEnd("failed", text)))

    async def _end_as_told(
        self,
        run: Run,
        job: Job,
        orphan: OrphanedRun,
        sessions: ResumedSessions,
        work: Work,
        log: Sequence[bytes],
        end: ToldEnd,
    ) -> None:
        """Ends a run whose page was told the end, and whose worker could neither forget it nor store the end."""
        if await self._fence(run, orphan.record, sessions):
            ended = "Run %s of chat %s had ended (%s). Its end is stored."
            logger.info(ended, orphan.record.id, orphan.record.chat_id, end.state)
            await work(run, job, _ending(job, log, run, sessions, end))

    async def _fence(self, run: Run, record: RunRecord, sessions: ResumedSessions) -> bool:
        """Before a run is ended in place of being recovered. Returns ``False`` if it is left: the store is away, or the
        chat is lost."""
        try:
            await sessions.fence()
        except Exception as error:  # noqa: BLE001 - whatever the store raises
            self._note_failure(record, error)
            if _is_away(error):
                run.leave()
        run.can_be_taken_up = False
        return not run.was_left

    async def _executed(self, run: Run, here: _Here, execution: Coroutine[None, None, None]) -> None:
        """Waits for the execution. A run that is stopped is not executed again, whatever becomes of this worker."""
        record = here.record
        self._here[record.id] = here
        marking = asyncio.create_task(self._mark_when_stopped(run, here))
        try:
            await execution
        finally:
            marking.cancel()
            del self._here[record.id]
            here.is_over.set()
            if run.was_left:
                await asyncio.shield(self._mark(here, "left"))
            elif here.is_kept or run.log.closed:
                await asyncio.shield(self._forget(record, has_ended=True))
            else:  # the request is refused, and the engine may have the record all the same
                self._start(self._forget_refused(here))

    def _here_in(self, key: ChatKey) -> list[_Here]:
        return [here for here in self._here.values() if (here.record.user_id, here.record.chat_id) == key]

    async def _mark_when_stopped(self, run: Run, here: _Here) -> None:
        await run.abort_signal.wait()
        if not run.was_left:
            await self._until_done(here.record, partial(self._mark_ended, here))

    async def _mark_ended(self, here: _Here) -> None:
        """Tells the engine the end that the page of a run was told."""
        if (end := here.told_end) is not None:
            here.is_ended = True
            await self._engine.mark(here.record, here.log_id, end)

    async def _forget(self, record: RunRecord, *, has_ended: bool = False) -> None:
        """Forgets a run that has ended. The chat waits for that: its page was told the end, so no worker may find the
        run."""
        await self._until_done(record, partial(self._engine.cancel, record, has_ended=has_ended))

    async def _forget_refused(self, here: _Here) -> None:
        """Forgets the record of a request that was refused, unless the request was sent again and is answered now."""
        await self._until_done(here.record, partial(self._try_to_forget_refused, here))

    async def _try_to_forget_refused(self, here: _Here) -> None:
        record = here.record
        key = (record.user_id, record.chat_id)
        with ExitStack() as claim:  # nobody begins to recover the run meanwhile
            run = await self._runs.claim_free(key, record.digest, self._limits)
            if run is None:
                raise _ChatTakenError
            claim.callback(self._runs.release, run)
            for orphan in await self._engine.unfinished(key):
                if orphan.record.id == record.id and orphan.log_id == here.log_id:  # nobody has recovered it since
                    await self._engine.cancel(record)

    async def _until_done(self, record: RunRecord, tell: Callable[[], Awaitable[None]]) -> None:
        """Tells the engine that a run has ended or was stopped, until that succeeds. Gives up only when this worker is
        closed."""
        pause = FORGETTING_SECONDS
        while not self._closed.is_set():
            try:
                await tell()
            except (_ChatTakenError, ChatRequestError):
                pass  # the run log is away, which is logged, or this worker is about to end
            except Exception as error:  # noqa: BLE001 - whatever it is, the run is not forgotten
                if record.id not in self._unforgotten:
                    self._unforgotten.add(record.id)
                    _log_absence("A run that has ended keeps its chat until the engine has forgotten it.", error)
            else:
                self._unforgotten.discard(record.id)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._closed.wait()
            pause = min(pause * 2, MAX_FORGETTING_SECONDS)

    async def _mark(self, here: _Here, state: LiveState) -> None:
        if not here.is_kept or here.is_ended or self._closed.is_set():
            return
        try:
            await self._engine.mark(here.record, here.log_id, state)
        except Exception as error:  # noqa: BLE001 - a worker that ends has no time for more
            _log_absence(f"Run {here.record.id} may be taken for one that has crashed its worker.", error)

    async def _let_others_in(self, here: _Here) -> None:
        """Notes that a suspect is not alone any more: if this worker crashes now, that proves nothing."""
        while not self._draining and not here.is_ended:
            with suppress(Exception):  # the engine is away, so no other run can begin
                await self._engine.mark(here.record, here.log_id, "running")
                return
            await asyncio.sleep(FORGETTING_SECONDS)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _watch(self) -> None:
        told = False
        while True:
            try:
                if not self._draining:
                    await self._look()
                told = False
            except ChatRequestError:
                pass  # the run log is away, which is logged, or this worker is about to end
            except Exception as error:
                is_away = _is_away(error)
                if not is_away:
                    logger.exception("Runs that were left by their worker could not be looked for.")
                elif not told:
                    _log_absence("Runs that were left by their worker cannot be looked for just now.", error)
                told = is_away
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        found = [orphan for orphan in await self._engine.unfinished() if orphan.record.id not in self._absent]
        self._forget_others(orphan.record.id for orphan in found)
        orphans = {(orphan.record.user_id, orphan.record.chat_id): orphan for orphan in found}
        free = await self._runs.without_run(list(orphans)) if orphans else set()
        for key in sorted((key for key in orphans if key in free), key=lambda key: self._order(orphans[key])):
            if self._isolation.holds_back:
                return
            if self._may_recover(orphans[key]):
                await self._claim(orphans[key])
                await asyncio.sleep(0)  # its task begins

    def _order(self, orphan: OrphanedRun) -> tuple[bool, bool]:
        """The place of a run among those that are recovered. One whose store was away comes last: it ends the look.

        A suspect goes first: while it is alone, no other run can be blamed for what it does.
        """
        return orphan.record.id in self._postponed, not orphan.is_suspect

    def _may_recover(self, orphan: OrphanedRun) -> bool:
        """Return False for a suspect that is left to a worker that executes no run, for a while."""
        if not orphan.is_suspect or orphan.is_given_up or self._isolation.is_empty:
            return True
        now = asyncio.get_running_loop().time()
        return now >= self._suspects.setdefault(orphan.record.id, now) + SUSPECT_SECONDS

    def _forget_others(self, found: Iterable[str]) -> None:
        """Forgets what is noted of runs that have ended."""
        left = {*found}
        self._postponed &= left
        for noted in (self._suspects, self._failures):
            for record_id in noted.keys() - left:
                del noted[record_id]

    async def _claim(self, orphan: OrphanedRun) -> None:
        """Recovers the run if its chat is free: its worker has lost the lease, or given it back."""
        record = orphan.record
        with ExitStack() as claim:
            key = (record.user_id, record.chat_id)
            run = await self._runs.claim_free(key, record.digest, self._limits)
            if run is not None:
                claim.callback(self._runs.release, run)
                # Another worker may have recovered it, and ended it, since it was found.
                now = next((left for left in await self.of_chat(key) if left.record.id == record.id), None)
                if now is not None:
                    try:
                        await self._recover(run, now, claim)
                    except Exception as error:
                        if _is_away(error):
                            self._postponed.add(record.id)
                            raise  # it may be away for all others, too
                        self._note_failure(record, error)

    async def _recover(self, run: Run, orphan: OrphanedRun, claim: ExitStack) -> bool:
        """Recovers a run whose chat is claimed. Returns ``False`` if there is nothing to go on with."""
        record = orphan.record
        is_hopeless = orphan.is_given_up or self._failures[record.id] >= MAX_FAILURES
        match await self._recover_run(run, orphan, claim, is_hopeless):
            case "recovered":
                return True
            case "over":
                await self._engine.cancel(record)
            case "absent":
                self._absent.add(record.id)
                logger.warning("Run %s is left alone: its chat is not in this session store.", record.id)
        return False

    def _note_failure(self, record: RunRecord, error: Exception) -> None:
        """Tells once that a run cannot be recovered, and counts what no store that is back will mend."""
        if record.id not in self._failures:
            logger.error("Run %s of chat %s could not be recovered. It is tried again.", record.id, record.chat_id)
            log_error(logger, error)
        self._failures[record.id] += not _is_away(error)


def _is_away(error: Exception) -> bool:
    return is_unreachable(error) or isinstance(error, (RunLogError, ChatRequestError, HookTimeoutError))


def _log_absence(text: str, error: Exception) -> None:
    logger.error(text)
    log_error(logger, error)


async def _with_shown(
    events: AsyncGenerator[Event], log: Sequence[bytes], run: Run, execution: Execution, sessions: ResumedSessions
) -> AsyncGenerator[Event]:
    """Yield the events, and the half texts of models whose workers have died, in the order in which they are stored.

    A half text that is stored comes where it is stored. The last one is not stored yet: it is stored before the first
    new fragment, or after the first new complete event, which ADK has stored.
    """
    told = False
    async with aclosing(events):
        async for event in events:
            said = read(event)
            for earlier in sessions.take_halves(rest=execution.is_live and said.is_fragment):
                yield earlier
            if not said.is_fragment:
                yield event
            for earlier in sessions.take_halves(rest=execution.is_live):
                yield earlier
            if execution.is_live and not told and not said.by_user:
                told = True
                again, author = [*run.log.events()], said.speaker[0]
                half = shown_and_not_said(log, again, author=author, invocation_id=said.invocation_id)
                if half is not None:
                    await sessions.append_shown(half)
                    yield half
            if said.is_fragment:
                yield event


async def _ending(
    job: Job, log: Sequence[bytes], run: Run, sessions: ResumedSessions, end: ToldEnd
) -> AsyncGenerator[Event]:
    """Yield the events of a run that is not executed again, then end the run.

    The first event names the invocation. The stored events follow, then the half text that is not stored yet.
    """
    invocation_id = job.invocation_id or ""
    yield Event(author="user", invocation_id=invocation_id)
    author = job.runner.agent.name
    shown = shown_before(end, sessions.earlier, log)
    for event in shown:
        said = read(event)
        author = author if said.by_user else said.speaker[0]
        yield event
    half = shown_and_not_said(log, [*run.log.events()], author=author, invocation_id=invocation_id)
    if half is not None:
        # The model reads the whole text, if that is stored.
        await sessions.append_shown(half if len(shown) == len(sessions.earlier) else for_page_alone(half))
        yield half
    match end.state:
        case "stopped":
            run.stop()
        case "timeout":
            run.stop_at_limit(end.error_text, "It had come to a limit before its worker broke down.")
        case "failed":
            raise RunLimitError(end.error_text)
