"""Reads the events of a run that another worker executes, for all readers in this process.

The other worker stores the events with ``_log_writer``. Events may be merged, or lost in a fail-over of the store, and
the other worker may die. This module handles these cases, too.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.base import Timers, wait_for_first
from stream_protocol.serving.run_logs._event_buffer import EventBuffer
from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.serving.run_logs._run_store import RETRY_SECONDS, WHOLE
from stream_protocol.stream import DEFAULT_ERROR_TEXT, RUN_FAILED_TEXT
from stream_protocol.wire import SSE_DONE
from stream_protocol.wire.client import closing_events, parse_sse

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._run_log import LogBounds
    from stream_protocol.serving.run_logs._run_store import Entry, LeaseTimes, RunStore

logger = logging.getLogger(__name__)

LINGER_SECONDS: Final = 1.0
"""Seconds for which a run without readers is still read, because a new reader may come."""

MAX_WAIT: Final = 1.0
"""The maximum number of seconds that one read of the store waits for more events."""

BEGIN_SECONDS: Final = 2 * MAX_WAIT
"""The maximum number of seconds that a new reader waits for the first events of a run that holds its lease."""


class WriterWatch:
    """Checks that a run of another worker still holds its lease: the right to be the active run of the chat. Also
    registers this process as a reader of the run.

    A lease is missing if the worker has died, or if a fail-over of the store has lost the lease. In the second case,
    the worker restores the lease. Therefore, the run counts as lost only after ``times.valid_without_renewal`` seconds.
    An unreachable store counts as a missing lease.
    """

    def __init__(self, store: RunStore, chat: str, run_id: str, times: LeaseTimes) -> None:
        self._store = store
        self._chat = chat
        self._run_id = run_id
        self._times = times
        self._check_at = 0.0
        self._missing_since: float | None = None
        self._token = 0
        """The run's fencing token; 0 while unknown. After a fail-over, the store may name an older run as the holder of
        the lease. The token shows which run is newer."""
        self._superseded = False
        self.available: int | None = None
        """The number of the run's events in the store at the last check; ``None`` without a stored log."""

    @property
    def is_missing(self) -> bool:
        """True if the last check found that the run has no lease (the right to be the active run of the chat). Also
        True if the store is unreachable.
        """
        return self._missing_since is not None

    @property
    def is_lost(self) -> bool:
        """True if the lease was missing for more than ``times.valid_without_renewal`` seconds, or if a newer run has
        taken the chat.
        """
        if self._missing_since is None:
            return False
        return self._superseded or _now() - self._missing_since > self._times.valid_without_renewal

    async def check_if_due(self, *, at_once: bool) -> None:
        if at_once or self.is_missing or _now() >= self._check_at:
            await self.check()

    async def check(self) -> bool:
        """Reads the lease from the store. Returns True if the run holds the lease: the right to be the active run of
        the chat.
        """
        watched = await self._store.watch(self._chat, self._run_id, reads=True)
        self.available = watched.available
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
        """Records that the store is unreachable. The next call of ``check_if_due`` reads the lease from the store
        again.
        """
        self._missing_since = self._missing_since or _now()
        self._check_at = 0

    async def leave(self) -> None:
        """Tells the worker of the run that this process no longer reads the run."""
        with suppress(RunLogError):
            watched = await self._store.watch(self._chat, self._run_id, reads=False)
            await self._store.request_renewal(watched.worker, self._run_id)


