"""Measures the cost of durable runs: the same run with and without an engine on PostgreSQL, in turn."""

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from statistics import median
from time import perf_counter, process_time
from typing import Final

import asyncpg
from google.adk.sessions import InMemorySessionService

from bench.workload_agent import root_agent
from stream_protocol.durable import DbosEngine
from stream_protocol.serving import ChatService, PostgresRunLog
from stream_protocol.wire import parse_chat_request
from tests.postgres import postgres_server

ROUNDS: Final = 30
WARM_UP: Final = 5
SETTLING: Final = 2.0
"""Seconds until PostgreSQL has counted the written rows."""

TOOLS: Final = 4
"""Tool calls of a run with tools. They run in sequence, each followed by a model call."""


@dataclass(frozen=True)
class RunCost:
    """Cost of one run, in seconds. ``cpu``: processor time."""

    first_chunk: float
    whole: float
    cpu: float


@dataclass(frozen=True)
class Compared:
    """Median costs of a run, without and with an engine.

    ``tools``: number of tool calls. ``rows``: rows that the engine inserts, changes or deletes for a run.
    """

    tools: int
    without: RunCost
    durable: RunCost
    rows: float


async def durable_costs() -> list[Compared]:
    """Return a row for a run without tools, and a row for a run with tools."""
    with ExitStack() as servers:
        server = servers.enter_context(postgres_server())
        url, log_url = server.new_database(), server.new_database()
        plain, durable = [
            ChatService(
                root_agent,
                session_service=InMemorySessionService(),
                run_log=PostgresRunLog(log_url, prefix=prefix),
                engine=engine,
            )
            for prefix, engine in (("plain", None), ("durable", DbosEngine(url)))
        ]
        await durable.start()
        try:
            return [await _compared(plain, durable, url, tools) for tools in (0, TOOLS)]
        finally:
            await durable.aclose()
            await plain.aclose()


async def _compared(plain: ChatService, durable: ChatService, url: str, tools: int) -> Compared:
    before = await _rows(url)
    rounds = [(await _cost(plain, tools), await _cost(durable, tools)) for _ in range(WARM_UP + ROUNDS)]
    rows = (await _rows(url) - before) / len(rounds)
    one, other = ([pair[which] for pair in rounds[WARM_UP:]] for which in (0, 1))
    return Compared(tools, _median(one), _median(other), rows)


def _median(costs: list[RunCost]) -> RunCost:
    names = RunCost.__dataclass_fields__
    return RunCost(**{name: median(getattr(cost, name) for cost in costs) for name in names})


_NUMBERS: Final = count()


async def _cost(service: ChatService, tools: int) -> RunCost:
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": f"{tools} 1 0"}]}
    request = parse_chat_request({"id": f"chat{next(_NUMBERS)}", "messages": [message]})
    begun, cpu = perf_counter(), process_time()
    first = 0.0
    async for piece in await service.respond(request, user_id="somebody"):
        if not first and b'"type":"start-step"' in piece:
            first = perf_counter() - begun
    whole = perf_counter() - begun
    await service.history(request.id, user_id="somebody")  # waits until the run has ended
    await asyncio.sleep(0.1)  # the rows that the engine deletes
    return RunCost(first, whole, process_time() - cpu)


async def _rows(url: str) -> float:
    """Return the number of rows that the database has written so far."""
    await asyncio.sleep(SETTLING)
    connection = await asyncpg.connect(url)
    try:
        rows: float = await connection.fetchval(
            "SELECT tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = current_database()"
        )
        return rows
    finally:
        await connection.close()
