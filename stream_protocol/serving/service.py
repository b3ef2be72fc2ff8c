"""Everything about a chat that waits: sessions, runs, and one run at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.events import Event

from stream_protocol.conversation.file_policy import FilePolicy
from stream_protocol.conversation.stretches import is_user_text, live_events, message_id
from stream_protocol.conversation.turn import Answers, AsItStands, NewText, plan
from stream_protocol.convert.converter import sse_conversion
from stream_protocol.convert.options import ConverterOptions, Settings, ToolSelection
from stream_protocol.convert.streams import iter_chunks, iter_sse
from stream_protocol.serving.artifacts import artifact_url, load_artifact
from stream_protocol.serving.chats import PAGE_SIZE, ChatPage, delete_chat, list_chats
from stream_protocol.serving.content import default_run_config, run_config_for, user_content
from stream_protocol.serving.finished import OnFinish, tell
from stream_protocol.serving.prepared import NOTHING, Prepared, runner_for
from stream_protocol.serving.run import RUN_TIMEOUT, Run, RunLimits
from stream_protocol.serving.runs import STOPPING_WAIT, ActiveRuns, ChatKey
from stream_protocol.serving.target import Target, announces_user_message, as_runner, delegation_tools
from stream_protocol.wire.errors import ChatRequestError
from stream_protocol.wire.reducer import reduce_chunks
from stream_protocol.wire.sse_reader import parse_sse

if TYPE_CHECKING:
    from google.adk.agents.run_config import RunConfig
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService, Session
    from google.genai import types

    from stream_protocol.convert.conversion import Conversion
    from stream_protocol.wire.chunks import AnyChunk
    from stream_protocol.wire.messages import ChatRequest, UIMessage

SHUTDOWN_SECONDS: Final = 10.0
"""How long ``aclose`` waits for stopped runs. Longer than a stopped run may take before it is cancelled."""


class ChatService:
    """Holds conversations between ``useChat`` clients and one ADK agent; knows nothing of HTTP.

    ``target``: an agent, an ``App`` or a ``Runner``. One ADK session per user and chat, named by the chat's id and made
    when the first message comes, in ``session_service`` (in memory by default; a ``Runner`` brings its own).

    ``run_config``: ``default_run_config()`` if not given: ``StreamingMode.SSE``, and plain ``def`` tools in threads.
    ``disconnect_grace``: seconds that a run goes on without a reader. ``None``, the default, lets it run to its end, so
    that a reload loses nothing; 0 stops it when the client leaves.
    ``run_timeout``: seconds that a run may take; ``None`` for no limit.
    ``stopping_wait``: seconds that a request waits for a run of its chat that is stopping.
    ``files``: which attached files are taken (all that a browser can send, by default), and whether the agent's own go
    out as links to artifacts.
    ``on_finish``: called when a run has ended, with the messages as the client has them now: see ``OnFinish``.

    Further options are the converter's. Calls of task-mode sub-agents are hidden besides those that it hides by itself.
    """

    def __init__(
        self,
        target: Target,
        *,
        session_service: BaseSessionService | None = None,
        run_config: RunConfig | None = None,
        disconnect_grace: float | None = None,
        run_timeout: float | None = RUN_TIMEOUT,
        stopping_wait: float = STOPPING_WAIT,
        files: FilePolicy | None = None,
        on_finish: OnFinish | None = None,
        **options: Unpack[ConverterOptions],
    ) -> None:
        self.runner = as_runner(target, session_service)
        self._run_config = run_config or default_run_config()
        self._limits = RunLimits(disconnect_grace=disconnect_grace, run_timeout=run_timeout)
        self._options: ConverterOptions = {
            **options,
            "hidden_tools": _also(delegation_tools(self.runner.agent), options.get("hidden_tools", ())),
        }
        self._settings = Settings(**self._options)
        self._files = files or FilePolicy()
        self._on_finish = on_finish
        self._runs = ActiveRuns(stopping_wait)
        self._tasks: set[asyncio.Task[None]] = set()

    async def respond(
        self, request: ChatRequest, *, user_id: str, prepared: Prepared = NOTHING
    ) -> AsyncIterator[bytes]:
        """Does what the request asks for and returns the response's SSE events, which may be read at any pace.

        Raises ``ChatRequestError`` for a request that is refused; nothing has been stored and nothing runs then.
        """
        key: ChatKey = (user_id, request.id)
        with ExitStack() as claim:
            run = await self._runs.claim(key, self._limits)
            claim.callback(self._runs.release, key)
            session = await self._find_session(key)
            turn = plan(request, session.events if session else ())
            if isinstance(turn, AsItStands):
                options = self._options_for(request.id)
                events = iter_sse(turn.events, past=turn.past, message_id=turn.message_id, **options)
                return _async_iterator(list(events))
            if isinstance(turn, NewText):
                self._files.check(turn.texts_and_files)
            session = session or await self._create_session(key)
            self._start(run, self._job(request, turn, session, prepared), claim.pop_all())
            return run.read()

    async def respond_chunks(
        self, request: ChatRequest, *, user_id: str, prepared: Prepared = NOTHING
    ) -> AsyncIterator[AnyChunk]:
        """``respond`` as chunks, for a server that sends them in another form."""
        return _parsed(await self.respond(request, user_id=user_id, prepared=prepared))

    async def artifact(self, chat_id: str, name: str, version: int | None = None, *, user_id: str) -> types.Part:
        """An artifact of the user's chat; the newest version by default.

        Raises ``ChatRequestError`` (404) for one that is not there, and for every chat that is not the user's.
        """
        session = await self._find_session((user_id, chat_id))
        if session is None:
            raise ChatRequestError("There is no such artifact.", status=404)
        return await load_artifact(self.runner, session, name, version)

    async def chats(self, *, user_id: str, limit: int = PAGE_SIZE, cursor: str | None = None) -> ChatPage:
        """The user's chats, newest first. ``cursor``: the page before this one gave it."""
        return await list_chats(self.runner, user_id, limit=limit, cursor=cursor)

    async def delete(self, chat_id: str, *, user_id: str) -> None:
        """Deletes a chat of the user's and its artifacts; what runs in it is stopped first.

        Raises ``ChatRequestError``: 404 for a chat that is not there or not the user's, 409 if the run does not end.
        """
        key: ChatKey = (user_id, chat_id)
        with ExitStack() as claim:
            if await self._find_session(key) is not None:
                self._runs.stop(key)
                await self._runs.claim(key, self._limits)
                claim.callback(self._runs.release, key)
                if (session := await self._find_session(key)) is not None:
                    return await delete_chat(self.runner, session)
        raise ChatRequestError("There is no such chat.", status=404)

    async def aclose(self) -> None:
        """Stops all runs and waits for them, but not for ever; requests that come later are refused."""
        self._runs.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)

    def _job(self, request: ChatRequest, turn: NewText | Answers, session: Session, prepared: Prepared) -> _Job:
        runner = runner_for(prepared.agent, self.runner)
        options = self._options_for(request.id)
        if runner is not self.runner:
            options["hidden_tools"] = _also(delegation_tools(runner.agent), options.get("hidden_tools", ()))
        return _Job(request=request, turn=turn, session=session, prepared=prepared, runner=runner, options=options)

    def _options_for(self, chat_id: str) -> ConverterOptions:
        options: ConverterOptions = {**self._options}
        if self._files.artifact_base is not None:
            options["artifact_url"] = partial(artifact_url, self._files.artifact_base, chat_id)
        return options

    def _start(self, run: Run, job: _Job, claim: ExitStack) -> None:
        task = asyncio.create_task(self._drive(run, job, claim))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drive(self, run: Run, job: _Job, claim: ExitStack) -> None:
        with claim:
            try:
                await run.drive(self._events(run, job), job.begin)
            finally:
                await self._tell(run, job)

    async def _tell(self, run: Run, job: _Job) -> None:
        if self._on_finish is not None and run.log.closed:
            sent = [batch async for batch in run.log.read()]
            await tell(self._on_finish, job.request, sent, job.continued(), self._settings.ai_sdk)

    async def _events(self, run: Run, job: _Job) -> AsyncGenerator[Event]:
        """What ADK yields, with the user's own event first, which tells the invocation before the model speaks."""
        content = user_content(job.turn)
        invocation_id = job.announced_invocation()
        if invocation_id is not None:
            yield Event(author="user", invocation_id=invocation_id, content=content)
        events = job.runner.run_async(
            user_id=job.session.user_id,
            session_id=job.session.id,
            invocation_id=invocation_id,
            new_message=content,
            state_delta=job.prepared.state() or None,
            run_config=run_config_for(job.turn, job.prepared.run_config or self._run_config),
            yield_user_message=True,
            abort_signal=run.abort_signal,
        )
        async with aclosing(events):
            async for event in events:
                yield event

    async def _find_session(self, key: ChatKey) -> Session | None:
        user_id, chat_id = key
        return await self.runner.session_service.get_session(
            app_name=self.runner.app_name, user_id=user_id, session_id=chat_id
        )

    async def _create_session(self, key: ChatKey) -> Session:
        user_id, chat_id = key
        return await self.runner.session_service.create_session(
            app_name=self.runner.app_name, user_id=user_id, session_id=chat_id
        )


