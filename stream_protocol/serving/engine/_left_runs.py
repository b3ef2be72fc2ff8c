"""The runs that workers have left: finds them, and sees that one worker takes each of them up."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, aclosing, suppress
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.events import Event
from pydantic_core import to_jsonable_python

from stream_protocol.convert import RunLimitError
from stream_protocol.serving.chats import is_unreachable
from stream_protocol.serving.engine._engine import NotRecordedError, OtherVersionError, RunRecord
from stream_protocol.serving.engine._shown import shown_and_not_said
from stream_protocol.serving.errors import log_error
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence

    from google.adk.runners import Runner

    from stream_protocol.serving._overrides import RunOverrides
    from stream_protocol.serving.engine._engine import Engine, Execution
    from stream_protocol.serving.engine._resumed_sessions import ResumedSessions
    from stream_protocol.serving.runs import ActiveRuns, ChatKey, Job, Run, RunLimits
    from stream_protocol.wire import ChatRequest

    Work: TypeAlias = Callable[[Run, Job, AsyncGenerator[Event]], Awaitable[None]]
    """Runs the agent of a job, whose events these are, and stores the end."""

logger = logging.getLogger(__name__)

OVERRIDDEN_TEXT: Final = "The server broke down, and this answer cannot be gone on with. Ask again."
"""What the page is told of a run that got secrets, an agent or a run config from ``prepare``: these are not kept."""

OTHER_VERSION_TEXT: Final = "The server was updated, and this answer cannot be gone on with. Ask again."
"""What it is told of a run that another version of the agents began."""

STOPPING_SECONDS: Final = 1.0
"""How long a stop waits for the engine before it stops what runs."""

LOOK_SECONDS: Final = 2.0
"""Between two looks for runs that were left."""

FORGETTING_SECONDS: Final = 1.0
"""Between two attempts to forget a run, while the engine's store is away."""

WAIT_SECONDS: Final = 0.2
"""Between two looks whether a run has been taken up."""

TAKING_UP_SECONDS: Final = 30.0
"""How long a page that resumes waits for a run to be taken up: its lease must expire first."""


