"""The SSE events of one response in this process: one writer appends, any number of readers follow at their own pace.

The writer never waits. A reader costs nothing but its position, so a slow reader is cut off once it is too far behind.
Above a bound, text deltas that every reader has read are joined to fewer, longer ones.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from stream_protocol.wire import coalesce

logger = logging.getLogger(__name__)

MAX_BATCH: Final = 256
"""The most events that a reader gets in one piece: few writes to the socket, and little memory for a late reader."""

START: Final = b'data: {"type":"start"'
"""How the first event of a response begins."""


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """How large the log of one response may become. All values are bytes."""

    coalesce_above: int = 2**20
    """Above this size, text deltas that every reader has read are joined. Nothing is dropped."""
    max_size: int = 64 * 2**20
    """A response that is larger than this even after joining ends in an error."""
    max_backlog: int = 16 * 2**20
    """A reader that is further behind than this is cut off. The events of the last ``append`` do not count: one of them
    may be a large image."""


class EventBuffer:
    """An append-only list of complete SSE events, each ending in a blank line.

    ``on_readers`` is called with the number of readers whenever that changes.

    A reader that is more than ``bounds.max_backlog`` behind is cut off, with a warning in the log. It may read again,
    and then gets the response from its beginning.
    """

    def __init__(
        self, bounds: LogBounds | None = None, *, on_readers: Callable[[int], object] = lambda count: None
    ) -> None:
        self._bounds = bounds or LogBounds()
        self._on_readers = on_readers
        self._past = b""
        self._joined: list[bytes] = []
        """The first events after joining."""
        self._joined_count = 0
        """How many events were joined."""
        self._tail: list[bytes] = []
        """The events after those in ``_joined``, as they were appended."""
        self._size = 0
        self._appended_bytes = 0
        self._coalesce_above = self._bounds.coalesce_above
        self._copied: int | None = None
        """See ``mark_copied``."""
        self._cursors: set[_Cursor] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False
        self._refuses_readers = False

    @property
    def closed(self) -> bool:
        """Whether the response is complete: nothing more will be appended."""
        return self._closed

    @property
    def count(self) -> int:
        """The number of events appended so far."""
        return self._joined_count + len(self._tail)

    @property
    def readers(self) -> int:
        """The number of readers now."""
        return len(self._cursors)

    @property
    def full(self) -> bool:
        """Whether the log is larger than ``bounds.max_size``: append nothing more but the end of the response."""
        return self._size > self._bounds.max_size

    @property
    def past(self) -> bytes:
        """SSE events that rebuild what the message held before this response; empty for a new message."""
        return self._past

    def set_past(self, past: bytes) -> None:
        """Sets ``past``. To be called before the first event is appended."""
        self._past = past

    def append(self, *events: bytes) -> None:
        """Adds events at the end and wakes the readers. Never waits."""
        self._cut_off_slow_readers()
        self._tail.extend(events)
        size = sum(map(len, events))
        self._size += size
        self._appended_bytes += size
        if self._size > self._coalesce_above:
            self._coalesce()
        self._wake()

    def close(self) -> None:
        """Marks the response as complete. Each reader ends once it has read everything."""
        self._closed = True
        self._wake()

    def cut_off_readers(self) -> None:
        """Cuts off all readers, and every later one: this process cannot get the rest of the response."""
        self._refuses_readers = True
        for cursor in list(self._cursors):
            cursor.cut_off.set()
            self._leave(cursor)
        self._wake()

    def since(self, position: int) -> Iterator[bytes] | None:
        """The events from the one with this number on; ``None`` if they have been joined with earlier ones.

        Take as many as you need before the next ``append``. Nothing is copied.
        """
        if position < self._joined_count:
            return None
        return map(self._tail.__getitem__, range(position - self._joined_count, len(self._tail)))

    def mark_copied(self, count: int | None) -> None:
        """Sets how many events have been copied to Redis or another store. Later events are not joined before they are
        copied, so that ``since`` returns them.

        ``None``: nobody copies, or the copy may lag behind. All events that every reader has read may be joined.
        """
        self._copied = count

    def events(self) -> Iterator[bytes]:
        """The response so far, in the events that are kept. Read them before the next ``append``; nothing is copied."""
        return chain(self._joined, self._tail)

    def whole(self) -> list[bytes]:
        """The response so far, in as few events as possible."""
        return coalesce(self.events())

    def read(self, *, rebuild: bool = False) -> "RunReader":
        """Reads all events from the first on until the log is closed. Several events may come in one piece.

        ``rebuild``: for a page that has nothing of the message: ``past`` comes after the first event, ``start``.
        """
        cursor = _Cursor()
        return RunReader(self._read(cursor, rebuild=rebuild), cursor.cut_off)

    async def changed(self, position: int) -> None:
        """Waits until there are more events than ``position``, or the log is closed."""
        while self.count <= position and not self._closed:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            finally:
                if future in self._waiting:
                    self._waiting.remove(future)

    async def _read(self, cursor: "_Cursor", *, rebuild: bool) -> AsyncGenerator[bytes]:
        self._enter(cursor)
        try:
            if rebuild and not self.count:
                await self.changed(0)
            earlier = self.whole()
            cursor.jump(self.count, self._appended_bytes)
            if rebuild and self._past:
                earlier.insert(1 if earlier and earlier[0].startswith(START) else 0, self._past)
            for begin in range(0, len(earlier), MAX_BATCH):
                yield b"".join(earlier[begin : begin + MAX_BATCH])
            del earlier  # a slow reader must not keep the joined events of a long response in memory
            while not cursor.cut_off.is_set():
                begin = cursor.position - self._joined_count
                batch = self._tail[begin : begin + MAX_BATCH]
                if batch:
                    piece = b"".join(batch)
                    cursor.jump(cursor.position + len(batch), cursor.read_bytes + len(piece))
                    yield piece
                elif self._closed:
                    return
                else:
                    await self.changed(cursor.position)
        finally:
            self._leave(cursor)

    def _enter(self, cursor: "_Cursor") -> None:
        cursor.jump(self.count, self._appended_bytes)
        if self._refuses_readers:
            cursor.cut_off.set()
            return
        self._cursors.add(cursor)
        self._on_readers(len(self._cursors))

    def _leave(self, cursor: "_Cursor") -> None:
        if cursor in self._cursors:
            self._cursors.remove(cursor)
            self._on_readers(len(self._cursors))

    def _cut_off_slow_readers(self) -> None:
        max_backlog = self._bounds.max_backlog
        for cursor in [each for each in self._cursors if self._appended_bytes - each.read_bytes > max_backlog]:
            logger.warning("A reader was cut off: it was more than %s bytes behind.", max_backlog)
            cursor.cut_off.set()
            self._leave(cursor)

    def _coalesce(self) -> None:
        """Joins the events that every reader has read and that have been copied (see ``mark_copied``).

        The next bound is twice the size that is left. So all joining together costs a few times the bytes appended.
        """
        copied = self.count if self._copied is None else max(self._copied, self._joined_count)
        known = min((cursor.position for cursor in self._cursors), default=copied)
        known = min(known, copied)
        self._joined = coalesce([*self._joined, *self._tail[: known - self._joined_count]])
        del self._tail[: known - self._joined_count]
        self._joined_count = known
        self._size = sum(map(len, self._joined)) + sum(map(len, self._tail))
        self._coalesce_above = max(self._bounds.coalesce_above, 2 * self._size)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


@dataclass(eq=False)
class _Cursor:
    """How far one reader has read."""

    position: int = 0
    """The number of events read."""
    read_bytes: int = 0
    """How many of the appended bytes were read. Bytes from before the reader came count as read."""
    cut_off: asyncio.Event = field(default_factory=asyncio.Event)

    def jump(self, position: int, read_bytes: int) -> None:
        """Moves the cursor to this position."""
        self.position, self.read_bytes = position, read_bytes


class RunReader(AsyncGenerator[bytes, None]):
    """The SSE events of a response, one or more in a piece. Closing it early counts as a disconnect."""

    def __init__(self, events: AsyncGenerator[bytes, None], cut_off: asyncio.Event) -> None:
        self._events = events
        self.cut_off = cut_off
        """Set when the reader is cut off: it gets nothing more. Close its connection without ending the response, so
        that the client knows that there is more."""

    async def asend(self, value: None) -> bytes:
        """Returns the next events."""
        return await self._events.asend(value)

    async def athrow(self, *error: Any) -> bytes:
        """Raises this error in the reader, which ends it."""
        return await self._events.athrow(*error)

    async def aclose(self) -> None:
        """Stops reading."""
        await self._events.aclose()
