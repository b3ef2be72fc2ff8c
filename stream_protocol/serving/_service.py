"""Everything about a chat that waits: sessions, runs, and one run at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Unpack

from stream_protocol.convert import ConverterOptions, Settings, hiding, iter_sse
from stream_protocol.serving._active_runs import DELETION, STOPPING_WAIT, ActiveRuns, ChatKey
from stream_protocol.serving._artifacts import artifact_urls, load_artifact, with_their_bytes
from stream_protocol.serving._chat_list import PAGE_SIZE, ChatPage, delete_chat, list_chats
from stream_protocol.serving._job import Job
from stream_protocol.serving._on_finish import OnFinish, tell
from stream_protocol.serving._overrides import NO_OVERRIDES, RunOverrides, runner_for
from stream_protocol.serving._recorder_protocol import Recorder, Unrecorded
from stream_protocol.serving._rewinding import rewind
from stream_protocol.serving._run import RUN_TIMEOUT, Run, RunLimits
from stream_protocol.serving._sessions import restored_session
from stream_protocol.serving._worker_check import warn_of_other_workers
from stream_protocol.serving.adk_runner import Target, as_runner, delegation_tools
from stream_protocol.serving.run_logs import MemoryRunLog
from stream_protocol.session import (
    AnsweredCalls,
    FilePolicy,
    NewUserTurn,
    NothingToRun,
    default_run_config,
    fingerprint,
    plan,
    sealing_events,
    session_to_messages,
    shown_events,
)
from stream_protocol.wire import ChatRequestError
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from google.adk.agents.run_config import RunConfig
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService, Session
    from google.genai import types

    from stream_protocol.serving.run_logs import RunLog
    from stream_protocol.session import HistoryMode
    from stream_protocol.wire import AnyChunk, ChatRequest, UIMessage

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 10.0
"""How long ``aclose`` waits for stopped runs. Longer than a stopped run may take before it is cancelled."""


class ChatService:
    """Holds conversations between ``useChat`` clients and one ADK agent; knows nothing of HTTP.

    ``target``: an agent, an ``App`` or a ``Runner``. One ADK session per user and chat, named by the chat's id and made
    when the first message comes, in ``session_service`` (in memory by default; a ``Runner`` brings its own).

    ``history``: whose history the model reads. ``"server"``, the default: that of the stored session; of a request only
    the last message counts. ``"client"``: what the request says has happened. Nothing is stored, each request has a
    session of its own, in memory, and approvals are refused. ``"text"``: of that, only what was said.
    ``run_config``: ``default_run_config()`` if not given: ``StreamingMode.SSE``, and plain ``def`` tools in threads.
    ``run_log``: where responses are kept while they are written: ``MemoryRunLog()`` by default, for one process;
    ``RedisRunLog`` for many. The service closes it.
    ``disconnect_grace``: seconds that a run goes on without a reader. ``None``, the default, lets it run to its end, so
    that a reload loses nothing; 0 stops it when the client leaves.
    ``run_timeout``: seconds that a run may take; ``None`` for no limit.
    ``stopping_wait``: seconds that a request waits for a run of its chat that is stopping.
    ``files``: which attached files are taken (all that a browser can send, by default), and whether the agent's own go
    out as links to artifacts.
    ``recorder``: records the chats: a ``ChatRecorder`` of ``stream_protocol.recording``.
    ``on_finish``: called when a run has ended, with the messages as they stand now: see ``OnFinish``.

    Further options are the converter's. Calls of task-mode sub-agents are hidden besides those that it hides by itself.
    """

    def __init__(
        self,
        target: Target,
        *,
        session_service: BaseSessionService | None = None,
        history: HistoryMode = "server",
        run_config: RunConfig | None = None,
        run_log: RunLog | None = None,
        disconnect_grace: float | None = None,
        run_timeout: float | None = RUN_TIMEOUT,
        stopping_wait: float = STOPPING_WAIT,
        files: FilePolicy | None = None,
        on_finish: OnFinish | None = None,
        recorder: Recorder | None = None,
        **options: Unpack[ConverterOptions],
    ) -> None:
        self.runner = as_runner(target, session_service)
        self._history = history
        self._run_config = run_config or default_run_config()
        self._limits = RunLimits(disconnect_grace=disconnect_grace, run_timeout=run_timeout)
        self._options = hiding(delegation_tools(self.runner.agent), options)
        self._settings = Settings(**self._options)
        self._files = files or FilePolicy()
        self._on_finish = on_finish
        self._recorder = recorder or Unrecorded()
        if run_log is None:
            warn_of_other_workers()
        self._run_log = run_log or MemoryRunLog()
        self._runs = ActiveRuns(self.runner.app_name, self._run_log, stopping_wait)
        self._tasks: set[asyncio.Task[None]] = set()

    async def respond(
        self, request: ChatRequest, *, user_id: str, prepared: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[bytes]:
        """Does what the request asks for and returns the response's SSE events, which may be read at any pace.

        Raises ``ChatRequestError`` for a request that is refused; nothing has been stored and nothing runs then.
        """
        key: ChatKey = (user_id, request.id)
        claimed = await self._runs.claim(key, fingerprint(request), self._limits)
        if not isinstance(claimed, Run):
            return claimed
        with ExitStack() as claim:
            claim.callback(self._runs.release, key)
            planned = await (self._restored if self._history != "server" else self._planned)(key, request, prepared)
            if isinstance(planned, NothingToRun):
                options = self._options_for(request.id, prepared.artifact_base)
                past, behind = shown_events(planned.past), shown_events(planned.events)
                return _async_iterator(list(iter_sse(behind, past=past, message_id=planned.message_id, **options)))
            claimed.lease.open()
            self._start(claimed, planned, claim.pop_all())
            return claimed.log.read()

    async def _planned(self, key: ChatKey, request: ChatRequest, prepared: RunOverrides) -> Job | NothingToRun:
        """What the request asks for in the stored chat."""
        session = await self._find_session(key)
        turn = plan(request, session.events if session else ())
        if isinstance(turn, NothingToRun):
            return turn
        if isinstance(turn, NewUserTurn):
            if session is not None:  # before the rewind, which takes artifacts back
                said = await with_their_bytes(self.runner, session, turn.texts_and_files)
                turn = replace(turn, texts_and_files=said)
            self._files.check(turn.texts_and_files)
            if session is not None and turn.rewind_before is not None:
                session = await rewind(self.runner, session, turn.rewind_before)
        session = session or await self._create_session(key)
        return self._job(request, turn, session, prepared, runner_for(prepared.agent, self.runner))

    async def _restored(self, key: ChatKey, request: ChatRequest, prepared: RunOverrides) -> Job:
        """What the request asks for in the chat that it brings with it."""
        assert self._history != "server"
        runner, session, turn = await restored_session(
            runner_for(prepared.agent, self.runner), request, user_id=key[0], mode=self._history
        )
        if isinstance(turn, NewUserTurn):
            self._files.check(turn.texts_and_files)
        return self._job(request, turn, session, prepared, runner)

    async def respond_chunks(
        self, request: ChatRequest, *, user_id: str, prepared: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[AnyChunk]:
        """``respond`` as chunks, for a server that sends them in another form."""
        return _parsed(await self.respond(request, user_id=user_id, prepared=prepared))

    async def resume(self, chat_id: str, *, user_id: str) -> AsyncIterator[bytes] | None:
        """The response that is being written in a chat of the user's, from ``start`` on and to its end.

        It can be folded by a page that has nothing of its message: what the message held before comes first. ``None``
        if nothing is written there, or it is not the user's chat.
        """
        return await self._runs.resume((user_id, chat_id))

    async def history(self, chat_id: str, *, user_id: str, artifact_base: str | None = None) -> list[UIMessage] | None:
        """The messages of a chat as its client has them; ``None`` if this user has no such chat.

        ``artifact_base`` as in ``RunOverrides``. While a run goes on, what is stored of its message is in it; calls
        without a result are left open.
        """
        key: ChatKey = (user_id, chat_id)
        running = await self._runs.settled(key)
        session = await self._find_session(key)
        if session is None:
            return None
        return session_to_messages(session, running=running, **self._options_for(chat_id, artifact_base))

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

    async def stop(self, chat_id: str, *, user_id: str) -> None:
        """Stops what runs in a chat of the user's, if anything does: its response ends in ``abort`` at once.

        A client that only leaves has not asked for that: it may have been a reload. Raises ``ChatRequestError`` (404)
        for a chat that is not there or not the user's.
        """
        key: ChatKey = (user_id, chat_id)
        if not await self._runs.stop(key) and await self._find_session(key) is None:
            raise ChatRequestError("There is no such chat.", status=404)

    async def delete(self, chat_id: str, *, user_id: str) -> None:
        """Deletes a chat of the user's and its artifacts; what runs in it is stopped first.

        Raises ``ChatRequestError``: 404 for a chat that is not there or not the user's, 409 if the run does not end.
        """
        key: ChatKey = (user_id, chat_id)
        with ExitStack() as claim:
            if await self._find_session(key) is not None:
                await self._runs.stop(key)
                await self._runs.claim(key, DELETION, self._limits)
                claim.callback(self._runs.release, key)
                if (session := await self._find_session(key)) is not None:
                    return await delete_chat(self.runner, session)
        raise ChatRequestError("There is no such chat.", status=404)

    async def aclose(self) -> None:
        """Stops all runs and waits for them, but not for ever; requests that come later are refused."""
        self._runs.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)
            self._tasks.clear()  # who has not ended by now is not waited for again
        await self._run_log.aclose()

    def _job(
        self,
        request: ChatRequest,
        turn: NewUserTurn | AnsweredCalls,
        session: Session,
        prepared: RunOverrides,
        runner: Runner,
    ) -> Job:
        options = self._options_for(request.id, prepared.artifact_base)
        if runner.agent is not self.runner.agent:
            options = hiding(delegation_tools(runner.agent), options)
        return Job(
            request=request,
            turn=turn,
            session=session,
            prepared=prepared,
            runner=runner,
            run_config=self._run_config,
            options=options,
            recorder=self._recorder.turn(request, app_name=runner.app_name, user_id=session.user_id, options=options),
        )

    def _options_for(self, chat_id: str, artifact_base: str | None) -> ConverterOptions:
        options: ConverterOptions = {**self._options}
        if self.runner.artifact_service is not None and self._history == "server":
            base = (self._files.artifact_base or artifact_base) if self._files.artifact_links else None
            options.setdefault("artifact_url", artifact_urls(base, chat_id))
        return options

    def _start(self, run: Run, job: Job, claim: ExitStack) -> None:
        task = asyncio.create_task(self._drive(run, job, claim))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drive(self, run: Run, job: Job, claim: ExitStack) -> None:
        with claim:
            try:
                await run.drive(job.events(run.abort_signal), job.begin, job.recorder)
            finally:
                await self._seal(run, job)
                await self._tell(run, job)

    async def _seal(self, run: Run, job: Job) -> None:
        """Stores what a run that broke off has shown, while the chat is still its own."""
        outcome = run.outcome
        if outcome is None or outcome == "finish" or not run.lease.held:
            return
        try:
            session = await self._find_session((job.session.user_id, job.session.id))
            if session is None:
                return
            sealing = sealing_events(
                session.events,
                run.fragments,
                outcome,
                begun_at=len(job.session.events),
                agent=job.runner.agent.name,
            )
            for event in sealing:
                await self.runner.session_service.append_event(session, event)
        except Exception:  # the run is over; its chat must become free whatever its store says
            logger.exception("What a broken run has shown could not be stored.")

    async def _tell(self, run: Run, job: Job) -> None:
        if self._on_finish is not None and run.log.closed:
            await tell(
                self._on_finish,
                run.log.whole(),
                before=job.messages if self._history == "server" else lambda: job.request.messages,
                continues=isinstance(job.turn, AnsweredCalls),
                ai_sdk=self._settings.ai_sdk,
            )

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