class LeftRuns:
    """The runs of dead workers.

    ``take_up``: goes on with a run, whose chat is claimed until the stack ends. Returns ``False`` if there is nothing
    to go on with.
    """

    def __init__(
        self,
        engine: Engine,
        runner: Runner,
        runs: ActiveRuns,
        limits: RunLimits,
        take_up: Callable[[Run, RunRecord, ExitStack], Awaitable[bool]],
    ) -> None:
        self._engine = engine
        self._runner = runner
        self._runs = runs
        self._limits = limits
        self._take_up = take_up
        self._here: dict[str, RunRecord] = {}
        """The runs that this worker executes, by the records' ids."""
        self._unforgotten: set[str] = set()
        """The records' ids of the runs that have ended and wait for the engine."""
        self._watching: asyncio.Task[None] | None = None

    async def launch(self) -> None:
        """Connects to the engine, and looks for runs from now on. Later calls do nothing."""
        await self._engine.launch()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), context=Context())

    async def aclose(self) -> None:
        """Looks no more, and leaves the engine."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        await self._engine.aclose()

    async def of_chat(self, key: ChatKey) -> Sequence[RunRecord]:
        """The chat's runs that have not ended and do not go on in this worker: their worker may be dead."""
        await self.launch()
        return await self._engine.unfinished(key)

    async def settle(self, key: ChatKey, digest: str, run: Run, claim: ExitStack) -> bool:
        """Called when a request has claimed its chat: runs that were left there are over, unless one of them answers
        just this request. Returns whether that is so; then it has been taken up with this claim."""
        taken_up = False
        for record in self._here_in(key):  # interrupted, and about to be forgotten: another worker shall not find it
            await self._engine.cancel(record)
        for record in await self.of_chat(key):
            if record.digest == digest and not taken_up and await self._take_up(run, record, claim):
                taken_up = True
            else:
                await self._engine.cancel(record)
        return taken_up

    async def cancel(self, key: ChatKey) -> None:
        """Ends the runs that were left in the chat, which is claimed."""
        for record in [*self._here_in(key), *await self.of_chat(key)]:
            await self._engine.cancel(record)

    async def stop(self, key: ChatKey, stop: Callable[[], Awaitable[bool]]) -> bool:
        """Stops what runs in the chat, by ``stop``, and ends the runs that were left there. Returns whether there was
        anything. No worker takes any of it up then, whatever becomes of this one and of that which runs it."""
        here, reading = self._here_in(key), asyncio.create_task(self.of_chat(key))
        try:
            # What begins from now on is not meant. But an engine that does not answer keeps nobody from stopping a run.
            await asyncio.wait({reading}, timeout=STOPPING_SECONDS)
            stopped = await stop()
            records = [*here, *await reading]
        finally:
            reading.cancel()
        for record in records:
            await self._engine.cancel(record)
        return stopped or bool(records)

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
        refusal = OVERRIDDEN_TEXT if _is_overridden(job.overrides) else None
        if job.invocation_id is None:
            job = replace(job, invocation_id=new_invocation_context_id())
        record = _record_of(run, job, refusal)
        begun = False

        async def held(execution: Execution) -> None:
            nonlocal begun
            begun = True
            held_job = job if refusal else job.with_runner(execution.runner)
            await work(run, held_job, held_job.events(run.abort_signal, run.request))

        run.can_be_taken_up = True
        try:
            await self._executed(run, record, self._engine.execute(record, self._runner, run.id, held))
        except Exception as error:
            if begun:
                raise
            logger.exception("A request was refused: the engine could not record its run.")
            raise NotRecordedError from error

    async def execute_again(self, run: Run, job: Job, record: RunRecord, sessions: ResumedSessions, work: Work) -> None:
        """Does the work of a run that another worker has left."""
        job = replace(job, invocation_id=record.invocation_id)

        async def held(execution: Execution) -> None:
            log = await self._runs.written((record.user_id, record.chat_id), execution.log_id or "")
            held_job = job.with_runner(execution.runner)
            events = held_job.events(run.abort_signal, run.request)
            await work(run, held_job, _with_shown(events, log, run, execution, sessions))

        run.can_be_taken_up = True
        try:
            if record.refusal is not None:
                raise RunLimitError(record.refusal)  # noqa: TRY301 - as an engine does
            await self._executed(run, record, self._engine.execute_again(record, self._runner, run.id, held))
        except (RunLimitError, OtherVersionError) as error:
            run.can_be_taken_up = False
            reason = error if isinstance(error, RunLimitError) else RunLimitError(OTHER_VERSION_TEXT)
            await work(run, job, _raising(job, reason))
            await self._engine.cancel(record)

    async def _executed(self, run: Run, record: RunRecord, execution: Coroutine[None, None, None]) -> None:
        """Waits for the execution. A run that is stopped is over at once, whatever becomes of this worker."""
        stopping = asyncio.create_task(self._forget_when_stopped(run, record))
        self._here[record.id] = record
        try:
            await execution
        finally:
            stopping.cancel()
            del self._here[record.id]
            if not run.was_left:
                await asyncio.shield(self._forget(record))

    def _here_in(self, key: ChatKey) -> list[RunRecord]:
        return [record for record in self._here.values() if (record.user_id, record.chat_id) == key]

    async def _forget_when_stopped(self, run: Run, record: RunRecord) -> None:
        await run.abort_signal.wait()
        if not run.was_left:
            await self._forget(record)

    async def _forget(self, record: RunRecord) -> None:
        """Waits while the engine's store is away, and so does the chat: another worker would take up what has ended."""
        while not await self._is_forgotten(record):  # noqa: ASYNC110 - nobody tells when a store is back
            await asyncio.sleep(FORGETTING_SECONDS)

    async def _is_forgotten(self, record: RunRecord) -> bool:
        """Forgets it. ``False`` if the engine's store is away."""
        try:
            await self._engine.cancel(record)
        except Exception as error:
            if is_unreachable(error):
                if record.id not in self._unforgotten:
                    self._unforgotten.add(record.id)
                    _log_absence("A run that has ended keeps its chat until the engine can be reached.", error)
                return False
            logger.exception("A run that has ended could not be forgotten by the engine: it may be executed again.")
        self._unforgotten.discard(record.id)
        return True

    async def _watch(self) -> None:
        told = False
        while True:
            try:
                await self._look()
                told = False
            except Exception as error:
                is_away = is_unreachable(error) or isinstance(error, RunLogError)
                if not is_away:
                    logger.exception("Runs that were left by their worker could not be looked for.")
                elif not told:
                    _log_absence("Runs that were left by their worker cannot be looked for just now.", error)
                told = is_away
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        records = {(record.user_id, record.chat_id): record for record in await self._engine.unfinished()}
        for key in await self._runs.without_run(list(records)) if records else ():
            await self._claim(records[key])

    async def _claim(self, record: RunRecord) -> None:
        """Takes the run up if its chat is free: its worker has lost the lease, or given it back."""
        with ExitStack() as claim, suppress(ChatRequestError):
            key = (record.user_id, record.chat_id)
            run = await self._runs.claim_free(key, record.digest, self._limits)
            if run is not None:
                claim.callback(self._runs.release, run)
                # Another worker may have taken it up, and ended it, since it was found.
                left = any(left.id == record.id for left in await self.of_chat(key))
                if left and not await self._take_up(run, record, claim):
                    await self._engine.cancel(record)


