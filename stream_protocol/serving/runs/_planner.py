"""Provides ``Planner``, which decides what to run for a request, and creates the ``Job`` of the run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from stream_protocol.serving.adk_runner import runner_for, task_agent_tools
from stream_protocol.serving.base import TurnRecorders, run_off_loop
from stream_protocol.serving.chats import PageWrites, create_session
from stream_protocol.serving.errors import explain_missing_key
from stream_protocol.serving.runs._job import Job
from stream_protocol.session import CONTEXT_KEY, STATE_KEY
from stream_protocol.stream import ConverterOptions, hide_task_agents, masked_error_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.adk.agents.run_config import RunConfig
    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.base import AuditScope, Recorder, RunOverrides
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.runs._history_policy import HistoryPolicy, Planned
    from stream_protocol.session import AnsweredCalls, CallAnswer, NewUserTurn, PageContext, SharedState
    from stream_protocol.wire import ChatRequest


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A chat request, with data that the service has added."""

    request: ChatRequest
    user_id: str
    overrides: RunOverrides
    scope: AuditScope
    idempotency_key: str
    """The key that equal requests share: see ``stream_protocol.session.idempotency_key``."""
    requested_at: float = field(default_factory=time.perf_counter)
    """The time of the request, by ``time.perf_counter``."""

    @property
    def chat(self) -> ChatKey:
        """The key of the chat: the user id and the chat id."""
        return self.user_id, self.request.id


class Planner:
    """Decides what to run for a request, and creates the ``Job`` of the run.

    ``runner``, ``run_config`` and ``options``: defaults for requests without overrides. ``context`` and
    ``shared_state``: see ``ServiceOptions``.
    """

    def __init__(
        self,
        runner: Runner,
        run_config: RunConfig,
        options: ConverterOptions,
        history: HistoryPolicy,
        recorders: Sequence[Recorder],
        *,
        context: PageContext | None,
        shared_state: SharedState | None,
    ) -> None:
        self._runner = runner
        self._run_config = run_config
        self._options = options
        self._history = history
        self._recorders = recorders
        self._context = context
        self._shared_state = shared_state

    def options_for(self, chat_id: str, artifact_base: str | None) -> ConverterOptions:
        options: ConverterOptions = {**self._options}
        if (artifact_url := self._history.artifact_url(chat_id, artifact_base)) is not None:
            options.setdefault("artifact_url", artifact_url)
        return options

    async def plan(self, incoming: Incoming, *, chat_was_busy: bool) -> Planned:
        """Decides what the run of the request must do. Stores nothing. ``chat_was_busy``: see the function
        ``stream_protocol.session.plan``.
        """
        runner = runner_for(incoming.overrides.agent, self._runner)
        planned = await self._history.plan(incoming, runner, chat_was_busy=chat_was_busy)
        incoming.scope.plan(planned.answers)
        return await self._history.with_files(planned)

    async def prepare(
        self,
        incoming: Incoming,
        planned: Planned,
        request_plan: NewUserTurn | AnsweredCalls,
        accept: Callable[[Sequence[CallAnswer]], None],
    ) -> Job:
        """Returns the job of the run. For a new chat, creates the session; the job makes all other changes when it
        runs. ``accept``: see ``Job.on_stored``.
        """
        session = planned.session or await create_session(planned.runner, *incoming.chat)
        writes = self._page_writes(session)
        written: dict[str, Any] = {} if writes is None else await writes.take()
        if self._shared_state is not None:
            written.update(incoming.request.body.get(STATE_KEY) or {})
        job = self.job(incoming.request, request_plan, session, incoming.overrides, planned.runner, accept)
        job = replace(
            job,
            known_transcript=planned.transcript,
            page_writes=writes,
            page_state=written,
            on_answered=incoming.scope.accept,
        )
        await run_off_loop(job.read_session, events=session.events)
        return job

    def _page_writes(self, session: Session) -> PageWrites | None:
        shared = self._shared_state
        return PageWrites(self._runner, session, tuple(shared.types)) if shared is not None and shared.types else None

    def job(
        self,
        request: ChatRequest,
        request_plan: NewUserTurn | AnsweredCalls,
        session: Session,
        overrides: RunOverrides,
        runner: Runner,
        accept: Callable[[Sequence[CallAnswer]], None],
    ) -> Job:
        """Creates the job of a run. ``runner`` executes the run in ``session``. ``accept``: see ``Job.on_stored``."""
        options = self.options_for(request.id, overrides.artifact_base)
        if overrides.names_missing_key:
            options.setdefault("on_error", _name_missing_key)
        if runner.agent is not self._runner.agent:
            options = hide_task_agents(task_agent_tools(runner.agent), options)
        turns = (
            recorder.turn(request, app_name=runner.app_name, user_id=session.user_id, options=options)
            for recorder in self._recorders
        )
        return Job(
            request=self._history.request_to_keep(request, request_plan),
            request_plan=request_plan,
            session=session,
            overrides=overrides,
            runner=runner,
            run_config=self._run_config,
            options=options,
            recorder=TurnRecorders(turns),
            on_stored=accept,
            context=request.body.get(CONTEXT_KEY) if self._context is not None else None,
            page_writes=self._page_writes(session),
        )


def _name_missing_key(error: BaseException) -> str:
    return explain_missing_key(error) or masked_error_text(error)
