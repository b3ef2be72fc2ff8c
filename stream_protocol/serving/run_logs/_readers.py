"""Provides ``Readers``, the readers of one response, and ``RunReader``, the iterator for one client."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from stream_protocol.serving.base import ByteShare
from stream_protocol.serving.run_logs._event_list import EventList
from stream_protocol.serving.run_logs._run_log import LogBounds
from stream_protocol.serving.telemetry import active_readers, count_cut_reader

logger = logging.getLogger(__name__)


class RunReader(AsyncGenerator[bytes, None]):
    """Async generator of the SSE events of a response, for one client. Each item contains one or more events. If the
    generator is closed before its end, the client counts as disconnected.
    """

    def __init__(
        self, events: AsyncGenerator[bytes, None], cut_off: asyncio.Event, kept_bytes: Callable[[], int]
    ) -> None:
        self._events = events
        self.cut_off = cut_off
        """Set when the run log has disconnected the reader. The server must then close the connection without ending
        the response, so that the client notices the missing end."""
        self.kept_bytes = kept_bytes
        """Function that returns the size of an ended response in memory; 0 before its end. After its end, the response
        is in memory only for its readers."""
        self._memory: ByteShare | None = None

    @property
    def memory(self) -> ByteShare | None:
        """The counter for the bytes of the response; ``None`` before ``count_in``.

        The response is counted if the client has not read it completely some seconds after its end. If this exceeds the
        memory limit, the reader is disconnected.
        """
        return self._memory

    def count_in(self, memory: ByteShare) -> None:
        """Sets the counter for the bytes of the response: see ``memory``."""
        self._memory = memory

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Returns the wrapped generator, because iterating it is faster than iterating this object."""
        return self._events

    async def asend(self, value: None) -> bytes:
        """Returns the next events."""
        return await self._events.asend(value)

    async def athrow(self, *error: Any) -> bytes:
        """Raises the error in the reader. The reader then ends."""
        return await self._events.athrow(*error)

    async def aclose(self) -> None:
        """Stops reading."""
        await self._events.aclose()


@dataclass(eq=False)
class Cursor:
    """The position of one reader in a response."""

    reads_joined: bool = False
    """True while the reader gets longer events, into which ``EventList`` has joined original events."""
    position: int = 0
    """The number of events that the reader has read."""
    read_bytes: int = 0
    max_unread: int = 0
    """The maximum number of unread bytes. A reader with more is disconnected."""
    cut_off: asyncio.Event = field(default_factory=asyncio.Event)

    def limit(self, max_unread: int) -> None:
        self.max_unread = max_unread

    def begin_joined(self) -> None:
        """Records that the reader currently gets merged events."""
        self.reads_joined = True

    def end_joined(self, position: int, read_bytes: int) -> None:
        """Records that the reader gets original events again, beginning with the index ``position``."""
        self.reads_joined = False
        self.position = position
        self.read_bytes = read_bytes

    def go_on(self, count: int, size: int) -> None:
        self.position += count
        self.read_bytes += size


class Readers:
    """The readers of one response in this process. ``on_readers``: a function that gets the number of readers whenever
    this number changes.
    """

    def __init__(self, events: EventList, bounds: LogBounds, on_readers: Callable[[int], object] | None) -> None:
        self._events = events
        self._bounds = bounds
        self._on_readers = on_readers
        self._cursors: dict[Cursor, None] = {}
        """The current readers, the oldest first."""
        self._refuses = False

    def __len__(self) -> int:
        return len(self._cursors)

    def forget_writer(self) -> None:
        self._on_readers = None

    def position(self, copied: int) -> int:
        """Returns how many events all readers have read, but at most ``copied``: the number of events that the store
        has.
        """
        return min([copied, *(each.position for each in self._cursors if not each.reads_joined)])

    def enter(self, cursor: Cursor) -> None:
        """Adds a reader. At the maximum number of readers, first disconnects the reader with the most unread bytes."""
        if self._refuses:
            cursor.cut_off.set()
            return
        if len(self._cursors) >= self._bounds.max_readers:
            logger.warning("A reader was cut off: %s others read the response.", self._bounds.max_readers)
            self._cut_off(max(self._cursors, key=self._unread), "too_many")
        cursor.limit(max(self._bounds.max_backlog, 2 * self._events.size))
        self._cursors[cursor] = None
        active_readers.add(1)
        self._report_count()

    def leave(self, cursor: Cursor) -> None:
        if cursor in self._cursors:
            del self._cursors[cursor]
            active_readers.add(-1)
            self._report_count()

    def cut_off_all(self) -> None:
        """Disconnects all current and future readers."""
        self._refuses = True
        for cursor in list(self._cursors):
            self._cut_off(cursor, "lost_run")

    def cut_off_slow(self) -> None:
        for cursor in [each for each in self._cursors if self._unread(each) > each.max_unread]:
            logger.warning("A reader was cut off: it was more than %s bytes behind.", cursor.max_unread)
            self._cut_off(cursor, "slow")

    def _cut_off(self, cursor: Cursor, reason: str) -> None:
        count_cut_reader(reason)
        cursor.cut_off.set()
        self.leave(cursor)

    def _unread(self, cursor: Cursor) -> int:
        """Return the number of bytes that the reader has not read: see ``LogBounds.max_backlog``."""
        return (self._events.size if cursor.reads_joined else self._events.weight) - cursor.read_bytes

    def _report_count(self) -> None:
        if self._on_readers is not None:
            self._on_readers(len(self._cursors))
