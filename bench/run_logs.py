"""What it costs to keep a response in a run log, per chunk: in memory, and in a Redis on this machine."""

import asyncio
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from statistics import median
from time import perf_counter
from typing import NamedTuple

from bench.conversation import conversation
from stream_protocol import iter_sse
from stream_protocol.serving import MemoryRunLog, RedisRunLog
from stream_protocol.serving.run_logs import EventBuffer, RunLog, RunReader

ROUNDS = 15
WARM_UP = 3


class Cost(NamedTuple):
    """Microseconds per chunk, and the median over the rounds of that to the memory's in the same round."""

    name: str
    microseconds: float
    ratio: float


async def run_log_costs() -> list[Cost]:
    """Returns a row per run log; the one in memory alone if there is no ``redis-server``."""
    events = list(chain.from_iterable(iter_sse(turn) for turn in conversation()))
    if shutil.which("redis-server") is None:
        memory = MemoryRunLog()
        return _rows({"memory": [await _time(memory, memory, events) for _ in range(ROUNDS)]})
    with local_redis() as url:
        return _rows(await _compare(url, events))


async def _compare(url: str, events: list[bytes]) -> dict[str, list[float]]:
    memory, redis, elsewhere = MemoryRunLog(), RedisRunLog(url), RedisRunLog(url)
    times: dict[str, list[float]] = {"memory": [], "Redis": [], "Redis, read by another worker": []}
    for _ in range(WARM_UP + ROUNDS):
        times["memory"].append(await _time(memory, memory, events))
        times["Redis"].append(await _time(redis, redis, events))
        times["Redis, read by another worker"].append(await _time(redis, elsewhere, events))
    await redis.aclose()
    await elsewhere.aclose()
    return {name: rounds[WARM_UP:] for name, rounds in times.items()}


def _rows(times: dict[str, list[float]]) -> list[Cost]:
    least = times["memory"]
    return [
        Cost(name, median(own) * 1e6, median(mine / its for mine, its in zip(own, least, strict=True)))
        for name, own in times.items()
    ]


class _Owner:
    def __init__(self) -> None:
        self.log = EventBuffer()

    def stop(self) -> None:
        pass

    def lease_lost(self) -> None:
        raise RuntimeError("The benchmark lost its lease.")


async def _time(log: RunLog, read_by: RunLog, events: list[bytes]) -> float:
    """Seconds per chunk, from the first event to the last that the reader gets. The loop turns after each."""
    owner = _Owner()
    chat = str(id(owner))
    lease = await log.claim(chat, "", owner)
    lease.open()
    run = await log.current(chat)
    assert run is not None
    reader = await read_by.read(chat, run.run_id)
    assert reader is not None
    reading = asyncio.create_task(_drain(reader))
    start = perf_counter()
    for event in events:
        owner.log.append(event)
        await asyncio.sleep(0)
    owner.log.close()
    await reading
    seconds = perf_counter() - start
    lease.release()
    return seconds / len(events)


async def _drain(reader: RunReader) -> None:
    async for _ in reader:
        pass


@contextmanager
def local_redis() -> Iterator[str]:
    """The URL of a Redis of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            while "Ready to accept connections" not in (line := server.stdout.readline()):
                assert line, "redis-server did not start"
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()
            server.communicate()
