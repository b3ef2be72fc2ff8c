"""Faults, in an order that a seed gives."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.fleet.workers import LEASE, Fleet

BRIEF: Final = LEASE * 0.4
"""Seconds of trouble that every run must survive."""

LONG: Final = LEASE * 1.3
"""Seconds of trouble that no run survives."""

AFTERMATH: Final = LEASE * 2
"""Seconds for which a fault that is over may still be felt: what it takes until a lost worker is given up."""


@dataclass(frozen=True)
class Fault:
    name: str
    begun: float
    ended: float


class Gremlin:
    """Does one harm after the other, and leaves the fleet as it was."""

    def __init__(self, fleet: Fleet, rng: Random) -> None:
        self.faults: list[Fault] = []
        self._fleet = fleet
        self._rng = rng

    async def live(self, until: float) -> None:
        for fault in self._schedule():
            await asyncio.sleep(self._rng.uniform(0.2, 2.0))
            if time.monotonic() >= until:
                return
            begun = time.monotonic()
            await fault()
            self.faults.append(Fault(fault.__name__, begun, time.monotonic()))

    def excuses(self, begun: float, ended: float) -> bool:
        """Whether there was a fault that can be felt in this time."""
        return any(fault.begun <= ended and begun <= fault.ended + AFTERMATH for fault in self.faults)

    def _schedule(self) -> Iterator[Callable[[], Awaitable[None]]]:
        """Each fault once, then each again, in another order."""
        faults = [
            self.worker_is_killed,
            self.worker_hangs_briefly,
            self.worker_hangs,
            self.redis_is_killed,
            self.redis_hangs_briefly,
            self.redis_hangs,
            self.redis_stays_away,
        ]
        while True:
            yield from self._rng.sample(faults, len(faults))

    async def worker_is_killed(self) -> None:
        worker = self._rng.choice(self._fleet.workers)
        worker.kill()
        worker.start()
        await asyncio.to_thread(worker.ready)

    async def worker_hangs_briefly(self) -> None:
        await self._freeze_worker(BRIEF)

    async def worker_hangs(self) -> None:
        await self._freeze_worker(LONG)

    async def redis_is_killed(self) -> None:
        self._fleet.redis.kill()
        await asyncio.to_thread(self._fleet.redis.start)

    async def redis_hangs_briefly(self) -> None:
        await self._freeze_redis(BRIEF)

    async def redis_hangs(self) -> None:
        await self._freeze_redis(LONG)

    async def redis_stays_away(self) -> None:
        self._fleet.redis.kill()
        await asyncio.sleep(LONG)
        await asyncio.to_thread(self._fleet.redis.start)

    async def _freeze_worker(self, seconds: float) -> None:
        worker = self._rng.choice(self._fleet.workers)
        worker.freeze()
        await asyncio.sleep(seconds)
        worker.thaw()

    async def _freeze_redis(self, seconds: float) -> None:
        self._fleet.redis.freeze()
        await asyncio.sleep(seconds)
        self._fleet.redis.thaw()
