"""``WriterWatch``: tells whether the worker that writes a run is alive."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from stream_protocol.serving.run_logs._run_log import RunLogError

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._run_store import LeaseTimes, RunStore


class WriterWatch:
    """Looks at the lease of a run of another worker, and tells that worker that the run is read here.

    Without a lease the worker is dead, or a fail-over has lost the lease. So it has ``times.valid_without_renewal``
    seconds to renew the lease. The store has the same time to be reachable again.
    """

    def __init__(self, store: RunStore, chat: str, run_id: str, times: LeaseTimes) -> None:
        self._store = store
        self._chat = chat
        self._run_id = run_id
        self._times = times
        self._check_at = 0.0
        self._missing_since: float | None = None
        self._token = 0
        """The run's token; 0 before it is known. After a fail-over an older run may seem to hold the lease."""
        self._superseded = False
        self._available: int | None = None

    @property
    def available(self) -> int | None:
        """The number of events that the store had when it was last asked; ``None`` if it has no log of the run."""
        return self._available

    @property
    def is_missing(self) -> bool:
        """True while the lease is gone, or the store away."""
        return self._missing_since is not None

    @property
    def is_lost(self) -> bool:
        """True if that has lasted too long, or a newer run holds the chat's lease."""
        if self._missing_since is None:
            return False
        return self._superseded or _now() - self._missing_since > self._times.valid_without_renewal

    async def check_if_due(self) -> None:
        """Looks at the lease, if it is missing or was not looked at for a while."""
        if self.is_missing or _now() >= self._check_at:
            await self.check()

    async def check(self) -> bool:
        """Looks at the lease. Returns whether the run holds it."""
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
        """The store is away: the lease is looked at when it is back."""
        self._missing_since = self._missing_since or _now()
        self._check_at = 0

    async def leave(self) -> None:
        """Tells the worker that nobody reads the run here any more."""
        with suppress(RunLogError):
            watched = await self._store.watch(self._chat, self._run_id, reads=False)
            await self._store.request_renewal(watched.worker, self._run_id)


def _now() -> float:
    return asyncio.get_running_loop().time()
