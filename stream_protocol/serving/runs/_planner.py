"""``Planner``: finds out what a request asks for, and makes the job of its run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stream_protocol.serving.adk_runner import runner_for, task_agent_tools
from stream_protocol.serving.base import TurnRecorders, run_off_loop
from stream_protocol.serving.chats import create_session, repair_session, rewind_session
from stream_protocol.serving.runs._job import Job
from stream_protocol.session import NewUserTurn, events_before_words
from stream_protocol.stream import ConverterOptions, hide_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.adk.agents.run_config import RunConfig
    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.base import AuditScope, Recorder, RunOverrides
    from stream_protocol.serving.chats import ChatKey
    from stream_protocol.serving.runs._history_policy import HistoryPolicy, Planned
    from stream_protocol.session import AnsweredCalls, CallAnswer
    from stream_protocol.wire import ChatRequest


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A request for a response."""

    request: ChatRequest
    user_id: str
    overrides: RunOverrides
    scope: AuditScope
    """For the audit trail."""
    idempotency_key: str
    """Equal requests have the same: see ``stream_protocol.session.idempotency_key``."""
    requested_at: float = field(default_factory=time.perf_counter)
    """When the request came."""

    @property
    def chat(self) -> ChatKey:
        """The key of its chat."""
        return self.user_id, self.request.id


class Planner:
    """Plans requests. ``runner``, ``run_config`` and ``options`` are the service's, where a request has no others."""

    def __init__(
        self,
        runner: Runner,
        run_config: RunConfig,
        options: ConverterOptions,
        history: HistoryPolicy,
        recorders: Sequence[Recorder],
    ) -> None:
        self._runner = runner
        self._run_config = run_config
        self._options = options
        self._history = history
        self._recorders = recorders

    def options_for(self, chat_id: str, artifact_base: str | None) -> ConverterOptions:
        """Returns the options of responses in this chat."""
        options: ConverterOptions = {**self._options}
        if (artifact_url := self._history.artifact_url(chat_id, artifact_base)) is not None:
            options.setdefault("artifact_url", artifact_url)
        return options

    async def plan(self, incoming: Incoming, *, chat_was_busy: bool) -> Planned:
        """Plans what the request asks for. Stores nothing. ``chat_was_busy``: see ``stream_protocol.session.plan``."""
        runner = runner_for(incoming.overrides.agent, self._runner)
        planned = await self._history.plan(incoming, runner, chat_was_busy=chat_was_busy)
        incoming.scope.plan(planned.answers)
        return await self._history.with_files(planned)

    async def prepare(
        self,
        incoming: Incoming,
        planned: Planned,
        turn: NewUserTurn | AnsweredCalls,
        accept: Callable[[Sequence[CallAnswer]], None],
    ) -> Job:
        """Creates or rewinds the session for the planned ``turn``, and stores the answers that came with a message."""
        session = planned.session
        if session is not None and isinstance(turn, NewUserTurn) and turn.rewind_before is not None:
            session = await rewind_session(self._runner, session, turn.rewind_before)
        session = session or await create_session(planned.runner, *incoming.chat)
        await repair_session(planned.runner, session)
        for event in events_before_words(turn) if isinstance(turn, NewUserTurn) else ():
            await planned.runner.session_service.append_event(session, event)
        known = planned.transcript
        if known is not None and len(known.stored) != len(session.events):  # they have been appended to
            known = None
        job = self.job(incoming.request, turn, session, incoming.overrides, planned.runner, accept)
        job = replace(job, known_transcript=known)
        await run_off_loop(job.read_session, events=session.events)
        return job

    def job(
        self,
        request: ChatRequest,
        turn: NewUserTurn | AnsweredCalls,
        session: Session,
        overrides: RunOverrides,
        runner: Runner,
        accept: Callable[[Sequence[CallAnswer]], None],
    ) -> Job:
        """Makes the job of a planned turn, which ``runner`` runs in the ``session``. ``accept``: see ``on_stored``."""
        options = self.options_for(request.id, overrides.artifact_base)
        if runner.agent is not self._runner.agent:
            options = hide_tools(task_agent_tools(runner.agent), options)
        turns = (
            recorder.turn(request, app_name=runner.app_name, user_id=session.user_id, options=options)
            for recorder in self._recorders
        )
        return Job(
            request=self._history.request_to_keep(request),
            turn=turn,
            session=session,
            overrides=overrides,
            runner=runner,
            run_config=self._run_config,
            options=options,
            recorder=TurnRecorders(turns),
            on_stored=accept,
        )