def _log_absence(text: str, error: Exception) -> None:
    logger.error(text)
    log_error(logger, error)


def _is_overridden(overrides: RunOverrides) -> bool:
    return bool(overrides.secrets) or overrides.agent is not None or overrides.run_config is not None


def _record_of(run: Run, job: Job, refusal: str | None) -> RunRecord:
    assert job.invocation_id is not None
    return RunRecord(
        id=run.id,
        user_id=job.session.user_id,
        chat_id=job.session.id,
        request=_body_of(job.request),
        digest=run.request,
        chat_was_busy=run.chat_was_busy,
        invocation_id=job.invocation_id,
        found_events=len(job.session.events),
        state=to_jsonable_python(job.session.state, fallback=str),
        state_delta=to_jsonable_python(dict(job.overrides.state_delta), fallback=str),
        artifact_base=job.overrides.artifact_base,
        refusal=refusal,
    )


def _body_of(request: ChatRequest) -> dict[str, Any]:
    """What ``parse_chat_request`` makes the same request of, but for the messages that it is not about."""
    body: dict[str, Any] = {"id": request.id, "messages": [request.target]}
    if request.has_trigger:
        body["trigger"] = request.trigger
    if request.message_id is not None:
        body["messageId"] = request.message_id
    return body


async def _with_shown(
    events: AsyncGenerator[Event], log: Sequence[bytes], run: Run, execution: Execution, sessions: ResumedSessions
) -> AsyncGenerator[Event]:
    """The events, and where they were stored the half texts of models whose workers have died; before the first event
    that is new that of the last, which is not stored yet."""
    told = False
    async with aclosing(events):
        async for event in events:
            for earlier in sessions.take_halves(rest=execution.is_live):
                yield earlier
            if execution.is_live and not told:
                told = True
                said = [*run.log.events()]
                half = shown_and_not_said(log, said, author=event.author, invocation_id=event.invocation_id)
                if half is not None:
                    await sessions.append_shown(half)
                    yield half
            yield event


async def _raising(job: Job, error: Exception) -> AsyncGenerator[Event]:
    """The events of a run that fails: the one that names its invocation, then the error."""
    yield Event(author="user", invocation_id=job.invocation_id or "")
    raise error
