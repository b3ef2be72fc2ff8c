"""Injects faults, in an order that a seed decides."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import Final

from tests.fleet.workers import LEASE, Fleet, Worker

BRIEF: Final = LEASE * 0.3
"""Seconds of a fault that every run must survive."""

LONG: Final = LEASE * 1.3
"""Seconds of a fault that no run survives."""

AFTERMATH: Final = LEASE * 2
"""Seconds for which a past fault may have effects: the time until a lost worker's runs are given up."""


@dataclass(frozen=True)
class Fault:
    name: str
    begun: float
    ended: float = inf


class FaultInjector:
    """Injects one fault after the other, and repairs the fleet at the end.

    ``kinds``: names of the faults; all by default. ``workers``: affected workers. ``pause``: minimum and maximum
    seconds between two faults.
    """

    def __init__(
        self,
        fleet: Fleet,
        rng: Random,
        *,
        kinds: Collection[str] = (),
        workers: Sequence[Worker] = (),
        pause: tuple[float, float] = (0.2, 2.0),
    ) -> None:
        self.faults: list[Fault] = []
        self._fleet = fleet
        self._rng = rng
        self._kinds = kinds
        self._workers = workers or fleet.workers
        self._pause = pause

    async def live(self, until: float) -> None:
        for fault in self._schedule():
            pause = self._rng.uniform(*self._pause)
            if time.monotonic() + pause >= until:
                return
            await asyncio.sleep(pause)
            place, begun = len(self.faults), Fault(fault.__name__, time.monotonic())
            self.faults.append(begun)
            await fault()
            self.faults[place] = replace(begun, ended=time.monotonic())

    def note(self, name: str, begun: float, ended: float) -> None:
        """Record a fault that was not injected, such as an overloaded machine."""
        self.faults.append(Fault(name, begun, ended))

    def excuses(self, begun: float, ended: float) -> bool:
        """Return True if a fault had effects in this time."""
        return any(fault.begun <= ended and begun <= fault.ended + AFTERMATH for fault in self.faults)

    def _schedule(self) -> Iterator[Callable[[], Awaitable[None]]]:
        """Yield each fault once, then each again, in another order."""
        faults = [
            self.worker_is_killed,
            self.worker_hangs_briefly,
            self.worker_hangs,
            self.redis_is_killed,
            self.redis_hangs_briefly,
            self.redis_hangs,
            self.redis_stays_away,
        ]
        faults = [fault for fault in faults if not self._kinds or fault.__name__ in self._kinds]
        while True:
            yield from self._rng.sample(faults, len(faults))

    async def worker_is_killed(self) -> None:
        worker = self._rng.choice(self._workers)
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
        worker = self._rng.choice(self._workers)
        worker.freeze()
        await asyncio.sleep(seconds)
        worker.thaw()

    async def _freeze_redis(self, seconds: float) -> None:
        self._fleet.redis.freeze()
        await asyncio.sleep(seconds)
        self._fleet.redis.thaw()
