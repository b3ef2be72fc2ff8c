"""Everything about a chat that waits: sessions, runs, and one run at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, aclosing
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.events import Event

from stream_protocol.conversation.history import session_to_messages
from stream_protocol.conversation.stretches import is_user_text, live_events, message_id
from stream_protocol.conversation.turn import Answers, AsItStands, NewText, plan
from stream_protocol.convert.converter import sse_conversion
from stream_protocol.convert.options import ConverterOptions, Settings, ToolSelection
from stream_protocol.convert.streams import iter_sse
from stream_protocol.serving.content import default_run_config, run_config_for, user_content
from stream_protocol.serving.histories import restored_session
from stream_protocol.serving.run import RUN_TIMEOUT, Planned, Run, RunLimits
from stream_protocol.serving.runs import STOPPING_WAIT, ActiveRuns, ChatKey
from stream_protocol.serving.sealing import sealing_events
from stream_protocol.serving.target import Target, announces_user_message, as_runner, delegation_tools
from stream_protocol.wire.errors import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.agents.run_config import RunConfig
    from google.adk.runners import Runner
    from google.adk.sessions import BaseSessionService, Session

    from stream_protocol.conversation.stateless import HistoryMode
    from stream_protocol.convert.conversion import Conversion
    from stream_protocol.wire.messages import ChatRequest, UIMessage

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
    ``disconnect_grace``: seconds that a run goes on without a reader. ``None``, the default, lets it run to its end, so
    that a reload loses nothing; 0 stops it when the client leaves.
    ``run_timeout``: seconds that a run may take; ``None`` for no limit.
    ``stopping_wait``: seconds that a request waits for a run of its chat that is stopping.

    Further options are the converter's. Calls of task-mode sub-agents are hidden besides those that it hides by itself.
    """

    def __init__(
        self,
        target: Target,
        *,
        session_service: BaseSessionService | None = None,
        history: HistoryMode = "server",
        run_config: RunConfig | None = None,
        disconnect_grace: float | None = None,
        run_timeout: float | None = RUN_TIMEOUT,
        stopping_wait: float = STOPPING_WAIT,
        **options: Unpack[ConverterOptions],
    ) -> None:
        self.runner = as_runner(target, session_service)
        self._history = history
        self._run_config = run_config or default_run_config()
        self._limits = RunLimits(disconnect_grace=disconnect_grace, run_timeout=run_timeout)
        self._options: ConverterOptions = {
            **options,
            "hidden_tools": _also(delegation_tools(self.runner.agent), options.get("hidden_tools", ())),
        }
        self._settings = Settings(**self._options)
        self._runs = ActiveRuns(stopping_wait)
        self._tasks: set[asyncio.Task[None]] = set()

    async def respond(self, request: ChatRequest, *, user_id: str) -> AsyncIterator[bytes]:
        """Does what the request asks for and returns the response's SSE events, which may be read at any pace.

        Raises ``ChatRequestError`` for a request that is refused; nothing has been stored and nothing runs then.
        """
        key: ChatKey = (user_id, request.id)
        if (other := self._runs.get(key)) is not None and await self._does(other, request):
            return other.read()
        with ExitStack() as claim:
            run = await self._runs.claim(key, self._limits)
            claim.callback(self._runs.release, key)
            if self._history != "server":
                runner, own, asked = await restored_session(self.runner, request, user_id=user_id, mode=self._history)
                ChatService._start(self._with_runner(runner), run, asked, own, claim.pop_all())
                return run.read()
            session = await self._find_session(key)
            turn = plan(request, session.events if session else ())
            if isinstance(turn, AsItStands):
                events = iter_sse(turn.events, past=turn.past, message_id=turn.message_id, **self._options)
                return _async_iterator(list(events))
            if isinstance(turn, NewText) and turn.rewind_before is not None:
                session = await self._rewind(key, turn.rewind_before)
            session = session or await self._create_session(key)
            run.planned.set_result(Planned(turn=turn, stored=session.events))
            self._start(run, turn, session, claim.pop_all())
            return run.read()

    @staticmethod
    async def _does(run: Run, request: ChatRequest) -> bool:
        """Whether the run is what the request asks for: it brings the same answers, as a double click does.

        Words said twice are no such case: they are not answers, and mean two turns or a mistake.
        """
        planned = await asyncio.shield(run.planned)
        if planned is None or not isinstance(planned.turn, Answers):
            return False
        try:
            return plan(request, planned.stored) == planned.turn
        except ChatRequestError:
            return False

    async def history(self, chat_id: str, *, user_id: str) -> list[UIMessage] | None:
        """The messages of a chat as its client has them; ``None`` if this user has no such chat.

        While a run goes on, what is stored of its message is in it, with calls that have no result yet left open.
        """
        key: ChatKey = (user_id, chat_id)
        await self._runs.settle(key)
        session = await self._find_session(key)
        if session is None:
            return None
        return session_to_messages(session, running=key in self._runs, **self._options)

    async def aclose(self) -> None:
        """Stops all runs and waits for them, but not for ever; requests that come later are refused."""
        self._runs.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)

    def _with_runner(self, runner: Runner) -> ChatService:
        """The same service, its runs and its options, with another runner."""
        other = copy(self)
        other.runner = runner
        return other

    def _start(self, run: Run, turn: NewText | Answers, session: Session, claim: ExitStack) -> None:
        task = asyncio.create_task(self._drive(run, turn, session, claim))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drive(self, run: Run, turn: NewText | Answers, session: Session, claim: ExitStack) -> None:
        with claim:
            try:
                await run.drive(self._events(run, turn, session), partial(self._begin, turn, session.events))
            finally:
                await self._seal(run, session)

    async def _seal(self, run: Run, before: Session) -> None:
        """Stores what a run that broke off has shown, while the chat is still its own."""
        outcome = run.outcome
        if outcome is None or outcome == "finish":
            return
        try:
            session = await self._find_session((before.user_id, before.id))
            if session is None:
                return
            sealing = sealing_events(
                session.events,
                run.fragments,
                outcome,
                begun_at=len(before.events),
                agent=self.runner.agent.name,
            )
            for event in sealing:
                await self.runner.session_service.append_event(session, event)
        except Exception:  # the run is over; its chat must become free whatever its store says
            logger.exception("What a broken run has shown could not be stored.")

    def _begin(self, turn: NewText | Answers, stored: Sequence[Event], invocation_id: str | None) -> Conversion[bytes]:
        """The conversion of a response whose run has begun in this invocation; ``stored`` is what there was before."""
        match turn:
            case Answers():
                return sse_conversion(turn.past, turn.message_id, self._settings)
            case NewText() if invocation_id is None:
                return sse_conversion((), None, self._settings)
            case NewText():
                texts = sum(e.invocation_id == invocation_id for e in live_events(stored) if is_user_text(e))
                return sse_conversion((), message_id(invocation_id, texts + 1), self._settings)

    async def _events(self, run: Run, turn: NewText | Answers, session: Session) -> AsyncGenerator[Event]:
        """What ADK yields, with the user's own event first, which tells the invocation before the model speaks."""
        content = user_content(turn)
        invocation_id = self._announced_invocation(turn, session)
        if invocation_id is not None:
            yield Event(author="user", invocation_id=invocation_id, content=content)
        events = self.runner.run_async(
            user_id=session.user_id,
            session_id=session.id,
            invocation_id=invocation_id,
            new_message=content,
            run_config=run_config_for(turn, self._run_config),
            yield_user_message=True,
            abort_signal=run.abort_signal,
        )
        async with aclosing(events):
            async for event in events:
                yield event

    def _announced_invocation(self, turn: NewText | Answers, session: Session) -> str | None:
        """The invocation that we name, where ADK itself would not tell it before the model speaks."""
        if announces_user_message(self.runner.agent):
            return None
        if isinstance(turn, Answers):
            return turn.past[0].invocation_id if turn.past else None
        resumable = self.runner.resumability_config
        if resumable is not None and resumable.is_resumable and not session.events:
            return None  # ADK refuses an invocation by name in a session without events: it takes it for a resumption
        return new_invocation_context_id()

    async def _find_session(self, key: ChatKey) -> Session | None:
        user_id, chat_id = key
        return await self.runner.session_service.get_session(
            app_name=self.runner.app_name, user_id=user_id, session_id=chat_id
        )

    async def _rewind(self, key: ChatKey, invocation_id: str) -> Session | None:
        """Takes back an invocation and all that came after it, with its state and artifacts, as ADK does that."""
        user_id, chat_id = key
        await self.runner.rewind_async(user_id=user_id, session_id=chat_id, rewind_before_invocation_id=invocation_id)
        return await self._find_session(key)

    async def _create_session(self, key: ChatKey) -> Session:
        user_id, chat_id = key
        return await self.runner.session_service.create_session(
            app_name=self.runner.app_name, user_id=user_id, session_id=chat_id
        )


def _also(names: frozenset[str], hidden: ToolSelection) -> ToolSelection:
    """The app's choice of hidden tools, and these names."""
    if callable(hidden):
        return lambda tool: tool in names or hidden(tool)
    return "all" if hidden == "all" else names.union(hidden)


async def _async_iterator(events: list[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event
