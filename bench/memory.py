"""The memory of an open stream."""

import gc
import tracemalloc
from itertools import islice

from bench.conversation import EVENTS_PER_TURN, conversation
from stream_protocol import iter_sse

STREAMS = 1_000


def bytes_per_open_stream() -> float:
    """Returns the bytes that Python holds per stream, with 1,000 of them open in the middle of a turn.

    Each has had its thoughts, its text, its call and half of the text behind the result. The events are shared and were
    made before, so they do not count; the generator, the converter and its sink do.
    """
    turn = conversation()[0]
    middle = EVENTS_PER_TURN * 3 // 4
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    streams = []
    for _ in range(STREAMS):
        stream = iter_sse(turn)
        for _ in islice(stream, middle):
            pass
        streams.append(stream)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / len(streams)
