"""Measures our cost of a chunk of a streamed run, from the event to ASGI's ``send``: without ADK and network."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from statistics import median
from time import thread_time
from typing import NamedTuple

from google.adk.events.event import Event
from starlette.types import Message

from bench.conversation import long_answer
from stream_protocol.serving import ServiceLimits, UIMessageStreamResponse
from stream_protocol.serving.base import TurnRecorders
from stream_protocol.serving.run_logs import LogBounds, MemoryRunLog
from stream_protocol.serving.runs import Run
from stream_protocol.serving.runs._run_response import StartedResponse
from stream_protocol.stream import Settings, sse_conversion

ROUNDS = 12
TURNS_OF_THE_LOOP = 4
"""Iterations of the event loop between two events. ADK takes about as many. Each chunk is sent separately then."""


class PathCost(NamedTuple):
    """Microseconds of processor time per chunk, and chunks per call of ASGI's ``send``."""

    microseconds: float
    chunks_per_send: float


async def run_path_cost() -> PathCost:
    """Return the cost of a chunk through the converter, the run, its log, a reader and the response."""
    [events] = long_answer()
    gc.collect()
    rounds, sends = [], 0
    for _ in range(ROUNDS):
        gc.disable()
        start = thread_time()
        async for _event in _paced(events):
            pass
        between = thread_time()
        sends = await _stream(events)
        rounds.append(thread_time() - between - (between - start))
        gc.enable()
    return PathCost(median(rounds) / len(events) * 1e6, len(events) / sends)


async def _stream(events: list[Event]) -> int:
    """Stream one run to one reader. Returns the number of calls of ``send``."""
    log, run, sends = MemoryRunLog(), Run(ServiceLimits(), LogBounds()), 0
    await run.claim(log, "chat", "request")
    run.open()

    async def send(_message: Message) -> None:
        nonlocal sends
        sends += 1

    async def receive() -> Message:
        return await asyncio.Future[Message]()

    response = UIMessageStreamResponse(run.log.read())
    sending = asyncio.create_task(response({"type": "http", "method": "POST"}, receive, send))
    await asyncio.sleep(0)
    await run.run_agent(_paced(events), _started, TurnRecorders(), _never)
    await sending
    run.release()
    return sends


async def _never(_error: BaseException) -> bool:
    return False


def _started(_invocation_id: str | None) -> StartedResponse:
    return StartedResponse(sse_conversion((), "m", Settings()))


async def _paced(events: list[Event]) -> AsyncGenerator[Event]:
    for event in events:
        yield event
        for _ in range(TURNS_OF_THE_LOOP):
            await asyncio.sleep(0)
