"""The events of one response in this process: appended by one writer, read by any number at their own pace."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stream_protocol.wire import coalesce

logger = logging.getLogger(__name__)

MAX_BATCH: Final = 256
"""Events that a reader takes in one piece: few writes to the socket, and a bounded copy for a late reader."""

START: Final = b'data: {"type":"start"'
"""How a response begins."""


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """How large the log of one response may become. Bytes everywhere."""

    coalesce_above: int = 2**20
    """From here on, deltas that every reader has are joined; nothing is ever cut off at the front."""
    max_size: int = 64 * 2**20
    """A response that is still larger then ends in an error."""
    max_backlog: int = 16 * 2**20
    """A reader that is so far behind is cut off. What was appended last does not count: it may be one large image."""


class EventBuffer:
    """An append-only list of whole SSE events.

    A writer never waits. A reader that falls behind costs nothing but the list itself: it keeps only its position. So
    it is cut off, with a log line, once it is too far behind: it may come back, and gets the response from its
    beginning then.
    """

    def __init__(self, bounds: LogBounds | None = None) -> None:
        self.past = b""
        """Events that rebuild what the message held before this response, for a reader who has not got it."""
        self.on_readers: Callable[[int], object] = lambda count: None
        """Called with how many readers there are, when that changes."""
        self.copied: int | None = None
        """How many events somebody who copies the log has taken: later ones are not joined. ``None``: nobody does."""
        self._bounds = bounds or LogBounds()
        self._head: list[bytes] = []
        """What the first events have become by joining."""
        self._first = 0
        """How many events that were."""
        self._tail: list[bytes] = []
        self._size = 0
        self._appended = 0
        self._coalesce_above = self._bounds.coalesce_above
        self._places: set[_Place] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False
        self._cut = False

    @property
    def closed(self) -> bool:
        """Whether the last event is there: nothing will be appended any more."""
        return self._closed

    @property
    def count(self) -> int:
        """How many events have been appended."""
        return self._first + len(self._tail)

    @property
    def readers(self) -> int:
        """How many read it now."""
        return len(self._places)

    @property
    def full(self) -> bool:
        """Whether nothing should be appended any more but an end."""
        return self._size > self._bounds.max_size

    def append(self, *events: bytes) -> None:
        """Adds events at the end and wakes the readers."""
        self._cut_slow()
        self._tail.extend(events)
        size = sum(map(len, events))
        self._size += size
        self._appended += size
        if self._size > self._coalesce_above:
            self._coalesce()
        self._wake()

    def close(self) -> None:
        """Ends the log, and each reader once it has read what is there."""
        self._closed = True
        self._wake()

    def cut(self) -> None:
        """Cuts all readers off, and whoever comes later: what follows cannot be had here."""
        self._cut = True
        for place in list(self._places):
            place.cut_off.set()
            self._leave(place)
        self._wake()

    def since(self, position: int) -> Sequence[bytes] | None:
        """The events from the one with this number on; ``None`` if they have been joined with earlier ones."""
        return self._tail[position - self._first :] if position >= self._first else None

    def whole(self) -> list[bytes]:
        """All that is there, in as few events as possible."""
        return coalesce([*self._head, *self._tail])

    def read(self, *, rebuild: bool = False) -> "RunReader":
        """Everything from the first event on, joined where several events are there, until the log is closed.

        ``rebuild``: with ``past``, behind the first event, ``start``.
        """
        place = _Place()
        return RunReader(self._read(place, rebuild=rebuild), place.cut_off)

    async def changed(self, position: int) -> None:
        """Waits until there are more events than these, or the log is closed."""
        while self.count <= position and not self._closed:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            finally:
                if future in self._waiting:
                    self._waiting.remove(future)

    async def _read(self, place: "_Place", *, rebuild: bool) -> AsyncGenerator[bytes]:
        self._enter(place)
        try:
            if rebuild and not self.count:
                await self.changed(0)
            earlier = self.whole()
            place.position, place.taken = self.count, self._appended
            if rebuild and self.past:
                earlier.insert(1 if earlier and earlier[0].startswith(START) else 0, self.past)
            for begin in range(0, len(earlier), MAX_BATCH):
                yield b"".join(earlier[begin : begin + MAX_BATCH])
            del earlier
            while not place.cut_off.is_set():
                batch = self._tail[place.position - self._first :][:MAX_BATCH]
                if batch:
                    piece = b"".join(batch)
                    place.position += len(batch)
                    place.taken += len(piece)
                    yield piece
                elif self._closed:
                    return
                else:
                    await self.changed(place.position)
        finally:
            self._leave(place)

    def _enter(self, place: "_Place") -> None:
        place.position, place.taken = self.count, self._appended
        if self._cut:
            place.cut_off.set()
            return
        self._places.add(place)
        self.on_readers(len(self._places))

    def _leave(self, place: "_Place") -> None:
        if place in self._places:
            self._places.remove(place)
            self.on_readers(len(self._places))

    def _cut_slow(self) -> None:
        slow = [place for place in self._places if self._appended - place.taken > self._bounds.max_backlog]
        for place in slow:
            logger.warning("A reader was cut off: it was more than %s bytes behind.", self._bounds.max_backlog)
            place.cut_off.set()
            self._leave(place)

    def _coalesce(self) -> None:
        """Joins what every reader has. Costs no more, over all, than a few times the bytes that were appended."""
        taken = self.count if self.copied is None else max(self.copied, self._first)
        seen = min((place.position for place in self._places), default=taken)
        seen = min(seen, taken)
        self._head = coalesce([*self._head, *self._tail[: seen - self._first]])
        del self._tail[: seen - self._first]
        self._first = seen
        self._size = sum(map(len, self._head)) + sum(map(len, self._tail))
        self._coalesce_above = max(self._bounds.coalesce_above, 2 * self._size)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class _Place:
    """Where a reader is."""

    def __init__(self) -> None:
        self.position = 0
        self.taken = 0
        """Bytes that it has been given, of all that were appended; what was there before it came counts as given."""
        self.cut_off = asyncio.Event()


class RunReader(AsyncGenerator[bytes, None]):
    """The events of a response, some at a time. Closing it early counts as a disconnect."""

    def __init__(self, events: AsyncGenerator[bytes, None], cut_off: asyncio.Event) -> None:
        self._events = events
        self.cut_off = cut_off
        """Set when the reader is too far behind to be waited for: it gets no more, and its connection is to be closed.

        It must not be told that the response has ended: it has not.
        """

    async def asend(self, value: None) -> bytes:
        """The next events."""
        return await self._events.asend(value)

    async def athrow(self, *error: Any) -> bytes:
        """Ends the reader with this error."""
        return await self._events.athrow(*error)

    async def aclose(self) -> None:
        """Leaves."""
        await self._events.aclose()
