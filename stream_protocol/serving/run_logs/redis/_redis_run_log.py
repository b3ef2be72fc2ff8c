"""The run log of many workers: in Redis, any worker finds, resumes and stops any run."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from contextvars import Context
from math import inf
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from stream_protocol.serving.run_logs._cancel import cancel_and_wait
from stream_protocol.serving.run_logs._event_buffer import LogBounds
from stream_protocol.serving.run_logs._run_log import ChatTakenError, RunLogError
from stream_protocol.serving.run_logs.redis import _scripts as scripts
from stream_protocol.serving.run_logs.redis._copier import RETRY_SECONDS
from stream_protocol.serving.run_logs.redis._follower import Follower
from stream_protocol.serving.run_logs.redis._lease import RENEWALS, LeaseTimes, OtherRunError, RedisLease, run_info
from stream_protocol.serving.run_logs.redis._store import DEFAULT_PREFIX, RedisStore
from stream_protocol.wire import StreamProtocolError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from stream_protocol.serving.run_logs._event_buffer import RunReader
    from stream_protocol.serving.run_logs._run_log import Owner, RunInfo
    from stream_protocol.serving.run_logs.redis._store import Client

logger = logging.getLogger(__name__)

LEASE_SECONDS: Final = 15.0
"""Longer than a fail-over of Redis takes; not too long for a user whose worker died."""

EXPIRY_SECONDS: Final = 60.0
"""How long Redis keeps a log after its run has ended."""

MAX_PATIENCE: Final = 3.0
"""How many seconds a request waits for a Redis that does not answer."""

CLAIM_RETRY_SECONDS: Final = 0.02
"""The pause between two attempts to claim a chat, while the worker that runs it renews its lease."""

CLOSING_SECONDS: Final = 5.0
"""How long ``aclose`` waits until the logs of released runs are complete in Redis."""


class RedisRunLog:
    """Keeps responses in Redis while they are written: every worker can resume and stop every run.

    ``server``: a URL (``redis://``, ``rediss://``, ``unix://``; for a cluster ``redis+cluster://`` or
    ``rediss+cluster://``), or a client made without ``decode_responses`` (``Redis`` or ``RedisCluster`` of
    ``redis.asyncio``), which the app closes. Redis 6.2 or later.
    ``prefix``: begins all keys and channels. Deployments that share a Redis need one each: with the same, equal ids of
    an app, a user and a chat are one chat. Up to 64 ASCII letters, digits, and ``. _ : / @ -``.
    ``lease``: seconds until a worker that does not renew its leases loses its chats. A run that cannot renew its lease
    for two thirds of that ends in an error. Must be the same for all workers.
    ``expiry``: seconds that a log is kept after its run has ended, for readers at other workers.
    ``bounds``: how large each log may become.

    No run starts while Redis cannot be reached. Runs that have started survive an outage of less than two thirds of a
    lease. Raises ``StreamProtocolError`` for times that are not positive, and for an unusable URL, client
    or prefix.
    """

    def __init__(
        self,
        server: str | Client,
        *,
        prefix: str = DEFAULT_PREFIX,
        lease: float = LEASE_SECONDS,
        expiry: float = EXPIRY_SECONDS,
        bounds: LogBounds | None = None,
    ) -> None:
        if not (0 < lease < inf and 0 < expiry < inf):
            raise StreamProtocolError("`lease` and `expiry` must be positive numbers of seconds.")
        self.bounds = bounds or LogBounds()
        self._times = LeaseTimes(lease=lease, log_retention=expiry)
        self._store = RedisStore(server, prefix=prefix, patience=min(MAX_PATIENCE, lease))
        self._worker = uuid4().hex
        self._leases: dict[str, RedisLease] = {}
        """The leases of this worker's runs, by run id."""
        self._chats: dict[str, RedisLease] = {}
        """The newest of them in each chat, by chat."""
        self._followers: dict[str, Follower] = {}
        """The runs of other workers that are read here, by run id."""
        self._lease_tasks: set[asyncio.Task[None]] = set()
        self._follower_tasks: set[asyncio.Task[None]] = set()
        self._stop_tasks: dict[bytes, asyncio.Task[None]] = {}
        """By run id, for runs of other workers: the task that repeats the request to stop. See ``_repeat_stop``."""
        self._closing = False
        self._request_task: asyncio.Task[None] | None = None

    async def ping(self) -> None:
        """Checks that Redis can be written to. Raises ``RunLogError`` if not."""
        await self._store.ping()

    async def claim(self, chat: str, request: str, owner: Owner) -> RedisLease:
        """Gives the chat to a new run. Raises ``ChatTakenError`` if another run holds its lease."""
        keys, run_id = self._store.keys(chat), uuid4().hex
        lease = RedisLease(
            self._store, keys, run_id=run_id, worker=self._worker, request=request, owner=owner, times=self._times
        )
        try:
            await self._claim(lease, request)
        except ChatTakenError as taken:
            own = self._leases.get(taken.run.run_id)
            raise taken if own is None else ChatTakenError(own.info()) from None
        except BaseException:  # Redis may have given the chat to this run, but it will not start
            _start(self._lease_tasks, lease.free_in_redis())
            raise
        self._leases[run_id] = self._chats[chat] = lease
        _start(self._lease_tasks, self._keep_lease(chat, lease))
        if self._request_task is None:
            # Of no chat: what it logs is not about the one that comes first.
            self._request_task = asyncio.create_task(self._handle_renewal_requests(), context=Context())
        return lease

    async def current(self, chat: str) -> RunInfo | None:
        """Returns the run that holds the chat's lease; ``None`` if the chat is free."""
        if (own := self._own_run(chat)) is not None:
            return own
        reply = await self._store.script(scripts.PEEK, (self._store.keys(chat).lease,))
        return run_info(reply, self._times) if reply else None

    async def current_many(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """Returns the run that holds the lease of each chat; ``None`` for a free one."""
        runs = {chat: own for chat in chats if (own := self._own_run(chat)) is not None}
        others = [chat for chat in chats if chat not in runs]
        replies = await self._store.script_on_each(scripts.PEEK, [self._store.keys(chat).lease for chat in others])
        runs |= {chat: run_info(reply, self._times) for chat, reply in zip(others, replies, strict=True) if reply}
        return [runs.get(chat) for chat in chats]

    async def read(self, chat: str, run_id: str, *, rebuild: bool = False) -> RunReader | None:
        """Reads a run's response; ``None`` if Redis does not have it any more."""
        if (own := self._leases.get(run_id)) is not None:
            return own.owner.log.read(rebuild=rebuild)
        follower = self._follower(run_id) or await self._follow(chat, run_id)
        return None if follower is None else follower.buffer.read(rebuild=rebuild)

    async def stop(self, chat: str, run_id: str | None = None) -> bool:
        """Asks the run of this chat to stop, whichever worker runs it; ``run_id``: only this run.

        Returns whether there was one.
        """
        if (own := self._chats.get(chat)) is not None and own.held:
            if run_id not in (None, own.run_id):
                return False
            own.owner.stop()
            return True
        stopped = await self._ask_to_stop(chat, (run_id or "").encode())
        if stopped is not None and stopped not in self._stop_tasks and not self._closing:
            task = self._stop_tasks[stopped] = asyncio.create_task(self._repeat_stop(chat, stopped))
            task.add_done_callback(lambda _: self._stop_tasks.pop(stopped))
        return stopped is not None

    async def aclose(self) -> None:
        """Waits up to ``CLOSING_SECONDS`` until the logs of released runs are in Redis. Ends all tasks and readers."""
        self._closing = True
        if self._lease_tasks:
            await asyncio.wait(self._lease_tasks, timeout=CLOSING_SECONDS)
        request_tasks = [self._request_task] if self._request_task else []
        await cancel_and_wait([*self._lease_tasks, *self._follower_tasks, *self._stop_tasks.values(), *request_tasks])
        await self._store.aclose()

    def _own_run(self, chat: str) -> RunInfo | None:
        """The run of this worker that holds the chat's lease."""
        own = self._chats.get(chat)
        return own.info() if own is not None and own.held else None

    async def _claim(self, lease: RedisLease, request: str) -> None:
        """Claims the chat. Raises ``ChatTakenError``.

        A page may read the end of a response and send its next request before Redis knows of that end. So if the run of
        another worker seems to go on, that worker is asked to renew its lease. The claim is decided after the second
        renewal: the first may have been under way before the run ended, the second began after the first had arrived.
        """
        deadline = asyncio.get_running_loop().time() + MAX_PATIENCE
        first: OtherRunError | None = None
        requested_after: int | None = None
        while True:
            try:
                return await lease.claim()
            except OtherRunError as taken:
                other = taken.run
                if other.phase == "closed" or other.request == request or other.run_id in self._leases:
                    raise
                if first is None or first.run.run_id != other.run_id:
                    first, requested_after = taken, None
                if taken.renewals >= first.renewals + 2 or asyncio.get_running_loop().time() > deadline:
                    raise
                if requested_after != taken.renewals:
                    requested_after = taken.renewals
                    await self._store.request_renewal(taken.worker, other.run_id)
            await asyncio.sleep(CLAIM_RETRY_SECONDS)

    async def _ask_to_stop(self, chat: str, run_id: bytes = b"") -> bytes | None:
        """Asks the chat's run to stop; ``run_id``: only this run. Returns the id of the run that was asked, if any."""
        reply = await self._store.script(scripts.STOP, (self._store.keys(chat).lease,), run_id)
        if not reply:
            return None
        asked, worker = reply
        with suppress(RunLogError):  # the worker sees the flag at its next regular renewal
            await self._store.request_renewal(worker.decode(), asked.decode())
        return bytes(asked)

    async def _repeat_stop(self, chat: str, run_id: bytes) -> None:
        """Repeats the request to stop for one lease time: a fail-over may lose it before the run's worker sees it."""
        for _ in range(RENEWALS):
            await asyncio.sleep(self._times.renewal_interval)
            with suppress(RunLogError):
                await self._ask_to_stop(chat, run_id)

    async def _keep_lease(self, chat: str, lease: RedisLease) -> None:
        try:
            await lease.keep_until_released(self.bounds)
        finally:
            del self._leases[lease.run_id]
            if self._chats.get(chat) is lease:
                del self._chats[chat]

    async def _follow(self, chat: str, run_id: str) -> Follower | None:
        keys = self._store.keys(chat)
        follower = Follower(
            self._store, keys, run_id=run_id, worker=self._worker, times=self._times, bounds=self.bounds
        )
        if not await follower.begin():
            return None
        if (current := self._follower(run_id)) is not None:  # another reader has come first
            return current
        self._followers[run_id] = follower
        _start(self._follower_tasks, self._run_follower(run_id, follower))
        return follower

    def _follower(self, run_id: str) -> Follower | None:
        follower = self._followers.get(run_id)
        return None if follower is None or follower.leaving else follower

    async def _run_follower(self, run_id: str, follower: Follower) -> None:
        try:
            await follower.follow()
        finally:
            if self._followers.get(run_id) is follower:
                del self._followers[run_id]
        if run_id not in self._followers:
            await follower.leave()

    async def _handle_renewal_requests(self) -> None:
        """Renews leases at once when other workers ask for it. A failure is logged and does not end the task."""
        while True:
            try:
                async for run_id in self._store.renewal_requests(self._worker):
                    if (lease := self._leases.get(run_id)) is not None:
                        lease.renew_now()
            except Exception:
                logger.exception("A message of another worker could not be handled.")
                await asyncio.sleep(RETRY_SECONDS)


def load_redis_run_log(url: str, *, prefix: str, lease: float) -> RedisRunLog:
    """Makes a ``RedisRunLog``, after it has checked that Redis answers: a server without its Redis must not start.

    ``lease``: seconds. To be called where no event loop runs. Raises ``RunLogError`` if Redis cannot be written to,
    and ``StreamProtocolError`` for an unusable URL or prefix.
    """
    asyncio.run(_probe(RedisRunLog(url, prefix=prefix, lease=lease)))
    return RedisRunLog(url, prefix=prefix, lease=lease)  # a new one: connections belong to the loop that made them


async def _probe(log: RedisRunLog) -> None:
    try:
        await log.ping()
    finally:
        await log.aclose()


def _start(tasks: set[asyncio.Task[None]], work: Coroutine[None, None, None]) -> None:
    """Starts a background task, and keeps a reference until it ends: the event loop keeps only a weak one."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
