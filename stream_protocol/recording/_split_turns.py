"""Splits recorded events into turns: a new turn each time that the user said something or answered a call."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from google.adk.events import Event

from stream_protocol.convert import ConverterOptions
from stream_protocol.convert.calls import REQUEST_CONFIRMATION, gated_call
from stream_protocol.recording.read import ChunkRecord, EndRecord, TurnRecord
from stream_protocol.session import is_conversation_event, is_user_message, message_id


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """A recorded event, and when it came."""

    event: Event
    at: float | None = None
    """Seconds: see ``EventRecord.at``; ``None`` if the time was not recorded."""
    number: int = 0
    """The number of its line, or of the event, in the file: see ``EventRecord.number``."""


TurnItem = TimedEvent | TurnRecord | ChunkRecord | EndRecord
"""What a turn consists of."""


@dataclass(frozen=True, eq=False)
class TurnHead:
    """What is known of a turn before its items are read. Compared by identity: it is the key of ``groupby``."""

    message_id: str
    """The id of the assistant's message; empty if it is not known before the first event."""
    past: tuple[Event, ...] = ()
    """The earlier events of the message if this turn continues one, without text fragments."""
    options: ConverterOptions = field(default_factory=ConverterOptions)
    """The converter's options that were recorded with the turn."""


TurnStream = Iterable[tuple[TurnHead, Iterable[TurnItem]]]
"""Turns that are read one after the other: the items of a turn can be read until the next turn is asked for."""


def split_turns(items: Iterable[TurnItem]) -> Iterator[tuple[TurnHead, Iterator[TurnItem]]]:
    """Yields the turns while the items are read. See ``TurnStream``."""
    for head, group in groupby(_with_heads(items), key=lambda pair: pair[0]):
        yield head, (item for _, item in group)


def _with_heads(items: Iterable[TurnItem]) -> Iterator[tuple[TurnHead, TurnItem]]:
    """Yields each item with the head of its turn. Leaves out compactions, and user events without content.

    Turns that a rewind took back are kept.
    """
    splitter = _TurnSplitter()
    for item in items:
        match item:
            case TimedEvent(event):
                if is_conversation_event(event):
                    yield splitter.add_event(event), item
            case TurnRecord():
                yield splitter.begin_turn(item), item
            case EndRecord():
                yield splitter.end_turn(), item
            case ChunkRecord():
                yield splitter.head, item


class _TurnSplitter:
    """Finds the turn of each event.

    These events begin a turn with a new message: a user's message, and the first event of an invocation (for recordings
    without the user's events).

    These events begin a turn that continues the assistant's message: the user's answer to a call, and the result of a
    call that waited for approval (for recordings without the user's answer). In recordings of ADK 1 the continuation
    has an invocation id of its own.

    In a recording with ``TurnRecord``s, those begin turns, and events do not. In all recordings an ``EndRecord``
    directly after another one is a turn of its own, without events.
    """

    def __init__(self) -> None:
        self.head = TurnHead("")
        """The newest turn."""
        self._has_turn_records = False
        self._ended = False
        """Whether the newest turn had its ``EndRecord``, and no event came after it."""
        self._invocation: str | None = None
        """The invocation of the newest turn."""
        self._message_counts: dict[str, int] = {}
        """Invocation id -> how many messages the user sent in it."""
        self._message: list[Event] = []
        """The events of the assistant's message so far, without text fragments: a complete event repeats their text."""
        self._waiting_calls: dict[str, str] = {}
        """Id of the response that answers a call -> id of that call. Of all calls of the recording, answered or not."""
        self._calls_to_approve: set[str] = set()
        """Ids of the calls in the assistant's message that wait for approval."""

    def begin_turn(self, turn: TurnRecord) -> TurnHead:
        """Begins a recorded turn. If it has the id of the newest message, it continues that message."""
        self._has_turn_records, self._ended = True, False
        if not turn.message_id or turn.message_id != self.head.message_id:
            self._message = []
        self.head = TurnHead(turn.message_id, tuple(self._message), turn.options)
        return self.head

    def end_turn(self) -> TurnHead:
        """Returns the turn that ends: the newest one. An end directly after an end is that of a turn without events."""
        if self._ended:
            self._message = []
            self.head = TurnHead("")
        self._ended = True
        return self.head

    def add_event(self, event: Event) -> TurnHead:
        """Returns the turn of the event."""
        if not self._has_turn_records:
            self._find_turn(event)
        self._ended = False
        if not _is_text_fragment(event):
            self._message.append(event)
        return self.head

    def _find_turn(self, event: Event) -> None:
        if is_user_message(event):
            self._message_counts[event.invocation_id] = self._message_counts.get(event.invocation_id, 0) + 1
            self._begin_message(event)
        elif self._take_answer(event):
            self._continue_message(event)
        elif event.invocation_id != self._invocation or self._ended:
            self._message_counts.setdefault(event.invocation_id, 1)
            self._begin_message(event)
        self._note_calls(event)

    def _begin_message(self, event: Event) -> None:
        self._invocation = event.invocation_id
        self._message = []
        self._calls_to_approve.clear()
        self.head = TurnHead(message_id(event.invocation_id, self._message_counts[event.invocation_id]))

    def _continue_message(self, event: Event) -> None:
        self._invocation = event.invocation_id
        self.head = TurnHead(self.head.message_id, tuple(self._message))

    def _take_answer(self, event: Event) -> bool:
        """Returns whether the event answers a call, or shows that one was approved. Ends the wait for its approval."""
        ids = {response.id for response in event.get_function_responses() if response.id}
        if event.author == "user":
            answered = ids & self._waiting_calls.keys()
            self._calls_to_approve -= {self._waiting_calls[answer_id] for answer_id in answered}
            return bool(answered)
        approved = (ids & self._calls_to_approve) - event.actions.requested_tool_confirmations.keys()
        self._calls_to_approve -= approved
        return bool(approved)

    def _note_calls(self, event: Event) -> None:
        for call in event.get_function_calls():
            if call.id and call.name == REQUEST_CONFIRMATION and not event.partial:
                call_id = str(gated_call(call.args or {}).get("id") or call.id)
                self._waiting_calls[call.id] = call_id
                self._calls_to_approve.add(call_id)
            elif call.id in (event.long_running_tool_ids or ()):
                self._waiting_calls[str(call.id)] = str(call.id)


def _is_text_fragment(event: Event) -> bool:
    """Whether the event is a fragment with no other parts than texts. A fragment without parts is one, too."""
    parts = event.content.parts if event.content is not None else None
    return bool(event.partial) and all(part.text is not None for part in parts or ())
