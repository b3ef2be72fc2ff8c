"""Provides ``EventList``, which stores the SSE events of one response."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from stream_protocol.serving.run_logs._run_log import LogBounds
from stream_protocol.wire import JoinedStream

PIECE_BYTES: Final = 2**16
"""The maximum number of bytes that are sent in one step, unless a single event is larger. uvicorn also buffers 64 KiB
per connection."""

JOIN_AT_ONCE: Final = 4096
"""The maximum number of events that are joined before other tasks run. The join takes some milliseconds."""


class EventList:
    """The SSE events of one response. Above a size limit, the oldest events are merged into longer events, to save
    memory.

    Some methods have an argument ``known``: events with a lower index may be merged.
    """

    def __init__(self, bounds: LogBounds) -> None:
        self._bounds = bounds
        self.joined = JoinedStream()
        """The oldest events of the response, joined into longer events."""
        self.joined_count = 0
        """The number of appended events that are now in ``joined``."""
        self._joined_bytes = 0
        """The original size of the events in ``joined``."""
        self.joined_weight = 0
        """The original ``weight`` of the events in ``joined``."""
        self._tail: list[bytes] = []
        """The newest events, in their original form. Some may also be in ``joined``, because a reader still needs the
        original."""
        self._tail_begin = 0
        """The number of events before the first event in ``_tail``."""
        self._bytes = 0
        self.weight = 0
        """The ``weight`` of all events in their original form."""
        self._join_above = bounds.coalesce_above

    @property
    def count(self) -> int:
        return self._tail_begin + len(self._tail)

    @property
    def size(self) -> int:
        return self.joined.size + self._bytes - self._joined_bytes

    @property
    def begin(self) -> int:
        """The index of the first event that is stored in its original form."""
        return self._tail_begin

    @property
    def is_large(self) -> bool:
        """True if the list exceeds the size above which events are merged."""
        return self.size > self._join_above

    def append(self, events: Sequence[bytes]) -> None:
        self._tail.extend(events)
        size = sum(map(len, events))
        self._bytes += size
        self.weight += size if size <= PIECE_BYTES else weight(events)

    def join_known(self, known: int) -> None:
        """Merges up to ``JOIN_AT_ONCE`` events with an index below ``known`` into longer events."""
        self.join(known, known)
        if self.joined_count >= known:
            above = self._bounds.coalesce_above
            self._join_above = max(above, min(self.size + above, self._bounds.max_size))

    def join(self, count: int, known: int) -> None:
        """Merges up to ``JOIN_AT_ONCE`` more events with an index below ``count`` into longer events. Then removes the
        original events with an index below ``known``.
        """
        begin = self.joined_count - self._tail_begin
        events = self._tail[begin : min(count - self._tail_begin, begin + JOIN_AT_ONCE)]
        self.joined.add(events)
        self.joined_count += len(events)
        self._joined_bytes += sum(map(len, events))
        self.joined_weight += weight(events)
        # The first events may be gone although a reader that waits for the end is still at the beginning.
        needed = max(self._tail_begin, min(known, self.joined_count))
        del self._tail[: needed - self._tail_begin]
        self._tail_begin = needed

    def piece(self, position: int) -> Sequence[bytes]:
        """Returns the events from index ``position`` on, up to ``PIECE_BYTES`` in total. An event above this size is
        returned alone.
        """
        return first_piece(self._tail, position - self._tail_begin)

    def since(self, position: int) -> Iterator[bytes]:
        return map(self._tail.__getitem__, range(position - self._tail_begin, len(self._tail)))

    def all(self) -> Iterator[bytes]:
        """Returns an iterator over all events. The oldest events may be merged into longer events."""
        return chain(self.joined.complete, self.joined.growing, self.since(self.joined_count))


def first_piece(events: Sequence[bytes], begin: int) -> Sequence[bytes]:
    """Return the events from index ``begin`` on, up to ``PIECE_BYTES`` in total. An event above this size is returned
    alone.
    """
    end, size = begin, 0
    while end < len(events):
        size += len(events[end])
        if size > PIECE_BYTES and end > begin:
            break
        end += 1
    return events[begin:end]


def weight(events: Iterable[bytes]) -> int:
    """Return the total size of the events in bytes. Of each event, at most 64 KiB are counted: see
    ``LogBounds.max_backlog``.
    """
    return sum(min(len(event), PIECE_BYTES) for event in events)