class LogTail:
    """Copies the events of another worker's run into ``buffer``. All readers in this process read from this buffer.

    If that worker dies before the response is complete, the response ends in an error. With ``runs_are_recovered``, the
    readers are disconnected instead. Their clients can then reconnect to the worker that continues the run.
    """

    def __init__(
        self, store: RunStore, *, chat: str, run_id: str, times: LeaseTimes, bounds: LogBounds, runs_are_recovered: bool
    ) -> None:
        self.buffer = EventBuffer(bounds, on_readers=self._count_readers)
        self._unwanted = asyncio.Event()
        """Set when the run had no reader in this process for ``LINGER_SECONDS``, or when the store no longer has the
        next events."""
        self._store = store
        self._chat = chat
        self._run_id = run_id
        self._times = times
        self._writer = WriterWatch(store, chat, run_id, times)
        self._runs_are_recovered = runs_are_recovered
        self._timers = Timers()
        self._received = 0
        """The number of the run's events in ``buffer``."""
        self._expected = 0
        """The number of new readers that wait for the first events."""
        self._head_read = False

    @property
    def leaving(self) -> bool:
        """True if this object has stopped reading before the end of the response. A client that connects later needs a
        new ``LogTail``.
        """
        return self._unwanted.is_set() and not self.buffer.closed

    async def begin(self) -> bool:
        """Checks the run before the first read. Returns True if the run is active, or if its events are still stored.
        Call this method once, before ``follow``.
        """
        is_held = await self._writer.check()
        self._count_readers(0)
        return is_held or self._writer.available is not None

    async def has_begun(self) -> bool:
        """Waits for the first events of the run. Returns False if the run's worker died before the first event."""
        self._expected += 1
        self._timers.cancel("unread")
        try:
            while not await wait_for_first(self.buffer.changed(0), self._unwanted.wait(), seconds=BEGIN_SECONDS):
                if not self._writer.is_missing:
                    break
        finally:
            self._expected -= 1
            self._count_readers(self.buffer.readers)
        return bool(self._received) or not (self._unwanted.is_set() or self.buffer.closed)

    async def follow(self) -> None:
        """Reads events until the run has ended, or until the run has had no reader in this process for
        ``LINGER_SECONDS``.
        """
        try:
            await wait_for_first(self._read_until_end(), self._unwanted.wait())
        finally:
            self._timers.close()
            if not self.buffer.closed:
                self.buffer.cut_off_readers()

    async def leave(self) -> None:
        if not self.buffer.closed:
            await self._writer.leave()

    async def _read_until_end(self) -> None:
        while not self.buffer.closed:
            try:
                if not await self._read_more():
                    await asyncio.sleep(RETRY_SECONDS)
            except RunLogError as error:
                logger.warning("Run %s cannot be followed just now: %s", self._run_id, error)
                self._writer.note_absence()
                self._end_if_lost()
                await asyncio.sleep(RETRY_SECONDS)

    async def _read_more(self) -> bool:
        """Read the next events. Return False if the caller must pause before the next read."""
        await self._writer.check_if_due(at_once=not self._received)
        missing = self._writer.is_missing
        if not self._head_read and self._writer.available:
            await self._read_head()
        wait = 0 if missing else min(MAX_WAIT, self._times.renewal_interval)
        entries = await self._store.entries(self._chat, self._run_id, self._received, wait)
        if not self._head_read and entries:
            await self._read_head()
        for entry in entries:
            self._append(entry)
        if not entries and (self._writer.available or 0) > self._received:
            self._cut_off_readers("the next events were joined with earlier ones")
        if not entries:
            self._end_if_lost()
        return bool(entries) or not missing

    async def _read_head(self) -> None:
        snapshot = await self._store.snapshot(self._chat, self._run_id)
        self._head_read = True
        self.buffer.set_past(snapshot.past)
        if snapshot.compacted:
            self.buffer.append(*_split_events(snapshot.events))
            self._received = snapshot.compacted

    def _append(self, entry: Entry) -> None:
        if self.buffer.closed:
            return
        if entry.after > self._received:
            self._cut_off_readers("a piece of its log is missing")
        elif entry.end == WHOLE:
            self.buffer.close()
        elif entry.end:
            self._end_lost()
        elif entry.count > self._received:
            self.buffer.append(*_split_events(entry.events)[self._received - entry.after :])
            self._received = entry.count

    def _end_if_lost(self) -> None:
        if self._writer.is_lost:
            self._end_lost()

    def _end_lost(self) -> None:
        """End the response after the worker of the run has died or has given up the run.

        If another worker recovers the run, disconnect the readers. Otherwise, complete the unfinished parts of the
        message, and end the response with an error.
        """
        whole = self.buffer.whole()
        is_complete = whole[-1:] == [SSE_DONE]
        if self._runs_are_recovered and not is_complete:
            self._cut_off_readers("its worker is lost, and another one takes it up")
            return
        logger.warning("Run %s has lost its worker.", self._run_id)
        if not is_complete:
            past = parse_sse(self.buffer.past)
            self.buffer.append(
                *closing_events(parse_sse(whole), past=past, unanswered=RUN_FAILED_TEXT, error=DEFAULT_ERROR_TEXT)
            )
        self.buffer.close()

    def _cut_off_readers(self, why: str) -> None:
        logger.warning("The readers of run %s are cut off: %s.", self._run_id, why)
        self._unwanted.set()

    def _count_readers(self, readers: int) -> None:
        seconds = None if readers or self._expected else LINGER_SECONDS
        self._timers.start("unread", seconds, self._unwanted.set)


async def written_events(store: RunStore, chat: str, run_id: str) -> list[bytes]:
    snapshot = await store.snapshot(chat, run_id)
    events = _split_events(snapshot.events)
    count = snapshot.compacted
    while entries := await store.entries(chat, run_id, count, 0):
        for entry in entries:
            if entry.end or entry.after > count:
                return events
            events += _split_events(entry.events)[count - entry.after :]
            count = max(count, entry.count)
    return events


def _split_events(joined: bytes) -> list[bytes]:
    return [event + b"\n\n" for event in joined.split(b"\n\n")[:-1]]


def _now() -> float:
    return asyncio.get_running_loop().time()
