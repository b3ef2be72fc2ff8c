"""``ChatService``: answers the requests of chats. It claims the chat, plans a turn, and starts a run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, Unpack

from stream_protocol.serving._audit import Attempt, AuditTrail, OnAudit
from stream_protocol.serving._byte_budget import ByteShare
from stream_protocol.serving._held_size import held_size
from stream_protocol.serving._in_progress import InProgress, in_progress
from stream_protocol.serving._limits import (
    ARTIFACTS_AT_ONCE,
    HISTORIES_AT_ONCE,
    RESPONSE_PATIENCE,
    RequestRates,
    RunSlot,
    RunSlots,
    ServiceLimits,
    UserReads,
    response_budget,
)
from stream_protocol.serving._long_work import long_work
from stream_protocol.serving._on_finish import OnFinish, notify
from stream_protocol.serving._overrides import NO_OVERRIDES, RunOverrides
from stream_protocol.serving._readiness import Readiness
from stream_protocol.serving._recorder_protocol import Recorder, as_one_recorder
from stream_protocol.serving._service_options import check_options, check_request
from stream_protocol.serving._time_limit import HOOK_TIMEOUT, HookTimeoutError, in_time
from stream_protocol.serving.adk_runner import (
    Target,
    as_runner,
    default_run_config,
    delegation_tools,
    resumed_agent,
    runner_for,
)
from stream_protocol.serving.chats import (
    PAGE_SIZE,
    WITHOUT_EVENTS,
    ChatChanges,
    ChatListPage,
    Completion,
    ListedChat,
    artifact_urls,
    change_chat,
    checked_changes,
    create_session,
    delete_session,
    find_session,
    list_chats,
    load_artifact,
    load_saved_files,
    repair_session,
    restore_session,
    rewind_session,
)
from stream_protocol.serving.engine import (
    UNRECOVERABLE_TEXT,
    LeftRuns,
    NotRecordedError,
    ResumedSessions,
    deployment_of,
    planned_again,
)
from stream_protocol.serving.errors import is_unreachable, log_error
from stream_protocol.serving.run_logs import MemoryRunLog, RunInfo, RunReader
from stream_protocol.serving.runs import (
    DELETION,
    RUN_TIMEOUT,
    STOPPING_WAIT,
    ActiveRuns,
    ChatKey,
    Job,
    LeaseLostError,
    Run,
    RunLimits,
    busy_refusal,
    chat_key,
    late_response,
    refusal_as_events,
    stopped_refusal,
    unreachable_refusal,
    warn_of_other_workers,
    with_error,
    without_loop,
)
from stream_protocol.serving.telemetry import LoopLag, interrupts
from stream_protocol.session import (
    AnsweredCalls,
    FilePolicy,
    NewUserTurn,
    NothingToRun,
    PlannedTurn,
    Transcript,
    events_before_words,
    fingerprint,
    plan,
    transcript_to_messages,
)
from stream_protocol.stream import ConverterOptions, Settings, hide_tools, iter_sse
from stream_protocol.wire import (
    ChatRequestError,
    StreamProtocolError,
    check_count,
    check_flag,
    check_instance,
    check_text,
)
from stream_protocol.wire.client import parse_sse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from google.adk.agents.run_config import RunConfig
    from google.adk.events import Event
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService, Session
    from google.genai import types

    from stream_protocol.serving.engine import Engine, OrphanedRun, Recovery
    from stream_protocol.serving.run_logs import RunLog
    from stream_protocol.session import CallAnswer, HistoryCut, HistoryMode
    from stream_protocol.wire import AnyChunk, ChatRequest, UIMessage

logger = logging.getLogger(__name__)

T = TypeVar("T")

INTERRUPTED_TEXT: Final = "Your answer was taken, but what followed from it is missing. Reload the page, or ask again."
"""What the page shows if it repeats an answer whose run left nothing."""

SESSION_STORE, ENGINE = "session_store", "engine"
"""Why a request is refused, to who counts that: the store that does not answer."""

RECOVERIES: Final = 3
"""How often a request has the orphaned runs of its chat recovered before it is refused: a recovery may fail."""

COMPLETING_SECONDS, MAX_COMPLETING_SECONDS = 0.5, 4.0
"""Between two attempts to store the end of a run, while the session store is away: at first, and at most."""

SHUTDOWN_SECONDS: Final = 10.0
"""How long ``aclose`` waits for stopped runs: longer than a stopped run may take before it is cancelled."""

ANSWERING_SECONDS: Final = 3.0
"""How long ``aclose`` waits for requests that are being answered, before it closes the run log."""

DRAINED_CHECK_SECONDS: Final = 0.05
"""Between two looks of ``drain`` whether anything goes on."""


class _StillRunningError(Exception):
    """The run for whose end an answer waits goes on."""


class _Planned(NamedTuple):
    """What a request asks for, and what it would be run with."""

    runner: Runner
    session: Session | None
    """``None`` for a new chat."""
    turn: PlannedTurn
    transcript: Transcript | None = None
    """The stored session as it was read; ``None`` for a history that the client sends."""


class ChatService:
    """The chats of an app's users with one ADK agent. Knows nothing of HTTP.

    Each chat of a user is one ADK session, whose id is the chat's. It is created with the first message. A ``chat_id``
    that no chat can have is refused by every method: ``ChatRequestError`` (400).

    ``target``: an agent, an ``App`` or a ``Runner``.
    ``session_service``: stores the sessions: any of ADK's, such as ``SqliteSessionService``, ``VertexAiSessionService``
    and ``DatabaseSessionService`` (with the extra ``postgres``). In memory by default. A ``Runner`` brings its own.
    ``history``: which history the model reads. ``"server"``, the default: the stored session; only the last message of
    a request counts. ``"client"``: the messages of the request. Nothing is stored, each request gets a session of its
    own, in memory, and approvals are refused. ``"text"``: the same, but only the texts of the messages.
    ``run_config``: ``default_run_config()`` by default: ``StreamingMode.SSE``, and plain ``def`` tools in threads:
    one of them would block every chat.
    ``run_log``: keeps responses while they are written. ``MemoryRunLog()`` by default, for one process; ``RedisRunLog``
    for many. The service closes it.
    ``disconnect_grace``: seconds that a run goes on without a reader; 0 stops it when the client leaves. ``None``, the
    default: it runs to its end, so that a reload loses nothing.
    ``run_timeout``: seconds that a run may take, since one that hangs must end some time; ``None`` for no limit.
    ``limits``: how many runs go on at once, how much one may say, how often a user may ask: see ``ServiceLimits``. The
    calls of models in a run are ``max_llm_calls`` of the run config, ADK's 500 by default; the bytes of a response are
    ``LogBounds.max_size`` of the run log.
    ``on_busy``: what a new turn of the user does while a run of its chat goes on. ``"interrupt"``, the default: it
    stops that run, as ``stop`` does, and is answered. ``"reject"``: every other request is refused (409).
    ``history_cut``: what it means that new words come with a history which ends before the stored one. ``"append"``,
    the default: they are the next words, and nothing is lost; a tab that is behind sends such a request. ``"rewind"``:
    what is stored after the last message that the client has is taken back first; some kits edit so, assistant-ui
    among them. Only for clients that send ``messages`` with the ids of all; a single ``message`` never means a cut.
    ``stopping_wait``: seconds that a request waits for a run of its chat that is stopping or being stored. After that
    it is refused (503, with ``Retry-After``).
    ``hook_timeout``: seconds that ``on_finish`` may take, and the session store each time that it reads or writes for a
    chat outside its run; ``None`` for no limit. After that it is cancelled, which is logged, and the chat is free.
    ``files``: which attached files are accepted (by default all that a browser can send), and whether the agent's files
    are sent as links to artifacts.
    ``on_finish``: called when a run has ended, with the messages of the chat: see ``OnFinish``.
    ``on_audit``: gets a record of each approval, denial, answer, sign-in, stop and deletion, refused ones as well: see
    ``AuditRecord``. The logger ``stream_protocol.audit`` gets them, too.
    ``recorder``: records the chats: a ``ChatRecorder`` of ``stream_protocol.recording``, or a list of recorders.
    One that fails stops none of the others.
    ``engine``: executes a run again whose worker is dead: a ``DbosEngine`` of ``stream_protocol.durable``. It needs
    ``history="server"``, and agents of ADK's own classes. The service closes it.

    Further options are the converter's. ``hidden_tools`` are hidden besides the calls of task-mode sub-agents.
    Raises ``StreamProtocolError`` for invalid options.
    """

    def __init__(  # noqa: PLR0913 - one argument per option
        self,
        target: Target,
        *,
        session_service: BaseSessionService | None = None,
        history: HistoryMode = "server",
        run_config: RunConfig | None = None,
        run_log: RunLog | None = None,
        disconnect_grace: float | None = None,
        run_timeout: float | None = RUN_TIMEOUT,
        limits: ServiceLimits | None = None,
        on_busy: Literal["interrupt", "reject"] = "interrupt",
        history_cut: HistoryCut = "append",
        stopping_wait: float = STOPPING_WAIT,
        hook_timeout: float | None = HOOK_TIMEOUT,
        files: FilePolicy | None = None,
        on_finish: OnFinish | None = None,
        on_audit: OnAudit | None = None,
        recorder: Recorder | Sequence[Recorder] | None = None,
        engine: Engine | None = None,
        **options: Unpack[ConverterOptions],
    ) -> None:
        check_options(
            history=history,
            run_config=run_config,
            run_log=run_log,
            disconnect_grace=disconnect_grace,
            run_timeout=run_timeout,
            limits=limits,
            on_busy=on_busy,
            history_cut=history_cut,
            stopping_wait=stopping_wait,
            hook_timeout=hook_timeout,
            files=files,
            on_finish=on_finish,
            on_audit=on_audit,
            recorder=recorder,
            engine=engine,
        )
        self.runner = as_runner(target, session_service)
        self._history = history
        self._run_config = run_config or default_run_config()
        self._on_busy = on_busy
        self._history_cut: HistoryCut = history_cut
        self._hook_timeout = hook_timeout
        limits = limits or ServiceLimits()
        self._run_limits = RunLimits(
            disconnect_grace=disconnect_grace, run_timeout=run_timeout, max_chunks=limits.max_chunks
        )
        self._rates = RequestRates(limits.max_requests_per_minute)
        self._foreign_rates = RequestRates(limits.max_requests_per_minute)
        self._reads = UserReads()
        self._histories = UserReads(per_worker=HISTORIES_AT_ONCE)
        self._artifacts = UserReads(per_worker=ARTIFACTS_AT_ONCE)
        self._max_response_bytes = limits.max_response_bytes
        self._responses = response_budget(limits.max_response_bytes)
        self._options = hide_tools(delegation_tools(self.runner.agent), options)
        self._settings = Settings(**self._options)
        self._files = files or FilePolicy()
        self._on_finish = on_finish
        self._recorder = as_one_recorder(recorder)
        if run_log is None:
            warn_of_other_workers()
        self._run_log = run_log or MemoryRunLog()
        self._stopping_wait = stopping_wait
        self._runs = ActiveRuns(self.runner.app_name, self._run_log, stopping_wait, self._chat_exists)
        self._slots = RunSlots(limits.max_runs_per_user, limits.max_runs, patience=stopping_wait)
        self._waiting = RunSlots(limits.max_waiting_per_user, limits.max_runs)
        self._audit = AuditTrail(self.runner.app_name, on_audit, timeout=hook_timeout)
        self._loop_lag = LoopLag()
        self._left_runs = self._watched_by(engine)
        self._readiness = Readiness(self.runner, self._run_log, engine if self._left_runs is not None else None)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.in_progress = InProgress()
        """The calls that ask the stores now. ``aclose`` waits for them."""
        self._draining = False

    @property
    def accepts_runs(self) -> bool:
        """Whether requests may begin runs: until ``drain`` or ``aclose`` is called."""
        return not self._draining

    async def missing_stores(self) -> tuple[str, ...]:
        """The stores that do not answer now, of those that each run needs: ``run log``, ``session store``, ``engine``.

        For a probe, at most a second: they are asked once a second, however many ask here.
        """
        return await self._readiness.missing()

    async def launch(self) -> None:
        """Takes up the runs of workers that are dead, from now on, if there is an ``engine``. ``create_app`` calls it
        when its server starts; else the first request does that needs it. Later calls do nothing."""
        if self._left_runs is not None:
            await self._left_runs.launch()

    def count_request(self, user_id: str, *, foreign: bool = False) -> None:
        """Counts a request of this user, of any kind but a stop. Raises ``ChatRequestError`` (429) if there were too
        many.

        ``foreign``: a page of another site has sent it. Such requests have an allowance of their own, so that no page
        of a stranger uses up that of the user.
        ``ChatEndpoints`` and ``SyncChatService.respond`` call it; whoever has requests and calls other methods does so
        by itself, before it reads a body.
        """
        check_text("user_id", user_id)
        check_flag("foreign", foreign)
        (self._foreign_rates if foreign else self._rates).count(user_id)

    def hold_memory(self, user_id: str) -> ByteShare:
        """Returns an empty share of ``ServiceLimits.max_response_bytes``, for a response to this user.

        ``ChatEndpoints`` takes one for each; an app that sends histories or artifacts in responses of its own can, too.
        """
        check_text("user_id", user_id)
        return self._responses.share(user_id)

    @in_progress
    async def respond(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[bytes]:
        """Starts what the request asks for, and returns the SSE events of the response. Read them at any pace.

        An equal request that is being answered gives the same response. While another run of the chat goes on, a new
        turn of the user interrupts it, and an answer to one of the agent's calls waits for its end; see ``on_busy``.
        Raises ``ChatRequestError`` for a request that is refused: nothing is stored, started or interrupted then.

        An answer may have to wait for longer than a client or a proxy waits for a response. So after ``stopping_wait``
        its response begins, silent; if the answer is refused then, the response is one ``error`` chunk.
        """
        check_text("user_id", user_id)
        check_request(request, overrides)
        begins_run = self.accepts_runs  # who was let in before waits for a chat, and has it then
        try:
            return await self._respond(request, user_id, overrides, patience=self._stopping_wait, begins_run=begins_run)
        except _StillRunningError:
            answer = partial(self._respond, request, user_id, overrides, patience=None, begins_run=begins_run)
            task = asyncio.create_task(refusal_as_events(answer))
            self._keep(task)
            return late_response(task)

    async def _respond(
        self,
        request: ChatRequest,
        user_id: str,
        overrides: RunOverrides,
        *,
        patience: float | None,
        begins_run: bool,
    ) -> AsyncIterator[bytes]:
        """``respond``. Raises ``_StillRunningError`` if an answer has to wait for longer than ``patience`` seconds.

        ``begins_run=False``: only attaches to the run of an equal request.
        """
        key = chat_key(user_id, request.id)
        async with self._audit.answering(user_id, request) as attempt:
            newest_stop = await self._runs.newest_stop(key)
            start = partial(self._start_or_repeat, request, user_id, overrides, attempt, newest_stop=newest_stop)
            for _ in range(RECOVERIES):
                if (events := await start(patience=patience, begins_run=begins_run)) is not None:
                    return events
                assert self._left_runs is not None
                await self._in_time(self._left_runs.recover(key), of=ENGINE)
            raise unreachable_refusal(ENGINE)

    async def _start_or_repeat(
        self,
        request: ChatRequest,
        user_id: str,
        overrides: RunOverrides,
        attempt: Attempt,
        *,
        patience: float | None,
        begins_run: bool,
        newest_stop: str,
    ) -> AsyncIterator[bytes] | None:
        """``_respond``, which records what becomes of the ``attempt``.

        Returns ``None`` if an orphaned run of the chat must end first: only new words end it, as one that goes on.
        ``newest_stop``: of the chat when the request came.
        """
        key = chat_key(user_id, request.id)
        requested_at, was_busy, settled = time.perf_counter(), False, "none"
        digest = await long_work(lambda: fingerprint(request), size=request.size)
        with ExitStack() as held:
            slot, waiting = RunSlot(self._slots, key), RunSlot(self._waiting, (user_id, object()))
            held.callback(slot.free)
            held.callback(waiting.free)
            claim = partial(self._runs.claim, key, digest, self._run_limits, waiting.take, begins_run=begins_run)
            while not isinstance(claimed := await claim(), Run):
                if isinstance(claimed, RunReader):
                    return claimed
                turn = await self._plan_beside(key, claimed, request, digest, overrides, attempt)
                if isinstance(turn, NothingToRun) and (turn.repeats == "words" or turn.is_superseded):
                    return await self._stored_response(key, turn, request, overrides)
                await waiting.take()
                if isinstance(turn, NewUserTurn):
                    await slot.take()
                    with self._audit.acting(user_id, request.id, "stop"):
                        await self._runs.interrupt(key, claimed)
                    interrupts.add(1)
                elif not await self._runs.wait_for_end(key, claimed, patience):
                    raise _StillRunningError
                was_busy = True
            waiting.free()
            held.callback(self._runs.release, claimed)
            claimed.continued = _continued(request)
            if await self._runs.newest_stop(key) not in ("", newest_stop):
                claimed.stop()  # the user has stopped the chat while the request waited: what it says is stored
            if self._left_runs is not None:
                settled = await self._in_time(self._left_runs.settle(key, digest, claimed, held), of=ENGINE)
            if settled == "recovered":
                reader = claimed.log.read()
                await self._until_accepted(claimed)
                return reader
            was_busy = was_busy or claimed.chat_was_busy
            planning = self._plan_turn(key, request, digest, overrides, attempt, chat_was_busy=was_busy)
            planned = await self._in_time(planning)
            if self._left_runs is not None and settled == "others":
                if not isinstance(planned.turn, NewUserTurn):
                    return None
                await self._in_time(self._left_runs.cancel(key), of=ENGINE)
            if isinstance(planned.turn, NothingToRun):
                return await self._stored_response(key, planned.turn, request, overrides)
            await slot.take()
            accept = partial(_accept, claimed, attempt)
            job = await self._in_time(self._prepare_job(key, request, overrides, planned, planned.turn, accept))
            if isinstance(planned.turn, NewUserTurn):
                attempt.accept(planned.turn.answers)
            slot.is_ending = lambda: claimed.log.closed
            claimed.observer.requested_at = requested_at
            reader = claimed.log.read()
            self._start(claimed, self._run_job(claimed, job, held.pop_all()))
            await self._until_accepted(claimed)
            return reader

    async def respond_chunks(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> AsyncIterator[AnyChunk]:
        """``respond`` as chunks, for a server that sends them in another form."""
        return _parse(await self.respond(request, user_id=user_id, overrides=overrides))

    @in_progress
    async def resume(self, chat_id: str, *, user_id: str) -> AsyncIterator[bytes] | None:
        """Returns the running response of a chat, as SSE events from ``start`` to its end; ``None`` if there is none.

        For a page that has nothing of the message: the earlier content of the message comes after ``start``. ``None``
        also for a chat of another user.
        """
        key = chat_key(user_id, chat_id)
        reader = await self._runs.resume(key)
        if reader is None and self._left_runs is not None:
            await self._in_time(self._left_runs.wait_until_taken_up(key), of=ENGINE)
            reader = await self._runs.resume(key)
        return reader

    @in_progress
    async def history(
        self,
        chat_id: str,
        *,
        user_id: str,
        artifact_base: str | None = None,
        memory: ByteShare | None = None,
        encoded: bool = True,
    ) -> list[UIMessage] | None:
        """Returns the messages of a chat as its client has them; ``None`` if this user has no such chat.

        ``artifact_base`` as in ``RunOverrides``. While a run goes on, the stored part of its message is included, and
        its calls without a result are left open.
        ``memory``: counts the messages before they exist: see ``hold_memory``. Raises ``ChatRequestError`` (429, 503)
        if there is no room for them, after ``RESPONSE_PATIENCE`` seconds.
        ``encoded``: the URLs of files are texts. The chat routes, which send a history in pieces, encode each file when
        its turn comes.
        """
        check_text("artifact_base", artifact_base, or_none=True)
        check_flag("encoded", encoded)
        check_instance("memory", memory, ByteShare, "what hold_memory() returns", or_none=True)
        key = chat_key(user_id, chat_id)
        until, waits_for_words = time.monotonic() + RESPONSE_PATIENCE, self._left_runs is not None
        while True:
            request = await self._runs.wait_until_settled(key)
            async with self._histories.turn(user_id):
                session, request = await self._settled_session(key, request)
                if session is None:
                    return None
                lacks_words = waits_for_words and request is None and await self._lacks_words(key, session)
                size = 0 if memory is None else await self._size_of(session.events)
                left = until - time.monotonic()
                if not lacks_words and (memory is None or memory.has_room(size) or left <= 0):
                    if memory is not None:
                        memory.take(size)
                    options = self._options_for(chat_id, artifact_base)
                    return await long_work(
                        partial(_history, session, request, options, encoded=encoded), events=session.events
                    )
                del session  # what waits takes no memory, and is in nobody's way
            if lacks_words and self._left_runs is not None:
                waits_for_words = False
                await self._left_runs.wait_for_words(key, self._stopping_wait)
            elif memory is not None:
                await memory.wait_for_room(size, left)

    async def _lacks_words(self, key: ChatKey, session: Session) -> bool:
        return self._left_runs is not None and await self._left_runs.lacks_words(key, session)

    async def _settled_session(self, key: ChatKey, request: str | None) -> tuple[Session | None, str | None]:
        """Returns the session with all that was accepted, and the fingerprint of the request that a run answers.

        ``request``: the request that a run answered a moment ago, if any.
        """
        session = await self._in_time(self._find_session(key))
        while request is not None and (now := await self._runs.wait_until_settled(key)) != request:
            # That run has ended while the session was read, and its end is stored since.
            request, session = now, await self._in_time(self._find_session(key))
        return session, request

    async def _size_of(self, events: Sequence[Event]) -> int:
        """The bytes of memory that these stored events take in a response; 0 if nobody counts them."""
        if (enough := self._max_response_bytes) is None:
            return 0
        with_state = self._settings.options["send_state"]
        return await long_work(lambda: held_size(events, with_state=with_state, enough=enough + 1), events=events)

    @in_progress
    async def has_chat(self, chat_id: str, *, user_id: str) -> bool:
        """Whether this user has the chat; ``True`` for any where the client has the history: nothing is stored."""
        return await self._chat_exists(chat_key(user_id, chat_id))

    async def artifact(self, chat_id: str, name: str, version: int | None = None, *, user_id: str) -> types.Part:
        """Returns an artifact of a chat; the newest version by default.

        Raises ``ChatRequestError`` (404) if there is no such artifact, or no such chat of this user.
        """
        check_text("name", name)
        check_count("version", version, minimum=0, or_none=True)
        find = partial(find_session, self.runner, *chat_key(user_id, chat_id), config=WITHOUT_EVENTS)
        session = await self._in_time(self._read(user_id, find))
        if session is None:
            raise ChatRequestError("There is no such artifact.", status=404)
        async with self._artifacts.turn(user_id):
            return await load_artifact(self.runner, session, name, version)

    @in_progress
    async def chats(
        self,
        *,
        user_id: str,
        limit: int = PAGE_SIZE,
        cursor: str | None = None,
        search: str = "",
        archived: bool = False,
    ) -> ChatListPage:
        """Returns a page of the user's chats, newest first.

        ``cursor``: ``next_cursor`` of the page before, with the same ``search`` and ``archived``. Read like this, the
        list has each chat once, whatever happens in the chats meanwhile.
        ``search``: only chats with this text in their title, whatever its case. Up to 200 characters.
        ``archived``: the archived chats; else all others.

        Raises ``ChatRequestError`` (422) for a search that is too long, or a cursor of another list.
        """
        check_text("user_id", user_id)
        check_count("limit", limit)
        check_text("cursor", cursor, or_none=True)
        check_text("search", search)
        check_flag("archived", archived)
        read = partial(list_chats, self.runner, user_id, limit=limit, cursor=cursor, search=search, archived=archived)
        page = await self._in_time(self._read(user_id, read))
        running = await self._runs.running([(user_id, chat["id"]) for chat in page.chats])
        chats: list[ListedChat] = [{**chat, "running": (user_id, chat["id"]) in running} for chat in page.chats]
        return replace(page, chats=tuple(chats))

    @in_progress
    async def update(self, chat_id: str, *, user_id: str, changes: ChatChanges) -> ListedChat:
        """Changes the title of a chat, or archives it: ``changes={"title": "Rome", "archived": True}``.

        Also while a run goes on, which takes no notice. Returns the chat as it is in the list. Raises
        ``ChatRequestError``: 404 if this user has no such chat, 422 for wrong changes.
        """
        change = partial(change_chat, self.runner, *chat_key(user_id, chat_id), checked_changes(changes))
        chat = await self._in_time(self._read(user_id, change))
        running = await self._runs.running([(user_id, chat["id"])])
        return {**chat, "running": bool(running)}

    @in_progress
    async def stop(self, chat_id: str, *, user_id: str) -> None:
        """Stops the run of a chat, if there is one: its response ends with ``abort`` at once.

        A client that only disconnects does not stop a run: it may be reloading the page. Raises ``ChatRequestError``
        (404) if this user has no such chat.
        """
        check_text("chat_id", chat_id)
        with self._audit.acting(user_id, chat_id, "stop"):
            key = chat_key(user_id, chat_id)
            stop = partial(self._runs.stop, key)
            if self._left_runs is not None:
                stopped = await self._in_time(self._left_runs.stop(key, stop), of=ENGINE)
            else:
                stopped = await stop()
            find = partial(find_session, self.runner, *key, config=WITHOUT_EVENTS)
            if not stopped and await self._in_time(self._read(user_id, find)) is None:
                raise ChatRequestError("There is no such chat.", status=404)

    @in_progress
    async def delete(self, chat_id: str, *, user_id: str) -> None:
        """Stops the run of a chat, then deletes the chat and its artifacts.

        Raises ``ChatRequestError``: 404 if this user has no such chat, 503 if the run does not end in time.
        """
        check_text("chat_id", chat_id)
        with self._audit.acting(user_id, chat_id, "delete"), ExitStack() as claim:
            key = chat_key(user_id, chat_id)
            if await self._in_time(self._find_session(key)) is not None:
                waiting = RunSlot(self._waiting, (user_id, object()))
                claim.callback(waiting.free)
                while not isinstance(
                    claimed := await self._runs.claim(key, DELETION, self._run_limits, waiting.take), Run
                ):
                    assert isinstance(claimed, RunInfo)  # no request is equal to a deletion
                    await waiting.take()
                    await self._runs.interrupt(key, claimed)
                claim.callback(self._runs.release, claimed)
                if self._left_runs is not None:
                    await self._in_time(self._left_runs.cancel(key), of=ENGINE)
                if (session := await self._in_time(self._find_session(key))) is not None:
                    if not await claimed.holds_lease():  # others may have accepted words since
                        raise unreachable_refusal("run_log")
                    return await self._in_time(delete_session(self.runner, session))
            raise ChatRequestError("There is no such chat.", status=404)

    def error_text(self, error: BaseException) -> str:
        """Returns what a client sees of an error: the text of ``on_error``, by default a masked one."""
        check_instance("error", error, BaseException, "an exception")
        return self._settings.error_text(error)

    async def drain(self) -> None:
        """Refuses new runs from now on, and returns when those that go on have ended and are stored.

        A request that would begin a run gets 503 with ``Retry-After``; all else is answered as before: readers, stops,
        histories. To be called when the server is told to end; then ``aclose``. How long a run may still take is up to
        the caller: ``asyncio.wait_for(service.drain(), 30)``.
        """
        self._draining = True
        if self._left_runs is not None:
            self._left_runs.drain()
        while self._tasks or self._runs.any_here or self._waiting:  # noqa: ASYNC110 - three things, and once in a life
            await asyncio.sleep(DRAINED_CHECK_SECONDS)

    async def aclose(self) -> None:
        """Stops all runs and waits for them, up to ``SHUTDOWN_SECONDS``. Later requests are refused (503).

        Requests that are being answered, such as histories, get their answer before the run log is closed.
        """
        self._draining = True
        self._runs.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)
            if late:
                runs = "1 run" if len(late) == 1 else f"{len(late)} runs"
                logger.error("The end of %s may be lost: it was not stored within %s seconds.", runs, SHUTDOWN_SECONDS)
            self._tasks.clear()  # a second `aclose` does not wait again
        await self._audit.aclose()
        if self._left_runs is not None:
            await self._left_runs.aclose()
        await self.in_progress.wait(ANSWERING_SECONDS)
        await self._run_log.aclose()

    async def _plan_beside(
        self,
        key: ChatKey,
        other: RunInfo,
        request: ChatRequest,
        digest: str,
        overrides: RunOverrides,
        attempt: Attempt,
    ) -> PlannedTurn:
        """Returns what the request asks for, while another run holds its chat.

        Raises ``ChatRequestError`` for a request that would be refused if the chat were free: it interrupts nothing.
        """
        if self._on_busy == "reject":
            raise busy_refusal()
        planning = partial(self._plan_turn, key, request, digest, overrides, attempt, chat_was_busy=True)
        turn = (await self._in_time(planning())).turn
        if other.phase == "claimed" and _repeats_newest_answers(turn):
            # It may be the run of later words, which are not stored yet: then what followed from the answers is.
            await self._runs.wait_until_accepted(key, other.run_id)
            turn = (await self._in_time(planning())).turn
        if _repeats_newest_answers(turn):
            raise busy_refusal()  # the run that goes on may have begun with the answer: its end is not stored yet
        return turn

    async def _stored_response(
        self, key: ChatKey, stored: NothingToRun, request: ChatRequest, overrides: RunOverrides
    ) -> AsyncIterator[bytes]:
        """The response to a request for which there is nothing to run.

        Raises ``ChatRequestError`` (429, 503) if there is no room for it in memory.
        """
        options = self._options_for(request.id, overrides.artifact_base)
        memory = self.hold_memory(key[0])
        memory.take(await self._size_of(stored.events))

        def response() -> list[bytes]:
            *events, done = iter_sse(
                stored.events, past=stored.past, message_id=stored.message_id, taken_ids=stored.call_ids, **options
            )
            if stored.is_interrupted:
                return [*with_error(events, INTERRUPTED_TEXT), done]
            continued = None if stored.repeats == "words" else request.target
            return [*without_loop(events, continued=continued), done]

        return _iterate(await long_work(response, events=[*stored.past, *stored.events]), memory)

    async def _prepare_job(
        self,
        key: ChatKey,
        request: ChatRequest,
        overrides: RunOverrides,
        planned: _Planned,
        turn: NewUserTurn | AnsweredCalls,
        accept: Callable[[Sequence[CallAnswer]], None],
    ) -> Job:
        """Creates or rewinds the session for the planned ``turn``, and stores the answers that came with words."""
        session = planned.session
        if session is not None and isinstance(turn, NewUserTurn) and turn.rewind_before is not None:
            session = await rewind_session(self.runner, session, turn.rewind_before)
        session = session or await create_session(planned.runner, *key)
        await repair_session(planned.runner, session)
        for event in events_before_words(turn) if isinstance(turn, NewUserTurn) else ():
            await planned.runner.session_service.append_event(session, event)
        known = planned.transcript
        if known is not None and len(known.stored) != len(session.events):  # they have been appended to
            known = None
        job = replace(self._job(request, turn, session, overrides, planned.runner, accept), known_transcript=known)
        await long_work(job.read_session, events=session.events)
        return job

    async def _plan_turn(
        self,
        key: ChatKey,
        request: ChatRequest,
        digest: str,
        overrides: RunOverrides,
        attempt: Attempt,
        *,
        chat_was_busy: bool,
    ) -> _Planned:
        """Plans what the request asks for, in the stored session or in the history that the client sends. Stores
        nothing. ``chat_was_busy`` as for ``plan``."""
        runner = runner_for(overrides.agent, self.runner)
        if self._history != "server":
            planned = _Planned(*await restore_session(runner, request, user_id=key[0], mode=self._history))
        else:
            session = await self._find_session(key)
            events = session.events if session is not None else []
            transcript = attempt.transcript = await long_work(lambda: Transcript(events), events=events)
            planning = partial(
                plan,
                request,
                resumed_agent=partial(resumed_agent, runner),
                chat_was_busy=chat_was_busy,
                history_cut=self._history_cut,
                digest=digest,
            )
            turn = await long_work(lambda: planning(transcript), size=request.size, events=events)
            planned = _Planned(runner, session, turn, transcript)
        turn = planned.turn
        attempt.plan(() if isinstance(turn, NothingToRun) else turn.answers)
        if isinstance(turn, NewUserTurn):
            if self._history == "server" and planned.session is not None:  # before a rewind, which removes artifacts
                loaded = await load_saved_files(self.runner, planned.session, turn.texts_and_files)
                turn = replace(turn, texts_and_files=loaded)
            self._files.check(turn.texts_and_files)
        return planned._replace(turn=turn)

    def _job(
        self,
        request: ChatRequest,
        turn: NewUserTurn | AnsweredCalls,
        session: Session,
        overrides: RunOverrides,
        runner: Runner,
        accept: Callable[[Sequence[CallAnswer]], None],
    ) -> Job:
        options = self._options_for(request.id, overrides.artifact_base)
        if runner.agent is not self.runner.agent:
            options = hide_tools(delegation_tools(runner.agent), options)
        # A run may take an hour: it keeps no history that it has no use for.
        kept = replace(request, messages=(request.target,)) if self._history == "server" else request
        return Job(
            request=kept,
            turn=turn,
            session=session,
            overrides=overrides,
            runner=runner,
            run_config=self._run_config,
            options=options,
            recorder=self._recorder.turn(request, app_name=runner.app_name, user_id=session.user_id, options=options),
            on_stored=accept,
        )

    def _options_for(self, chat_id: str, artifact_base: str | None) -> ConverterOptions:
        options: ConverterOptions = {**self._options}
        if self.runner.artifact_service is not None and self._history == "server":
            base = (self._files.artifact_base or artifact_base) if self._files.artifact_links else None
            options.setdefault("artifact_url", artifact_urls(base, chat_id))
        return options

    def _start(self, run: Run, execution: Coroutine[Any, Any, None]) -> None:
        run.execution = asyncio.create_task(execution)
        self._keep(run.execution)

    async def _until_accepted(self, run: Run) -> None:
        """Waits until what the request says is stored, and with an engine on record. The run's execution stores it.

        Raises ``ChatRequestError`` if it is not: 503 if a store refuses it or takes too long, 409 if the run was
        stopped before. Raises what the agent failed with if it failed before.
        """
        assert run.execution is not None
        execution = run.execution

        async def accepted() -> None:
            opened = asyncio.create_task(run.opened.wait())
            try:
                await asyncio.wait({opened, execution}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                opened.cancel()
            if not run.is_open:
                raise _not_stored(run, execution)

        try:
            await self._in_time(accepted())
        except ChatRequestError:
            run.give_up()
            raise

    def _keep(self, task: asyncio.Task[Any]) -> None:
        """Keeps a reference to the task until it ends: the event loop has only a weak one. ``aclose`` waits for it."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_job(self, run: Run, job: Job, claim: ExitStack) -> None:
        """Runs the job to its end. The chat is freed last, when everything is stored."""
        with (
            claim,
            self._loop_lag.measured(),
            run.observer.observed(
                user_id=job.session.user_id,
                chat_id=job.request.id,
                run_id=run.id,
                agent=job.runner.agent.name,
                outcome=partial(_outcome, run),
            ),
        ):
            if self._left_runs is None:
                await self._run_agent(run, job, job.events(run.abort_signal, run.request))
            else:
                await self._left_runs.execute(run, job, self._run_agent)

    async def _run_agent(self, run: Run, job: Job, events: AsyncGenerator[Event]) -> None:
        try:
            await run.run_agent(events, job.start_response, job.recorder)
        finally:
            if run.outcome == "finish":
                job.on_stored(job.answers)  # an agent of a class that stores nothing by itself
            if run.is_open:
                await self._complete_session(run, job)
                await self._notify(run, job)

    def _watched_by(self, engine: Engine | None) -> LeftRuns | None:
        """What becomes of runs that are left by their worker; ``None`` if nothing does."""
        if engine is None:
            return None
        if self._history != "server":
            raise StreamProtocolError('`engine` needs `history="server"`: else nothing is stored.')
        if not engine.holds(self.runner):
            logger.warning("Runs are not executed again: the engine cannot keep what these agents do.")
            return None
        if engine.is_shared and isinstance(self._run_log, MemoryRunLog):
            raise StreamProtocolError(
                "The engine's database can be used by several workers, so `engine` needs a run log that they share: "
                "`run_log=RedisRunLog(…)` or `PostgresRunLog(…)`; with `serve`, `--run-log URL`."
            )
        deployment = deployment_of(self.runner, self._run_log)
        engine.attach(deployment)
        self._run_log.recovers = True
        return LeftRuns(engine, self.runner, self._runs, self._run_limits, deployment, self._recover, self._chat_exists)

    async def _recover(self, run: Run, orphan: OrphanedRun, claim: ExitStack, is_hopeless: bool) -> Recovery:  # noqa: FBT001
        """Goes on with a run that another worker has left. ``run`` has claimed its chat, until ``claim`` ends.

        ``is_hopeless``: only ends its response. Stores nothing by itself: what cannot go on is left as it was found.
        """
        record = orphan.record
        session = await in_time(self._hook_timeout, self._find_session((record.user_id, record.chat_id)))
        if session is None:
            return "absent"
        sessions = ResumedSessions(self.runner.session_service, session, record)
        if sessions.is_over:
            return "over"
        request, turn, refusal = await planned_again(self.runner, record, sessions, loads_files=not is_hopeless)
        refusal = UNRECOVERABLE_TEXT if is_hopeless else refusal
        if isinstance(turn, NothingToRun) or (refusal is not None and not sessions.has_input):
            return "over"  # nothing of the request is stored, so it was not accepted: it may begin anew
        run.continued = _continued(request)
        overrides = RunOverrides(state_delta=record.state_delta, artifact_base=record.artifact_base)
        runner = copy(self.runner)
        runner.session_service = sessions
        job = self._job(request, turn, sessions.found, overrides, runner, lambda _: run.open())
        run.is_recovered = run.can_be_taken_up = True
        if sessions.has_input:
            run.open()
        self._start(run, self._run_again(run, job, orphan, sessions, refusal, claim.pop_all()))
        return "recovered"

    async def _run_again(
        self,
        run: Run,
        job: Job,
        orphan: OrphanedRun,
        sessions: ResumedSessions,
        refusal: str | None,
        claim: ExitStack,
    ) -> None:
        assert self._left_runs is not None
        record = orphan.record
        with (
            claim,
            self._loop_lag.measured(),
            run.observer.observed(
                user_id=record.user_id,
                chat_id=record.chat_id,
                run_id=run.id,
                agent=job.runner.agent.name,
                outcome=partial(_outcome, run),
                first_run=(record.id, record.trace),
            ),
        ):
            await self._left_runs.execute_again(run, job, orphan, sessions, self._run_agent, refusal)

    async def _complete_session(self, run: Run, job: Job) -> None:
        """Stores what the page was shown and ADK has not stored, if the run still holds the chat's lease.

        While the store is away, the chat waits: nobody else knows what is missing. Only ``aclose`` ends that.
        """
        if run.outcome is None or (run.outcome == "finish" and run.output.is_stored):
            return
        agent = job.runner.agent.name
        completion = Completion(
            self.runner, job.session, run.output, run.outcome, agent=agent, holds_lease=run.holds_lease
        )
        pause = COMPLETING_SECONDS
        while not await self._is_completed(completion, is_told=pause > COMPLETING_SECONDS):
            await asyncio.sleep(pause)
            pause = min(pause * 2, MAX_COMPLETING_SECONDS)

    async def _is_completed(self, completion: Completion, *, is_told: bool) -> bool:
        """Stores the end of a run. Returns ``False`` if the store is away. ``is_told``: that is logged already."""
        try:
            await in_time(self._hook_timeout, completion.store())
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
                before=job.messages_before_response
                if self._history == "server"
                else lambda: job.request.messages_to_target,
                continues=isinstance(job.turn, AnsweredCalls),
                ai_sdk=self._settings.options["ai_sdk"],
                timeout=self._hook_timeout,
            )

    async def _in_time(self, work: Coroutine[Any, Any, T], *, of: str = SESSION_STORE) -> T:
        """Returns the result of what a request does before its run. Raises ``ChatRequestError`` (503).

        ``of``: the store that it asks, as operators see it.
        """
        try:
            return await in_time(self._hook_timeout, work)
        except HookTimeoutError as error:
            text = "A request was refused: the %s took longer than %s seconds."
            logger.error(text, of.replace("_", " "), self._hook_timeout)  # noqa: TRY400 - as above
            raise unreachable_refusal(of) from error
        except ChatRequestError:
            raise
        except Exception as error:
            if of != ENGINE and not is_unreachable(error):
                raise
            logger.error("A request was refused: the %s cannot be reached.", of.replace("_", " "))  # noqa: TRY400 - as above
            log_error(logger, error)
            raise unreachable_refusal(of) from error

    async def _chat_exists(self, key: ChatKey) -> bool:
        """Whether this user has the chat here. Where the client has the history, nothing is stored: any may be."""
        if self._history != "server":
            return True
        find = partial(find_session, self.runner, *key, config=WITHOUT_EVENTS)
        return await self._in_time(self._read(key[0], find)) is not None

    async def _find_session(self, key: ChatKey) -> Session | None:
        return await self._read(key[0], partial(find_session, self.runner, *key))

    async def _read(self, user_id: str, read: Callable[[], Awaitable[T]]) -> T:
        async with self._reads.turn(user_id):
            return await read()


