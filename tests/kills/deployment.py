"""Workers with an engine, and their shared stores. They are killed, paused, restarted and made read-only."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import asyncpg
import httpx
from dbos import DBOSClient
from sqlalchemy import NullPool, create_engine, text

from stream_protocol.durable._runs import RUN, run_of_call
from stream_protocol.durable._workflows import CALL
from stream_protocol.serving.engine._engine import CRASHES_OF_SUSPECT
from tests.fleet.workers import Worker
from tests.kills.kinds import BEGUN, SESSIONS
from tests.kills.schedule import LEASE, LOOK, Fault, Harm, Schedule
from tests.postgres import Postgres
from tests.processes import FORKS, HANG, PRELOADED
from tests.redis_server import RedisServer, redis_server

POLL: Final = 0.05

MORE: Final = (
    "aiosqlite",
    "asyncpg",
    "google.adk.agents.remote_a2a_agent",
    "google.adk.artifacts",
    "google.adk.plugins.save_files_as_artifacts_plugin",
    "google.adk.sessions.database_session_service",
    "google.adk.sessions.sqlite_session_service",
    "google.adk.tools.agent_tool",
    "google.adk.tools.authenticated_function_tool",
    "psycopg",
    "stream_protocol.cli._serve_agent",
    "stream_protocol.durable",
    "stream_protocol.serving.run_logs.postgres",
)
"""Further preloaded modules, since these workers start again and again."""

GIVEN_UP: Final = "is given up"
"""Log text of a worker for a run that has crashed too many workers."""

SLOW_STARTS: Final = ("it does not answer", "NOTIFY does not arrive")
"""Texts of a worker that ends at its start because a store responded too late, as on a busy machine."""

AFTERMATH: Final = 2 * LEASE + LOOK + 2.0
"""Seconds for which a past fault may have effects."""


class KillWorker(Worker):
    """Worker that logs JSON, on stderr only."""

    def ready(self) -> None:
        assert self.comes_up(), self.log.read_text()[-4000:]

    def comes_up(self) -> bool:
        """Wait until the worker listens. Returns False if it ends instead."""
        deadline = time.monotonic() + HANG
        while not self.died:
            assert time.monotonic() < deadline, self.log.read_text()[-4000:]
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/healthz", timeout=HANG)
            except httpx.TransportError:
                time.sleep(POLL)
            else:
                return True
        return False

    def revive(self) -> None:
        """Start the worker again if it is not running."""
        if self.died:
            self.kill()
        if not self.running:
            self.start()


@dataclass
class FaultRecord:
    """A fault that happened. Times are of the machine's monotonic clock.

    ``busy``: the fault was not injected, but a worker could not renew its leases in time.
    """

    harm: Harm | Literal["busy"]
    worker: int | None
    begun: float
    ended: float = float("inf")


@dataclass
class Deployment:
    schedule: Schedule
    folder: Path
    workers: Sequence[KillWorker]
    postgres: Postgres | None
    redis: RedisServer | None
    databases: dict[str, str]
    """Content -> URI of its store in PostgreSQL."""
    engine: str | None
    """URI of the engine's store; ``None`` without an engine."""
    fault_records: list[FaultRecord] = field(default_factory=list)

    @property
    def ports(self) -> list[int]:
        return [worker.port for worker in self.workers]

    async def harm(self, fault: Fault, asked: int) -> None:
        """Inject the fault, and repair it. A worker that is not running is skipped."""
        worker = asked if fault.worker is None else fault.worker
        if fault.harm in {"kill", "pause"} and (not self.workers[worker].running or self.workers[worker].died):
            return
        fault_seen = FaultRecord(fault.harm, worker if fault.harm in {"kill", "pause"} else None, time.monotonic())
        self.fault_records.append(fault_seen)
        try:
            match fault.harm:
                case "kill":
                    await self._kill(worker, fault.seconds)
                case "pause":
                    await self._pause(worker, fault.seconds)
                case "redis restarts":
                    assert self.redis is not None
                    self.redis.kill()
                    await asyncio.to_thread(self.redis.start)
                case "postgres restarts":
                    assert self.postgres is not None
                    await asyncio.to_thread(self.postgres.stop)
                    await asyncio.to_thread(self.postgres.start)
                case store:
                    await self._read_only(self.databases[store.partition(" ")[0]], fault.seconds)
        finally:
            fault_seen.ended = time.monotonic()
        if fault_seen.worker is None:
            for each in self.workers:
                if each.died:  # it was started while the store was not there
                    each.revive()
        elif fault.harm == "kill":
            await self._supervise(self.workers[worker])

    def left_over(self) -> list[str]:
        """Return the workflows that the engine has.

        A worker that was killed at the end of a run may leave calls of that run, which are deleted a day later.
        """
        if self.engine is None:
            return []
        client = DBOSClient(system_database_url=self.engine)
        try:
            kept = client.list_workflows()
        finally:
            client.destroy()
        runs = {each.workflow_id for each in kept if each.name == RUN}
        was_killed = any(fault_seen.harm == "kill" for fault_seen in self.fault_records)
        calls = [
            each for each in kept if each.name == CALL and was_killed and run_of_call(each.workflow_id) not in runs
        ]
        return [f"{each.workflow_id} {each.status}" for each in kept if each not in calls]

    def notice_business(self) -> None:
        """Record the leases that were lost without a fault."""
        for record in self.logged():
            at = moment(record)
            if at is not None and "The lease of run" in record["message"]:
                self.fault_records.append(FaultRecord("busy", record["worker"], at - LEASE, at))

    def is_given_up(self, chat: str) -> bool:
        """Return True if a run of this chat was given up because it had crashed too many workers."""
        killed = sorted(fault_seen.begun for fault_seen in self.fault_records if fault_seen.harm == "kill")
        ends = [moment(each) for each in self.logged() if each.get("chat_id") == chat and GIVEN_UP in each["message"]]
        return any(end is not None and sum(each < end for each in killed) > CRASHES_OF_SUSPECT for end in ends)

    def begun(self) -> list[dict[str, Any]]:
        """Return the tools' records."""
        file = self.folder / BEGUN
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def dump(self, chat: str) -> None:
        """Write the events of a session beside the logs, for debugging."""
        url = self.databases["sessions"].replace("postgresql:", "postgresql+psycopg:")
        engine = create_engine(url, poolclass=NullPool)
        query = text("SELECT event_data FROM events WHERE session_id = :chat ORDER BY timestamp")
        with engine.connect() as connection:
            rows = connection.execute(query, {"chat": chat}).scalars().all()
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (self.folder / f"{chat}.jsonl").write_text("\n".join(lines))

    def logged(self) -> list[dict[str, Any]]:
        """Return the workers' logged errors, including the error that ended a worker."""
        found: list[dict[str, Any]] = []
        for number, worker in enumerate(self.workers):
            for line in worker.log.read_text().splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    is_error = line.startswith(("Traceback", "error: "))
                    record = {"severity": "ERROR" if is_error else "INFO", "message": line}
                if record["severity"] not in {"INFO", "WARNING", "DEBUG"}:
                    found.append({"worker": number, **record})
        return found

    async def _kill(self, worker: int, seconds: float) -> None:
        """Kill the worker, and restart it after a while. The worker may be one that is about to start."""
        self.workers[worker].kill()
        await asyncio.sleep(seconds)
        self.workers[worker].revive()

    async def begin(self) -> None:
        """Wait for the first start of all workers. A worker that ends because a store is slow starts again."""
        for worker in self.workers:
            while not await asyncio.to_thread(worker.comes_up):
                told = worker.log.read_text()[-4000:]
                assert any(reason in told for reason in SLOW_STARTS), told
                worker.revive()

    async def _supervise(self, worker: KillWorker) -> None:
        """Restart the worker if it ends at its start, as an operator would: see ``SLOW_STARTS``."""
        while not await asyncio.to_thread(worker.comes_up):
            worker.revive()

    async def _pause(self, worker: int, seconds: float) -> None:
        """Pause the process of a worker. Another fault may kill it meanwhile, and start a new process."""
        paused = self.workers[worker]
        pid = paused.pid
        paused.freeze()
        await asyncio.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    async def mend(self) -> None:
        """Restart all workers that are not running."""
        for worker in self.workers:
            worker.revive()
            if not await asyncio.to_thread(worker.comes_up):  # it was started while a store was not there
                worker.revive()
                await asyncio.to_thread(worker.ready)

    async def _read_only(self, uri: str, seconds: float) -> None:
        """Make the database read-only, as a primary that became a standby.

        The connections to the database are closed at the beginning of this time, and again at its end.
        """
        url = urlsplit(uri)
        name = url.path.removeprefix("/")
        connection = await asyncpg.connect(uri.replace(f"/{name}", "/postgres"))
        ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"
        try:
            await connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
            await connection.execute(ending, name)
            await asyncio.sleep(seconds)
            await connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
            await connection.execute(ending, name)
        finally:
            await connection.close()


