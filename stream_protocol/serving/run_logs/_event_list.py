"""``EventList``: the events of one response, each kept once.

Above a size limit, text deltas are joined to longer ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from stream_protocol.serving.run_logs._run_log import LogBounds
from stream_protocol.wire import JoinedStream

PIECE_BYTES: Final = 2**16
"""The maximum number of bytes of several events in one piece. uvicorn also buffers 64 KiB per connection before a send
waits.
"""

JOIN_AT_ONCE: Final = 4096
"""The maximum number of events that are joined before other tasks run: some milliseconds of work."""


class EventList:
    """The events of one response: the first events joined, the last events as they were appended.

    Some methods have the argument ``known``. ``known`` is the number of events at the beginning that no reader needs in
    their original form.
    """

    def __init__(self, bounds: LogBounds) -> None:
        self._bounds = bounds
        self.joined = JoinedStream()
        """The first events, joined."""
        self.joined_count = 0
        """The number of original events that are joined."""
        self._joined_bytes = 0
        """The size of the joined events before they were joined."""
        self.joined_weight = 0
        """The ``weight`` of the joined events before they were joined."""
        self._tail: list[bytes] = []
        """The last events in their original form. The first of these events may also be in ``joined``, if a reader
        still needs them.
        """
        self._tail_begin = 0
        """The number of events before ``_tail``."""
        self._bytes = 0
        self.weight = 0
        """The ``weight`` of all events in their original form."""
        self._join_above = bounds.coalesce_above

    @property
    def count(self) -> int:
        """The number of events."""
        return self._tail_begin + len(self._tail)

    @property
    def size(self) -> int:
        """The bytes in memory."""
        return self.joined.size + self._bytes - self._joined_bytes

    @property
    def begin(self) -> int:
        """The number of events at the beginning that are no longer kept in their original form."""
        return self._tail_begin

    @property
    def is_large(self) -> bool:
        """True if it is time to join events."""
        return self.size > self._join_above

    def append(self, events: Sequence[bytes]) -> None:
        """Adds events at the end."""
        self._tail.extend(events)
        size = sum(map(len, events))
        self._bytes += size
        self.weight += size if size <= PIECE_BYTES else weight(events)

    def join_known(self, known: int) -> None:
        """Joins some or all of the first ``known`` events."""
        self.join(known, known)
        if self.joined_count >= known:
            above = self._bounds.coalesce_above
            self._join_above = max(above, min(self.size + above, self._bounds.max_size))

    def join(self, count: int, known: int) -> None:
        """Joins more of the first ``count`` events, at most ``JOIN_AT_ONCE``.

        Frees the original events that no reader needs.
        """
        begin = self.joined_count - self._tail_begin
        events = self._tail[begin : min(count - self._tail_begin, begin + JOIN_AT_ONCE)]
        self.joined.add(events)
        self.joined_count += len(events)
        self._joined_bytes += sum(map(len, events))
        self.joined_weight += weight(events)
        # A reader that waits for `give_end` may still be at the beginning, whose events are gone.
        needed = max(self._tail_begin, min(known, self.joined_count))
        del self._tail[: needed - self._tail_begin]
        self._tail_begin = needed

    def piece(self, position: int) -> Sequence[bytes]:
        """Returns the events from number ``position`` on, as many as fit into a piece."""
        return first_piece(self._tail, position - self._tail_begin)

    def since(self, position: int) -> Iterator[bytes]:
        """Returns the events from number ``position`` on. Nothing is copied."""
        return map(self._tail.__getitem__, range(position - self._tail_begin, len(self._tail)))

    def all(self) -> Iterator[bytes]:
        """Returns all events without copying them. The first events may be joined."""
        return chain(self.joined.complete, self.joined.growing, self.since(self.joined_count))


def first_piece(events: Sequence[bytes], begin: int) -> Sequence[bytes]:
    """Return the events from index ``begin`` on that fit into a piece. Returns at least one event if there is one."""
    end, size = begin, 0
    while end < len(events):
        size += len(events[end])
        if size > PIECE_BYTES and end > begin:
            break
        end += 1
    return events[begin:end]


def weight(events: Iterable[bytes]) -> int:
    """Return the size of events as ``LogBounds.max_backlog`` counts it: a large event counts with at most 64 KiB."""
    return sum(min(len(event), PIECE_BYTES) for event in events)
