"""Measures the cost of turns in real workers, their Redis and their PostgreSQL: ``python -m bench.workers FILE``.

Each load of one worker has more of one thing, such as tools, so that the cost of this thing can be computed.
``bench/capacity.py`` reads the file, which is JSON.
"""

import argparse
import asyncio
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import asyncpg
import psutil
import redis

from stream_protocol.wire import SSE_DONE
from tests.fleet.workers import Fleet, fleet
from tests.postgres import postgres_server

AGENT: Final = "bench.workload_agent:root_agent"
USER: Final = "x-user"
LEASE: Final = 15.0
"""Seconds of a lease, the default of ``serve``. A run renews its lease three times in this time."""

PIECE_BYTES: Final = 2**16
SETTLING: Final = 3.0
"""Seconds until the last logs are in Redis, and PostgreSQL has counted its transactions."""

BETWEEN: Final = 0.05
"""Seconds between the starts of two users, since real users do not all start at once."""

STREAMS: Final = 100
"""Number of open streams for the memory measurement."""

MOMENT: Final = 0.9
"""Fraction of the streams' duration after which the memory is measured."""

MIB: Final = 2**20


@dataclass(frozen=True)
class Load:
    """Load of ``people`` users at once, each with ``chats`` new chats of ``turns`` turns.

    A reply is ``tools`` tool calls, one after the other, then ``chunks`` pieces of text. ``rate``: pieces per second; 0
    means as fast as possible.
    """

    name: str
    workers: int
    people: int
    chats: int
    turns: int
    tools: int
    chunks: int
    rate: float


LOADS: Final = (
    Load("short", workers=1, people=8, chats=20, turns=1, tools=0, chunks=1, rate=0),
    Load("slow", workers=1, people=30, chats=1, turns=1, tools=0, chunks=40, rate=2),
    Load("long", workers=1, people=30, chats=1, turns=1, tools=0, chunks=400, rate=20),
    Load("tools", workers=1, people=8, chats=8, turns=1, tools=4, chunks=1, rate=0),
    Load("talk", workers=1, people=8, chats=4, turns=5, tools=0, chunks=1, rate=0),
    Load("past", workers=1, people=6, chats=1, turns=25, tools=0, chunks=1, rate=0),
)
"""One load for each unknown cost: of a turn, a second, a chunk, a tool, a chat, a stored event."""

CHECKS: Final = (
    Load("moderate", workers=2, people=40, chats=1, turns=4, tools=1, chunks=100, rate=15),
    Load("overload", workers=2, people=120, chats=1, turns=1, tools=1, chunks=200, rate=20),
)
"""Loads with which the model is checked."""

OPEN: Final = Load("open", workers=1, people=STREAMS, chats=1, turns=1, tools=0, chunks=100, rate=5)


@dataclass(frozen=True)
class Use:
    """Used resources.

    Processor seconds of all workers, of Redis, of PostgreSQL and of the clients. Commands of Redis. Transactions of
    PostgreSQL, rows that it wrote, and bytes of its log (WAL).
    """

    worker_cpu: float
    redis_cpu: float
    postgres_cpu: float
    client_cpu: float
    redis_commands: float
    redis_bytes: float
    transactions: float
    rows: float
    wal_bytes: float

    def since(self, begun: "Use") -> "Use":
        """Return the use since an earlier measurement."""
        return Use(**{each.name: getattr(self, each.name) - getattr(begun, each.name) for each in fields(Use)})


@dataclass(frozen=True)
class Measured:
    """Resources that a load used.

    ``seconds``: from the first request to the last byte. ``turn_seconds``: sum of the turns' durations. ``chunks``:
    text chunks that clients received. ``egress``: all bytes that workers sent to clients.
    """

    load: Load
    use: Use
    seconds: float
    turn_seconds: float
    chunks: int
    egress: int


async def used(deployment: Fleet, workers: int) -> Use:
    """Return the resources that were used so far.

    ``workers``: the number of workers to count, from the first worker on.
    """
    with redis.Redis(port=deployment.redis.port) as asked:
        told: Any = asked.info()
    connection = await asyncpg.connect(deployment.database)
    try:
        backend, transactions, rows, wal = await connection.fetchrow(
            "SELECT pg_backend_pid(), xact_commit, tup_inserted + tup_updated + tup_deleted,"
            " pg_current_wal_lsn() - '0/0' FROM pg_stat_database WHERE datname = current_database()"
        )
        postmaster = psutil.Process(backend).parent()
        assert postmaster is not None
        postgres_cpu = _cpu(postmaster, ended=True) + sum(_cpu(each) for each in postmaster.children())
    finally:
        await connection.close()
    return Use(
        worker_cpu=sum(_cpu(psutil.Process(worker.pid)) for worker in deployment.workers[:workers]),
        redis_cpu=told["used_cpu_user"] + told["used_cpu_sys"],
        postgres_cpu=postgres_cpu,
        client_cpu=time.process_time(),
        redis_commands=told["total_commands_processed"],
        redis_bytes=told["total_net_input_bytes"] + told["total_net_output_bytes"],
        transactions=transactions,
        rows=rows,
        wal_bytes=float(wal),
    )


