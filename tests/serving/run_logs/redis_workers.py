"""Workers of a fleet in this process: each with a service, an app and a run log of its own, over one Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService
from starlette.types import ASGIApp

from stream_protocol.serving import ChatService, RedisRunLog, create_app
from stream_protocol.testing import ScriptedLlm
from tests.serving.support import Exchange

LEASE = 1.5
"""Seconds. Short, because a test waits for it; long enough for a machine that is busy."""


async def die(log: RedisRunLog, *runs: asyncio.Task[None]) -> None:
    """What is left of a worker that was killed: nothing is said or stored any more."""
    for lease in log._leases.values():
        lease._lost = True
        lease._cancel_timer()
    log._store._redis.execute_command = _silence  # type: ignore[method-assign]  # a killed worker says nothing
    tasks = [*runs, *log._lease_tasks, *log._follower_tasks]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def delayed(log: RedisRunLog) -> asyncio.Event:
    """Redis hears nothing of a worker until this is set, and everything then."""
    at_once, go_on = log._store._redis.execute_command, asyncio.Event()

    async def execute(*command: Any, **options: Any) -> Any:
        await go_on.wait()
        return await at_once(*command, **options)

    log._store._redis.execute_command = execute  # type: ignore[method-assign]  # all commands go through it
    return go_on


async def _silence(*command: Any, **options: Any) -> Any:
    raise ConnectionError("this worker is dead")


class Worker:
    def __init__(
        self, url: str, sessions: BaseSessionService, *turns: Any, tools: Any = (), lease: float = LEASE, **options: Any
    ) -> None:
        self.log = RedisRunLog(url, lease=lease)
        agent = LlmAgent(name="root", model=ScriptedLlm(turns=turns or ["Hello."]), tools=list(tools))
        self.service = ChatService(agent, session_service=sessions, run_log=self.log, **options)
        self.app: ASGIApp = create_app(self.service)

    async def die(self) -> None:
        await die(self.log, *self.service._tasks)


@asynccontextmanager
async def fleet(*workers: Worker) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for worker in workers:
            await worker.service.aclose()


@asynccontextmanager
async def resumed(app: ASGIApp, chat_id: str = "c1") -> AsyncIterator[Exchange]:
    """``GET /api/chat/{id}/stream``, read event by event."""
    async with Exchange(app, f"/api/chat/{chat_id}/stream", {}, method="GET").begin(b"") as exchange:
        yield exchange