@dataclass(frozen=True, kw_only=True)
class _Job:
    """One turn of a chat, and how this request wants it run."""

    request: ChatRequest
    turn: NewText | Answers
    session: Session
    """As it was stored before the run."""
    prepared: Prepared
    runner: Runner
    options: ConverterOptions

    def begin(self, invocation_id: str | None) -> Conversion[bytes]:
        """The conversion of a response whose run has begun in this invocation."""
        settings = Settings(**self.options)
        match self.turn:
            case Answers():
                return sse_conversion(self.turn.past, self.turn.message_id, settings)
            case NewText() if invocation_id is None:
                return sse_conversion((), None, settings)
            case NewText():
                stored = live_events(self.session.events)
                texts = sum(event.invocation_id == invocation_id for event in stored if is_user_text(event))
                return sse_conversion((), message_id(invocation_id, texts + 1), settings)

    def announced_invocation(self) -> str | None:
        """The invocation that we name, where ADK itself would not tell it before the model speaks."""
        if announces_user_message(self.runner.agent):
            return None
        if isinstance(self.turn, Answers):
            return self.turn.past[0].invocation_id
        resumable = self.runner.resumability_config
        if resumable is not None and resumable.is_resumable and not self.session.events:
            return None  # ADK refuses an invocation by name in a session without events: it takes it for a resumption
        return new_invocation_context_id()

    def continued(self) -> UIMessage | None:
        """The message that the response goes on with, as it stands before."""
        if not isinstance(self.turn, Answers):
            return None
        options: ConverterOptions = {**self.options, "transform": None}
        chunks = iter_chunks(self.turn.past, message_id=self.turn.message_id, **options)
        return reduce_chunks(chunks, ai_sdk=options.get("ai_sdk", 6))


def _also(names: frozenset[str], hidden: ToolSelection) -> ToolSelection:
    """The app's choice of hidden tools, and these names."""
    if callable(hidden):
        return lambda tool: tool in names or hidden(tool)
    return "all" if hidden == "all" else names.union(hidden)


async def _parsed(events: AsyncIterator[bytes]) -> AsyncIterator[AnyChunk]:
    try:
        async for batch in events:
            for chunk in parse_sse(batch):
                yield chunk
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


async def _async_iterator(events: list[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event