def _accept(run: Run, attempt: Attempt, answers: Sequence[CallAnswer]) -> None:
    """Accepts a request when what it says is stored. ``answers``: those that hold from now on.

    A request whose approvals were stopped before they were stored stays refused, although its denials hold.
    """
    if not run.is_open:
        attempt.accept(answers)
        if not attempt.decisions:
            run.open()


def _continued(request: ChatRequest) -> UIMessage | None:
    """The message that the response to this request continues, as the client sent it."""
    return request.target if request.target["role"] == "assistant" else None


def _repeats_newest_answers(turn: PlannedTurn) -> bool:
    """Whether the request repeats answers after which nothing else was said."""
    return isinstance(turn, NothingToRun) and turn.repeats == "answers" and not turn.is_superseded


def _not_stored(run: Run, execution: asyncio.Task[None]) -> BaseException:
    """Why a request was not accepted whose run has ended."""
    failure = None if execution.cancelled() else execution.exception()
    match failure or run.observer.error:
        case None if run.was_left:
            return unreachable_refusal(ENGINE)
        case None:
            return stopped_refusal()
        case NotRecordedError():
            return unreachable_refusal(ENGINE)
        case LeaseLostError():
            return unreachable_refusal("run_log")
        case error:
            return error


def _outcome(run: Run) -> str | None:
    """How a run ended, for operators: nobody has seen the end of a run that is left to another worker."""
    return "left" if run.was_left else run.outcome


async def _parse(events: AsyncIterator[bytes]) -> AsyncIterator[AnyChunk]:
    """The chunks of SSE events. Closes the events, if they are a generator, when this is closed."""
    try:
        async for piece in events:
            for chunk in parse_sse(piece):
                yield chunk
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _history(session: Session, request: str | None, options: ConverterOptions, *, encoded: bool) -> list[UIMessage]:
    """The messages of a session. ``request``: that of the run which goes on; ``None`` for none."""
    transcript = Transcript(session.events)
    running = request is not None and transcript.is_answering(request)
    return transcript_to_messages(transcript, running=running, encoded=encoded, **options)


async def _iterate(events: list[bytes], memory: ByteShare) -> AsyncIterator[bytes]:
    """The events of a stored response, each dropped when it is sent. A response that is never sent is dropped, too."""
    with memory:
        events.reverse()
        while events:
            yield events.pop()
