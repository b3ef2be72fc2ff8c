"""The lease of one run of this worker: its right to a chat, renewed in Redis.

Each run of a chat gets a greater number, a fencing token. By it a worker that was cut off from Redis finds out that a
newer run has taken the chat. redis-py has a lock (``redis.lock``), but without a fencing token, and without the run's
phase, its worker and the request to stop, which must change in the same atomic step.
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

RENEWALS: Final = 3
"""Renewals per lease time."""


@dataclass(frozen=True, kw_only=True)
class LeaseTimes:
    """How long leases and logs last. All values are seconds, those ending in ``_ms`` milliseconds.

    Since the last renewal of a lease:

    * after 1/3 of ``lease`` its worker renews it;
    * after 1/2, when a renewal is late, other workers take the run for unhealthy;
    * after 2/3 its worker starts nothing more, and gives up the run if it has tried to renew the lease for 1/3: so the
      run has ended when Redis frees the chat. A worker that was too busy to try takes the lease back if nobody has it;
    * after ``lease`` Redis frees the chat;
    * after 3 times that a worker no longer takes the lease back;
    * after 4 times that Redis forgets the chat's newest token.
    """

    lease: float
    """How long a chat stays taken after the last renewal."""
    log_retention: float
    """How long a log is kept after the end of its run."""

    @property
    def renewal_interval(self) -> float:
        """The time between two renewals."""
        return self.lease / RENEWALS

    @property
    def healthy_ms(self) -> int:
        """The least time that is left of a lease whose renewals are in time."""
        return milliseconds(self.lease / 2)

    @property
    def valid_without_renewal(self) -> float:
        """How long a worker that cannot renew its lease relies on it, and a reader waits for a worker that is gone."""
        return self.lease * 2 / 3

    @property
    def time_to_renew(self) -> float:
        """How long a worker tries to renew its lease before it gives up the run."""
        return self.lease / RENEWALS

    @property
    def recoverable(self) -> float:
        """How long after its last renewal a lease may be taken back: Redis knows of each newer run until then."""
        return self.lease * 3

    @property
    def token_ms(self) -> int:
        """How long Redis remembers the newest token of a chat."""
        return milliseconds(self.lease * 4)

    @property
    def log_ttl_ms(self) -> int:
        """How long Redis keeps the log of a run whose lease is no longer renewed."""
        return milliseconds(self.lease + self.log_retention)


class OtherRunError(ChatTakenError):
    """Another run holds the chat's lease. Also says which worker runs it, and how often that has renewed the lease."""

    def __init__(self, run: RunInfo, worker: str, renewals: int) -> None:
        super().__init__(run)
        self.worker = worker
        self.renewals = renewals


