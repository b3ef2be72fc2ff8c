"""``Readers``: the readers of one response in this process. One that is too far behind, or one too many, is cut off."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from stream_protocol.serving.run_logs._event_list import EventList
from stream_protocol.serving.run_logs._log_bounds import LogBounds
from stream_protocol.serving.telemetry import active_readers, count_cut_reader

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Cursor:
    """The position of one reader."""

    reads_joined: bool = False
    """True if it still reads the joined events, and not those as they were appended."""
    position: int = 0
    """The number of these events that it has read."""
    read_bytes: int = 0
    """The bytes of these events."""
    max_unread: int = 0
    """It is cut off if it has more bytes than this left to read."""
    cut_off: asyncio.Event = field(default_factory=asyncio.Event)

    def limit(self, max_unread: int) -> None:
        """Sets how many bytes it may have left to read."""
        self.max_unread = max_unread

    def begin_joined(self) -> None:
        """It reads the joined events now."""
        self.reads_joined = True

    def end_joined(self, position: int, read_bytes: int) -> None:
        """It reads the events as they were appended now, from this one on."""
        self.reads_joined = False
        self.position = position
        self.read_bytes = read_bytes

    def go_on(self, count: int, size: int) -> None:
        """Moves the cursor over so many events and bytes."""
        self.position += count
        self.read_bytes += size


class Readers:
    """The readers of ``events``. ``on_readers``: called with their number whenever that changes."""

    def __init__(self, events: EventList, bounds: LogBounds, on_readers: Callable[[int], object] | None) -> None:
        self._events = events
        self._bounds = bounds
        self._on_readers = on_readers
        self._cursors: dict[Cursor, None] = {}
        """The readers now, the oldest first."""
        self._refuses = False

    def __len__(self) -> int:
        """The number of readers now."""
        return len(self._cursors)

    def forget_writer(self) -> None:
        """Calls ``on_readers`` no more."""
        self._on_readers = None

    def position(self, copied: int) -> int:
        """The number of events that all readers have read, of those that have been ``copied``."""
        return min([copied, *(each.position for each in self._cursors if not each.reads_joined)])

    def enter(self, cursor: Cursor) -> None:
        """Lets a reader in. One too many takes the place of the one that has most left to read."""
        if self._refuses:
            cursor.cut_off.set()
            return
        if len(self._cursors) >= self._bounds.max_readers:
            logger.warning("A reader was cut off: %s others read the response.", self._bounds.max_readers)
            self._cut_off(max(self._cursors, key=self._unread), "too_many")
        cursor.limit(max(self._bounds.max_backlog, 2 * self._events.size))
        self._cursors[cursor] = None
        active_readers.add(1)
        self._tell()

    def leave(self, cursor: Cursor) -> None:
        """The reader has ended."""
        if cursor in self._cursors:
            del self._cursors[cursor]
            active_readers.add(-1)
            self._tell()

    def cut_off_all(self) -> None:
        """Cuts off all readers, and every later one."""
        self._refuses = True
        for cursor in list(self._cursors):
            self._cut_off(cursor, "lost_run")

    def cut_off_slow(self) -> None:
        """Cuts off those that are too far behind."""
        for cursor in [each for each in self._cursors if self._unread(each) > each.max_unread]:
            logger.warning("A reader was cut off: it was more than %s bytes behind.", cursor.max_unread)
            self._cut_off(cursor, "slow")

    def _cut_off(self, cursor: Cursor, reason: str) -> None:
        count_cut_reader(reason)
        cursor.cut_off.set()
        self.leave(cursor)

    def _unread(self, cursor: Cursor) -> int:
        """The number of bytes that the reader has not read yet, as ``bounds.max_backlog`` counts them."""
        return (self._events.size if cursor.reads_joined else self._events.weight) - cursor.read_bytes

    def _tell(self) -> None:
        if self._on_readers is not None:
            self._on_readers(len(self._cursors))
