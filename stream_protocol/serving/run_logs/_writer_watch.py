"""``WriterWatch``: detects if the worker that writes a run is dead."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from stream_protocol.serving.run_logs._run_log import RunLogError

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._run_store import LeaseTimes, RunStore


class WriterWatch:
    """Checks the lease of another worker's run, and tells that worker that the run is read here.

    A missing lease means that the worker is dead, or that a fail-over has lost the lease. So the worker has
    ``times.valid_without_renewal`` seconds to renew the lease. An unreachable store has the same time to come back.
    """

    def __init__(self, store: RunStore, chat: str, run_id: str, times: LeaseTimes) -> None:
        self._store = store
        self._chat = chat
        self._run_id = run_id
        self._times = times
        self._check_at = 0.0
        self._missing_since: float | None = None
        self._token = 0
        """The run's token; 0 while it is unknown. After a fail-over an older run may seem to hold the lease."""
        self._superseded = False
        self._available: int | None = None

    @property
    def available(self) -> int | None:
        """The number of events in the store at the last check; ``None`` if the store has no log of the run."""
        return self._available

    @property
    def is_missing(self) -> bool:
        """True while the lease is missing, or the store unreachable."""
        return self._missing_since is not None

    @property
    def is_lost(self) -> bool:
        """True if the lease has been missing for too long, or a newer run holds it."""
        if self._missing_since is None:
            return False
        return self._superseded or _now() - self._missing_since > self._times.valid_without_renewal

    async def check_if_due(self) -> None:
        """Checks the lease if it is missing, or if the last check is too old."""
        if self.is_missing or _now() >= self._check_at:
            await self.check()

    async def check(self) -> bool:
        """Checks the lease. Returns True if the run holds it."""
        watched = await self._store.watch(self._chat, self._run_id, reads=True)
        self._available = watched.available
        is_held = watched.holder == self._run_id
        self._superseded = not is_held and watched.token > self._token
        if not is_held:
            self._missing_since = self._missing_since or _now()
        else:
            self._token = watched.token
            if not self._check_at:
                await self._store.request_renewal(watched.worker, self._run_id)
            self._missing_since = None
        self._check_at = _now() + self._times.renewal_interval
        return is_held

    def note_absence(self) -> None:
        """Notes that the store is unreachable. The lease is checked as soon as the store is back."""
        self._missing_since = self._missing_since or _now()
        self._check_at = 0

    async def leave(self) -> None:
        """Tells the run's worker that this process no longer reads the run."""
        with suppress(RunLogError):
            watched = await self._store.watch(self._chat, self._run_id, reads=False)
            await self._store.request_renewal(watched.worker, self._run_id)


def _now() -> float:
    return asyncio.get_running_loop().time()
