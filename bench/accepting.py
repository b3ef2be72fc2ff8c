"""Measures the time until a request is accepted, and two parts of this time.

Each round measures all three times. A response begins only after the user's message is stored. So the first part is the
time to append one event to the same store. The second part is the time of two queries to the run log for the newest
stop. A request makes one query when it arrives, and one after it has claimed its chat.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from google.adk.events import Event
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.genai import types

from bench.workload_agent import root_agent
from stream_protocol.serving import ChatService, MemoryRunLog, PostgresRunLog, RedisRunLog
from stream_protocol.serving.adk_runner import load_session_service
from stream_protocol.serving.run_logs import RunLog
from stream_protocol.wire import parse_chat_request
from tests.postgres import postgres_server
from tests.redis_server import redis_server

ROUNDS: Final = 60
WARM_UP: Final = 10


@dataclass(frozen=True)
class Accepting:
    """Median times for a new chat, in seconds.

    ``stores``: its session service, and its run log if that is not in memory. ``append``: one appended event.
    ``asked``: two queries for the newest stop. ``accepted``: until the response begins. ``first_chunk``: until the
    model's first text.
    """

    stores: str
    append: float
    asked: float
    accepted: float
    first_chunk: float


def accepting_costs() -> list[Accepting]:
    """Return a row for each store."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        postgres = stack.enter_context(postgres_server())
        redis = stack.enter_context(redis_server(folder))
        sessions = load_session_service(postgres.new_database())
        stores: dict[str, tuple[BaseSessionService, Callable[[], RunLog]]] = {
            "memory": (InMemorySessionService(), MemoryRunLog),
            "SQLite": (load_session_service(f"sqlite:///{folder / 'chats.db'}"), MemoryRunLog),
            "PostgreSQL": (sessions, MemoryRunLog),
            "and Redis": (sessions, partial(RedisRunLog, redis.url)),
            "and PostgreSQL": (sessions, partial(PostgresRunLog, postgres.new_database())),
        }
        return asyncio.run(_costs(stores))


async def _costs(stores: Mapping[str, tuple[BaseSessionService, Callable[[], RunLog]]]) -> list[Accepting]:
    return [await _cost(names, store, run_log()) for names, (store, run_log) in stores.items()]


async def _cost(names: str, store: BaseSessionService, run_log: RunLog) -> Accepting:
    async with _service(store, run_log) as service:
        rounds = [(await _append(store), await _ask(run_log), *await _begin(service)) for _ in range(WARM_UP + ROUNDS)]
    append, asked, accepted, first_chunk = (median(column) for column in zip(*rounds[WARM_UP:], strict=True))
    return Accepting(names, append, asked, accepted, first_chunk)


@asynccontextmanager
async def _service(store: BaseSessionService, run_log: RunLog) -> AsyncIterator[ChatService]:
    service = ChatService(root_agent, session_service=store, run_log=run_log)
    try:
        yield service
    finally:
        await service.aclose()


_NUMBERS: Final = count()


async def _append(store: BaseSessionService) -> float:
    session = await store.create_session(app_name="alone", user_id="somebody")
    begun = perf_counter()
    await store.append_event(session, Event(author="user", content=types.UserContent("0 1 0")))
    return perf_counter() - begun


async def _ask(run_log: RunLog) -> float:
    begun = perf_counter()
    for _ in range(2):  # a request asks when it arrives, and when it has claimed its chat
        await run_log.newest_stop("alone")
    return perf_counter() - begun


async def _begin(service: ChatService) -> tuple[float, float]:
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "0 1 0"}]}
    request = parse_chat_request({"id": f"chat{next(_NUMBERS)}", "messages": [message]})
    begun = perf_counter()
    events = await service.respond(request, user_id="somebody")
    accepted, first_chunk = perf_counter() - begun, 0.0
    async for piece in events:
        if not first_chunk and b'"type":"text-delta"' in piece:
            first_chunk = perf_counter() - begun
    await service.history(request.id, user_id="somebody")  # waits until the run has ended
    return accepted, first_chunk
