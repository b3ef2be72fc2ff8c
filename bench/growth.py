"""Whether a delta costs the same when much has gone before: the time of the first tenth of a part, and of the last."""

import gc
from collections.abc import Iterator
from itertools import chain, repeat
from time import perf_counter
from typing import NamedTuple

from google.adk.events.event import Event
from google.genai import types

from bench.conversation import call_part, event
from stream_protocol import iter_sse

TEXT_DELTAS = 40_000
ARGUMENT_CHARACTERS = 1_000_000
FRAGMENT_CHARACTERS = 50


class Growth(NamedTuple):
    """Microseconds per delta in the first and in the last tenth of one part."""

    name: str
    deltas: int
    first: float
    last: float


def growths() -> list[Growth]:
    """Returns a row for one long text part and one for one long streamed argument."""
    fragments = ARGUMENT_CHARACTERS // FRAGMENT_CHARACTERS
    return [
        _growth("text of one part", _text(), TEXT_DELTAS),
        _growth(f"one argument, {ARGUMENT_CHARACTERS:,} characters", _argument(fragments), fragments),
    ]


def _text() -> Iterator[Event]:
    # One event object, many times: 40,000 of them would measure the memory, and converting changes no event.
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
    _pull(stream, 4)  # what comes before the first delta
    first = _pull(stream, tenth)
    _pull(stream, deltas - 2 * tenth - 8)
    last = _pull(stream, tenth)
    gc.enable()
    return Growth(name, deltas, first * 1e6, last * 1e6)


def _pull(stream: Iterator[bytes], count: int) -> float:
    """Seconds per chunk over the next ``count`` chunks, all of which must be there."""
    start = perf_counter()
    for _ in range(count):
        next(stream)
    return (perf_counter() - start) / count