class RedisLease:
    """The lease of one run. After ``claim``, run ``keep_until_released`` in one asyncio task.

    The lease is lost if it cannot be renewed in time, or if a newer run has taken the chat. Then ``owner.lease_lost``
    is called. A loop that was busy for seconds does not lose it: late as it is, the renewal tells whether a newer run
    has taken the chat, and takes the lease back if not. Until then the lease is not ``held``. ``request``: the
    fingerprint of the request that the run answers.
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
        self._fingerprint = request
        self._times = times
        self._token = b""
        self._open = False
        self._lost = False
        self._renewed_at = 0.0
        """When the command was sent that renewed the lease last."""
        self._trying_since: float | None = None
        """When the first command since then was sent; ``None`` if there was none."""
        self._settled: asyncio.Future[None] | None = None
        """Done when the lease is renewed or lost, if somebody waits for that."""
        self._loss_timer: asyncio.TimerHandle | None = None
        self._renewal_wanted = asyncio.Event()
        self._released = asyncio.Event()

    @property
    def held(self) -> bool:
        """Whether the lease was renewed in time. A lost lease stays lost."""
        return not self._lost and _now() <= self._renewed_at + self._times.valid_without_renewal

    async def confirm(self) -> bool:
        """Waits until the lease is renewed or lost, if it is not held just now. Returns whether it is held."""
        while not self.held and not self._lost and not self._released.is_set():
            self.renew_now()
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._settled)
        return self.held

    def info(self) -> RunInfo:
        """Returns the run as other requests see it."""
        return RunInfo(run_id=self.run_id, request=self._fingerprint, phase=self._phase())

    async def claim(self) -> None:
        """Claims the chat. Raises ``OtherRunError``."""
        sent_at = _now()
        identity = (self.run_id, self._worker, self._fingerprint)
        redis_keys = (self._keys.lease, self._keys.token)
        lease_ms = milliseconds(self._times.lease)
        claimed, *reply = await self._store.script(scripts.CLAIM, redis_keys, *identity, lease_ms, self._times.token_ms)
        if not claimed:
            worker, renewals, *run = reply
            raise OtherRunError(run_info(run, self._times), worker.decode(), int(renewals))
        (self._token,) = reply
        self._note_renewal(sent_at)

    def open(self) -> None:
        """Sets the phase to ``open``."""
        self._open = True
        self.renew_now()

    def release(self) -> None:
        """Asks ``keep_until_released`` to free the chat as soon as the log is in Redis. Does not wait for that."""
        self._released.set()
        self._settle()

    def renew_now(self) -> None:
        """Asks for a renewal at once. Its reply says whether the run was asked to stop, and whether others read it."""
        self._renewal_wanted.set()

    async def keep_until_released(self, bounds: LogBounds) -> None:
        """Renews the lease and copies the log to Redis until the run is released and all is copied. Frees the chat."""
        copier = Copier(
            self._store,
            self._keys,
            self.owner.log,
            run_id=self.run_id,
            token=self._token,
            bounds=bounds,
            log_ttl_ms=self._times.log_ttl_ms,
            renew_lease=self.renew_now,
            read_elsewhere=lambda: self.read_elsewhere,
        )
        tasks = [asyncio.create_task(copier.copy()), asyncio.create_task(self._renew())]
        try:
            await self._released.wait()
            if self.owner.log.closed and not self._lost:
                await asyncio.wait(tasks[:1], timeout=self._times.lease)
        finally:
            self._cancel_timer()
            await cancel_and_wait(tasks)
        await self.free_in_redis()

    async def free_in_redis(self) -> None:
        """Frees the chat, if this run holds its lease. A failure is logged: the lease then expires by itself."""
        keys = self._keys
        redis_keys = (keys.lease, keys.token, keys.log(self.run_id), keys.head(self.run_id))
        lifetimes = (self._times.token_ms, milliseconds(self._times.log_retention))
        try:
            await self._store.script(scripts.FREE, redis_keys, self.run_id, *lifetimes, BROKEN)
        except RunLogError as error:
            logger.warning("The lease of run %s is left to expire: %s", self.run_id, error)

    async def _renew(self) -> None:
        """Renews the lease regularly and on demand.

        The pause counts from when the last command was sent: a slow reply must not delay the next renewal.
        """
        sent_at, pause = _now(), self._times.renewal_interval
        while not self._lost:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(sent_at + pause):
                    await self._renewal_wanted.wait()
            self._renewal_wanted.clear()
            sent_at = _now()
            if self._trying_since is None:
                self._trying_since = sent_at
            if sent_at > self._renewed_at + self._times.recoverable:
                self._lose()
                return
            try:
                await self._renew_once(sent_at)
                pause = self._times.renewal_interval
            except RunLogError as error:
                logger.warning("The lease of run %s could not be renewed: %s", self.run_id, error)
                pause = min(RETRY_SECONDS, self._times.renewal_interval)

    async def _renew_once(self, sent_at: float) -> None:
        """Renews the lease once, and stops the run if another worker asked for that."""
        keys = self._keys
        redis_keys = (keys.lease, keys.token, keys.log(self.run_id), keys.head(self.run_id), keys.readers(self.run_id))
        identity = (self.run_id, self._token, self._worker, self._fingerprint, self._phase())
        lifetimes = (milliseconds(self._times.lease), self._times.token_ms, self._times.log_ttl_ms)
        current, *wanted = await self._store.script(scripts.RENEW, redis_keys, *identity, *lifetimes)
        if self._lost:  # the reply came too late: `_lose` has ended the run
            return
        if not current:
            self._lose()
        else:
            self._note_renewal(sent_at)
            stop, readers = wanted
            self.read_elsewhere = readers > 0
            if stop:
                self.owner.stop()

    def _phase(self) -> Phase:
        return "closed" if self.owner.log.closed else "open" if self._open else "claimed"

    def _note_renewal(self, sent_at: float) -> None:
        """Relies on the lease from when the command was sent: nobody knows when Redis ran it."""
        self._renewed_at = sent_at
        self._trying_since = None
        self._settle()
        self._lose_at(sent_at + self._times.valid_without_renewal)

    def _lose_at(self, time: float) -> None:
        self._cancel_timer()
        self._loss_timer = asyncio.get_running_loop().call_at(time, self._lose_if_tried)

    def _lose_if_tried(self) -> None:
        """Gives up the run, unless this worker was too busy to try to renew the lease for long enough."""
        tried_until = (self._trying_since or _now()) + self._times.time_to_renew
        if _now() < tried_until:
            self._lose_at(tried_until)
        else:
            self._lose()

    def _lose(self) -> None:
        self._lost = True
        self._settle()
        self._cancel_timer()
        logger.error("The lease of run %s is lost: the run ends.", self.run_id)
        self.owner.lease_lost()

    def _settle(self) -> None:
        settled, self._settled = self._settled, None
        if settled is not None and not settled.done():
            settled.set_result(None)

    def _cancel_timer(self) -> None:
        if self._loss_timer is not None:
            self._loss_timer.cancel()
            self._loss_timer = None


def run_info(reply: list[bytes], times: LeaseTimes) -> RunInfo:
    """Reads the run in a reply of ``PEEK`` or ``CLAIM``.

    ``reply``: its id, the fingerprint of its request, its phase, and the milliseconds that are left of its lease.
    """
    run_id, fingerprint, phase, left = reply
    return RunInfo(
        run_id=run_id.decode(),
        request=fingerprint.decode(),
        phase=_PHASES[phase],
        healthy=int(left) > times.healthy_ms,
    )


_PHASES: Final[Mapping[bytes, Phase]] = MappingProxyType({b"claimed": "claimed", b"open": "open", b"closed": "closed"})


def _now() -> float:
    return asyncio.get_running_loop().time()
