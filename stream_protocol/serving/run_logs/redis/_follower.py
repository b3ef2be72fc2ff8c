"""A run of another worker, copied from Redis for all who read it here."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from stream_protocol.convert import DEFAULT_ERROR_TEXT, RUN_FAILED
from stream_protocol.serving.run_logs._cancel import ended
from stream_protocol.serving.run_logs._event_buffer import EventBuffer
from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.serving.run_logs.redis import _scripts as scripts
from stream_protocol.serving.run_logs.redis._copier import RETRY_SECONDS
from stream_protocol.serving.run_logs.redis._store import WHOLE, milliseconds
from stream_protocol.wire import SSE_DONE
from stream_protocol.wire.client import closing_events, parse_sse

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._event_buffer import LogBounds
    from stream_protocol.serving.run_logs.redis._lease import Times
    from stream_protocol.serving.run_logs.redis._store import ChatKeys, Entry, RedisStore

logger = logging.getLogger(__name__)

LINGER_SECONDS: Final = 1.0
"""How long a run is followed without a reader: one may be on its way."""

MAX_WAIT: Final = 1.0
"""Seconds that one question for more may wait in Redis."""


class Follower:
    """``follow`` is its one task. Slow readers, late readers and bounds are the buffer's business.

    A run whose lease is gone has lost its worker, unless its log has an end. Redis may have forgotten the lease, so the
    owner is given time to come back; Redis itself is given as long. If a newer run has the chat, it is over.
    """

    def __init__(
        self, store: RedisStore, keys: ChatKeys, *, run_id: str, worker: str, times: Times, bounds: LogBounds
    ) -> None:
        self.buffer = EventBuffer(bounds)
        self.buffer.on_readers = self._count_readers
        self.unread = asyncio.Event()
        """Set when nobody reads any more, for some time."""
        self._store = store
        self._keys = keys
        self._run_id = run_id
        self._worker = worker
        self._times = times
        self._timer: asyncio.TimerHandle | None = None
        self._count = 0
        """How many of the run's events have come."""
        self._after = "0-0"
        self._there = 0
        """How many Redis has, when it was last asked."""
        self._ask_at = 0.0
        self._missing_since: float | None = None
        self._token = 0
        """The run's, once that has been seen. After a fail-over the chat may seem to be an older run's for a while."""
        self._superseded = False

    async def begin(self) -> bool:
        """Returns whether there is anything to follow."""
        ours = await self._ask()
        if self._there > 0:
            await self._take_head()
        self._count_readers(0)
        return ours or self._there >= 0

    async def follow(self) -> None:
        """Returns when the run has ended, or nobody reads it any more."""
        following = asyncio.create_task(self._follow())
        unread = asyncio.create_task(self.unread.wait())
        try:
            await asyncio.wait([following, unread], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._disarm()
            if not self.buffer.closed:
                self.buffer.cut()
            await ended([following, unread])
        await self._leave()

    async def _follow(self) -> None:
        while not self.buffer.closed:
            try:
                if not await self._take_more():
                    await asyncio.sleep(RETRY_SECONDS)
            except RunLogError as error:
                logger.warning("Run %s cannot be followed just now: %s", self._run_id, error)
                self._miss()
                self._ask_at = 0
                await asyncio.sleep(RETRY_SECONDS)

    async def _take_more(self) -> bool:
        """Returns whether there was something, or could have been."""
        if self._missing_since is not None or _now() >= self._ask_at:
            await self._ask()
        missing = self._missing_since is not None
        wait = 0 if missing else min(MAX_WAIT, self._times.heartbeat)
        entries = await self._store.entries(self._keys, self._run_id, self._after, wait)
        if self._count == 0 and (entries or self._there > 0):
            await self._take_head()
        for entry_id, entry in entries:
            self._take(entry)
            self._after = entry_id
        if not entries and self._there > self._count:
            self._give_up("what it has not read yet was joined")
        if not entries and missing:
            self._miss()
        return bool(entries) or not missing

    async def _ask(self) -> bool:
        """Whether the run has its chat. Also says that it is read here."""
        lease_ms = milliseconds(self._times.lease)
        reply = await self._store.script(scripts.WATCH, self._names(), self._run_id, self._worker, lease_ms)
        run, worker, token, self._there = reply
        ours = bool(run.decode() == self._run_id)
        self._superseded = not ours and int(token) > self._token
        if not ours:
            self._missing_since = self._missing_since or _now()
        else:
            self._token = int(token)
            if not self._ask_at:
                await self._store.nudge(worker.decode(), self._run_id)
            self._missing_since = None
        self._ask_at = _now() + self._times.heartbeat
        return ours

    async def _take_head(self) -> None:
        head = await self._store.head(self._keys, self._run_id)
        self.buffer.past = head.past
        if head.joined:
            self.buffer.append(*_events(head.events))
            self._count = head.joined
            self._after = f"{head.joined}-0"

    def _take(self, entry: Entry) -> None:
        if self.buffer.closed:
            return
        if entry.after > self._count:
            self._give_up("a piece of it is missing")
        elif entry.end == WHOLE:
            self.buffer.close()
        elif entry.end:
            self._break_off()
        elif entry.count > self._count:
            self.buffer.append(*_events(entry.events)[self._count - entry.after :])
            self._count = entry.count

    def _miss(self) -> None:
        """The run was not there. Ends what is read here if that lasts."""
        self._missing_since = self._missing_since or _now()
        if self._superseded or _now() - self._missing_since > self._times.trusted:
            self._break_off()

    def _break_off(self) -> None:
        logger.warning("Run %s has lost its worker.", self._run_id)
        whole = self.buffer.whole()
        if whole[-1:] != [SSE_DONE]:
            past = parse_sse(self.buffer.past)
            self.buffer.append(
                *closing_events(parse_sse(whole), past=past, unanswered=RUN_FAILED, error=DEFAULT_ERROR_TEXT)
            )
        self.buffer.close()

    def _give_up(self, why: str) -> None:
        logger.warning("The readers of run %s are cut off: %s.", self._run_id, why)
        self.unread.set()

    async def _leave(self) -> None:
        """Tells the owner that nobody reads the run here."""
        if not self.buffer.closed:
            with suppress(RunLogError):
                _, worker, *_ = await self._store.script(scripts.WATCH, self._names(), self._run_id, self._worker, 0)
                await self._store.nudge(worker.decode(), self._run_id)

    def _names(self) -> tuple[str, str, str]:
        keys = self._keys
        return keys.lease, keys.head(self._run_id), keys.readers(self._run_id)

    def _count_readers(self, readers: int) -> None:
        self._disarm()
        if not readers:
            self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.unread.set)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _events(joined: bytes) -> list[bytes]:
    return [event + b"\n\n" for event in joined.split(b"\n\n")[:-1]]


def _now() -> float:
    return asyncio.get_running_loop().time()
