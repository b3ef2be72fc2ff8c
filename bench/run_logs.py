"""Measures the cost of a response in a run log, per chunk: in memory, and in a Redis or PostgreSQL on this machine."""

import asyncio
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from statistics import median
from time import perf_counter
from typing import NamedTuple

from bench.conversation import conversation
from stream_protocol import iter_sse
from stream_protocol.serving import MemoryRunLog, PostgresRunLog, RedisRunLog
from stream_protocol.serving.run_logs import EventBuffer, RunLog, RunReader
from tests.postgres import postgres_binaries, postgres_server

ROUNDS = 15
WARM_UP = 3


class Cost(NamedTuple):
    """Microseconds per chunk, and the median ratio to the run log in memory in the same round."""

    name: str
    microseconds: float
    ratio: float


async def run_log_costs() -> list[Cost]:
    """Return a row for the run log in memory, and two rows for each store that is installed here."""
    events = list(chain.from_iterable(iter_sse(turn) for turn in conversation()))
    memory = MemoryRunLog()
    logs: dict[str, tuple[RunLog, RunLog]] = {"memory": (memory, memory)}
    with ExitStack() as servers:
        if shutil.which("redis-server") is not None:
            url = servers.enter_context(local_redis())
            logs |= _pairs("Redis", RedisRunLog(url), RedisRunLog(url))
        if postgres_binaries() is not None:
            url = servers.enter_context(postgres_server()).new_database()
            logs |= _pairs("PostgreSQL", PostgresRunLog(url), PostgresRunLog(url))
        try:
            return _rows(await _compare(logs, events))
        finally:
            for pair in logs.values():
                for log in pair:
                    await log.aclose()


def _pairs(name: str, one: RunLog, other: RunLog) -> dict[str, tuple[RunLog, RunLog]]:
    """Return the run logs to measure: name of the measurement -> the run logs of its writer and its reader."""
    return {name: (one, one), f"{name}, read by another worker": (one, other)}


async def _compare(logs: dict[str, tuple[RunLog, RunLog]], events: list[bytes]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in logs}
    for _ in range(WARM_UP + ROUNDS):
        for name, (log, read_by) in logs.items():
            times[name].append(await _time(log, read_by, events))
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

    async def receive(self, post: bytes) -> bytes:
        return post

    def lease_lost(self) -> None:
        raise RuntimeError("The benchmark lost its lease.")


async def _time(log: RunLog, read_by: RunLog, events: list[bytes]) -> float:
    """Return the seconds per chunk, from the first written event to the last read event. The loop runs once after each
    event.
    """
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
    """Start a Redis. Yields its URL."""
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
