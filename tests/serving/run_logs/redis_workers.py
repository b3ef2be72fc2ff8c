"""Workers of a fleet in this process, each with its own service, app and run log, and with a common Redis."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService
from redis.asyncio import Redis
from starlette.types import ASGIApp

from stream_protocol.serving import RedisRunLog, create_app
from stream_protocol.testing import ScriptedLlm
from tests.redis_server import RedisServer
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import Exchange

LEASE = 1.5
"""Seconds of a lease. Short, because a test waits for it, and long enough for a busy machine."""

ROOMY = 3 * LEASE
"""Seconds of a lease for faults that a run must survive: they end within two thirds of it, also on a busy machine."""


class Wire(Redis):
    """Connection of a worker to Redis that a test can delay or cut. Records all commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.answered = Counter[Any]()
        """Command, or SHA-1 hash of a script -> number of its responses."""
        self.waiting = Counter[Any]()
        """Number of commands without a response, including delayed commands."""
        self.last: dict[Any, tuple[Any, ...]] = {}
        """Command -> words of its last call."""
        self._cut = False
        self._goes_on = asyncio.Event()
        self._goes_on.set()

    def hold(self) -> asyncio.Event:
        """Delay all data to Redis until the returned event is set."""
        self._goes_on = asyncio.Event()
        return self._goes_on

    def cut(self) -> None:
        """Cut the connection for ever. For all other workers, this worker is dead."""
        self._cut = True

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        name = words[1] if words[0] == "EVALSHA" else words[0]
        self.waiting[name] += 1
        self.last[name] = words
        try:
            await self._goes_on.wait()
            if self._cut:
                raise ConnectionError("this worker is dead")
            answer = await super().execute_command(*words, **options)  # type: ignore[no-untyped-call]  # redis-py's
        finally:
            self.waiting[name] -= 1
        self.answered[name] += 1
        return answer


@asynccontextmanager
async def wires(url: str, count: int = 2) -> AsyncIterator[list[Wire]]:
    """Yield this number of connections."""
    those: list[Any] = [Wire.from_url(url, protocol=2) for _ in range(count)]
    try:
        yield those
    finally:
        for wire in those:
            await wire.aclose()


async def command(redis: RedisServer, *words: str | bytes | int) -> Any:
    async with Redis.from_url(redis.url) as client:
        return await client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py's


class Worker:
    def __init__(
        self,
        server: str | Wire,
        sessions: BaseSessionService,
        *turns: Any,
        tools: Any = (),
        lease: float = ROOMY,
        prefix: str = "adk-ui-stream",
        **options: Any,
    ) -> None:
        self.model = ScriptedLlm(turns=turns or ["Hello."])
        agent = LlmAgent(name="root", model=self.model, tools=list(tools))
        log = RedisRunLog(server, prefix=prefix, lease=lease)
        self.service = InstrumentedService(agent, session_service=sessions, run_log=log, **options)
        self.app: ASGIApp = create_app(self.service)


@asynccontextmanager
async def fleet(*workers: Worker) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for worker in workers:
            await worker.service.aclose()


@asynccontextmanager
async def resumed(app: ASGIApp, chat_id: str = "c1") -> AsyncIterator[Exchange]:
    """Request ``GET /api/chat/{id}/stream``, and read the response event by event."""
    async with Exchange(app, f"/api/chat/{chat_id}/stream", {}, method="GET").begin(b"") as exchange:
        yield exchange
