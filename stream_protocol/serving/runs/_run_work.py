"""``RunWork``: runs the agent of a job, and stores how the run ended. It is the same whatever executes the run."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from stream_protocol.serving.base import HookTimeoutError, with_timeout
from stream_protocol.serving.chats import Completion
from stream_protocol.serving.errors import is_unreachable, log_error
from stream_protocol.serving.runs._on_finish import notify
from stream_protocol.serving.runs._steering_posts import NextTurn
from stream_protocol.serving.telemetry import LoopLag
from stream_protocol.session import AnsweredCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from google.adk.events import Event
    from google.adk.runners import Runner

    from stream_protocol.serving.base import ServiceTimes
    from stream_protocol.serving.runs._active_runs import ActiveRuns
    from stream_protocol.serving.runs._history_policy import HistoryPolicy
    from stream_protocol.serving.runs._job import Job
    from stream_protocol.serving.runs._on_finish import OnFinish
    from stream_protocol.serving.runs._run import Run
    from stream_protocol.wire import AiSdkVersion

logger = logging.getLogger(__name__)


class RunWork:
    """Does the work of runs. ``runner``: the service's. ``hook_timeout``: see ``ServiceLimits``."""

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
        """The whole time of a run, in its own task. ``first_run``: see ``RunObserver.observed``."""
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
        """Runs the agent, whose events these are, and stores the end."""
        try:
            await run.run_agent(events, job.start_response, job.recorder)
        finally:
            late = await run.steering.close()
            if run.outcome == "finish":
                job.on_stored(job.answers)  # an agent of a class that stores nothing by itself
            if run.is_open:
                await self._complete_session(run, job)
                await self._notify(run, job)
                if late and not run.was_left and await run.holds_lease():
                    stopped = run.outcome == "abort"
                    run.begin_after(NextTurn(message=late[0].message, overrides=job.overrides, was_stopped=stopped))

    async def _complete_session(self, run: Run, job: Job) -> None:
        """Stores what the page was shown and ADK has not stored, if the run still holds the chat's lease.

        While the store is away, the chat waits: nobody else knows what is missing. Only ``aclose`` ends that.
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
            idempotency_key=run.idempotency_key,
            holds_lease=run.holds_lease,
        )
        pause = self._times.completing
        while not await self._is_completed(completion, is_told=pause > self._times.completing):
            await asyncio.sleep(pause)
            pause = min(pause * 2, self._times.max_completing)

    async def _is_completed(self, completion: Completion, *, is_told: bool) -> bool:
        """Stores the end of a run. Returns ``False`` if the store is away. ``is_told``: that is logged already."""
        try:
            await with_timeout(self._hook_timeout, completion.store())
        except HookTimeoutError as error:
            logger.error("What a run has shown was not stored. %s", error)  # noqa: TRY400 - no trace of ours helps
        except Exception as error:
            if is_unreachable(error) and not self._runs.is_closed:
                if not is_told:
                    logger.error("A run keeps its chat until the session store has what it has shown.")  # noqa: TRY400 - the next line has the reason
                    log_error(logger, error)
                return False
            logger.exception("What a run has shown could not be stored.")  # the chat must become free all the same
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
