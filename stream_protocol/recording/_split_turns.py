"""Splits recorded events into turns. Each user message, and each set of answers to calls, begins a turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

from google.adk.events import Event

from stream_protocol.adk import NO_IDS, CallIds, EventFacts, read
from stream_protocol.recording.read import ChunkRecord, EndRecord, TurnRecord, list_field
from stream_protocol.session import (
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
    """The recorded time in seconds; ``None`` if it was not recorded. See ``EventRecord.at``."""
    number: int = 0
    """The number of the event or of its line in the file. See ``EventRecord.number``."""


TurnItem = TimedEvent | TurnRecord | ChunkRecord | EndRecord


@dataclass(frozen=True, eq=False)
class TurnHead:
    """Data about a turn that is known before the turn's items are read."""

    message_id: str
    """The id of the assistant message; empty if the first event sets the id."""
    past: tuple[Event, ...] = ()
    """Earlier events of the assistant message that the turn continues, without partial text events."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The recorded converter options."""
    call_ids: CallIds = NO_IDS
    """The ids that the client has for the calls in earlier messages."""


TurnStream = Iterable[tuple[TurnHead, Iterable[TurnItem]]]
"""Turns that are read in sequence. Read all items of a turn before you request the next turn."""


def split_turns(
    items: Iterable[TurnItem], hidden: HiddenEvents, beginnings: frozenset[str] | None
) -> Iterator[tuple[TurnHead, Iterator[TurnItem]]]:
    """Split the items of a recording into turns. Yields each turn as a pair: the ``TurnHead`` (data about the turn),
    and an iterator of the turn's items. Read all items of a turn before you request the next turn.

    ``hidden``: the events that the client does not receive. ``beginnings``: the ids of the invocations that begin a
    turn if user events are missing. With ``None``, each invocation can begin a turn.
    """
    splitter = _TurnSplitter(beginnings, hidden)
    for head, group in groupby(_with_heads(items, splitter), key=lambda pair: pair[0]):
        yield head, (item for _, item in group)


def _with_heads(items: Iterable[TurnItem], splitter: _TurnSplitter) -> Iterator[tuple[TurnHead, TurnItem]]:
    """Yield the items that the client receives, each with the ``TurnHead`` of its turn."""
    for item in items:
        match item:
            case TimedEvent():
                for facts in splitter.reader.place(read(item.event)):
                    shown = shown_facts(facts)
                    if (head := splitter.add_event(shown)) is not None:
                        yield head, item if shown.event is item.event else replace(item, event=shown.event)
            case TurnRecord():
                yield splitter.begin_turn(item), item
            case EndRecord():
                yield splitter.end_turn(), item
            case ChunkRecord():
                yield splitter.head, item


class _TurnSplitter:
    """Finds the turn (the response to one request) of each recorded event.

    A ``TurnRecord`` marks the beginning of a turn. If a recording has such records, nothing else begins a turn. In
    other recordings, there may be no events between two ``EndRecord``. Then the second stands for a turn without
    events.
    """

    def __init__(self, beginnings: frozenset[str] | None, hidden: HiddenEvents) -> None:
        self.head = TurnHead("")
        self.reader = TranscriptReader(beginnings, hidden=hidden)
        self._hidden_events = hidden.hidden_events
        self._ended = True
        """True if no event has come since the newest ``EndRecord`` or the beginning of the file."""
        self._ids_by_message: dict[str, CallIds] = {}
        """Client id of a user message -> the client ids of calls before it. Removed messages are left out."""
        self._message: list[Event] = []
        """The newest assistant message's events, without partial texts that a complete event repeats."""

    def begin_turn(self, turn: TurnRecord) -> TurnHead:
        """Begin a turn that has a ``TurnRecord``. If the record has the id of the newest message, the turn continues
        this message."""
        self._ended = False
        continues = bool(turn.message_id) and turn.message_id == self.head.message_id
        message_id = None if continues else _user_message_id(turn.request)
        self.reader.begin_turn(continues=continues, earlier_ids=self._ids_before_edit(message_id))
        if message_id is not None:
            self._ids_by_message[message_id] = self.reader.earlier_ids
        self._begin_head(turn.message_id, turn.options, continues=continues)
        return self.head

    def _ids_before_edit(self, message_id: str | None) -> CallIds | None:
        """If the user message is edited or sent again, return the ``toolCallId`` of each call before it. Return
        ``None`` for a new user message.

        At an edit, the server removes the old version of the message, and all messages after it. The recording does not
        show this. So this method deletes these messages from ``_ids_by_message``.
        """
        ids = self._ids_by_message.get(message_id) if message_id is not None else None
        if ids is not None:
            remaining = takewhile(lambda item: item[0] != message_id, self._ids_by_message.items())
            self._ids_by_message = dict(remaining)
        return ids

    def end_turn(self) -> TurnHead:
        """Return the ``TurnHead`` of the turn that an ``EndRecord`` ends. If the newest turn has already ended, return
        the head of a new, empty turn."""
        if self._ended:
            self.reader.begin_message("")
            self._begin_head(self.reader.message_id)
        self._ended = True
        self.reader.end_response()
        return self.head

    def add_event(self, facts: EventFacts) -> TurnHead | None:
        """Return the ``TurnHead`` of the event's turn; ``None`` if the client does not receive the event."""
        match self.reader.read(facts):
            case EventRole.HIDDEN | EventRole.OUTSIDE:
                return None
            case EventRole.NEW_MESSAGE:
                self._begin_head(self.reader.message_id)
            case EventRole.NEW_RESPONSE:
                self._begin_head(self.head.message_id, continues=True)
        if facts.id in self._hidden_events:
            return None
        self._ended = False
        if not is_repeated_fragment(facts):
            self._message.append(facts.event)
        return self.head

    def _begin_head(self, message_id: str, options: ConverterOptions | None = None, *, continues: bool = False) -> None:
        if not continues:
            self._message = []
        self.head = TurnHead(message_id, tuple(self._message), options or {}, self.reader.earlier_ids)


def _user_message_id(request: Mapping[str, Any] | None) -> str | None:
    """Return the id of the last message in a recorded request; ``None`` if this message is not a user message."""
    match list_field(request or {}, "messages")[-1:]:
        case [{"role": "user", "id": str(message_id)}] if message_id:
            return message_id
    return None
