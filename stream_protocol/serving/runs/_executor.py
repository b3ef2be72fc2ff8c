"""Provides ``Executor`` and ``RunWork``. ``Executor`` executes the runs of a service. ``RunWork`` runs the agent and
stores the end of the run.

With ``ChatService(engine=…)``, the subclass ``DurableExecutor`` also recovers the runs of dead workers.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from stream_protocol.serving.base import HookTimeoutError, with_timeout
from stream_protocol.serving.chats import Completion, find_session
from stream_protocol.serving.errors import is_of_session_store, is_unreachable, log_error
from stream_protocol.serving.runs._on_finish import notify
from stream_protocol.serving.telemetry import LoopLag
from stream_protocol.session import AnsweredCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from google.adk.events import Event
    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.base import ServiceTimes
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.runs._active_runs import ActiveRuns
    from stream_protocol.serving.runs._claim import Claim
    from stream_protocol.serving.runs._history_policy import HistoryPolicy
    from stream_protocol.serving.runs._job import Job
    from stream_protocol.serving.runs._on_finish import OnFinish
    from stream_protocol.serving.runs._run import Run
    from stream_protocol.wire import AiSdkVersion

logger = logging.getLogger(__name__)

FoundOrphans: TypeAlias = Literal["recovered", "others", "none"]
"""The runs of dead workers that a request has found in its chat.