def _cpu(process: psutil.Process, *, ended: bool = False) -> float:
    """Return processor seconds of a process. ``ended``: include its ended children."""
    times = process.cpu_times()
    own = times.user + times.system
    return own + times.children_user + times.children_system if ended else own


async def measured(deployment: Fleet, load: Load) -> Measured:
    """Run the load, and return the resources that it used."""
    await asyncio.sleep(SETTLING)
    begun, start = await used(deployment, load.workers), time.monotonic()
    got = await asyncio.gather(
        *(_person(deployment.ports[who % load.workers], who, load) for who in range(load.people))
    )
    seconds = time.monotonic() - start
    await asyncio.sleep(SETTLING)
    use = (await used(deployment, load.workers)).since(begun)
    chunks, size, turn_seconds = (sum(column) for column in zip(*got, strict=True))
    return Measured(load, use, round(seconds, 2), round(turn_seconds, 2), int(chunks), int(size))


async def _person(port: int, who: int, load: Load) -> tuple[int, int, float]:
    """Chat as one user. Returns the text chunks, the bytes, and the sum of the turns' seconds."""
    await asyncio.sleep(who * BETWEEN)
    chunks, size, seconds = 0, 0, 0.0
    for chat in range(load.chats):
        for turn in range(load.turns):
            begun = time.monotonic()
            came = await _turn(port, f"{load.name}-{who}-{chat}", turn, load)
            seconds += time.monotonic() - begun
            chunks += came[0]
            size += came[1]
    return chunks, size, seconds


async def _turn(port: int, chat: str, turn: int, load: Load) -> tuple[int, int]:
    words = f"{load.tools} {load.chunks} {load.rate}"
    message = {"id": f"u{turn}", "role": "user", "parts": [{"type": "text", "text": words}]}
    body = json.dumps({"id": chat.replace(" ", "-"), "messages": [message], "trigger": "submit-message"}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{USER}: {chat}\r\n"
    writer.write(f"{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    answer = bytearray()
    while piece := await reader.read(PIECE_BYTES):
        answer += piece
    writer.close()
    assert SSE_DONE in answer, bytes(answer[:500])
    chunks = answer.count(b'"type":"text-delta"')
    assert chunks == load.chunks, f"{chunks} chunks of {load.chunks}: {bytes(answer[-500:])!r}"
    return chunks, len(answer)


async def measured_memory(deployment: Fleet) -> dict[str, float]:
    """Return the memory of open streams: MiB of the worker before, KiB per stream, and KiB per chunk in Redis."""
    worker = psutil.Process(deployment.workers[0].pid)
    with redis.Redis(port=deployment.redis.port) as asked:

        def now() -> tuple[float, float]:
            told: Any = asked.info("memory")
            return worker.memory_info().rss, told["used_memory"]

        await asyncio.sleep(SETTLING)
        asked.flushdb()  # no run is active; logs of ended runs would expire during the measurement
        before = now()
        people = asyncio.gather(*(_person(deployment.ports[0], who, OPEN) for who in range(OPEN.people)))
        await asyncio.sleep(OPEN.people * BETWEEN + OPEN.chunks / OPEN.rate * MOMENT)
        during = now()
        await people
    worker_bytes, redis_bytes = (then - first for then, first in zip(during, before, strict=True))
    return {
        "worker_mib": round(before[0] / MIB, 1),
        "stream_kib": round(worker_bytes / STREAMS / 1024, 1),
        "log_kib_per_chunk": round(redis_bytes / STREAMS / 1024 / (OPEN.chunks * MOMENT), 3),
    }


async def measure(deployment: Fleet) -> dict[str, Any]:
    """Run all measurements."""
    warm_up = Load("warm-up", workers=2, people=8, chats=5, turns=2, tools=1, chunks=20, rate=0)
    await measured(deployment, warm_up)
    return {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "memory": await measured_memory(deployment),
        "loads": [asdict(await measured(deployment, load)) for load in LOADS],
        "checks": [asdict(await measured(deployment, load)) for load in CHECKS],
        "load_average": round(os.getloadavg()[1], 1),
    }


@contextmanager
def open_deployment() -> Iterator[Fleet]:
    """Start two workers with a Redis and a PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, postgres_server() as postgres:
        options = ("--user-header", USER, "--lease", str(LEASE))
        with fleet(Path(folder), postgres.new_database(), 6, *options, agent=AGENT) as deployment:
            yield deployment


def main() -> None:
    """Measure for three minutes, and write the file. Processor time is counted, so other work on the machine matters
    little.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=main.__doc__)
    parser.add_argument("file", type=Path)
    file: Path = parser.parse_args().file
    with open_deployment() as deployment:
        told = asyncio.run(measure(deployment))
    file.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
