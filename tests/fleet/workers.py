"""A fleet: real servers in separate processes, with a real Redis and a real PostgreSQL that they share."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stream_protocol.wire import AiSdkVersion
from tests.fleet.tool_log import ToolLog
from tests.ports import free_port
from tests.processes import PythonModule
from tests.redis_server import RedisServer, redis_server
from tests.serve_settings import on_command_line

AGENT: Final = "tests.fleet.agent:root_agent"

LEASE: Final = 3.0
"""Seconds of a lease. Short, because tests wait for it, and long enough for a busy machine."""

DRAIN: Final = 5.0
"""Seconds that runs continue in a stopped worker: longer than a stroll. Tests wait for it."""


class Worker:
    """A process of ``adk-ui-stream serve``. A restart uses the same port."""

    def __init__(self, folder: Path, agent: str, *options: str) -> None:
        self.port = free_port()
        self._folder = folder / f"worker-{self.port}"
        self._folder.mkdir()
        words = [agent, "--port", str(self.port), "--no-page", *options]
        self._options = on_command_line(words, self._folder)
        self._env = {**os.environ, "FLEET_FOLDER": str(folder)}
        self.log = folder / f"worker-{self.port}.log"
        self.deaths = 0
        """Number of times that the worker was found dead."""
        self._process: PythonModule | None = None

    @property
    def running(self) -> bool:
        return self._process is not None

    @property
    def died(self) -> bool:
        """True if the process has ended without a request to stop."""
        return self._process is not None and self._process.ended

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process, without waiting: see ``ready``."""
        serve = ("stream_protocol", "serve", *self._options)
        self._process = PythonModule(*serve, cwd=self._folder, log=self.log, env=self._env)

    def ready(self) -> None:
        """Wait until the worker listens."""
        assert self._process is not None
        assert "http://" in self._process.read_line(), self.log.read_text()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def end(self) -> None:
        """Stop the worker as an orchestrator that will start it again: see ``ended``."""
        self._signal(signal.SIGTERM)

    def ended(self) -> int:
        """Wait until the worker has ended. Returns its exit code."""
        assert self._process is not None
        code = self._process.wait()
        self.kill()
        return code

    def freeze(self) -> None:
        """Freeze the process: it accepts connections and does nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


@dataclass(frozen=True)
class Workers:
    """Workers, and the folder in which their tools write."""

    workers: tuple[Worker, ...]
    tool_log: ToolLog

    @property
    def ports(self) -> list[int]:
        return [worker.port for worker in self.workers]

    def mend(self) -> None:
        """Restart the workers that a test has killed, or that have killed themselves."""
        for worker in self.workers:
            if worker.died:
                worker.deaths += 1
                worker.kill()
        killed = [worker for worker in self.workers if not worker.running]
        for worker in killed:
            worker.start()
        for worker in killed:
            worker.ready()

    def kill(self) -> None:
        for worker in self.workers:
            worker.kill()

    def said(self) -> str:
        """Return the workers' log."""
        return "\n".join(worker.log.read_text() for worker in self.workers)


@dataclass(frozen=True)
class Fleet(Workers):
    """Two workers with a Redis."""

    redis: RedisServer
    ai_sdk: AiSdkVersion
    database: str
    """URI of the workers' sessions."""

    def mend(self) -> None:
        if not self.redis.running:
            self.redis.start()
        super().mend()


@contextmanager
def fleet(folder: Path, database: str, ai_sdk: AiSdkVersion, *options: str, agent: str = AGENT) -> Iterator[Fleet]:
    """Start two workers. ``database``: URI of their sessions. ``options``: further options of ``serve``."""
    with redis_server(folder) as redis:
        shared = ("--run-log", redis.url, "--lease", str(LEASE), "--session-service-uri", database)
        busy = ("--requests-per-minute", "100000")  # all chat users are one user, and wait for nothing
        own = (agent, *shared, *busy, "--drain", str(DRAIN), "--ai-sdk", str(ai_sdk), *options)
        workers = Worker(folder, *own), Worker(folder, *own)
        whole = Fleet(workers, ToolLog(folder), redis, ai_sdk, database)
        try:
            whole.mend()
            yield whole
        finally:
            whole.kill()
