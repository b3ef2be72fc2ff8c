"""The SSE events of one response in this process: one writer appends, any number of readers follow at their own pace.

The writer never waits. Each event is kept once, for all readers: a reader costs its position, and the piece that is
being sent to it. One that is too far behind is cut off. Above a bound, text deltas that every reader has read are
joined to fewer, longer ones; a reader that comes late gets joined ones, too.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final
from weakref import ref

from stream_protocol.serving.base import ByteShare
from stream_protocol.serving.telemetry import active_readers, count_cut_reader
from stream_protocol.wire import JoinedStream, check_callable, check_count, check_instance

logger = logging.getLogger(__name__)

PIECE_BYTES: Final = 2**16
"""The most bytes of several events in one piece: uvicorn, too, holds 64 KiB of a connection before it makes us wait."""

JOIN_AT_ONCE: Final = 4096
"""The most events that are joined before other tasks have their turn: some milliseconds."""

START: Final = b'data: {"type":"start"'
"""How the first event of a response begins."""


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """How large the log of one response may become, and how many may read it. Sizes are bytes.

    Raises ``StreamProtocolError`` for other values than whole numbers: from 0, and for ``max_readers`` from 1.
    """

    coalesce_above: int = 2**20
    """Above this size, text deltas that every reader has read are joined. Nothing is dropped."""
    max_size: int = 64 * 2**20
    """A response that is larger than this even after joining ends in an error."""
    max_backlog: int = 16 * 2**20
    """A reader that has more than this left to read is cut off. One that comes late may have as much left as there was
    when it came, and that much again. An event counts with at most 64 KiB: a large image is kept once for all readers,
    whoever has read it. The events of the last ``append`` do not count."""
    max_readers: int = 32
    """The most readers at once, in one worker. One more takes the place of the one that has most left to read, or else
    of the oldest: a page that reloads gets in. A user has several tabs and devices, and a browser opens six connections
    to a server."""

    def __post_init__(self) -> None:
        check_count("coalesce_above", self.coalesce_above, minimum=0)
        check_count("max_size", self.max_size, minimum=0)
        check_count("max_backlog", self.max_backlog, minimum=0)
        check_count("max_readers", self.max_readers)


def check_bounds(bounds: object) -> None:
    """Raises ``InvalidArgumentError`` unless these are the bounds of a log, or ``None``."""
    check_instance("bounds", bounds, LogBounds, "a LogBounds", or_none=True)


class EventBuffer:
    """An append-only list of complete SSE events, each ending in a blank line.

    ``on_readers`` is called with the number of readers whenever that changes, until ``forget_writer``.

    A reader that is too far behind (``bounds.max_backlog``), or one too many (``bounds.max_readers``), is cut off, with
    a warning in the log. It may read again, and then gets the response from its beginning.
    """

    def __init__(self, bounds: LogBounds | None = None, *, on_readers: Callable[[int], object] | None = None) -> None:
        check_bounds(bounds)
        check_callable("on_readers", on_readers, ("count",), plain=True, or_none=True)
        self._bounds = bounds or LogBounds()
        self._on_readers = on_readers
        self._past = b""
        self._joined = JoinedStream()
        """The first events, joined."""
        self._joined_count = 0
        """How many events were joined."""
        self._joined_bytes = 0
        """How many bytes these had before."""
        self._joined_weight = 0
        self._tail: list[bytes] = []
        """The last events, as they were appended. The first of them may be joined, too: somebody still needs them."""
        self._tail_begin = 0
        """The number of events before those in ``_tail``."""
        self._appended_bytes = 0
        self._appended_weight = 0
        """What a reader of all these has read, as ``bounds.max_backlog`` counts it."""
        self._join_above = self._bounds.coalesce_above
        self._copied: int | None = None
        """See ``mark_copied``."""
        self._cursors: dict[_Cursor, None] = {}
        """The readers now, the oldest first."""
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False
        self._holds_end = False
        self._refuses_readers = False

    @property
    def closed(self) -> bool:
        """Whether the response is complete: nothing more will be appended."""
        return self._closed

    @property
    def count(self) -> int:
        """The number of events appended so far."""
        return self._tail_begin + len(self._tail)

    @property
    def readers(self) -> int:
        """The number of readers now."""
        return len(self._cursors)

    @property
    def full(self) -> bool:
        """Whether the log is larger than ``bounds.max_size``: append nothing more but the end of the response."""
        return self.size > self._bounds.max_size

    @property
    def size(self) -> int:
        """The bytes that are in memory."""
        return self._joined.size + self._appended_bytes - self._joined_bytes

    @property
    def past(self) -> bytes:
        """SSE events that rebuild what the message held before this response; empty for a new message."""
        return self._past

    def set_past(self, past: bytes) -> None:
        """Sets ``past``. To be called before the first event is appended."""
        self._past = past

    def append(self, *events: bytes) -> None:
        """Adds events at the end and wakes the readers. Never waits."""
        if self._cursors and not self.full:  # else it gets nothing but its end, which each reader may wait for
            self._cut_off_slow_readers()
        self._tail.extend(events)
        size = sum(map(len, events))
        self._appended_bytes += size
        self._appended_weight += size if size <= PIECE_BYTES else _weight(events)
        if self.size > self._join_above:
            self._join_known()
        self._wake()

    def close(self) -> None:
        """Marks the response as complete. Each reader ends once it has read everything."""
        self._closed = True
        self._wake()

    def hold_end(self) -> None:
        """Gives readers nothing more once the log is closed, until ``give_end``."""
        self._holds_end = True

    def give_end(self) -> None:
        """Gives readers the end of the response. Later calls do nothing."""
        self._holds_end = False
        self._wake()

    def forget_writer(self) -> None:
        """Calls ``on_readers`` no more, so that the log keeps nothing of its writer in memory."""
        self._on_readers = None

    def cut_off_readers(self) -> None:
        """Cuts off all readers, and every later one: this process cannot get the rest of the response."""
        self._refuses_readers = True
        for cursor in list(self._cursors):
            self._cut_off(cursor, "lost_run")

    def since(self, position: int) -> Iterator[bytes] | None:
        """The events from the one with this number on; ``None`` if they have been joined with earlier ones.

        Take as many as you need before the next ``append``. Nothing is copied.
        """
        return None if position < self._tail_begin else self._tail_from(position)

    def mark_copied(self, count: int | None) -> None:
        """Sets how many events have been copied to Redis or another store. Later events are not joined before they are
        copied, so that ``since`` returns them.

        ``None``: nobody copies, or the copy may lag behind. All events that every reader has read may be joined.
        """
        self._copied = count

    def events(self) -> Iterator[bytes]:
        """The response so far, in the events that are kept. Read them before the next ``append``; nothing is copied."""
        return chain(self._joined.complete, self._joined.growing, self._tail_from(self._joined_count))

    def whole(self) -> list[bytes]:
        """The response so far, in few events: see ``JoinedStream``."""
        while self._joined_count < self.count:
            self._join(self.count)
        return [*self._joined.complete, *self._joined.growing]

    def read(self, *, rebuild: bool = False) -> "RunReader":
        """Reads all events from the first on until the log is closed. A piece is one event, or several in up to
        ``PIECE_BYTES``.

        ``rebuild``: for a page that has nothing of the message: ``past`` comes after the first event, ``start``. A
        reader that is made before the first event gets the events as they were appended, whenever it begins to read.
        """
        cursor = _Cursor()
        stream = self._read(cursor, rebuild=rebuild, late=self.count > 0)
        return RunReader(stream, cursor.cut_off, partial(_kept_bytes, ref(self)))

    async def changed(self, position: int) -> None:
        """Waits until there are more events than ``position``, or the log is closed."""
        while self.count <= position and not self._closed:
            await self._next_wake()

    async def wait_closed(self) -> None:
        """Waits until the log is closed."""
        while not self._closed:
            await self._next_wake()

    async def _next_wake(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        finally:
            if future in self._waiting:
                self._waiting.remove(future)

    async def _read(self, cursor: "_Cursor", *, rebuild: bool, late: bool) -> AsyncGenerator[bytes]:
        self._enter(cursor)
        try:
            if rebuild and not self.count:
                await self.changed(0)
            await self._wait_while_held()
            if self.count and (late or rebuild or self._joined_count):
                async for piece in self._read_joined(cursor, self._past if rebuild else b""):
                    yield piece
            while not cursor.cut_off.is_set():
                await self._wait_while_held()
                events = _piece(self._tail, cursor.position - self._tail_begin)
                if events:
                    piece = _bytes(events)
                    yield piece
                    cursor.go_on(len(events), min(len(piece), PIECE_BYTES))
                elif self._closed:
                    return
                else:
                    await self._next_wake()
        finally:
            self._leave(cursor)

    async def _wait_while_held(self) -> None:
        while self._closed and self._holds_end:
            await self._next_wake()

    async def _read_joined(self, cursor: "_Cursor", past: bytes) -> AsyncGenerator[bytes]:
        """Reads what there is already, joined once for all readers, and moves the cursor to what follows.

        A reader that is slow here keeps no other events in memory.
        """
        cursor.begin_joined()
        while self._joined_count < self.count:
            self._join(self.count)
            await asyncio.sleep(0)
        complete = self._joined.complete
        if past:
            if complete and complete[0].startswith(START):
                yield complete[0]
                cursor.go_on(1, len(complete[0]))
            yield past
        while cursor.position + len(events := _piece(complete, cursor.position)) < len(complete):
            piece = _bytes(events)
            yield piece
            cursor.go_on(len(events), len(piece))
            if cursor.cut_off.is_set():
                return
        last = [*events, *self._joined.growing]
        cursor.end_joined(self._joined_count, self._joined_weight - _weight(last))
        while last and not cursor.cut_off.is_set():
            events = _piece(last, 0)
            piece = _bytes(events)
            del last[: len(events)]
            yield piece
            cursor.go_on(0, _weight(events))

    def _enter(self, cursor: "_Cursor") -> None:
        if self._refuses_readers:
            cursor.cut_off.set()
            return
        if len(self._cursors) >= self._bounds.max_readers:
            logger.warning("A reader was cut off: %s others read the response.", self._bounds.max_readers)
            self._cut_off(max(self._cursors, key=self._unread), "too_many")
        cursor.limit(max(self._bounds.max_backlog, 2 * self.size))
        self._cursors[cursor] = None
        active_readers.add(1)
        self._tell_readers()

    def _leave(self, cursor: "_Cursor") -> None:
        if cursor in self._cursors:
            del self._cursors[cursor]
            active_readers.add(-1)
            self._tell_readers()

    def _tell_readers(self) -> None:
        if self._on_readers is not None:
            self._on_readers(len(self._cursors))

    def _cut_off(self, cursor: "_Cursor", reason: str) -> None:
        count_cut_reader(reason)
        cursor.cut_off.set()
        self._leave(cursor)
        self._wake()

    def _cut_off_slow_readers(self) -> None:
        for cursor in [each for each in self._cursors if self._unread(each) > each.max_unread]:
            logger.warning("A reader was cut off: it was more than %s bytes behind.", cursor.max_unread)
            self._cut_off(cursor, "slow")

    def _unread(self, cursor: "_Cursor") -> int:
        """How many bytes the reader has not read yet, as ``bounds.max_backlog`` counts them."""
        return (self.size if cursor.reads_joined else self._appended_weight) - cursor.read_bytes

    def _join_known(self) -> None:
        """Joins the events that every reader has read and that have been copied (see ``mark_copied``)."""
        known = self._known()
        self._join(known)
        if self._joined_count >= known:
            self._join_above = max(
                self._bounds.coalesce_above, min(self.size + self._bounds.coalesce_above, self._bounds.max_size)
            )

    def _join(self, count: int) -> None:
        """Joins the next events up to this number, at most ``JOIN_AT_ONCE``. Forgets what nobody needs as it was."""
        begin = self._joined_count - self._tail_begin
        events = self._tail[begin : min(count - self._tail_begin, begin + JOIN_AT_ONCE)]
        self._joined.add(events)
        self._joined_count += len(events)
        self._joined_bytes += sum(map(len, events))
        self._joined_weight += _weight(events)
        needed = min(self._known(), self._joined_count)
        del self._tail[: needed - self._tail_begin]
        self._tail_begin = needed

    def _known(self) -> int:
        """The number of events that every reader has read and that have been copied."""
        copied = self.count if self._copied is None else max(self._copied, self._tail_begin)
        return min([copied, *(each.position for each in self._cursors if not each.reads_joined)])

    def _tail_from(self, position: int) -> Iterator[bytes]:
        return map(self._tail.__getitem__, range(position - self._tail_begin, len(self._tail)))

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


def _piece(events: Sequence[bytes], begin: int) -> Sequence[bytes]:
    """The events from this index on, as many as fit into a piece; at least one, if there is one."""
    end, size = begin, 0
    while end < len(events):
        size += len(events[end])
        if size > PIECE_BYTES and end > begin:
            break
        end += 1
    return events[begin:end]


def _weight(events: Iterable[bytes]) -> int:
    return sum(min(len(event), PIECE_BYTES) for event in events)


def _bytes(events: Sequence[bytes]) -> bytes:
    """The events as one piece. A single event is no copy: all readers share it."""
    return events[0] if len(events) == 1 else b"".join(events)


@dataclass(eq=False)
class _Cursor:
    """How far one reader has read."""

    reads_joined: bool = False
    """Whether it still reads the joined events, or else those as they were appended."""
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


class RunReader(AsyncGenerator[bytes, None]):
    """The SSE events of a response, one or more in a piece. Closing it early counts as a disconnect."""

    def __init__(
        self, events: AsyncGenerator[bytes, None], cut_off: asyncio.Event, kept_bytes: Callable[[], int]
    ) -> None:
        self._events = events
        self.cut_off = cut_off
        """Set when the reader is cut off: it gets nothing more. Close its connection without ending the response, so
        that the client knows that there is more."""
        self.kept_bytes = kept_bytes
        """Returns the bytes of a response that has ended, which are in memory for its readers alone; 0 before its end.
        """
        self._memory: ByteShare | None = None

    @property
    def memory(self) -> ByteShare | None:
        """Counts these bytes, if the client reads on for long. If there is no room for them, it is cut off."""
        return self._memory

    def count_in(self, memory: ByteShare) -> None:
        """Counts the bytes in this share."""
        self._memory = memory

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, each without a detour through this object."""
        return self._events

    async def asend(self, value: None) -> bytes:
        """Returns the next events."""
        return await self._events.asend(value)

    async def athrow(self, *error: Any) -> bytes:
        """Raises this error in the reader, which ends it."""
        return await self._events.athrow(*error)

    async def aclose(self) -> None:
        """Stops reading."""
        await self._events.aclose()


def _kept_bytes(log: ref[EventBuffer]) -> int:
    """The bytes of a response that has ended. The reader itself keeps no reference to the log."""
    buffer = log()
    return buffer.size if buffer is not None and buffer.closed else 0
