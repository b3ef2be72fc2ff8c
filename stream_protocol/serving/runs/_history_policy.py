"""Provides the history that the model reads. ``ServerHistory`` takes it from the stored chat, and ``ClientHistory``
from the request.
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
    from stream_protocol.session import AnsweredCalls, CallAnswer, FilePolicy, RequestPlan, TruncatedHistory
    from stream_protocol.stream import ArtifactUrl
    from stream_protocol.wire import ChatRequest, UIMessage


class Planned(NamedTuple):
    """The plan of a request, and the runner and the session with which the agent will run."""

    runner: Runner
    session: Session | None
    """The stored session; ``None`` for a new chat."""
    request_plan: RequestPlan
    """The run's input: a user message, answers to tool calls, or nothing to run."""
    transcript: Transcript | None = None
    """The stored conversation; ``None`` if the client sends the history."""

    @property
    def answers(self) -> tuple[CallAnswer, ...]:
        return () if isinstance(self.request_plan, NothingToRun) else self.request_plan.answers


class ServerHistory:
    """Takes the history from the stored chat. Uses only the last message of a request."""

    def __init__(
        self, runner: Runner, store: ChatStore, files: FilePolicy, truncated_history: TruncatedHistory
    ) -> None:
        self._runner = runner
        self._store = store
        self._files = files
        self._truncated_history: TruncatedHistory = truncated_history

    async def has_chat(self, key: ChatKey) -> bool:
        """Returns True if this user has the chat. Raises ``ChatRequestError`` (503)."""
        return await self._store.session_without_events(key) is not None

    async def plan(self, incoming: Incoming, runner: Runner, *, chat_was_busy: bool) -> Planned:
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
            truncated_history=self._truncated_history,
            known_key=incoming.idempotency_key,
        )
        request_plan = await run_off_loop(lambda: planning(transcript), size=request.size, events=events)
        return Planned(runner, session, request_plan, transcript)

    async def with_files(self, planned: Planned) -> Planned:
        """Returns ``planned`` with the bytes of all files in the user's message. Must be called before a rewind, which
        removes artifacts. Raises ``ChatRequestError`` for refused files.
        """
        request_plan = planned.request_plan
        if not isinstance(request_plan, NewUserTurn):
            return planned
        if planned.session is not None:
            loaded = await load_saved_files(self._runner, planned.session, request_plan.texts_and_files)
            request_plan = replace(request_plan, texts_and_files=loaded)
        self._files.check(request_plan.texts_and_files)
        return planned._replace(request_plan=request_plan)

    def request_to_keep(self, request: ChatRequest, request_plan: NewUserTurn | AnsweredCalls) -> ChatRequest:
        """Returns a smaller request that has only the last message, to save memory during the run. If the run uses
        answers to tool calls from the message before it, the request also keeps that message.
        """
        before = (
            request.message_before_words if isinstance(request_plan, NewUserTurn) and request_plan.answers else None
        )
        return replace(request, messages=(request.target,) if before is None else (before, request.target))

    def artifact_url(self, chat_id: str, base: str | None) -> ArtifactUrl | None:
        """Returns a function that builds links to files of the agent; ``None`` without an artifact service."""
        if self._runner.artifact_service is None:
            return None
        return artifact_urls((self._files.artifact_base or base) if self._files.artifact_links else None, chat_id)

    def messages_before(self, job: Job) -> list[UIMessage]:
        """Returns the messages of the chat before the response. If the request answers tool calls, the response
        continues the last message.
        """
        return job.messages_before_response()


class ClientHistory:
    """Takes the history from the request, for chats that the server does not store. ``mode``: with ``"text"``, uses
    only the texts of the messages.
    """

    def __init__(self, files: FilePolicy, mode: Literal["client", "text"]) -> None:
        self._files = files
        self._mode: Literal["client", "text"] = mode

    async def has_chat(self, key: ChatKey) -> bool:
        """Always returns True, because the server cannot know which chats a user has."""
        return True

    async def plan(self, incoming: Incoming, runner: Runner, *, chat_was_busy: bool) -> Planned:
        return Planned(*await restore_session(runner, incoming.request, user_id=incoming.user_id, mode=self._mode))

    async def with_files(self, planned: Planned) -> Planned:
        """Returns ``planned`` unchanged, because the request contains the files. Raises ``ChatRequestError`` for
        refused files.
        """
        if isinstance(planned.request_plan, NewUserTurn):
            self._files.check(planned.request_plan.texts_and_files)
        return planned

    def request_to_keep(self, request: ChatRequest, request_plan: NewUserTurn | AnsweredCalls) -> ChatRequest:
        """Returns the whole request, because only the request contains the history."""
        return request

    def artifact_url(self, chat_id: str, base: str | None) -> None:
        """Returns ``None``, because no files are stored."""

    def messages_before(self, job: Job) -> list[UIMessage]:
        return [*job.request.messages_to_target]


HistoryPolicy: TypeAlias = ServerHistory | ClientHistory
