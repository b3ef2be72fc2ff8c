"""Measures the workers and their Redis once a second."""

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psutil
import redis

from tests.fleet.fault_injector import FaultInjector
from tests.fleet.tool_log import report_file
from tests.fleet.workers import LEASE, Fleet, Worker

LOOK_SECONDS: Final = 1.0
BUSY: Final = LEASE * 250
"""Milliseconds. A loop that is later than a quarter of a lease may lose it, since the machine is overloaded."""

MIB: Final = 2**20


@dataclass(frozen=True)
class Look:
    """One worker at one moment.

    ``memory``: resident, in MiB. ``blocks``: the number of memory blocks of Python's objects, each of some 100 bytes.
    ``clients``: the number of connections to clients. ``stores``: the number of connections to Redis and to PostgreSQL.
    ``files``: the number of all other descriptors. ``lag``: the longest delay of the event loop since the last look, in
    milliseconds. ``tasks``: the number of tasks of each name.
    """

    memory: float
    blocks: int
    clients: int
    stores: int
    files: int
    threads: int
    lag: float
    tasks: Mapping[str, int]


@dataclass(frozen=True)
class WorkerReport:
    """Report of a worker about itself: see ``tests.soak.agent``."""

    lag: float = 0.0
    tasks: Mapping[str, int] = field(default_factory=dict)
    blocks: int = 0


@dataclass(frozen=True)
class Moment:
    """Measurement of all workers.

    ``seconds``: since the beginning. ``chats``: number of chats so far. ``load``: of the machine, including other work.
    ``workers``: ``None`` for a worker that does not run. ``keys``: number of keys in Redis.
    """

    seconds: float
    chats: int
    load: float
    keys: int
    workers: Sequence[Look | None]


@dataclass
class Watch:
    """Watcher of the workers. ``moments``: measurements. ``chats``: counter that each new chat increments.

    ``fault_injector``: records a fault when a worker had no processor time.
    """

    fleet: Fleet
    fault_injector: FaultInjector
    chats: int = 0
    moments: list[Moment] = field(default_factory=list)
    _read: dict[int, int] = field(default_factory=dict)
    """Process id -> bytes that were read of the worker's reports."""
    _last: dict[int, WorkerReport] = field(default_factory=dict)
    """Process id -> last report."""
    begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.redis = redis.Redis(port=self.fleet.redis.port)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun

    def some_keys(self) -> list[str]:
        """Return some keys in Redis, with the seconds until each expires; -1 means never."""
        return [f"{key!r}: {self.redis.ttl(key)}" for key in self.redis.keys()[:10]]

    async def live(self) -> None:
        """Measure until the task is cancelled."""
        while True:
            begun = time.monotonic()
            await asyncio.sleep(LOOK_SECONDS)
            moment = await asyncio.to_thread(self.look)
            self.moments.append(moment)
            late = max((look.lag for look in moment.workers if look is not None), default=0.0)
            if late > BUSY:
                self.fault_injector.note("machine_is_busy", begun - late / 1000, time.monotonic())

    def look(self) -> Moment:
        """Return the current measurement."""
        workers = [self._look_at(worker) for worker in self.fleet.workers]
        return Moment(round(self.seconds, 1), self.chats, os.getloadavg()[0], self.redis.dbsize(), workers)

    def _look_at(self, worker: Worker) -> Look | None:
        try:
            process = psutil.Process(worker.pid)
            connections = process.net_connections("tcp")
            clients = [one for one in connections if one.laddr.port == worker.port and one.raddr]
            others = [one for one in connections if one.laddr.port != worker.port]
            memory, files, threads = process.memory_info().rss, process.num_fds(), process.num_threads()
        except (AssertionError, psutil.Error):
            return None  # it was killed, and its successor is not there yet
        if not memory:  # it has been killed just now
            return None
        reported = self._told(process.pid)
        return Look(
            memory=round(memory / MIB, 1),
            blocks=reported.blocks,
            clients=len(clients),
            stores=len(others),
            files=files - len(clients) - len(others),
            threads=threads,
            lag=round(reported.lag * 1000, 1),
            tasks=reported.tasks,
        )

    def _told(self, pid: int) -> WorkerReport:
        """Return the last report, with the longest lag of all new reports."""
        file = report_file(pid, self.fleet.tool_log.folder)
        reported: list[dict[str, Any]] = []
        if file.exists():  # else nothing has run yet
            with file.open("rb") as lines:
                lines.seek(self._read.get(pid, 0))
                reported = [json.loads(line) for line in lines]
                self._read[pid] = lines.tell()
        if reported:
            self._last[pid] = WorkerReport(
                max(line["lag"] for line in reported), reported[-1]["tasks"], reported[-1]["blocks"]
            )
        return self._last.get(pid, WorkerReport())
