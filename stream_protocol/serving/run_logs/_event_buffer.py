"""The SSE events of one response in this process. One run writes them, and any number of readers read them.

The writer never waits for readers. A reader that is too far behind is disconnected. All readers share one copy of the
events. If the response exceeds a size limit, text deltas that every reader has read are merged into longer deltas.
Readers that connect later get the longer deltas.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import partial
from typing import Final
from weakref import ref

from stream_protocol.serving.run_logs._event_list import PIECE_BYTES, EventList, first_piece, weight
from stream_protocol.serving.run_logs._readers import Cursor, Readers, RunReader
from stream_protocol.serving.run_logs._run_log import LogBounds, check_bounds
from stream_protocol.wire import check_callable

START: Final = b'data: {"type":"start"'
"""The first bytes of the first event of a response."""


class EventBuffer:
    """An append-only list of the SSE events of a response. Each event ends with a blank line.

    ``on_readers``: a function that gets the number of readers whenever this number changes.

    A reader with too much unread data is disconnected: see ``LogBounds.max_backlog``. If there are more than
    ``bounds.max_readers`` readers, the slowest reader is disconnected, and a warning is logged. A disconnected client
    can read the response again from its beginning.
    """

    def __init__(self, bounds: LogBounds | None = None, *, on_readers: Callable[[int], object] | None = None) -> None:
        check_bounds(bounds)
        check_callable("on_readers", on_readers, ("count",), plain=True, or_none=True)
        self._bounds = bounds or LogBounds()
        self._past = b""
        self._events = EventList(self._bounds)
        self._readers = Readers(self._events, self._bounds, on_readers)
        self._copied: int | None = None
        """The number of events that the run log's store has; ``None`` if readers do not wait for a store."""
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False

    @property
    def closed(self) -> bool:
        """True if the response is complete. No events are appended to a complete response."""
        return self._closed

    @property
    def count(self) -> int:
        """The number of events appended so far."""
        return self._events.count

    @property
    def readers(self) -> int:
        """The current number of readers."""
        return len(self._readers)

    @property
    def full(self) -> bool:
        """True if the buffer is larger than ``bounds.max_size``. The writer may then append only the last events of the
        response.
        """
        return self.size > self._bounds.max_size

    @property
    def size(self) -> int:
        """The size of the stored events, in bytes."""
        return self._events.size

    @property
    def past(self) -> bytes:
        """SSE events with the content that the assistant message had before this response; empty for a new message."""
        return self._past

    def set_past(self, past: bytes) -> None:
        """Sets ``past``: SSE events with the content that the assistant message had before this response. Must be
        called before the first ``append``.
        """
        self._past = past

    def append(self, *events: bytes) -> None:
        """Adds events at the end, and wakes the readers. Does not wait for them."""
        if self._readers and not self.full:  # a full buffer only gets its end, and every reader may wait for the end
            self._readers.cut_off_slow()
        self._events.append(events)
        if self._events.is_large:
            self._events.join_known(self._known())
        self._wake()

    def close(self) -> None:
        """Marks the response as complete. Each reader ends when it has read all events."""
        self._closed = True
        self._wake()

    def forget_writer(self) -> None:
        """Removes the function ``on_readers``, so that the buffer does not keep the objects of the run in memory."""
        self._readers.forget_writer()

    def cut_off_readers(self) -> None:
        """Disconnects all current and future readers, for example because this process cannot get the rest of the
        response.
        """
        self._readers.cut_off_all()
        self._wake()

    def since(self, position: int) -> Iterator[bytes] | None:
        """Returns an iterator over the events, beginning with the index ``position``. Returns ``None`` if some of these
        events were merged into longer events. Read the iterator before the next ``append``, because the events are not
        copied.
        """
        return None if position < self._events.begin else self._events.since(position)

    def ack(self, count: int | None) -> None:
        """Sets ``count``, the number of events that the store of the run log has.

        The buffer may merge old events into longer events to save memory. After this call, the buffer merges only
        events that the store has. Readers get the end of the response only when the store has all events. ``None``
        removes both rules.
        """
        self._copied = count
        if self._closed:
            self._wake()

    def events(self) -> Iterator[bytes]:
        """Returns an iterator over the events so far. Old events may be merged into longer events. Read the iterator
        before the next ``append``, because the events are not copied.
        """
        return self._events.all()

    def whole(self) -> list[bytes]:
        """Returns the response so far. Its text deltas are merged into few, long events."""
        while self._events.joined_count < self.count:
            self._events.join(self.count, self._known())
        return [*self._events.joined.complete, *self._events.joined.growing]

    def read(self, *, rebuild: bool = False) -> RunReader:
        """Returns a reader of all events, from the first event until the buffer is closed.

        Each item that the reader yields contains one or more events, up to ``PIECE_BYTES`` in total. ``rebuild``: True
        to also send ``past`` after the ``start`` chunk, for a client that does not have the earlier content of the
        message.
        """
        cursor = Cursor()
        stream = self._read(cursor, rebuild=rebuild, late=self.count > 0)
        return RunReader(stream, cursor.cut_off, partial(_kept_bytes, ref(self)))

    async def changed(self, position: int) -> None:
        """Waits until the buffer has more than ``position`` events, or the response is complete."""
        while self.count <= position and not self._closed:
            await self._next_wake()

    async def wait_closed(self) -> None:
        """Waits until the response is complete."""
        while not self._closed:
            await self._next_wake()

    async def _wait_while_held(self) -> None:
        """If the response is complete, wait until the store of the run log has all its events."""
        while self._closed and self._copied is not None and self._copied < self.count:
            await self._next_wake()

    async def _next_wake(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        finally:
            if future in self._waiting:
                self._waiting.remove(future)

    async def _read(self, cursor: Cursor, *, rebuild: bool, late: bool) -> AsyncGenerator[bytes]:
        self._readers.enter(cursor)
        self._wake()
        try:
            if rebuild and not self.count:
                await self.changed(0)
            await self._wait_while_held()
            if self.count and (late or rebuild or self._events.joined_count):
                async for piece in self._read_joined(cursor, self._past if rebuild else b""):
                    yield piece
            while not cursor.cut_off.is_set():
                await self._wait_while_held()
                events = self._events.piece(cursor.position)
                if events:
                    piece = _bytes(events)
                    yield piece
                    cursor.go_on(len(events), min(len(piece), PIECE_BYTES))
                elif self._closed:
                    return
                else:
                    await self._next_wake()
        finally:
            self._readers.leave(cursor)

    async def _read_joined(self, cursor: Cursor, past: bytes) -> AsyncGenerator[bytes]:
        """Yield the events so far, merged into longer events. Move ``cursor`` to the position after these events."""
        cursor.begin_joined()
        joined = self._events.joined
        while self._events.joined_count < self.count:
            self._events.join(self.count, self._known())
            await asyncio.sleep(0)
        complete = joined.complete
        if past:
            if complete and complete[0].startswith(START):
                yield complete[0]
                cursor.go_on(1, len(complete[0]))
            yield past
        while cursor.position + len(events := first_piece(complete, cursor.position)) < len(complete):
            piece = _bytes(events)
            yield piece
            cursor.go_on(len(events), len(piece))
            if cursor.cut_off.is_set():
                return
        last = [*events, *joined.growing]
        cursor.end_joined(self._events.joined_count, self._events.joined_weight - weight(last))
        while last and not cursor.cut_off.is_set():
            events = first_piece(last, 0)
            piece = _bytes(events)
            del last[: len(events)]
            yield piece
            cursor.go_on(0, weight(events))

    def _known(self) -> int:
        """Return the number of events that may be merged into longer events. The store has these events, and all
        readers have read them.
        """
        copied = self.count if self._copied is None else max(self._copied, self._events.begin)
        return self._readers.position(copied)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


def _bytes(events: Sequence[bytes]) -> bytes:
    return events[0] if len(events) == 1 else b"".join(events)


def _kept_bytes(log: ref[EventBuffer]) -> int:
    """Return the size of a complete response, in bytes. Return 0 if the response is not complete."""
    buffer = log()
    return buffer.size if buffer is not None and buffer.closed else 0
