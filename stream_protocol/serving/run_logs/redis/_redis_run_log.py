"""The run log of many workers, in Redis."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from stream_protocol.serving.run_logs._cancel import ended
from stream_protocol.serving.run_logs._event_buffer import LogBounds
from stream_protocol.serving.run_logs._run_log import ChatTakenError, RunLogError
from stream_protocol.serving.run_logs.redis import _scripts as scripts
from stream_protocol.serving.run_logs.redis._follower import Follower
from stream_protocol.serving.run_logs.redis._lease import HEARTBEATS, RedisLease, RivalError, Times, run_info
from stream_protocol.serving.run_logs.redis._store import RedisStore
from stream_protocol.wire import StreamProtocolError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from stream_protocol.serving.run_logs._event_buffer import RunReader
    from stream_protocol.serving.run_logs._run_log import Owner, RunInfo
    from stream_protocol.serving.run_logs.redis._store import Client

LEASE_SECONDS: Final = 15.0
"""Long enough for a Redis that fails over, short enough for a user whose worker died."""

EXPIRY_SECONDS: Final = 60.0

MAX_PATIENCE: Final = 3.0
"""Seconds that a Redis which does not answer may hold up a request."""

LOOK_SECONDS: Final = 0.02
"""Between two looks at what a worker that was asked has answered."""

CLOSING_SECONDS: Final = 5.0
"""How long ``aclose`` waits for what is not in Redis yet."""


class RedisRunLog:
    """Keeps the responses that are being written where every worker finds them; any worker resumes and stops any run.

    ``server``: a URL (``redis://``, ``rediss://``, ``unix://``, for a cluster ``redis+cluster://``,
    ``rediss+cluster://``), or a client without ``decode_responses`` (``Redis``, ``RedisCluster``), which stays the
    app's to close. Redis 6.2 or later. ``prefix`` begins all keys. ``lease``: seconds until a worker that is not
    heard of loses its chats; a run that cannot renew for two thirds of that ends itself. The same for all workers.
    ``expiry``: seconds that a log stays behind its end, for readers elsewhere. ``bounds`` are those of each log.

    Nothing begins without Redis. What runs already survives trouble that is over before two thirds of a lease are.
    """

    def __init__(
        self,
        server: str | Client,
        *,
        prefix: str = "adk-ui-stream",
        lease: float = LEASE_SECONDS,
        expiry: float = EXPIRY_SECONDS,
        bounds: LogBounds | None = None,
    ) -> None:
        if not (0 < lease < inf and 0 < expiry < inf):
            raise StreamProtocolError("`lease` and `expiry` must be positive numbers of seconds.")
        self.bounds = bounds or LogBounds()
        self._times = Times(lease=lease, expiry=expiry)
        self._store = RedisStore(server, prefix=prefix, patience=min(MAX_PATIENCE, lease))
        self._worker = uuid4().hex
        self._leases: dict[str, RedisLease] = {}
        """Those of this worker, by run."""
        self._chats: dict[str, RedisLease] = {}
        self._followers: dict[str, Follower] = {}
        """Of other workers' runs."""
        self._living: set[asyncio.Task[None]] = set()
        self._following: set[asyncio.Task[None]] = set()
        self._insisting: dict[bytes, asyncio.Task[None]] = {}
        """By the run that is to stop."""
        self._closing = False
        self._listening: asyncio.Task[None] | None = None

    async def ping(self) -> None:
        """Returns if Redis can be reached and written to. Raises ``RunLogError``."""
        await self._store.ping()

    async def claim(self, chat: str, request: str, owner: Owner) -> RedisLease:
        """Gives the chat to a new run. Raises ``ChatTakenError``."""
        keys, run_id = self._store.keys(chat), uuid4().hex
        lease = RedisLease(
            self._store, keys, run_id=run_id, worker=self._worker, request=request, owner=owner, times=self._times
        )
        try:
            await self._claim(lease, request)
        except ChatTakenError as taken:
            own = self._leases.get(taken.run.run_id)
            raise taken if own is None else ChatTakenError(own.info()) from None
        except BaseException:  # perhaps Redis took it, and nobody will have it
            _keep(self._living, lease.free())
            raise
        self._leases[run_id] = self._chats[chat] = lease
        _keep(self._living, self._live(chat, lease))
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        return lease

    async def current(self, chat: str) -> RunInfo | None:
        """What runs in the chat."""
        if (own := self._chats.get(chat)) is not None and own.held:
            return own.info()
        reply = await self._store.script(scripts.PEEK, (self._store.keys(chat).lease,))
        return run_info(reply, self._times) if reply else None

    async def read(self, chat: str, run_id: str, *, rebuild: bool = False) -> RunReader | None:
        """Reads a run's response; ``None`` if it is gone."""
        if (own := self._leases.get(run_id)) is not None:
            return own.owner.log.read(rebuild=rebuild)
        follower = self._followers.get(run_id) or await self._follow(chat, run_id)
        return None if follower is None else follower.buffer.read(rebuild=rebuild)

    async def stop(self, chat: str) -> bool:
        """Stops what runs in the chat. Returns whether anything did."""
        if (own := self._chats.get(chat)) is not None and own.held:
            own.owner.stop()
            return True
        stopped = await self._ask_to_stop(chat)
        if stopped is not None and stopped not in self._insisting and not self._closing:
            task = self._insisting[stopped] = asyncio.create_task(self._insist(chat, stopped))
            task.add_done_callback(lambda _: self._insisting.pop(stopped))
        return stopped is not None

    async def aclose(self) -> None:
        """Waits, not for ever, until what was released is in Redis; ends what is read here."""
        self._closing = True
        if self._living:
            await asyncio.wait(self._living, timeout=CLOSING_SECONDS)
        listening = [self._listening] if self._listening else []
        await ended([*self._living, *self._following, *self._insisting.values(), *listening])
        await self._store.aclose()

    async def _claim(self, lease: RedisLease, request: str) -> None:
        """Claims the chat. Raises ``ChatTakenError``.

        A page that has read the end of a response, and sends at once, may be quicker than what tells Redis of that end.
        So a worker whose run seems to go on is asked first, and has the last word.
        """
        deadline = asyncio.get_running_loop().time() + MAX_PATIENCE
        asked: RivalError | None = None
        while True:
            try:
                return await lease.claim()
            except RivalError as rival:
                other = rival.run
                if other.phase != "open" or other.request == request or other.run_id in self._leases:
                    raise
                if asked is None or asked.run.run_id != other.run_id:
                    asked = rival
                    await self._store.nudge(rival.worker, other.run_id)
                elif asked.renewals != rival.renewals or asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(LOOK_SECONDS)

    async def _ask_to_stop(self, chat: str, run_id: bytes = b"") -> bytes | None:
        """Asks what runs in the chat, or only this run. Returns the run that was asked, if there is one."""
        reply = await self._store.script(scripts.STOP, (self._store.keys(chat).lease,), run_id)
        if not reply:
            return None
        asked, worker = reply
        with suppress(RunLogError):  # it will find the flag
            await self._store.nudge(worker.decode(), asked.decode())
        return bytes(asked)

    async def _insist(self, chat: str, run_id: bytes) -> None:
        """Asks again, since a fail-over may have forgotten it before the run's worker had heard of it."""
        for _ in range(HEARTBEATS):
            await asyncio.sleep(self._times.heartbeat)
            with suppress(RunLogError):
                await self._ask_to_stop(chat, run_id)

    async def _live(self, chat: str, lease: RedisLease) -> None:
        try:
            await lease.live(self.bounds)
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
        if run_id not in self._followers:  # nobody was quicker
            self._followers[run_id] = follower
            _keep(self._following, self._read_along(run_id, follower))
        return self._followers[run_id]

    async def _read_along(self, run_id: str, follower: Follower) -> None:
        try:
            await follower.follow()
        finally:
            del self._followers[run_id]

    async def _listen(self) -> None:
        async for run_id in self._store.nudges(self._worker):
            if (lease := self._leases.get(run_id)) is not None:
                lease.nudge()


def load_redis_run_log(url: str, *, lease: float) -> RedisRunLog:
    """A log over a Redis that was asked once, so that a server that cannot keep its chats apart does not start.

    Must be called where no event loop runs. Raises ``RunLogError``, and ``StreamProtocolError`` for what is no URL.
    """
    asyncio.run(_probe(RedisRunLog(url, lease=lease)))
    return RedisRunLog(url, lease=lease)  # a new one: connections belong to the loop that made them


async def _probe(log: RedisRunLog) -> None:
    try:
        await log.ping()
    finally:
        await log.aclose()


def _keep(tasks: set[asyncio.Task[None]], work: Coroutine[None, None, None]) -> None:
    """Does it in the background; a loop does not hold its tasks."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
