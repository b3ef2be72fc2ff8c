"""Which events of a recording its page does not show any more, for a recording that is never in memory as a whole.

An event is taken back, or hidden from the page, by one that comes later. So a recording is read twice: first to note
what is omitted, then to replay the rest. ``Transcript`` says the same of events that are in memory.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream_protocol.session.transcript._metadata import EventMetadata
from stream_protocol.session.transcript._transcript_reader import Place, TranscriptReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.adk.events import Event


@dataclass(frozen=True)
class Omissions:
    """The events that are omitted from a conversation. Its events are counted from 0."""

    hidden_events: frozenset[str] = frozenset()
    """The ids of the events that are hidden from the page."""
    rewound: tuple[range, ...] = ()
    """The numbers of the events that rewinds took back, in order, without overlap."""

    def omits(self, number: int, event: Event) -> bool:
        """Whether the page does not show this event, which has this number."""
        if event.id in self.hidden_events:
            return True
        later = bisect_right(self.rewound, number, key=lambda numbers: numbers.start)
        return later > 0 and number in self.rewound[later - 1]


class OmissionFinder:
    """Finds the omissions while the events are read."""

    def __init__(self) -> None:
        self._reader = TranscriptReader()
        self._hidden: set[str] = set()
        self._rewound: list[range] = []
        self._starts: list[dict[str, int]] = []
        """For each message that stands: invocation id -> the number of the first event in it."""

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yields the same events."""
        for number, event in enumerate(events):
            self._read(event, number)
            yield event

    def found(self) -> Omissions:
        """What is omitted, when all events have been read."""
        return Omissions(frozenset(self._hidden), tuple(self._rewound))

    def _read(self, event: Event, number: int) -> None:
        self._hidden.update(EventMetadata.of(event).hidden_events)
        match self._reader.read(event):
            case Place.NEW_MESSAGE:
                self._starts.append({event.invocation_id: number})
            case Place.NEW_RESPONSE | Place.SAME_RESPONSE:
                self._starts[-1].setdefault(event.invocation_id, number)
            case Place.REWIND:
                self._take_back(event.actions.rewind_before_invocation_id or "", number)

    def _take_back(self, invocation_id: str, end: int) -> None:
        standing = len(self._reader.messages)
        gone = [number for starts in self._starts[standing:] for number in starts.values()]
        del self._starts[standing:]
        if self._starts and (within := self._starts[-1].pop(invocation_id, None)) is not None:
            gone.append(within)
        if not gone:
            return
        begin = min(gone)
        while self._rewound and self._rewound[-1].start >= begin:
            self._rewound.pop()
        self._rewound.append(range(begin, end))
