"""Measures many streams at once on one server process: our server, and ADK's own ``/run_sse``, with the same agent.

Each measurement has a fresh server, ours and ADK's in turn, so that other work on the machine affects both. Times are
those of a client in this process. Processor time and memory are the server's, as Linux counts them.
"""

import asyncio
import gc
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, sleep
from typing import Final, NamedTuple, Protocol
from uuid import uuid4

import psutil

from bench.run_logs import local_redis
from tests.serve_settings import write_settings

ROOT: Final = Path(__file__).parents[1]
PAIRS: Final = 3
START_SECONDS: Final = 120
"""Seconds that a server may take to start on a busy machine."""

WARM_UP: Final = 5
"""Streams before the measurement: ADK loads many modules with its first run."""

MARK: Final = re.compile(rb"(\d+):(\d+\.\d+);")
"""Pattern of a chunk of ``PacedModel``."""

MARK_BYTES: Final = 40
"""Upper bound for the bytes of such a chunk."""

READ_BYTES: Final = 2**18

LISTENS: Final = "0A"
"""State of a listening socket in ``/proc/net/tcp``."""


class Shape(NamedTuple):
    """Number of streams at once, and the number and rate of their chunks."""

    streams: int
    chunks: int
    per_second: int


COMPARED: Final = (Shape(50, 200, 20), Shape(200, 200, 20), Shape(500, 10, 1))
SLOW: Final = Shape(1_000, 10, 1)
AS_FAST_AS_IT_CAN: Final = Shape(40, 500, 1_000_000)


@dataclass
class Load:
    """Result of a measurement, in seconds and bytes. Memory is per stream; ``per_second`` counts the chunks of all
    streams.
    """

    cpu_per_chunk: float
    late: list[float]
    first_chunks: list[float]
    memory: float
    per_second: float
    errors: int

    @property
    def per_cpu_second(self) -> float:
        """Chunks per second of the server's processor time."""
        return 1 / self.cpu_per_chunk

    @property
    def first_chunk(self) -> float:
        """Median time until the first chunk. All streams start at once."""
        return median(self.first_chunks)

    @property
    def first_chunk_p99(self) -> float:
        """The 99th percentile of the time until the first chunk."""
        return quantiles(self.first_chunks, n=100)[-1]

    @property
    def late_p50(self) -> float:
        """Median delay of a chunk."""
        return median(self.late)

    @property
    def late_p99(self) -> float:
        """The 99th percentile of the delay of a chunk."""
        return quantiles(self.late, n=100)[-1]


@dataclass
class Compared:
    """Rounds of one shape, in pairs: our server and ADK's."""

    shape: Shape
    pairs: list[tuple[Load, Load]]


class Server(Protocol):
    """A kind of server: its command line and its requests."""

    workers: int
    """Number of processes that serve."""

    def command(self, folder: Path, port: int) -> list[str]:
        """Return the command that starts the server. It may write into the folder."""

    def requests(self, chat: str, words: str) -> list[tuple[str, dict[str, object]]]:
        """Return path and body of each POST. The last of them gets the stream."""


class Ours:
    """Our server, ``adk-ui-stream serve``. Its limits allow one user to send all requests."""

    workers = 1
    settings: Mapping[str, object] = {}
    agent = "bench.paced_agent:root_agent"

    def command(self, folder: Path, port: int) -> list[str]:
        """Return the command: see ``Server``."""
        limits = ("max-runs", "max-runs-per-user", "max-connections", "requests-per-minute")
        write_settings(folder, {**dict.fromkeys(limits, 100_000), **self.settings})
        return ["-m", "stream_protocol", "serve", self.agent, "--no-page", "--port", str(port)]

    def requests(self, chat: str, words: str) -> list[tuple[str, dict[str, object]]]:
        """Return the requests: see ``Server``."""
        message = {"id": "1", "role": "user", "parts": [{"type": "text", "text": words}]}
        return [("/api/chat", {"id": chat, "messages": [message]})]


class OurWorkers(Ours):
    """Our server with ``--workers``, which share a Redis and an SQLite file."""

    def __init__(self, workers: int, redis: str) -> None:
        self.workers = workers
        self._options = ["--workers", str(workers), "--run-log", redis]
        self.settings = {"run-log-prefix": f"bench/{workers}/{uuid4().hex}"}

    def command(self, folder: Path, port: int) -> list[str]:
        """Return the command: see ``Server``."""
        store = ["--session-service-uri", f"sqlite:///{folder}/chats.db"]
        return [*super().command(folder, port), *self._options, *store]


class Adks:
    """ADK's server, ``adk api_server``. As ours, it has sessions in memory, and logs no requests."""

    workers = 1

    def command(self, folder: Path, port: int) -> list[str]:
        """Return the command: see ``Server``."""
        agent = folder / "agents" / "paced"
        agent.mkdir(parents=True)
        (agent / "__init__.py").write_text("from . import agent\n")
        (agent / "agent.py").write_text("from bench.paced_agent import root_agent\n")
        options = ["--port", str(port), "--session_service_uri", "memory://", "--artifact_service_uri", "memory://"]
        return [
            "-m",
            "google.adk.cli",
            "api_server",
            *options,
            "--log_level",
            "error",
            "--no-reload",
            str(agent.parent),
        ]

    def requests(self, chat: str, words: str) -> list[tuple[str, dict[str, object]]]:
        """Return the requests: see ``Server``."""
        names: dict[str, object] = {"app_name": "paced", "user_id": "u", "session_id": chat}
        message = {"role": "user", "parts": [{"text": words}]}
        return [
            (f"/apps/paced/users/u/sessions/{chat}", {}),
            ("/run_sse", names | {"new_message": message, "streaming": True}),
        ]


