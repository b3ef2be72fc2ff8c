"""The lease of a run that this worker executes. A lease is the time-limited right to be the only active run of a chat.

Each run of a chat has a fencing token: a number that is greater than the tokens of all earlier runs of the chat. After
a lost connection to the store, a worker compares tokens to find out if a newer run has taken the chat.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from stream_protocol.serving.base import Timers, cancel_and_wait
from stream_protocol.serving.run_logs._log_writer import LogWriter
from stream_protocol.serving.run_logs._post_replies import PostReplies
from stream_protocol.serving.run_logs._run_log import RunInfo, RunLogError, phase_of
from stream_protocol.serving.run_logs._run_store import RETRY_SECONDS
from stream_protocol.serving.telemetry import add_run

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._run_log import LogBounds, Phase, RunHandle
    from stream_protocol.serving.run_logs._run_store import LeaseTimes, RunIdentity, RunStore

logger = logging.getLogger(__name__)


class SharedLease:
    """The lease of one run in a store that several workers share. After ``claim``, the caller must run
    ``keep_until_released`` in a task.

    The lease is lost if it is not renewed in time, or if a newer run has taken the chat. A busy event loop may delay a
    renewal by seconds. ``held`` is then False until the late renewal succeeds.
    """

    def __init__(self, store: RunStore, run: RunIdentity, owner: RunHandle, times: LeaseTimes) -> None:
        self.owner = owner
        self.newest_stop = ""
        self._read_elsewhere = asyncio.Event()
        self._store = store
        self._run = run
        self._times = times
        self._token = 0
        self._open = False
        self._lost = False
        self._renewed_at = 0.0
        """The event-loop time at which the last successful renewal was sent."""
        self._trying_since: float | None = None
        """The event-loop time of the first attempt after the last successful renewal; ``None`` without an attempt."""
        self._settled: asyncio.Future[None] | None = None
        """Done when the lease is renewed or lost; ``None`` if no task waits for the renewal."""
        self._timers = Timers()
        self._posts = PostReplies(store, run, owner)
        self._renewal_wanted = asyncio.Event()
        self._released = asyncio.Event()

    @property
    def run_id(self) -> str:
        return self._run.run_id

    @property
    def read_elsewhere(self) -> bool:
        return self._read_elsewhere.is_set()

    @property
    def held(self) -> bool:
        """True if the lease was renewed in time. False if a renewal is late, or if the lease is lost."""
        return not self._lost and _now() <= self._renewed_at + self._times.valid_without_renewal

    async def confirm(self) -> bool:
        """Returns True if the run holds the lease. If a renewal is late, first waits for its result."""
        while not self.held and not self._lost and not self._released.is_set():
            self.renew_now()
            if self._settled is None:
                self._settled = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._settled)
        return self.held

    def info(self) -> RunInfo:
        return RunInfo(run_id=self.run_id, idempotency_key=self._run.idempotency_key, phase=self._phase())

    async def claim(self) -> None:
        sent_at = _now()
        self._token = await self._store.claim(self._run)
        self._note_renewal(sent_at)
        self.owner.log.ack(0)

    async def look_for_stop(self) -> None:
        """Reads the id of the chat's newest stop from the store, and sets ``newest_stop``.

        Before this call, the worker must have begun to receive renewal requests, because these requests announce later
        stops.
        """
        self.newest_stop = await self._store.newest_stop(self._run.chat)

    def open(self) -> None:
        self._open = True
        self.renew_now()

    def release(self) -> None:
        """Asks ``keep_until_released`` to end the lease as soon as the store has all events of the run. Returns
        immediately.
        """
        self._released.set()
        self._settle()

    def renew_now(self) -> None:
        """Requests an immediate renewal. The store's reply to a renewal tells whether the run must stop, which messages
        other workers have sent to the run, and how many other workers read the run.
        """
        self._renewal_wanted.set()

    async def keep_until_released(self, bounds: LogBounds) -> None:
        """Renews the lease regularly, and copies the events of the run to the store. After ``release``, copies the last
        events, and then ends the lease.
        """
        add_run(self.run_id)
        writer = LogWriter(
            self._store,
            self._run,
            self._token,
            self.owner.log,
            bounds=bounds,
            renew_lease=self.renew_now,
            read_elsewhere=self._read_elsewhere,
            patience=self._times.renewal_interval,
        )
        tasks = [asyncio.create_task(writer.copy()), asyncio.create_task(self._renew())]
        try:
            await self._released.wait()
            if self.owner.log.closed and not self._lost:
                await asyncio.wait(tasks[:1], timeout=self._times.lease)
        finally:
            await cancel_and_wait(tasks)
            self._timers.close()
        await self._posts.wait()
        await self.free_in_store()

    async def free_in_store(self) -> None:
        """Ends the lease in the store, if this run still holds the lease. If the store is unreachable, only logs a
        warning. The lease then expires.
        """
        try:
            await self._store.free(self._run)
        except RunLogError as error:
            logger.warning("The lease of run %s is left to expire: %s", self.run_id, error)

    async def _renew(self) -> None:
        """Renew the lease at regular intervals, and also on request, until the lease is lost."""
        sent_at, pause, failing = _now(), self._times.renewal_interval, False
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
                pause, failing = self._times.renewal_interval, False
            except RunLogError as error:
                if not failing:
                    logger.warning("The lease of run %s could not be renewed: %s", self.run_id, error)
                failing = True
                pause = min(RETRY_SECONDS, self._times.renewal_interval)

    async def _renew_once(self, sent_at: float) -> None:
        renewal = await self._store.renew(self._run, self._token, self._phase())
        if self._lost:  # the reply came after `_lose` had ended the run
            return
        if renewal is None:
            self._lose()
        else:
            self._note_renewal(sent_at)
            if renewal.readers:
                self._read_elsewhere.set()
            else:
                self._read_elsewhere.clear()
            self._posts.take(renewal.posts)
            if renewal.stop:
                self.owner.stop()

    def _phase(self) -> Phase:
        return phase_of(self.owner.log, is_open=self._open)

    def _note_renewal(self, sent_at: float) -> None:
        """Record a successful renewal. The new lifetime of the lease begins at ``sent_at``, the time when the renewal
        was sent.
        """
        self._renewed_at = sent_at
        self._trying_since = None
        self._settle()
        self._timers.start("loss", sent_at + self._times.valid_without_renewal - _now(), self._lose_if_tried)

    def _lose_if_tried(self) -> None:
        """End the run if all attempts to renew the lease have failed for ``LeaseTimes.time_to_renew`` seconds.
        Otherwise, check again later.
        """
        left = (self._trying_since or _now()) + self._times.time_to_renew - _now()
        if left > 0:
            self._timers.start("loss", left, self._lose_if_tried)
        else:
            self._lose()

    def _lose(self) -> None:
        self._lost = True
        self._settle()
        self._timers.cancel("loss")
        logger.error("The lease of run %s is lost: the run ends.", self.run_id)
        self.owner.lease_lost()

    def _settle(self) -> None:
        settled, self._settled = self._settled, None
        if settled is not None and not settled.done():
            settled.set_result(None)


def _now() -> float:
    return asyncio.get_running_loop().time()
