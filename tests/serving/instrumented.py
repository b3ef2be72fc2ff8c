"""Services whose runs a test can inspect, and end from outside through the run log, as any app could."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest import mock
from weakref import WeakSet

from stream_protocol.serving import ChatService, LogBounds, MemoryRunLog, Target
from stream_protocol.serving.base._limits import RUN_TIMEOUT
from stream_protocol.serving.run_logs import Lease, RunHandle, RunInfo, RunLog, RunReader
from tests.serving.support import soon


class InstrumentedLease:
    """Lease that signals its release."""

    def __init__(self, lease: Lease, released: Callable[[], None]) -> None:
        self._lease = lease
        self._released = released

    @property
    def run_id(self) -> str:
        return self._lease.run_id

    @property
    def newest_stop(self) -> str:
        return self._lease.newest_stop

    @property
    def read_elsewhere(self) -> bool:
        return self._lease.read_elsewhere

    @property
    def held(self) -> bool:
        return self._lease.held

    async def confirm(self) -> bool:
        return await self._lease.confirm()

    def open(self) -> None:
        self._lease.open()

    def release(self) -> None:
        self._lease.release()
        self._released()


class InstrumentedLog:
    """Wrapper of a run log that records this worker's runs with a lease."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        self._running: dict[RunHandle, Lease] = {}
        self._free = asyncio.Event()
        self._free.set()
        self.remembered = WeakSet[RunHandle]()
        """Leases that are still in use."""

    @property
    def bounds(self) -> LogBounds:
        return self._log.bounds

    @property
    def running(self) -> int:
        """Return the number of runs with a lease."""
        return len(self._running)

    @property
    def run(self) -> RunHandle:
        """Return the only run with a lease."""
        (owner,) = self._running
        return owner

    @property
    def lease(self) -> Lease:
        """Return the lease of the only run."""
        return self._running[self.run]

    async def free(self) -> None:
        """Wait until no run is active."""
        await soon(self._free)

    def forget(self) -> None:
        """Simulate a lost store: the chat's lease becomes free, though its run continues."""
        self._log = MemoryRunLog()

    async def claim(self, chat: str, idempotency_key: str, owner: RunHandle) -> Lease:
        lease = InstrumentedLease(await self._log.claim(chat, idempotency_key, owner), partial(self._release, owner))
        self._running[owner] = lease
        self._free.clear()
        self.remembered.add(owner)
        return lease

    def _release(self, owner: RunHandle) -> None:
        self._running.pop(owner, None)
        if not self._running:
            self._free.set()

    async def current(self, chat: str) -> RunInfo | None:
        return await self._log.current(chat)

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        return await self._log.current_many(chats)

    async def read(
        self, chat: str, run_id: str, *, rebuild: bool = False, runs_are_recovered: bool = False
    ) -> RunReader | None:
        return await self._log.read(chat, run_id, rebuild=rebuild, runs_are_recovered=runs_are_recovered)

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        return await self._log.written(chat, run_id)

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        return await self._log.stop(chat, run_id)

    async def newest_stop(self, chat: str) -> str:
        return await self._log.newest_stop(chat)

    async def post(self, chat: str, run_id: str, post: bytes) -> bytes | None:
        return await self._log.post(chat, run_id, post)

    async def ping(self) -> None:
        await self._log.ping()

    async def aclose(self) -> None:
        await self._log.aclose()


class InstrumentedService(ChatService):
    """Service whose ``runs`` lists the active runs."""

    def __init__(self, target: Target, *, run_log: RunLog | None = None, **options: Any) -> None:
        self.runs = InstrumentedLog(run_log or MemoryRunLog())
        super().__init__(target, run_log=self.runs, **options)


def let_time_out() -> None:
    """Advance the loop's clock beyond the time limit of every run."""
    loop = asyncio.get_running_loop()
    time = loop.time

    def later() -> float:
        return time() + RUN_TIMEOUT

    mock.patch.object(loop, "time", later).start()
