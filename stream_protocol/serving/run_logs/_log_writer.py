"""Copies the events of a run to the store while the run writes them. Other workers read the events with ``_log_tail``.

Each batch of events states how many events come before the batch. The store appends a batch only if it has exactly this
many events. So a batch that is sent twice is stored once. The store replies with its new number of events. If a
fail-over has lost events, this number is too small. The next batch then begins with the first lost event.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from stream_protocol.serving.base import cancel_and_wait, wait_for_first
from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.serving.run_logs._run_store import RETRY_SECONDS, WHOLE, Entry, LogBatch, Snapshot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from stream_protocol.serving.run_logs._event_buffer import EventBuffer
    from stream_protocol.serving.run_logs._run_log import LogBounds
    from stream_protocol.serving.run_logs._run_store import RunIdentity, RunStore

logger = logging.getLogger(__name__)

GATHER_SECONDS: Final = 0.005
"""Seconds between two batches, so that a fast run sends fewer batches. Readers do not notice so short a delay."""

UNREAD_GATHER_SECONDS: Final = 0.25
"""Seconds between two batches while no other worker reads the run. One command of the store takes several times as long
as all other work on a chunk. If this worker dies, the unsent events are lost."""

END_SECONDS: Final = 1.0
"""Readers of this worker do not get the end of a response before the store has it, but wait at most this number of
seconds."""

MAX_PIECE: Final = 2**20
"""The maximum number of bytes in one batch, unless a single event is larger."""

JOIN_SECONDS: Final = 2.0
"""Seconds for which the store keeps the original entries of joined events, because readers may still read them."""


class LogWriter:
    """Copies the events of ``log`` to the store, in batches.

    The last batch also sets the phase of the run to ``closed``. Readers get the end of the response only after the
    store has the last batch. Otherwise, a client could send its next request to a worker that still sees the run as
    active. If the store does not respond, readers on this worker get the end after ``END_SECONDS``.

    ``renew_lease``: called if the store lacks the lease of the run, or does not store the last batch in time.
    ``patience``: if the store is unreachable for more than this number of seconds, ``log`` may merge events that the
    store does not have. Readers on other workers are then disconnected.
    """

    def __init__(
        self,
        store: RunStore,
        run: RunIdentity,
        token: int,
        log: EventBuffer,
        *,
        bounds: LogBounds,
        renew_lease: Callable[[], None],
        read_elsewhere: asyncio.Event,
        patience: float,
    ) -> None:
        self._store = store
        self._run = run
        self._token = token
        self._log = log
        self._bounds = bounds
        self._renew_lease = renew_lease
        self._read_elsewhere = read_elsewhere
        self._patience = patience
        self._position = 0
        self._sent = 0
        """The number of bytes sent since events were last joined in the store."""
        self._join_above = bounds.coalesce_above
        self._joined: tuple[float, int, bytes] | None = None
        """The planned replacement of stored entries by longer events: its event-loop time, the number of replaced
        events, and the bytes of the longer events."""

    async def copy(self) -> None:
        """Copies the log until the store has all events and the end of the response."""
        giving = asyncio.create_task(self._give_end_later())
        try:
            await self._copy()
        finally:
            self._log.ack(None)  # before the wait, which a second cancellation ends
            await cancel_and_wait([giving])

    async def _give_end_later(self) -> None:
        """Wait ``END_SECONDS`` after the response is complete. Then let readers on this worker get the end of the
        response, even if the store does not have it.
        """
        await self._log.wait_closed()
        await asyncio.sleep(END_SECONDS)
        self._renew_lease()  # a full store refuses log entries, but accepts a renewal with the phase `closed`
        self._log.ack(None)

    async def _copy(self) -> None:
        loop = asyncio.get_running_loop()
        failing_since: float | None = None
        while True:
            await self._log.changed(self._position)
            try:
                if await self._send():
                    return
                failing_since = None
                await self._gather()
            except RunLogError as error:
                if failing_since is None:
                    failing_since = loop.time()
                    logger.warning("The log of run %s is not copied just now: %s", self._run.run_id, error)
                elif loop.time() > failing_since + self._patience:
                    self._log.ack(None)
                await asyncio.sleep(RETRY_SECONDS)

    async def _gather(self) -> None:
        """Wait, so that the next batch contains more events. The wait is shorter if another worker reads the run, or if
        the response is complete.
        """
        await asyncio.sleep(GATHER_SECONDS)
        if not self._read_elsewhere.is_set():
            await wait_for_first(self._read_elsewhere.wait(), self._log.wait_closed(), seconds=UNREAD_GATHER_SECONDS)

    async def _send(self) -> bool:
        """Send the next batch. Return True if the store now has the whole log."""
        log = self._log
        events = log.since(self._position)
        if events is None:
            await self._replace(log.count, b"".join(log.whole()))
            return False
        piece = _first(events)
        count = self._position + len(piece)
        last = log.closed and count == log.count
        data = b"".join(piece)
        entry = Entry(self._position, count, data, WHOLE if last else "")
        stored = await self._note(self._store.append(self._run, self._token, LogBatch(entry=entry, past=log.past)))
        self._sent += len(data)
        await self._join()
        return last and stored == count

    async def _join(self) -> None:
        """If the store has many events of the run, replace them with fewer, longer events."""
        now = asyncio.get_running_loop().time()
        if self._joined is None and self._sent > self._join_above:
            self._joined = now + JOIN_SECONDS, self._log.count, b"".join(self._log.whole())
        elif self._joined is not None and now >= self._joined[0] and self._position >= self._joined[1]:
            _, count, joined = self._joined
            await self._replace(count, joined)

    async def _replace(self, count: int, joined: bytes) -> None:
        await self._note(self._store.replace(self._run, self._token, Snapshot(count, joined, self._log.past)))
        self._joined, self._sent = None, 0
        self._join_above = max(self._bounds.coalesce_above, len(joined))

    async def _note(self, written: Awaitable[int | None]) -> int:
        stored = await written
        if stored is None:
            self._renew_lease()  # restores a lease that a fail-over has lost, or detects a newer run
            raise RunLogError("the store knows nothing of the run's lease")
        self._position = stored
        self._log.ack(stored)
        return stored


def _first(events: Iterable[bytes]) -> list[bytes]:
    piece: list[bytes] = []
    size = 0
    for event in events:
        size += len(event)
        if piece and size > MAX_PIECE:
            break
        piece.append(event)
    return piece
