"""A fleet: real servers in processes of their own, a real Redis and a real PostgreSQL that they share."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stream_protocol.wire import AiSdkVersion
from tests.fleet.ledger import Ledger
from tests.redis_server import RedisServer, free_port, redis_server

ROOT: Final = Path(__file__).parents[2]

LEASE: Final = 3.0
"""Seconds. Short, because tests wait for it; long enough for a machine that is busy."""

HANG: Final = 60.0
"""Seconds after which a test has failed, whatever it waits for."""


class Worker:
    """``adk-ui-stream serve``. It keeps its port when it is killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        serve = [sys.executable, "-m", "stream_protocol.cli", "serve", "tests.fleet.agent:root_agent"]
        self._command = [*serve, "--port", str(self.port), "--no-page", *options]
        self._env = {**os.environ, "PYTHONPATH": str(ROOT), "FLEET_FOLDER": str(folder)}
        self.errors = folder / f"worker-{self.port}.log"
        self._process: subprocess.Popen[str] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Does not wait: see ``ready``."""
        with self.errors.open("a") as errors:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._env, cwd=ROOT
            )

    def ready(self) -> None:
        """Waits until it listens."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert "http://" in self._process.stdout.readline(), self.errors.read_text()

    def kill(self) -> None:
        """As ``kill -9`` does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=HANG)
            self._process = None

    def freeze(self) -> None:
        """It takes connections and does nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


@dataclass(frozen=True)
class Fleet:
    workers: tuple[Worker, Worker]
    redis: RedisServer
    ledger: Ledger
    ai_sdk: AiSdkVersion

    @property
    def ports(self) -> list[int]:
        return [worker.port for worker in self.workers]

    def mend(self) -> None:
        """Starts again what a test has killed."""
        if not self.redis.running:
            self.redis.start()
        killed = [worker for worker in self.workers if not worker.running]
        for worker in killed:
            worker.start()
        for worker in killed:
            worker.ready()

    def said(self) -> str:
        """What the workers have logged."""
        return "\n".join(worker.errors.read_text() for worker in self.workers)


@contextmanager
def fleet(folder: Path, database: str, ai_sdk: AiSdkVersion) -> Iterator[Fleet]:
    """Two workers that run. ``database``: the URI of their sessions."""
    with redis_server(folder) as redis:
        shared = ("--redis", redis.url, "--lease", str(LEASE), "--session-service-uri", database)
        workers = Worker(folder, *shared, "--ai-sdk", str(ai_sdk)), Worker(folder, *shared, "--ai-sdk", str(ai_sdk))
        whole = Fleet(workers, redis, Ledger(folder), ai_sdk)
        try:
            whole.mend()
            yield whole
        finally:
            for worker in workers:
                worker.kill()
