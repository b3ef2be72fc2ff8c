"""Measures the memory of an open stream."""

import gc
import tracemalloc
from itertools import islice

from bench.conversation import EVENTS_PER_TURN, conversation
from stream_protocol import iter_sse

STREAMS = 1_000


def bytes_per_open_stream() -> float:
    """Return the bytes that Python allocates per stream, with 1,000 streams open in the middle of a turn.

    Each stream has had its thoughts, its text, its call, and half of the text after the result. The result includes the
    generator, the converter and its sink. It does not include the events, because all streams share them.
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