@asynccontextmanager
async def deployed(
    schedule: Schedule, folder: Path, postgres: Postgres, *options: str, durable: bool = True
) -> AsyncIterator[Deployment]:
    """Start the workers of a schedule. Yields them when they are ready.

    ``options``: further options of ``serve``. ``durable=False``: the workers have no engine.
    """
    FORKS.set_forkserver_preload([*PRELOADED, *MORE])
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server(folder)) if schedule.world == "redis" else None
        if schedule.world == "files":
            databases = {"sessions": f"sqlite:///{folder}/chats.db", "engine": f"sqlite:///{folder}/runs.db"}
            shared: tuple[str, ...] = ()
        else:
            stores = ("sessions", "engine", "log") if redis is None else ("sessions", "engine")
            databases = {store: postgres.new_database() for store in stores}
            shared = ("--run-log", redis.url if redis else databases["log"], "--lease", str(LEASE))
        (folder / SESSIONS).write_text(databases["sessions"])
        engine = ("--durable", databases["engine"], "--idempotent-tools", "note") if durable else ()
        log = ("--log-format", "json", "--log-whole", "stream_protocol", "--log-whole", "dbos")
        many = ("--requests-per-minute", "100000", *log)
        target = f"tests.kills.agents:serve_{schedule.root}"
        all_options = (*engine, "--drain", "1", *shared, *many, *options)
        workers = [KillWorker(folder, target, *all_options) for _ in range(schedule.workers)]
        server = None if schedule.world == "files" else postgres
        uri = databases["engine"] if durable else None
        deployment = Deployment(schedule, folder, workers, server, redis, databases, uri)
        for worker in workers:
            stack.callback(worker.kill)
        for worker in workers:
            worker.start()
        await deployment.begin()
        yield deployment


def moment(record: dict[str, Any]) -> float | None:
    """Return the time of a log record, by the monotonic clock."""
    if "time" not in record:
        return None
    passed = time.time() - datetime.fromisoformat(record["time"]).timestamp()
    return time.monotonic() - passed
