"""Servers with an engine that run one after the other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.sessions import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.tool_context import ToolContext

from stream_protocol.serving import ChatService, MemoryRunLog, PostgresRunLog, RunOverrides
from stream_protocol.serving.base._overrides import NO_OVERRIDES
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.testing import ScriptedLlm, Turn
from stream_protocol.wire import parse_chat_request
from stream_protocol.wire.client import parse_sse
from tests.serving.support import HANG, chat, said

if TYPE_CHECKING:
    from google.adk.agents.run_config import RunConfig

    from stream_protocol.durable import DbosEngine
    from stream_protocol.serving.engine import Engine
    from stream_protocol.serving.run_logs import RunLog

USER = "somebody"


SHORT_STOP: Final = ServiceTimes(stop=0.2)
"""A server that ends in mid-event has a store that never answers. Its runs need not wait for it."""


class SharedState:
    """State that successive servers share: files, and counts of past actions."""

    def __init__(self, folder: Path, kept: str | None) -> None:
        self.folder = folder
        self.kept = kept
        """The URL of the engine's store; ``None`` if the app has its own DBOS."""
        self.chats = str(folder / "chats.db")
        self.gate = asyncio.Event()
        """A gate. Models and tools continue when it is opened."""
        self.reached = asyncio.Event()
        """Set when a model or a tool waits at the gate."""
        self.asked = 0
        """The number of requests to the model."""
        self.prompts: list[str] = []
        """The contents of these requests."""
        self.ran: Counter[str] = Counter()
        """Tool -> number of its starts."""
        self.idempotent = ["look", "note"]
        """Tools that may run again."""

    def engine(self, version: str = "") -> DbosEngine:
        from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

        return DbosEngine(self.kept, idempotent_tools=self.idempotent, version=version)

    def run_log(self) -> RunLog:
        """Return a run log in the engine's database, if many workers can use it; otherwise in memory."""
        url = self.kept or ""
        return PostgresRunLog(url) if url.startswith("postgres") else MemoryRunLog()

    async def wait(self) -> None:
        self.reached.set()
        await self.gate.wait()

    @asynccontextmanager
    async def service(
        self,
        agent: BaseAgent,
        *,
        version: str = "",
        launched: bool = True,
        sessions: BaseSessionService | None = None,
        engine: Engine | None = None,
        run_config: RunConfig | None = None,
        times: ServiceTimes = SHORT_STOP,
        **options: Any,
    ) -> AsyncIterator[ChatService]:
        """Run a server from its start to its end. ``launched``: it looks for orphaned runs at its start. ``sessions``
        and ``engine`` replace those in the shared files. ``options``: further options of ``ChatService``."""
        sessions = sessions or SqliteSessionService(self.chats)
        service = ChatService(
            agent,
            session_service=sessions,
            run_log=self.run_log(),
            engine=engine or self.engine(version),
            run_config=run_config,
            times=times,
            **options,
        )
        if launched:
            await service.start()
        try:
            yield service
        finally:
            await service.aclose()

    def agent(self, *turns: Turn) -> LlmAgent:
        """Return an agent whose model sends these turns.

        The number of tool responses in the request selects the turn.
        """

        def respond(request: Any) -> Turn:
            self.asked += 1
            self.prompts.append(str(request.contents))
            answered = sum(
                part.function_response is not None for content in request.contents for part in content.parts or []
            )
            return turns[answered]

        return LlmAgent(name="root", model=ScriptedLlm(respond=respond), tools=[self.book, self.look, self.quick])

    async def book(self) -> str:
        """Books, once the gate is open."""
        self.ran["book"] += 1
        await self.wait()
        return "booked"

    async def look(self) -> str:
        """Looks, once the gate is open."""
        self.ran["look"] += 1
        await self.wait()
        return "seen"

    async def quick(self, tool_context: ToolContext) -> str:
        """Note that it ran."""
        self.ran["quick"] += 1
        tool_context.state["noted"] = self.ran["quick"]
        return "noted"


class Gate(asyncio.Event):
    """Event for a ``Wait`` in a model's response, which waits at the shared gate."""

    def __init__(self, shared: SharedState) -> None:
        super().__init__()
        self._world = shared

    async def wait(self) -> Any:
        await self._world.wait()
        return True


async def begin(service: ChatService, overrides: RunOverrides = NO_OVERRIDES) -> asyncio.Task[list[dict[str, Any]]]:
    """Send a message. Return the reader, whose chunks end when the server ends."""
    events = await service.respond(parse_chat_request(chat(said("go"))), user_id=USER, overrides=overrides)
    return asyncio.create_task(read(events))


async def read(events: AsyncIterator[bytes]) -> list[dict[str, Any]]:
    pieces: list[bytes] = []
    with suppress(Exception):  # a disconnected reader
        async for piece in events:
            pieces.append(piece)  # noqa: PERF401 - those before the cut count
    return [dict(chunk) for chunk in parse_sse(b"".join(pieces))]


async def history(service: ChatService) -> Sequence[dict[str, Any]]:
    messages = await service.history("c1", user_id=USER)
    assert messages is not None
    return [dict(message) for message in messages]


def outline(message: dict[str, Any]) -> list[Any]:
    """Return the texts of the message, and its calls with their outputs."""
    return [
        part.get("text") or (part["type"], part["state"], part.get("output") or part.get("errorText"))
        for part in message["parts"]
        if part["type"] != "step-start"
    ]


async def taken_up(service: ChatService) -> list[dict[str, Any]]:
    """Return the stream that a client reads when it resumes."""
    async with asyncio.timeout(HANG):
        events = await service.resume("c1", user_id=USER)
        return [] if events is None else await read(events)


async def ended(service: ChatService) -> None:
    """Wait until no run is active."""
    async with asyncio.timeout(HANG):
        await taken_up(service)
        while await service.resume("c1", user_id=USER) is not None:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.05)