``recovered``: a run of the same idempotency key, which the request now continues. ``others``: runs of other requests.
"""


class RunWork:
    """Runs agents, stores the ends of runs, and calls the hook ``on_finish``. ``hook_timeout``: see
    ``ServiceLimits``.
    """

    def __init__(
        self,
        runner: Runner,
        runs: ActiveRuns,
        history: HistoryPolicy,
        *,
        on_finish: OnFinish | None,
        hook_timeout: float | None,
        ai_sdk: AiSdkVersion,
        times: ServiceTimes,
    ) -> None:
        self._runner = runner
        self._runs = runs
        self._history = history
        self._on_finish = on_finish
        self._hook_timeout = hook_timeout
        self._ai_sdk: AiSdkVersion = ai_sdk
        self._times = times
        self._loop_lag = LoopLag()

    @contextmanager
    def observed(self, run: Run, job: Job, *, first_run: tuple[str, str | None] | None = None) -> Iterator[None]:
        """Context manager: while the run executes, record its tracing span, its metrics, and delays of the event loop.
        ``first_run``: see ``RunObserver.observed``.
        """
        with (
            self._loop_lag.measured(),
            run.observer.observed(
                user_id=job.session.user_id,
                chat_id=job.request.id,
                run_id=run.id,
                agent=job.runner.agent.name,
                outcome=lambda: "left" if run.was_left else run.outcome,
                first_run=first_run,
            ),
        ):
            yield

    async def do(self, run: Run, job: Job, events: AsyncGenerator[Event]) -> None:
        """Reads the events of the agent to the end, stores the end of the run, and calls ``on_finish``."""
        try:
            await run.run_agent(events, job.start_response, job.recorder, partial(self._is_recovered_after, run, job))
        finally:
            late = await run.steering.close()
            if run.outcome == "finish":
                job.on_stored(job.answers)  # for custom agents that do not store the user's answers
            if run.is_open:
                await self._complete_session(run, job)
                await self._notify(run, job)
                if late and not run.was_left and await run.holds_lease():
                    run.begin_after(late[0], job.overrides)

    async def _is_recovered_after(self, run: Run, job: Job, error: BaseException) -> bool:
        """Return True if another worker recovers the run after this error."""
        if not (is_of_session_store(error) and is_unreachable(error)):
            return await self._is_overtaken(run, job)
        if can_continue := run.is_open or run.is_recovered or job.is_rewound:
            logger.error("The session store is unreachable: the run continues when the store is back.")
            log_error(logger, error)
        return can_continue

    async def _is_overtaken(self, run: Run, job: Job) -> bool:
        """Return True if another run, or another execution of this run, has stored an event in the chat. Return False
        if the session cannot be read.
        """
        try:
            reading = find_session(self._runner, job.session.user_id, job.session.id)
            session = await with_timeout(self._hook_timeout, reading)
        except Exception as error:  # noqa: BLE001 - any error of the store
            logger.warning("The session of a run could not be read after an error: %s", error)
            return False
        is_overtaken = session is not None and job.is_overtaken(run, session)
        if is_overtaken:
            text = "The run log had forgotten the lease of run %s, and another run or execution has stored an event."
            logger.warning(text, run.id)
        return is_overtaken

    async def _complete_session(self, run: Run, job: Job) -> None:
        """Store output that the client has received and the session lacks. If the session store is unreachable, try
        again until it is reachable or this worker is closed. Until then, the chat can have no other run.
        """
        if run.outcome is None or (run.outcome == "finish" and run.output.is_stored):
            return
        agent = job.runner.agent.name
        completion = Completion(
            self._runner,
            job.session,
            run.output,
            run.outcome,
            agent=agent,
            mark=run.mark,
            holds_lease=run.holds_lease,
            is_overtaken=partial(job.is_overtaken, run),
        )
        pause = self._times.completing
        while not await self._is_completed(completion, is_told=pause > self._times.completing):
            await asyncio.sleep(pause)
            pause = min(pause * 2, self._times.max_completing)

    async def _is_completed(self, completion: Completion, *, is_told: bool) -> bool:
        """Store the end of a run. Return False if the session store is unreachable. ``is_told``: True if a log line has
        already reported that the store is unreachable.
        """
        try:
            await with_timeout(self._hook_timeout, completion.store())
        except HookTimeoutError as error:
            logger.error("The end of a run was not stored. %s", error)  # noqa: TRY400 - a traceback would not help
        except Exception as error:
            if is_unreachable(error) and not self._runs.is_closed:
                if not is_told:
                    logger.error("A chat stays busy until the session store has stored the end of its run.")  # noqa: TRY400 - the next line has the reason
                    log_error(logger, error)
                return False
            logger.exception("The end of a run could not be stored.")  # returns True, because the chat must become free
        return True

    async def _notify(self, run: Run, job: Job) -> None:
        if self._on_finish is not None and run.log.closed:
            await notify(
                self._on_finish,
                run.log.whole(),
                stored=job.session.events,
                before=partial(self._history.messages_before, job),
                continues=isinstance(job.request_plan, AnsweredCalls),
                ending=run.outcome,
                ai_sdk=self._ai_sdk,
                timeout=self._hook_timeout,
            )


class Executor:
    """Executes the runs of a service without an engine. A run is lost if its worker dies.

    An orphaned run is an unfinished run of a dead worker. The methods for orphaned runs do nothing in this class. All
    methods except ``execute`` raise ``ChatRequestError`` (503) if a store is unreachable.
    """

    def __init__(self, runs: ActiveRuns, work: RunWork) -> None:
        self._runs = runs
        self._work = work

    async def start(self) -> None:
        """Starts to recover the runs of dead workers. Later calls do nothing."""

    def drain(self) -> None:
        """Stops recovering the runs of dead workers."""

    async def aclose(self) -> None:
        """Stops recovering the runs of dead workers, and closes the engine."""

    async def execute(self, run: Run, job: Job) -> None:
        with self._work.observed(run, job):
            await self._work.do(run, job, job.events(run))

    async def recover_same(self, key: ChatKey, claim: Claim) -> FoundOrphans:
        """Recovers the orphaned run (an unfinished run of a dead worker) that began with an equal request. Equal
        requests have the same idempotency key. Other orphaned runs do not change.

        ``claim``: the current request's right to begin a run. The recovered run uses this right.
        """
        return "none"

    async def recover(self, key: ChatKey) -> None:
        """Starts to recover all orphaned runs of the chat: unfinished runs of dead workers. Returns before these runs
        end.
        """

    async def cancel(self, key: ChatKey) -> None:
        """Cancels all orphaned runs of the chat: unfinished runs of dead workers. The caller must hold the lease of the
        chat: the right to be its only active run.
        """

    async def stop(self, key: ChatKey) -> bool:
        """Stops the active run of the chat, and all orphaned runs: unfinished runs of dead workers. Returns False if
        the chat had no run.
        """
        return await self._runs.stop(key) is not None

    async def lacks_message(self, key: ChatKey, session: Session) -> bool:
        """Returns True if an orphaned run (an unfinished run of a dead worker) of the chat has not stored its user
        message.
        """
        return False

    async def wait_for_message(self, key: ChatKey, seconds: float) -> None:
        """Waits up to ``seconds`` until the chat has no orphaned run (an unfinished run of a dead worker), or has a
        running response.
        """

    async def wait_until_recovered(self, key: ChatKey) -> bool:
        """Waits until the chat has no orphaned run: an unfinished run of a dead worker. Returns True if the caller must
        look for an active run again.
        """
        return False