def compare_loads() -> Iterator[Compared]:
    """Yield the rounds of each shape."""
    for shape in COMPARED:
        yield Compared(shape, [(measure(Ours(), shape), measure(Adks(), shape)) for _ in range(PAIRS)])


def compare_workers() -> list[tuple[Load, Load]]:
    """Return the loads of two workers and of one worker, in pairs."""
    with local_redis() as url:
        return [
            (measure(OurWorkers(2, url), AS_FAST_AS_IT_CAN), measure(OurWorkers(1, url), AS_FAST_AS_IT_CAN))
            for _ in range(PAIRS)
        ]


def measure_slow() -> Load:
    """Measure a thousand slower streams on our server."""
    return measure(Ours(), SLOW)


def measure(server: Server, shape: Shape, env: Mapping[str, str] = os.environ) -> Load:
    """Start the server, and measure it with streams of this shape."""
    gc.collect()
    gc.freeze()  # a garbage collection of the client would delay chunks
    with tempfile.TemporaryDirectory() as name, started(server, Path(name), env) as (pid, port):
        return asyncio.run(_load(server, shape, pid, port))


async def _load(server: Server, shape: Shape, pid: int, port: int) -> Load:
    await asyncio.gather(*(_stream(server, port, f"warm{number}", Shape(1, 2, 2)) for number in range(WARM_UP)))
    cpu, memory, start = _cpu_seconds(pid), _memory(pid), monotonic()
    streams = [asyncio.create_task(_stream(server, port, f"c{number}", shape)) for number in range(shape.streams)]
    most = memory
    while not all(stream.done() for stream in streams):
        await asyncio.sleep(0.5)
        most = max(most, _memory(pid))
    times = [stream.result() for stream in streams]
    end = max(stream.end for stream in times)
    late = [seconds for stream in times for seconds in stream.late]
    return Load(
        cpu_per_chunk=(_cpu_seconds(pid) - cpu) / max(1, len(late)),
        late=late,
        first_chunks=[stream.first_chunk for stream in times],
        memory=(most - memory) / shape.streams,
        per_second=len(late) / (end - start),
        errors=sum(len(stream.late) != shape.chunks for stream in times),
    )


@dataclass
class _StreamTimes:
    """Times of a stream: the delay of each chunk, the time to the first chunk, and the time of the last."""

    late: list[float] = field(default_factory=list)
    first_chunk: float = 0.0
    end: float = 0.0

    def add(self, data: bytes, now: float) -> None:
        """Record the new chunks in this data. Repeated chunks are skipped: those of the aggregate, and those read
        before.
        """
        for number, due in MARK.findall(data):
            if int(number) == len(self.late):
                self.late.append(now - float(due))


async def _stream(server: Server, port: int, chat: str, shape: Shape) -> _StreamTimes:
    """Read a stream to its end. A failed stream has fewer chunks."""
    times = _StreamTimes()
    start = monotonic()  # with ADK's server, the time includes the request for a session
    *before, (path, body) = server.requests(chat, f"{shape.chunks} {shape.per_second}")
    for each in before:
        async for _ in post(port, *each):
            pass
    rest = b""
    async for data in post(port, path, body):
        now = monotonic()
        times.add(rest + data, now)
        rest = (rest + data)[-MARK_BYTES:]
        if not times.first_chunk and times.late:
            times.first_chunk = now - start
    times.end = monotonic()
    return times


async def post(port: int, path: str, body: dict[str, object]) -> AsyncGenerator[bytes]:
    """Yield the response as it arrives, with its head and the sizes of its pieces. Without a response, yields nothing
    at all.
    """
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    with suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}Connection: close\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
        while data := await reader.read(READ_BYTES):
            yield data
        writer.close()


@contextmanager
def started(server: Server, folder: Path, env: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Start the server. Yields its process id and its port, once it responds."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *server.command(folder, port)],
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**env, "PYTHONPATH": os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])},
        )
    try:
        deadline = monotonic() + START_SECONDS
        while not (_listeners(port) >= server.workers and _answers(port)):
            if process.poll() is not None or monotonic() > deadline:
                raise RuntimeError(f"The server did not start: {log.read_text()}")
            sleep(0.1)
        yield process.pid, port
    finally:
        process.kill()
        process.wait()


def _listeners(port: int) -> int:
    """Return the number of sockets that listen at the port: one for each process."""
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(each[1].endswith(f":{port:04X}") and each[3] == LISTENS for each in sockets)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        return bool(connection.recv(1))
    return False


def _cpu_seconds(pid: int) -> float:
    """Return the processor seconds of the process and its descendants."""
    return sum(map(_own_cpu_seconds, _with_children(pid)))


def _own_cpu_seconds(pid: int) -> float:
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, times[11:13])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> int:
    """Return the bytes in memory of the process and its descendants. Shared memory counts for each process."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in _with_children(pid))
    return pages * os.sysconf("SC_PAGE_SIZE")


def _with_children(pid: int) -> list[int]:
    """The process and all below it, without those that end meanwhile."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
