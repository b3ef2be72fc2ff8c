"""Measures the cost of a delta in the first and in the last tenth of a long stream.

In a long part, much content is before the last tenth. A reader with a backlog has the most unread events at the first
tenth.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from itertools import chain, repeat
from time import perf_counter
from typing import NamedTuple

from google.adk.events.event import Event
from google.genai import types

from bench.conversation import call_part, event
from stream_protocol import iter_sse
from stream_protocol.serving.run_logs import EventBuffer

TEXT_DELTAS = 40_000
ARGUMENT_CHARACTERS = 1_000_000
FRAGMENT_CHARACTERS = 50
DELTA = b'data: {"type":"text-delta","id":"0","delta":" and so on"}\n\n'
BACKLOG = 200_000
"""Number of SSE events that a reader has not read yet."""


class Growth(NamedTuple):
    """Microseconds per delta in the first and in the last tenth of a part, or of a reader's stream."""

    name: str
    deltas: int
    first: float
    last: float


def growths() -> list[Growth]:
    """Return a row for a long text part, for a long streamed argument, and for a reader with a large backlog."""
    fragments = ARGUMENT_CHARACTERS // FRAGMENT_CHARACTERS
    return [
        _growth("text of one part", _text(), TEXT_DELTAS),
        _growth(f"one argument, {ARGUMENT_CHARACTERS:,} characters", _argument(fragments), fragments),
        asyncio.run(_backlog()),
    ]


def _text() -> Iterator[Event]:
    # One event object, many times: 40,000 objects would measure the memory. The converter changes no event.
    return repeat(event("e-1", "1", [types.Part(text=" and so on")]), TEXT_DELTAS)


def _argument(fragments: int) -> Iterator[Event]:
    opening = event("e-1", "1", [call_part("adk-1", name="write", will_continue=True)])
    piece = types.PartialArg(json_path="$.text", string_value="x" * FRAGMENT_CHARACTERS, will_continue=True)
    growing = event("e-1", "1", [call_part("adk-1", partial_args=[piece], will_continue=True)])
    return chain([opening], repeat(growing, fragments))


def _growth(name: str, events: Iterator[Event], deltas: int) -> Growth:
    stream, tenth = iter_sse(events), deltas // 10
    gc.collect()
    gc.disable()
    _pull(stream, 4)  # the bytes before the first delta
    first = _pull(stream, tenth)
    _pull(stream, deltas - 2 * tenth - 8)
    last = _pull(stream, tenth)
    gc.enable()
    return Growth(name, deltas, first * 1e6, last * 1e6)


def _pull(stream: Iterator[bytes], count: int) -> float:
    """Return the seconds per chunk for the next ``count`` chunks. The stream must have as many."""
    start = perf_counter()
    for _ in range(count):
        next(stream)
    return (perf_counter() - start) / count


async def _backlog() -> Growth:
    log = EventBuffer()
    reader = log.read()
    log.append(DELTA)
    await anext(reader)
    log.append(*repeat(DELTA, BACKLOG))
    log.close()
    tenth = BACKLOG // 10
    gc.collect()
    gc.disable()
    first = await _read(reader, tenth)
    await _read(reader, BACKLOG - 3 * tenth)  # a piece may be larger than the rest of a tenth
    last = await _read(reader, tenth)
    gc.enable()
    return Growth("a reader far behind", BACKLOG, first * 1e6, last * 1e6)


async def _read(reader: AsyncIterator[bytes], count: int) -> float:
    """Return the seconds per event, until at least ``count`` events are read."""
    read, start = 0, perf_counter()
    while read < count:
        read += len(await anext(reader)) // len(DELTA)
    return (perf_counter() - start) / read
