"""The run log for many workers. Each worker can find, resume and stop the runs of all workers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from stream_protocol.serving.base import Tasks, cancel_and_wait
from stream_protocol.serving.run_logs._lease import SharedLease
from stream_protocol.serving.run_logs._log_tail import LogTail, written_events
from stream_protocol.serving.run_logs._post_replies import post_through
from stream_protocol.serving.run_logs._run_log import ChatTakenError, LogBounds, RunLogError, check_bounds
from stream_protocol.serving.run_logs._run_store import RENEWALS, RETRY_SECONDS, LeaseTimes, RunIdentity, RunStore
from stream_protocol.wire import check_instance, check_interface, check_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_protocol.serving.run_logs._readers import RunReader
    from stream_protocol.serving.run_logs._run_log import RunHandle, RunInfo

logger = logging.getLogger(__name__)

LEASE_SECONDS: Final = 15.0
"""The default lifetime of a lease, in seconds. It is longer than a fail-over of the store, but short for a user who
waits because a worker has died."""

EXPIRY_SECONDS: Final = 60.0
"""Seconds for which the store keeps the events of an ended run."""

MAX_PATIENCE: Final = 3.0
"""The maximum number of seconds that a request waits for a store that does not respond."""

NOTING_SECONDS: Final = 0.5
"""The maximum number of seconds for which ``stop`` waits for the store, if this worker executes the run."""

CLOSING_SECONDS: Final = 5.0
"""The maximum number of seconds that ``aclose`` waits until the store has all events of ended runs."""


class SharedRunLog:
    """A ``RunLog`` that stores responses in ``store``. Each worker can resume and stop the runs of all workers.

    ``store``: this worker's connection to the shared store. ``times``: the lifetimes of leases and stored events, after
    which the store deletes them. All workers need the same values. ``bounds``: limits of each response: see
    ``LogBounds``.
    """

    def __init__(self, store: RunStore, times: LeaseTimes, bounds: LogBounds | None = None) -> None:
        check_interface("store", store, RunStore, "a RunStore")
        check_instance("times", times, LeaseTimes, "a LeaseTimes")
        check_bounds(bounds)
        self.bounds = bounds or LogBounds()
        self._times = times
        self.store = store
        """The connection of this worker to the store."""
        self._leases: dict[str, SharedLease] = {}
        """The leases of this worker's runs, by run id."""
        self._chats: dict[str, SharedLease] = {}
        """The newest lease of this worker in each chat."""
        self._tails: dict[str, LogTail] = {}
        """The readers of other workers' runs, by run id."""
        self._lease_tasks = Tasks()
        self._tail_tasks = Tasks()
        self._stop_tasks: dict[str, asyncio.Task[None]] = {}
        """The tasks that repeat a stop of another worker's run, by run id."""
        self._closing = False
        self._request_task: asyncio.Task[None] | None = None

    @property
    def place(self) -> str:
        """The address of the store without its password, and the prefix of the names in the store. All workers have the
        same value.
        """
        return self.store.place

    async def ping(self) -> None:
        await self.store.ping()

    async def claim(self, chat: str, idempotency_key: str, owner: RunHandle) -> SharedLease:
        run = RunIdentity(chat=chat, run_id=uuid4().hex, worker=self.store.worker, idempotency_key=idempotency_key)
        if (own := self._own_run(chat)) is not None:  # a fail-over may have lost this run
            raise ChatTakenError(own)
        lease = SharedLease(self.store, run, owner, self._times)
        try:
            await lease.claim()
        except ChatTakenError as taken:
            lease_here = self._leases.get(taken.run.run_id)
            raise taken if lease_here is None else ChatTakenError(lease_here.info()) from None
        except BaseException:  # the store may have given the chat to this run, which will not start
            _ = self._lease_tasks.start(lease.free_in_store())
            raise
        self._leases[run.run_id] = self._chats[chat] = lease
        _ = self._lease_tasks.start(self._keep_lease(chat, lease))
        if self._request_task is None:
            # The context is empty, because the task's log records must not name the chat that starts the task.
            self._request_task = asyncio.create_task(self._handle_renewal_requests(), context=Context())
        try:
            await lease.look_for_stop()
        except BaseException:
            lease.release()
            raise
        return lease

    async def current(self, chat: str) -> RunInfo | None:
        if (own := self._own_run(chat)) is not None:
            return own
        (run,) = await self.store.peek([chat])
        return run

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        runs = {chat: own for chat in chats if (own := self._own_run(chat)) is not None}
        others = [chat for chat in chats if chat not in runs]
        found = dict(zip(others, await self.store.peek(others), strict=True))
        return [runs.get(chat) or found.get(chat) for chat in chats]

    async def read(
        self, chat: str, run_id: str, *, rebuild: bool = False, runs_are_recovered: bool = False
    ) -> RunReader | None:
        if (own := self._leases.get(run_id)) is not None:
            return own.owner.log.read(rebuild=rebuild)
        tail = self._tail(run_id) or await self._follow(chat, run_id, runs_are_recovered=runs_are_recovered)
        return tail.buffer.read(rebuild=rebuild) if tail is not None and await tail.has_begun() else None

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        return await written_events(self.store, chat, run_id)

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        stop_id = uuid4().hex if run_id is None else ""
        if (own := self._chats.get(chat)) is not None and own.held:
            if run_id not in (None, own.run_id):
                return False
            if stop_id:  # stored before the chat becomes free, for requests at other workers that wait for the chat
                with suppress(RunLogError, TimeoutError):  # the run stops even without the store
                    async with asyncio.timeout(NOTING_SECONDS):
                        await self.store.stop(chat, own.run_id, stop_id)
            if own.held:
                own.owner.stop()
                return True
        stopped = await self._ask_to_stop(chat, run_id or "", stop_id)
        if stopped is not None and stopped not in self._stop_tasks and not self._closing:
            task = self._stop_tasks[stopped] = asyncio.create_task(self._repeat_stop(chat, stopped))
            task.add_done_callback(lambda _: self._stop_tasks.pop(stopped))
        return stopped is not None

    async def post(self, chat: str, run_id: str, post: bytes) -> bytes | None:
        if (own := self._chats.get(chat)) is not None and own.run_id == run_id:
            return await own.owner.receive(post)
        return await post_through(self.store, chat, run_id, post, self._times.renewal_interval)

    async def newest_stop(self, chat: str) -> str:
        return await self.store.newest_stop(chat)

    async def aclose(self) -> None:
        """Waits up to ``CLOSING_SECONDS`` until the store has all events of ended runs. Then cancels all tasks, and
        disconnects all readers.
        """
        self._closing = True
        if self._lease_tasks:
            await asyncio.wait([*self._lease_tasks], timeout=CLOSING_SECONDS)
        request_tasks = [self._request_task] if self._request_task else []
        await cancel_and_wait([*self._lease_tasks, *self._tail_tasks, *self._stop_tasks.values(), *request_tasks])
        await self.store.aclose()

    def _own_run(self, chat: str) -> RunInfo | None:
        own = self._chats.get(chat)
        return own.info() if own is not None and own.held else None

    async def _ask_to_stop(self, chat: str, run_id: str, stop_id: str = "") -> str | None:
        """Ask the active run of the chat to stop. Also request a renewal of the run's lease, because the reply to a
        renewal delivers the stop. Return the id of the run; ``None`` if there is no run to stop.
        """
        stopped = await self.store.stop(chat, run_id, stop_id)
        if stopped is None:
            return None
        asked, worker = stopped
        with suppress(RunLogError):  # the worker gets the stop at its next regular renewal
            await self.store.request_renewal(worker, asked)
        return asked

    async def _repeat_stop(self, chat: str, run_id: str) -> None:
        """Store the stop of a run again and again, for ``LeaseTimes.lease`` seconds. A fail-over of the store may lose
        the stop.
        """
        for _ in range(RENEWALS):
            await asyncio.sleep(self._times.renewal_interval)
            with suppress(RunLogError):
                await self._ask_to_stop(chat, run_id)

    async def _keep_lease(self, chat: str, lease: SharedLease) -> None:
        try:
            await lease.keep_until_released(self.bounds)
        finally:
            del self._leases[lease.run_id]
            if self._chats.get(chat) is lease:
                del self._chats[chat]

    async def _follow(self, chat: str, run_id: str, *, runs_are_recovered: bool) -> LogTail | None:
        tail = LogTail(
            self.store,
            chat=chat,
            run_id=run_id,
            times=self._times,
            bounds=self.bounds,
            runs_are_recovered=runs_are_recovered,
        )
        if not await tail.begin():
            return None
        if (current := self._tail(run_id)) is not None:  # a second reader has created the tail during `begin`
            return current
        self._tails[run_id] = tail
        _ = self._tail_tasks.start(self._run_tail(run_id, tail))
        return tail

    def _tail(self, run_id: str) -> LogTail | None:
        tail = self._tails.get(run_id)
        return None if tail is None or tail.leaving else tail

    async def _run_tail(self, run_id: str, tail: LogTail) -> None:
        try:
            await tail.follow()
        finally:
            if self._tails.get(run_id) is tail:
                del self._tails[run_id]
        if run_id not in self._tails:
            await tail.leave()

    async def _handle_renewal_requests(self) -> None:
        """Renew leases immediately when other workers request it. Failures are logged, and do not end this task."""
        while True:
            try:
                async for run_id in self.store.renewal_requests():
                    for lease in self._leases.values() if run_id is None else [self._leases.get(run_id)]:
                        if lease is not None:
                            lease.renew_now()
            except Exception:
                logger.exception("A message of another worker could not be handled.")
                await asyncio.sleep(RETRY_SECONDS)


def lease_times(lease: float, expiry: float) -> LeaseTimes:
    """Return the ``LeaseTimes`` for the options ``lease`` and ``expiry`` of a run log. Raises ``StreamProtocolError``
    unless both are positive.
    """
    check_seconds("expiry", expiry)
    return LeaseTimes(lease=lease, log_retention=expiry)
