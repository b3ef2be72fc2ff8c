"""The time until a request is accepted, against the time in which its store takes one event: both in turns, in one run.

A response begins when the user's message is stored. So this is what that promise costs until the first byte.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
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
from stream_protocol.serving import ChatService
from stream_protocol.serving.adk_runner import load_session_service
from stream_protocol.wire import parse_chat_request
from tests.postgres import postgres_server

ROUNDS: Final = 60
WARM_UP: Final = 10


@dataclass(frozen=True)
class Accepting:
    """Medians in seconds of a new chat. ``store``: its session service. ``append``: of one event, by itself.
    ``accepted``: until the response begins. ``first_chunk``: until the model's first words."""

    store: str
    append: float
    accepted: float
    first_chunk: float


def accepting_costs() -> list[Accepting]:
    """Returns a row for each store."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        postgres = stack.enter_context(postgres_server()).new_database()
        stores: dict[str, BaseSessionService] = {
            "memory": InMemorySessionService(),
            "SQLite": load_session_service(f"sqlite:///{folder / 'chats.db'}"),
            "PostgreSQL": load_session_service(postgres),
        }
        return asyncio.run(_costs(stores))


async def _costs(stores: Mapping[str, BaseSessionService]) -> list[Accepting]:
    return [await _cost(name, store) for name, store in stores.items()]


async def _cost(name: str, store: BaseSessionService) -> Accepting:
    async with _service(store) as service:
        rounds = [(await _append(store), *await _begin(service)) for _ in range(WARM_UP + ROUNDS)]
    append, accepted, first_chunk = (median(column) for column in zip(*rounds[WARM_UP:], strict=True))
    return Accepting(name, append, accepted, first_chunk)


@asynccontextmanager
async def _service(store: BaseSessionService) -> AsyncIterator[ChatService]:
    service = ChatService(root_agent, session_service=store)
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
