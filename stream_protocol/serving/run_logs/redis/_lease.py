"""The lease of one run of this worker: its right to a chat, renewed in Redis.

It is fenced: each run of a chat gets a greater token, so a worker that was away finds out that a newer run has had the
chat. redis-py has a lock (``redis.lock``), but without a fencing token, and without the run's phase, its worker and the
request to stop, which must change in the same atomic step.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.run_logs._cancel import cancel_and_wait
from stream_protocol.serving.run_logs._run_log import ChatTakenError, RunInfo, RunLogError
from stream_protocol.serving.run_logs.redis import _scripts as scripts
from stream_protocol.serving.run_logs.redis._copier import RETRY_SECONDS, Copier
from stream_protocol.serving.run_logs.redis._store import BROKEN, milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_protocol.serving.run_logs._event_buffer import LogBounds
    from stream_protocol.serving.run_logs._run_log import Owner, Phase
    from stream_protocol.serving.run_logs.redis._store import ChatKeys, RedisStore

logger = logging.getLogger(__name__)

HEARTBEATS: Final = 3
"""How often a lease is renewed in its time."""


@dataclass(frozen=True, kw_only=True)
class LeaseTimes:
    """How long leases and logs last. All values are seconds, those ending in ``_ms`` milliseconds."""

    lease: float
    """How long a chat stays taken after the last renewal."""
    expiry: float
    """How long a log is kept after the end of its run."""

    @property
    def heartbeat(self) -> float:
        """The time between two renewals."""
        return self.lease / HEARTBEATS

    @property
    def trusted(self) -> float:
        """How long a worker that cannot renew its lease relies on it, and a reader waits for a worker that is gone."""
        return self.lease * 2 / 3

    @property
    def token_ms(self) -> int:
        """How long Redis remembers the newest token of a chat: longer than a worker relies on an older lease."""
        return milliseconds(self.lease * 4)

    @property
    def unheard_ms(self) -> int:
        """How long Redis keeps the log of a run whose lease is no longer renewed."""
        return milliseconds(self.lease + self.expiry)


class OtherRunError(ChatTakenError):
    """Another run has the chat; with what is known of its worker."""

    def __init__(self, run: RunInfo, worker: str, renewals: int) -> None:
        super().__init__(run)
        self.worker = worker
        self.renewals = renewals
        """How often that worker has renewed its lease."""


class RedisLease:
    """The lease of one run. Its one task is ``keep_until_released``.

    The lease is lost if it was not renewed in time, or a newer run has the chat: ``owner.lease_lost`` is called.
    """

    def __init__(
        self,
        store: RedisStore,
        keys: ChatKeys,
        *,
        run_id: str,
        worker: str,
        request: str,
        owner: Owner,
        times: LeaseTimes,
    ) -> None:
        self.run_id = run_id
        self.owner = owner
        self.read_elsewhere = False
        self._store = store
        self._keys = keys
        self._worker = worker
        self._request = request
        self._times = times
        self._token = b""
        self._open = False
        self._lost = False
        self._trusted_until = 0.0
        self._loss_timer: asyncio.TimerHandle | None = None
        self._renewal_wanted = asyncio.Event()
        self._released = asyncio.Event()

    @property
    def held(self) -> bool:
        """Whether the lease was renewed in time. A lost lease stays lost."""
        self._lost = self._lost or _now() > self._trusted_until
        return not self._lost

    def info(self) -> RunInfo:
        """Returns the run as other requests see it."""
        return RunInfo(run_id=self.run_id, request=self._request, phase=self._phase())

    async def claim(self) -> None:
        """Claims the chat. Raises ``OtherRunError``."""
        asked_at = _now()
        identity = (self.run_id, self._worker, self._request)
        names = (self._keys.lease, self._keys.token)
        lease_ms = milliseconds(self._times.lease)
        claimed, *reply = await self._store.script(scripts.CLAIM, names, *identity, lease_ms, self._times.token_ms)
        if not claimed:
            worker, renewals, *run = reply
            raise OtherRunError(run_info(run, self._times), worker.decode(), int(renewals))
        (self._token,) = reply
        self._trust(asked_at)

    def open(self) -> None:
        """Sets the phase to ``open``."""
        self._open = True
        self.renew_now()

    def release(self) -> None:
        """Frees the chat as soon as its log is copied. Does not wait for that."""
        self._released.set()

    def renew_now(self) -> None:
        """Renews the lease at once: the reply tells what other workers want of the run."""
        self._renewal_wanted.set()

    async def keep_until_released(self, bounds: LogBounds) -> None:
        """Renews the lease and copies the log until the run is released and all is copied; then frees the chat."""
        copier = Copier(
            self._store,
            self._keys,
            self.owner.log,
            run_id=self.run_id,
            token=self._token,
            bounds=bounds,
            log_ms=self._times.unheard_ms,
            renew_lease=self.renew_now,
        )
        tasks = [asyncio.create_task(copier.copy()), asyncio.create_task(self._renew())]
        try:
            await self._released.wait()
            if self.owner.log.closed and self.held:
                await asyncio.wait(tasks[:1], timeout=self._times.lease)
        finally:
            self._cancel_timer()
            await cancel_and_wait(tasks)
        await self.free()

    async def free(self) -> None:
        """Frees the chat, if this run has it."""
        keys = self._keys
        names = (keys.lease, keys.log(self.run_id), keys.head(self.run_id))
        try:
            await self._store.script(scripts.FREE, names, self.run_id, milliseconds(self._times.expiry), BROKEN)
        except RunLogError as error:
            logger.warning("The lease of run %s is left to expire: %s", self.run_id, error)

    async def _renew(self) -> None:
        """Renews the lease regularly and on demand.

        The time counts from the last request: a slow reply must not delay the next renewal.
        """
        asked_at, pause = _now(), self._times.heartbeat
        while self.held:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(asked_at + pause):
                    await self._renewal_wanted.wait()
            self._renewal_wanted.clear()
            asked_at = _now()
            try:
                await self._renew_once(asked_at)
                pause = self._times.heartbeat
            except RunLogError as error:
                logger.warning("The lease of run %s could not be renewed: %s", self.run_id, error)
                pause = min(RETRY_SECONDS, self._times.heartbeat)

    async def _renew_once(self, asked_at: float) -> None:
        keys = self._keys
        names = (keys.lease, keys.token, keys.log(self.run_id), keys.head(self.run_id), keys.readers(self.run_id))
        identity = (self.run_id, self._token, self._worker, self._request, self._phase())
        lifetimes = (milliseconds(self._times.lease), self._times.token_ms, self._times.unheard_ms)
        current, *wanted = await self._store.script(scripts.RENEW, names, *identity, *lifetimes)
        if not self.held:
            return
        if not current:
            self._lose()
        else:
            self._trust(asked_at)
            stop, readers = wanted
            self.read_elsewhere = readers > 0
            if stop:
                self.owner.stop()

    def _phase(self) -> Phase:
        return "closed" if self.owner.log.closed else "open" if self._open else "claimed"

    def _trust(self, asked_at: float) -> None:
        """Relies on the lease for some time since it was asked for."""
        self._trusted_until = asked_at + self._times.trusted
        self._cancel_timer()
        self._loss_timer = asyncio.get_running_loop().call_at(self._trusted_until, self._lose)

    def _lose(self) -> None:
        self._lost = True
        self._cancel_timer()
        logger.error("The lease of run %s is lost: the run ends.", self.run_id)
        self.owner.lease_lost()

    def _cancel_timer(self) -> None:
        if self._loss_timer is not None:
            self._loss_timer.cancel()
            self._loss_timer = None


def run_info(reply: list[bytes], times: LeaseTimes) -> RunInfo:
    """The run in a reply of ``PEEK``: id, fingerprint of the request, phase, and the milliseconds left of the lease."""
    run_id, request, phase, left = reply
    return RunInfo(
        run_id=run_id.decode(),
        request=request.decode(),
        phase=_PHASES[phase],
        healthy=int(left) > milliseconds(times.lease / 2),
    )


_PHASES: Final[Mapping[bytes, Phase]] = MappingProxyType({b"claimed": "claimed", b"open": "open", b"closed": "closed"})


def _now() -> float:
    return asyncio.get_running_loop().time()
