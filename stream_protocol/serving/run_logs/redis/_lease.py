"""The right of one run of this worker to its chat, as Redis keeps it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.run_logs._cancel import ended
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
"""In the time of a lease."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """How long things last. Seconds everywhere."""

    lease: float
    """How long a chat stays taken when its worker is not heard of."""
    expiry: float
    """How long a log is kept when its run has ended."""

    @property
    def heartbeat(self) -> float:
        """How often a lease is renewed."""
        return self.lease / HEARTBEATS

    @property
    def trusted(self) -> float:
        """How long an owner that cannot renew its lease trusts it, and a reader an owner that is not there."""
        return self.lease * 2 / 3

    @property
    def token_ms(self) -> int:
        """How long is remembered which run of a chat was the newest: longer than an older one can think that it is."""
        return milliseconds(self.lease * 4)

    @property
    def unheard_ms(self) -> int:
        """How long Redis keeps the log of a run that it does not hear of."""
        return milliseconds(self.lease + self.expiry)


class RivalError(ChatTakenError):
    """Another run has the chat."""

    def __init__(self, run: RunInfo, worker: str, renewals: int) -> None:
        super().__init__(run)
        self.worker = worker
        self.renewals = renewals
        """How often that worker has said how things are."""


class RedisLease:
    """``live`` is its one task: it renews the lease and copies the log until the chat is released, then frees it."""

    def __init__(
        self, store: RedisStore, keys: ChatKeys, *, run_id: str, worker: str, request: str, owner: Owner, times: Times
    ) -> None:
        self.run_id = run_id
        self.owner = owner
        self.watched_elsewhere = False
        self._store = store
        self._keys = keys
        self._worker = worker
        self._request = request
        self._times = times
        self._token = b""
        self._open = False
        self._lost = False
        self._trusted_until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._nudged = asyncio.Event()
        self._released = asyncio.Event()

    @property
    def held(self) -> bool:
        """Whether the lease was renewed in time. Once it was not, it never is again."""
        self._lost = self._lost or _now() > self._trusted_until
        return not self._lost

    def info(self) -> RunInfo:
        """What is said of the run."""
        return RunInfo(run_id=self.run_id, request=self._request, phase=self._phase())

    async def claim(self) -> None:
        """Asks for the chat. Raises ``RivalError``."""
        asked_at = _now()
        whose = (self.run_id, self._worker, self._request)
        names = (self._keys.lease, self._keys.token)
        lease_ms = milliseconds(self._times.lease)
        given, *reply = await self._store.script(scripts.CLAIM, names, *whose, lease_ms, self._times.token_ms)
        if not given:
            worker, renewals, *run = reply
            raise RivalError(run_info(run, self._times), worker.decode(), int(renewals))
        (self._token,) = reply
        self._trust(asked_at)

    def open(self) -> None:
        """Says that the run goes on."""
        self._open = True
        self.nudge()

    def release(self) -> None:
        """Frees the chat, soon."""
        self._released.set()

    def nudge(self) -> None:
        """Renews the lease at once: somebody wants something of the run."""
        self._nudged.set()

    async def live(self, bounds: LogBounds) -> None:
        """Keeps the chat until it is released and all is copied, then frees it."""
        copier = Copier(
            self._store,
            self._keys,
            self.owner.log,
            run_id=self.run_id,
            token=self._token,
            bounds=bounds,
            log_ms=self._times.unheard_ms,
            nudge=self.nudge,
        )
        tasks = [asyncio.create_task(copier.copy()), asyncio.create_task(self._renew())]
        try:
            await self._released.wait()
            if self.owner.log.closed and self.held:
                await asyncio.wait(tasks[:1], timeout=self._times.lease)
        finally:
            self._disarm()
            await ended(tasks)
        await self.free()

    async def free(self) -> None:
        """Gives the chat back, if this run has it."""
        keys = self._keys
        names = (keys.lease, keys.log(self.run_id), keys.head(self.run_id))
        try:
            await self._store.script(scripts.FREE, names, self.run_id, milliseconds(self._times.expiry), BROKEN)
        except RunLogError as error:
            logger.warning("The lease of run %s is left to expire: %s", self.run_id, error)

    async def _renew(self) -> None:
        """Counts from when it asked last: a slow answer must not put off the next question."""
        asked_at, pause = _now(), self._times.heartbeat
        while self.held:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(asked_at + pause):
                    await self._nudged.wait()
            self._nudged.clear()
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
        whose = (self.run_id, self._token, self._worker, self._request, self._phase())
        lasting = (milliseconds(self._times.lease), self._times.token_ms, self._times.unheard_ms)
        ours, *wanted = await self._store.script(scripts.RENEW, names, *whose, *lasting)
        if not self.held:
            return
        if not ours:
            self._lose()
        else:
            self._trust(asked_at)
            stop, readers = wanted
            self.watched_elsewhere = readers > 0
            if stop:
                self.owner.stop()

    def _phase(self) -> Phase:
        return "closed" if self.owner.log.closed else "open" if self._open else "claimed"

    def _trust(self, asked_at: float) -> None:
        self._trusted_until = asked_at + self._times.trusted
        self._disarm()
        self._timer = asyncio.get_running_loop().call_at(self._trusted_until, self._lose)

    def _lose(self) -> None:
        self._lost = True
        self._disarm()
        logger.error("The lease of run %s is lost: the run ends.", self.run_id)
        self.owner.lose()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def run_info(reply: list[bytes], times: Times) -> RunInfo:
    """What Redis says of a run: its id, its request's fingerprint, its phase, and the milliseconds that it has left."""
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
