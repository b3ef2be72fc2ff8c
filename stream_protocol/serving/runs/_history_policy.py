"""The history that the model reads: ``ServerHistory``, the stored chat, or ``ClientHistory``, the messages of the
request.

A service has one of them for all its life: see ``ChatService(history=…)``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from stream_protocol.serving.adk_runner import resumed_agent
from stream_protocol.serving.base import run_off_loop
from stream_protocol.serving.chats import artifact_urls, load_saved_files, restore_session
from stream_protocol.session import NewUserTurn, NothingToRun, Transcript, plan

if TYPE_CHECKING:
    from google.adk.runners import Runner
    from google.adk.sessions import Session

    from stream_protocol.serving.chats import ChatKey, ChatStore
    from stream_protocol.serving.runs._job import Job
    from stream_protocol.serving.runs._planner import Incoming
    from stream_protocol.session import CallAnswer, FilePolicy, HistoryCut, RequestPlan
    from stream_protocol.stream import ArtifactUrl
    from stream_protocol.wire import ChatRequest, UIMessage


class Planned(NamedTuple):
    """A request's wish, and the input of its run."""

    runner: Runner
    session: Session | None
    """``None`` for a new chat."""
    request_plan: RequestPlan
    transcript: Transcript | None = None
    """The stored session as it was read; ``None`` for a history that the client sends."""

    @property
    def answers(self) -> tuple[CallAnswer, ...]:
        """The answers of the turn."""
        return () if isinstance(self.request_plan, NothingToRun) else self.request_plan.answers


class ServerHistory:
    """The stored session. Of a request only its last message counts."""

    def __init__(self, runner: Runner, store: ChatStore, files: FilePolicy, history_cut: HistoryCut) -> None:
        self._runner = runner
        self._store = store
        self._files = files
        self._history_cut: HistoryCut = history_cut

    async def has_chat(self, key: ChatKey) -> bool:
        """Returns whether this user has the chat. Raises ``ChatRequestError`` (503) as ``ChatStore`` does."""
        return await self._store.session_without_events(key) is not None

    async def plan(self, incoming: Incoming, runner: Runner, *, chat_was_busy: bool) -> Planned:
        """Plans what the request asks for, in the stored session. Stores nothing."""
        request = incoming.request
        session = await self._store.find(incoming.chat)
        events = session.events if session is not None else []
        transcript = await run_off_loop(lambda: Transcript(events), events=events)
        incoming.scope.planned_in(transcript)
        planning = partial(
            plan,
            request,
            resumed_agent=partial(resumed_agent, runner),
            chat_was_busy=chat_was_busy,
            history_cut=self._history_cut,
            known_key=incoming.idempotency_key,
        )
        request_plan = await run_off_loop(lambda: planning(transcript), size=request.size, events=events)
        return Planned(runner, session, request_plan, transcript)

    async def with_files(self, planned: Planned) -> Planned:
        """Returns the plan with the files of its message, also those that an earlier request has saved as artifacts: a
        rewind would remove them. Raises ``ChatRequestError`` for files that are refused."""
        request_plan = planned.request_plan
        if not isinstance(request_plan, NewUserTurn):
            return planned
        if planned.session is not None:
            loaded = await load_saved_files(self._runner, planned.session, request_plan.texts_and_files)
            request_plan = replace(request_plan, texts_and_files=loaded)
        self._files.check(request_plan.texts_and_files)
        return planned._replace(request_plan=request_plan)

    def request_to_keep(self, request: ChatRequest) -> ChatRequest:
        """Returns what the run keeps of its request: the last message. It has no use for the others, for an hour."""
        return replace(request, messages=(request.target,))

    def artifact_url(self, chat_id: str, base: str | None) -> ArtifactUrl | None:
        """Returns how files of the agent are linked; ``None`` if the app has no store for them."""
        if self._runner.artifact_service is None:
            return None
        return artifact_urls((self._files.artifact_base or base) if self._files.artifact_links else None, chat_id)

    def messages_before(self, job: Job) -> list[UIMessage]:
        """Returns the messages before the response of this job, which may continue the last."""
        return job.messages_before_response()


class ClientHistory:
    """The messages of the request. Nothing is stored. ``mode``: all of them, or only their texts."""

    def __init__(self, files: FilePolicy, mode: Literal["client", "text"]) -> None:
        self._files = files
        self._mode: Literal["client", "text"] = mode

    async def has_chat(self, key: ChatKey) -> bool:
        """Returns ``True``: any chat may be this user's."""
        return True

    async def plan(self, incoming: Incoming, runner: Runner, *, chat_was_busy: bool) -> Planned:
        """Plans the request in a session of its own, in memory."""
        return Planned(*await restore_session(runner, incoming.request, user_id=incoming.user_id, mode=self._mode))

    async def with_files(self, planned: Planned) -> Planned:
        """Returns the plan as it is: the request has the files."""
        if isinstance(planned.request_plan, NewUserTurn):
            self._files.check(planned.request_plan.texts_and_files)
        return planned

    def request_to_keep(self, request: ChatRequest) -> ChatRequest:
        """The whole request: only it has the history."""
        return request

    def artifact_url(self, chat_id: str, base: str | None) -> None:
        """Returns ``None``: nothing is stored that a link could lead to."""

    def messages_before(self, job: Job) -> list[UIMessage]:
        """The messages of the request."""
        return [*job.request.messages_to_target]


HistoryPolicy: TypeAlias = ServerHistory | ClientHistory
"""The history that the model reads, and the rules that follow from it."""
