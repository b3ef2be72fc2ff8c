"""Splits recorded events into turns.

A turn begins with each user message, and with each set of answers to calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

from google.adk.events import Event

from stream_protocol.adk import NO_IDS, CallIds, EventFacts, read
from stream_protocol.recording.read import ChunkRecord, EndRecord, TurnRecord, list_field
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

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """A recorded event with its time."""

    event: Event
    at: float | None = None
    """Seconds: see ``EventRecord.at``; ``None`` if the time was not recorded."""
    number: int = 0
    """The number of the line or the event in the file: see ``EventRecord.number``."""


TurnItem = TimedEvent | TurnRecord | ChunkRecord | EndRecord


@dataclass(frozen=True, eq=False)
class TurnHead:
    """Data about a turn that is available before its items are read.

    Heads are compared by identity, because they are keys of ``groupby``.
    """

    message_id: str
    """The id of the assistant message; empty if only the first event shows the id."""
    past: tuple[Event, ...] = ()
    """The message's earlier events, if this turn continues a message. Text fragments are left out."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The converter's options that were recorded with the turn."""
    call_ids: CallIds = NO_IDS
    """The client's ids of calls in earlier messages."""


TurnStream = Iterable[tuple[TurnHead, Iterable[TurnItem]]]
"""Turns that are read one after the other. Read the items of a turn before you request the next turn."""


def split_turns(
    items: Iterable[TurnItem], hidden: HiddenEvents, beginnings: frozenset[str] | None
) -> Iterator[tuple[TurnHead, Iterator[TurnItem]]]:
    """Yield the turns while the items are read. See ``TurnStream``; ``beginnings``: see ``TranscriptReader``."""
    splitter = _TurnSplitter(TranscriptReader(beginnings))
    for head, group in groupby(_with_heads(items, hidden, splitter), key=lambda pair: pair[0]):
        yield head, (item for _, item in group)


def _with_heads(
    items: Iterable[TurnItem], hidden: HiddenEvents, splitter: _TurnSplitter
) -> Iterator[tuple[TurnHead, TurnItem]]:
    """Yield each item with the head of its turn, without events that the client is not shown."""
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
    """Finds the turn of each event. A turn here is a *response* of ``TranscriptReader``.

    If the recording has ``TurnRecord``s, they begin the turns, and events do not. In all recordings, an ``EndRecord``
    is a turn without events if it comes first, or directly after another ``EndRecord``.
    """

    def __init__(self, reader: TranscriptReader) -> None:
        self.head = TurnHead("")
        self._reader = reader
        self._has_turn_records = False
        self._ended = True
        """True if no event has come since the newest ``EndRecord``, or since the beginning."""
        self._call_ids = CallIds()
        """The client's ids of all calls so far."""
        self._ids_before = NO_IDS
        """The client's ids of calls before the newest message."""
        self._calls = CallReader(self._call_ids)
        self._ids_by_message: dict[str, CallIds] = {}
        """The client's id of a recorded user message -> the ids of calls before it. Without removed messages."""
        self._message: list[Event] = []
        """The events of the assistant message so far, without text fragments, whose text a complete event repeats."""

    def begin_turn(self, turn: TurnRecord) -> TurnHead:
        """Begin a recorded turn. It continues the newest message if it has the same message id."""
        self._has_turn_records, self._ended = True, False
        self._reader.begin_turn()
        if not turn.message_id or turn.message_id != self.head.message_id:
            message_id = _user_message_id(turn.request)
            if message_id in self._ids_by_message:
                self._remove_from(message_id)
            self._begin_message()
            if message_id is not None:
                self._ids_by_message[message_id] = self._ids_before
        self._begin_head(turn.message_id, turn.options)
        return self.head

    def _remove_from(self, message_id: str) -> None:
        """Release the ids of calls after this user message, which is edited or sent again.

        A recording of runs does not have the rewind. The server has removed this message and all later ones.
        """
        self._call_ids = self._ids_by_message[message_id].copy()
        remaining = takewhile(lambda item: item[0] != message_id, self._ids_by_message.items())
        self._ids_by_message = dict(remaining)

    def end_turn(self) -> TurnHead:
        """Return the turn that ends: the newest turn.

        If the ``EndRecord`` comes first, or directly after another ``EndRecord``, it ends a new turn without events.
        """
        if self._ended:
            self._begin_message()
            self._reader.begin_message("")
            self._begin_head(self._reader.message_id)
        self._ended = True
        self._reader.end_response()
        return self.head

    def add_event(self, facts: EventFacts, *, hidden: bool) -> TurnHead | None:
        """Return the turn of the event; ``None`` if the client is not shown the event.

        ``hidden``: True if a later event has hidden this event.
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


def _user_message_id(request: Mapping[str, Any] | None) -> str | None:
    """Return the client's id of the user message to which a recorded request applies; ``None`` for other requests."""
    match list_field(request or {}, "messages")[-1:]:
        case [{"role": "user", "id": str(message_id)}] if message_id:
            return message_id
    return None
