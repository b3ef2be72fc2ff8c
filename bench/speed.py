"""Measures microseconds per chunk, as ratios to a floor: for a whole conversation, and for text alone."""

import gc
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from statistics import median
from time import thread_time
from typing import NamedTuple

import orjson
from google.adk.events.event import Event

from bench.conversation import conversation, long_answer
from bench.floor import floor_async, floor_sync, text_floor
from stream_protocol import AnyChunk, StreamProtocolConverter, iter_chunks, iter_sse, stream_chunks, stream_sse

ROUNDS = 41
WARM_UP = 4

Turns = list[list[Event]]
AsyncBridge = Callable[[int, AsyncIterable[Event]], AsyncIterable[object]]
SyncBridge = Callable[[int, Iterable[Event]], Iterable[object]]


class Speed(NamedTuple):
    """A row of the table. ``ratio``: median ratio of this row's time to its floor's time, per chunk."""

    name: str
    microseconds: float
    ratio: float


async def speeds() -> tuple[int, list[Speed]]:
    """Return the number of chunks in the stream, and a row for each path. The ratio of a floor is 1."""
    turns = conversation()
    counts = [_counts(turn) for turn in turns]
    asynchronous: dict[str, AsyncBridge] = {
        "floor, async": lambda turn, events: floor_async(events, counts[turn]),
        "stream_sse": lambda _, events: stream_sse(events),
        "stream_chunks": lambda _, events: stream_chunks(events),
    }
    synchronous: dict[str, SyncBridge] = {
        "floor, sync": lambda turn, events: floor_sync(events, counts[turn]),
        "iter_sse": lambda _, events: iter_sse(events),
        "iter_chunks": lambda _, events: iter_chunks(events),
    }
    of_text: dict[str, SyncBridge] = {
        "floor, text": lambda _, events: text_floor(events),
        "iter_sse, text": lambda _, events: iter_sse(events),
        "iter_chunks, encoded, text": lambda _, events: map(_framed, iter_chunks(events)),
    }
    answer = long_answer()
    times: dict[str, list[float]] = {name: [] for name in (*asynchronous, *synchronous, *of_text)}
    for _ in range(WARM_UP + ROUNDS):
        gc.collect()
        for name, bridge in asynchronous.items():
            times[name].append(await _time_async(turns, bridge))
        for name, sync_bridge in synchronous.items():
            times[name].append(_time_sync(turns, sync_bridge))
        for name, sync_bridge in of_text.items():
            times[name].append(_time_sync(answer, sync_bridge))
    groups: dict[str, Iterable[str]] = {
        "floor, async": asynchronous,
        "floor, sync": synchronous,
        "floor, text": of_text,
    }
    rows = [
        _row(name, times[name][WARM_UP:], times[floor][WARM_UP:]) for floor, names in groups.items() for name in names
    ]
    return sum(map(sum, counts)), rows


def _framed(chunk: AnyChunk) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _counts(events: Sequence[Event]) -> list[int]:
    """Return the number of chunks of each event, and of the end. ``[DONE]`` counts as a chunk."""
    converter = StreamProtocolConverter()
    counts = [len(converter.convert(event)) for event in events]
    return [*counts, len(converter.finish()) + 1]


async def _time_async(turns: Turns, bridge: AsyncBridge) -> float:
    """Return the processor seconds per chunk, which other work on the machine affects little.

    The garbage collector is off, for each path.
    """
    chunks, seconds = 0, 0.0
    gc.disable()
    for index, turn in enumerate(turns):
        events = _replay(turn)
        start = thread_time()
        async for _ in bridge(index, events):
            chunks += 1
        seconds += thread_time() - start
    gc.enable()
    return seconds / chunks


def _time_sync(turns: Turns, bridge: SyncBridge) -> float:
    chunks, seconds = 0, 0.0
    gc.disable()
    for index, turn in enumerate(turns):
        start = thread_time()  # the call itself counts, too
        for _ in bridge(index, turn):
            chunks += 1
        seconds += thread_time() - start
    gc.enable()
    return seconds / chunks


async def _replay(events: Iterable[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


def _row(name: str, times: list[float], floor: list[float]) -> Speed:
    ratios = [own / least for own, least in zip(times, floor, strict=True)]
    return Speed(name, median(times) * 1e6, median(ratios))
