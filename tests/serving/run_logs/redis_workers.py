"""Workers in this process, each with a service, an app and a run log, over one Redis."""

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
"""Seconds. Short, because a test waits for it, and long enough for a busy machine."""

ROOMY = 3 * LEASE
"""A lease in seconds for outages that a run survives: they last less than two thirds of it, even on a busy machine."""


class Wire(Redis):
    """Connection of a worker to Redis that a test can delay or cut. Records all commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.answered = Counter[Any]()
        """Command, or SHA-1 hash of a script -> the number of replies."""
        self.waiting = Counter[Any]()
        """The number of commands that wait for a reply, including delayed ones."""
        self.last: dict[Any, tuple[Any, ...]] = {}
        """Command, or SHA-1 hash of a script -> the arguments of its last call."""
        self._cut = False
        self._goes_on = asyncio.Event()
        self._goes_on.set()

    def hold(self) -> asyncio.Event:
        """Delays all commands of the worker until the returned event is set."""
        self._goes_on = asyncio.Event()
        return self._goes_on

    def cut(self) -> None:
        """Cuts the connection: for Redis and the other workers, this worker is dead."""
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
    """Yield connections for this number of workers."""
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
    """Yield the events of ``GET /api/chat/{id}/stream``."""
    async with Exchange(app, f"/api/chat/{chat_id}/stream", {}, method="GET").begin(b"") as exchange:
        yield exchange
