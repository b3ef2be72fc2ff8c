"""Splits recorded events into turns.

A turn begins with each user message, and with each set of answers to calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from google.adk.events import Event

from stream_protocol.adk import NO_IDS, CallIds, EventFacts, read
from stream_protocol.recording.read import ChunkRecord, EndRecord, TurnRecord
from stream_protocol.session import (
    CallReader,
    DisplayOrder,
    EventRole,
    HiddenEvents,
    TranscriptReader,
    is_repeated_fragment,
    shown_facts,
)
from stream_protocol.stream import ConverterOptions


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """A recorded event with its time."""

    event: Event
    at: float | None = None
    """The recorded time in seconds; ``None`` if it was not recorded. See ``EventRecord.at``."""
    number: int = 0
    """The number of the event's line in the file, or the number of the event. See ``EventRecord.number``."""


TurnItem = TimedEvent | TurnRecord | ChunkRecord | EndRecord


@dataclass(frozen=True, eq=False)
class TurnHead:
    """Data of a turn that is known before its items are read.

    Compared by identity, because ``groupby`` uses objects of this class as keys.
    """

    message_id: str
    """The id of the assistant message; empty if the first event sets the id."""
    past: tuple[Event, ...] = ()
    """Earlier events of the message, if the turn continues a message. Text fragments are left out."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The converter options that were recorded with the turn."""
    call_ids: CallIds = NO_IDS
    """The client ids of calls in earlier messages."""


TurnStream = Iterable[tuple[TurnHead, Iterable[TurnItem]]]
"""Turns that are read in sequence. Read all items of a turn before you request the next turn."""


def split_turns(
    items: Iterable[TurnItem], hidden: HiddenEvents, beginnings: frozenset[str] | None
) -> Iterator[tuple[TurnHead, Iterator[TurnItem]]]:
    """Yield the turns while the items are read. Read all items of a turn before you request the next turn.

    ``beginnings``: the invocations that begin a turn without a user event; ``None`` if each invocation can begin a
    turn.
    """
    splitter = _TurnSplitter(TranscriptReader(beginnings))
    for head, group in groupby(_with_heads(items, hidden, splitter), key=lambda pair: pair[0]):
        yield head, (item for _, item in group)


def _with_heads(
    items: Iterable[TurnItem], hidden: HiddenEvents, splitter: _TurnSplitter
) -> Iterator[tuple[TurnHead, TurnItem]]:
    """Yield each item with the head of its turn. Events that the client is not shown are left out."""
    order = DisplayOrder(hidden)
    for item in items:
        match item:
            case TimedEvent():
                for facts in order.place(read(item.event)):
                    shown = shown_facts(facts)
                    is_hidden = facts.id in hidden.hidden_events
                    if (head := splitter.add_event(shown, hidden=is_hidden)) is not None:
                        yield head, item if shown.event is item.event else replace(item, event=shown.event)
            case TurnRecord():
                yield splitter.begin_turn(item), item
            case EndRecord():
                yield splitter.end_turn(), item
            case ChunkRecord():
                yield splitter.head, item


class _TurnSplitter:
    """Finds the turn of each event. A turn here is the response to one request.

    If the recording has ``TurnRecord``s, only they begin turns. An ``EndRecord`` at the beginning, or directly after
    another ``EndRecord``, stands for a turn without events.
    """

    def __init__(self, reader: TranscriptReader) -> None:
        self.head = TurnHead("")
        self._reader = reader
        self._has_turn_records = False
        self._ended = True
        """True if no event has come since the newest ``EndRecord``, or since the beginning of the file."""
        self._call_ids = CallIds()
        """The client ids of all calls so far."""
        self._ids_before = NO_IDS
        """The client ids of calls before the newest message."""
        self._calls = CallReader(self._call_ids)
        self._message: list[Event] = []
        """The events of the newest assistant message. Text fragments are left out, because a complete event repeats
        them.
        """

    def begin_turn(self, turn: TurnRecord) -> TurnHead:
        """Begin a recorded turn. If it has the id of the newest message, it continues this message."""
        self._has_turn_records, self._ended = True, False
        self._reader.begin_turn()
        if not turn.message_id or turn.message_id != self.head.message_id:
            self._begin_message()
        self._begin_head(turn.message_id, turn.options)
        return self.head

    def end_turn(self) -> TurnHead:
        """Return the turn that an ``EndRecord`` ends.

        This is the newest turn. If there is none, or if it has ended before, a new turn without events is returned.
        """
        if self._ended:
            self._begin_message()
            self._reader.begin_message("")
            self._begin_head(self._reader.message_id)
        self._ended = True
        self._reader.end_response()
        return self.head

    def add_event(self, facts: EventFacts, *, hidden: bool) -> TurnHead | None:
        """Return the head of the event's turn; ``None`` if the client is not shown the event.

        ``hidden``: True if a later event hides this event.
        """
        match self._reader.read(facts):
            case EventRole.HIDDEN | EventRole.OUTSIDE:
                return None
            case EventRole.NEW_MESSAGE if not self._has_turn_records:
                self._begin_message()
                self._begin_head(self._reader.message_id)
            case EventRole.NEW_RESPONSE if not self._has_turn_records:
                self._begin_head(self.head.message_id)
        if hidden:
            return None
        self._ended = False
        self._calls.read(facts)
        if not is_repeated_fragment(facts):
            self._message.append(facts.event)
        return self.head

    def _begin_message(self) -> None:
        self._message = []
        self._ids_before = self._call_ids.copy()
        self._calls = CallReader(self._call_ids)

    def _begin_head(self, message_id: str, options: ConverterOptions | None = None) -> None:
        self.head = TurnHead(message_id, tuple(self._message), options or {}, self._ids_before)
