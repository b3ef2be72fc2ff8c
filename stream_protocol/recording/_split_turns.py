"""Splits recorded events into turns: a new turn each time that the user said something or answered a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

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
    """A recorded event, and when it came."""

    event: Event
    at: float | None = None
    """Seconds: see ``EventRecord.at``; ``None`` if the time was not recorded."""
    number: int = 0
    """The number of its line, or of the event, in the file: see ``EventRecord.number``."""


TurnItem = TimedEvent | TurnRecord | ChunkRecord | EndRecord
"""An item of a turn."""


@dataclass(frozen=True, eq=False)
class TurnHead:
    """Facts about a turn that are known before its items are read. Compared by identity: it is the key of
    ``groupby``."""

    message_id: str
    """The id of the assistant's message; empty if it is not known before the first event."""
    past: tuple[Event, ...] = ()
    """The earlier events of the message if this turn continues one, without text fragments."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The converter's options that were recorded with the turn."""
    call_ids: CallIds = NO_IDS
    """The ids under which the page knows the calls of earlier messages."""


NOTHING_HIDDEN: Final = HiddenEvents()

TurnStream = Iterable[tuple[TurnHead, Iterable[TurnItem]]]
"""Turns that are read one after the other: the items of a turn can be read until the next turn is asked for."""


def split_turns(
    items: Iterable[TurnItem],
    hidden: HiddenEvents = NOTHING_HIDDEN,
    beginnings: frozenset[str] | None = None,
) -> Iterator[tuple[TurnHead, Iterator[TurnItem]]]:
    """Yields the turns while the items are read. See ``TurnStream``; ``beginnings``: see ``TranscriptReader``."""
    splitter = _TurnSplitter(TranscriptReader(beginnings))
    for head, group in groupby(_with_heads(items, hidden, splitter), key=lambda pair: pair[0]):
        yield head, (item for _, item in group)


def _with_heads(
    items: Iterable[TurnItem], hidden: HiddenEvents, splitter: _TurnSplitter
) -> Iterator[tuple[TurnHead, TurnItem]]:
    """Yields each item with the head of its turn. Leaves out the events that the page is not shown."""
    order = DisplayOrder(hidden)
    for item in items:
        match item:
            case TimedEvent():
                for said in order.place(read(item.event)):
                    shown = shown_facts(said)
                    is_hidden = said.id in hidden.hidden_events
                    if (head := splitter.add_event(shown, hidden=is_hidden)) is not None:
                        yield head, item if shown.event is item.event else replace(item, event=shown.event)
            case TurnRecord():
                yield splitter.begin_turn(item), item
            case EndRecord():
                yield splitter.end_turn(), item
            case ChunkRecord():
                yield splitter.head, item


class _TurnSplitter:
    """Finds the turn of each event: a turn is what ``TranscriptReader`` calls a response.

    In a recording with ``TurnRecord``s, those begin turns, and events do not. In all recordings an ``EndRecord``
    at the beginning or directly after another one is a turn of its own, without events.
    """

    def __init__(self, reader: TranscriptReader) -> None:
        self.head = TurnHead("")
        """The newest turn."""
        self._reader = reader
        self._has_turn_records = False
        self._ended = True
        """True if the newest turn had its ``EndRecord``, and no event came after it. Also True at the beginning."""
        self._call_ids = CallIds()
        """The ids under which the page knows the calls so far."""
        self._ids_before = NO_IDS
        """Those of the calls before the newest message."""
        self._calls = CallReader(self._call_ids)
        self._message: list[Event] = []
        """The events of the assistant's message so far, without text fragments: a complete event repeats their text."""

    def begin_turn(self, turn: TurnRecord) -> TurnHead:
        """Begins a recorded turn. If it has the id of the newest message, it continues that message."""
        self._has_turn_records, self._ended = True, False
        self._reader.begin_turn()
        if not turn.message_id or turn.message_id != self.head.message_id:
            self._begin_message()
        self._begin_head(turn.message_id, turn.options)
        return self.head

    def end_turn(self) -> TurnHead:
        """Returns the turn that ends: the newest one.

        An end at the beginning, and one directly after an end, is that of a turn without events.
        """
        if self._ended:
            self._begin_message()
            self._reader.begin_message("")
            self._begin_head(self._reader.message_id)
        self._ended = True
        self._reader.end_response()
        return self.head

    def add_event(self, said: EventFacts, *, hidden: bool) -> TurnHead | None:
        """Returns the turn of the event; ``None`` if the page is not shown the event.

        ``hidden``: whether a later event has hidden it.
        """
        match self._reader.read(said):
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
        self._calls.read(said)
        if not is_repeated_fragment(said.event):
            self._message.append(said.event)
        return self.head

    def _begin_message(self) -> None:
        self._message = []
        self._ids_before = self._call_ids.copy()
        self._calls = CallReader(self._call_ids)

    def _begin_head(self, message_id: str, options: ConverterOptions | None = None) -> None:
        self.head = TurnHead(message_id, tuple(self._message), options or {}, self._ids_before)
