"""Converts a stored session to turns. The events of a turn have the content that the client received.

A *turn* is a user message and all of the agent's replies to it. The replies form one assistant message. Answers to the
agent's calls do not begin a new turn. A *response* contains the events that answer one request. The request contains
the user's message, or answers to calls.

The id of the assistant message is the id of its invocation. In task mode, one invocation may have several assistant
messages. From the second message on, the id ends in ``.2``, ``.3``…
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from stream_protocol.adk import (
    NO_IDS,
    CallIds,
    Rewind,
    Steering,
    Waiting,
    is_aborted,
    is_compaction,
    is_failure,
    is_user_event,
    is_user_message,
    read,
    readable_event,
    steering_id,
)
from stream_protocol.session.transcript._metadata import (
    EventMetadata,
    kept_steering,
    shown_event,
    steering_state,
    stored_error_text,
)
from stream_protocol.session.transcript._transcript_reader import (
    EventRole,
    FirstReading,
    HiddenEvents,
    TranscriptReader,
)
from stream_protocol.session.transcript._turn_calls import external_calls
from stream_protocol.session.transcript._version_tree import VersionTree
from stream_protocol.stream import Settings, chunk_conversion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event

    from stream_protocol.adk import CallReference, EventFacts
    from stream_protocol.session.transcript._metadata import AcceptedMessage
    from stream_protocol.session.transcript._turn_calls import StoredCall


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """A user message and the agent's replies to it."""

    message_id: str
    """The id of the assistant message."""
    stored: tuple[Event, ...]
    """The events of the turn in order, including hidden events. The user's message comes first, unless the agent
    began."""
    response_starts: tuple[int, ...]
    """The index of the first event of each response."""
    hidden_events: frozenset[str]
    calls: tuple[StoredCall, ...]
    """The function calls of the turn."""
    call_ids: CallIds
    """The client ids of calls in earlier turns."""
    compactions: Mapping[int, Sequence[Event]]
    """Number of the turn's stored events before a compaction -> the compaction events at this place."""

    @property
    def invocation_id(self) -> str:
        """The id of the turn's first invocation. A rewind to this invocation removes this turn and all later turns."""
        return self.stored[0].invocation_id

    @property
    def was_stopped(self) -> bool:
        return is_aborted(self.stored[-1])

    @property
    def has_failed(self) -> bool:
        return is_failure(self.stored[-1])

    @property
    def error_text(self) -> str | None:
        """The error text that the client received at the end of the turn's newest run. ``None`` if the run did not
        fail, or if the text is not stored."""
        return stored_error_text(self.stored[self.response_starts[-1] :])

    @cached_property
    def user_event(self) -> Event | None:
        """The event with the user's message; ``None`` if the agent began the turn."""
        return self.stored[0] if is_user_message(self.stored[0]) else None

    @cached_property
    def user_message_ids(self) -> frozenset[str]:
        """Ids of the user's message: the id from the client, and the event's id. Empty if the agent began the turn."""
        event = self.user_event
        return frozenset(filter(None, (event.id, EventMetadata.of(event).message_id) if event is not None else ()))

    @cached_property
    def message_ids(self) -> frozenset[str]:
        return self.user_message_ids | {self.message_id}

    @cached_property
    def steering_ids(self) -> frozenset[str]:
        """The ids of the steering messages (sent while the agent worked) that runs of the turn have read."""
        return frozenset(filter(None, map(steering_id, self.stored)))

    @cached_property
    def user_events(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events if is_user_event(event) and not is_compaction(event))

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The turn's events as the client received them. Events that the client did not receive are left out."""
        return self.shown(0, len(self.stored))

    @cached_property
    def responses(self) -> tuple[tuple[Event, ...], ...]:
        """The responses of the turn, as the client received them. A response has the user's events that started a run,
        and then the events of the run."""
        cuts = (0, *self.response_starts[1:], len(self.stored))
        return tuple(shown for begin, end in pairwise(cuts) if (shown := self.shown(begin, end)))

    @cached_property
    def first_response(self) -> tuple[Event, ...]:
        """The user's message, and the events of the run that replied to it, as the client received them."""
        return self.shown(0, self.response_starts[1] if len(self.response_starts) > 1 else len(self.stored))

    def shown(self, begin: int, end: int) -> tuple[Event, ...]:
        """Return the stored events from index ``begin`` to ``end`` (excluded), as the client received them. Compaction
        events are included."""
        if self.compactions and begin < end:
            return tuple(self._with_compactions(begin, end))
        return tuple(shown_event(event) for event in self.stored[begin:end] if event.id not in self.hidden_events)

    def _with_compactions(self, begin: int, end: int) -> Iterator[Event]:
        for index in range(begin, end):
            if (event := self.stored[index]).id not in self.hidden_events:
                yield shown_event(event)
            yield from self.compactions.get(index + 1, ())

    def ended_by_itself(self, events: Iterable[Event]) -> bool:
        """Return True if ``events`` are a complete response of the turn. A response is not complete if it ended with an
        error, a stop, or the death of the worker.

        ADK stores no event for the end of a run. So a complete response must meet two conditions:

        1. After the newest event, the agent waits for the user.
        2. Each call has a result, except a call whose result may come in a later turn.
        """
        shown = [*map(read, events)]
        by_agent = [
            facts for facts in shown if not facts.by_user and not facts.reports_a(Steering) and facts.shows_something
        ]
        ids = {facts.id for facts in shown}
        lacks_result = any(call.lacks_result for call in self.calls if call.event.id in ids)
        if not by_agent or not _waits_for_user(by_agent[-1]) or lacks_result:
            return False
        conversion = chunk_conversion((), self.message_id, Settings(), self.call_ids)
        with conversion.warn.silenced():
            for facts in shown:
                conversion.feed(facts.event)
            conversion.finish()
        return conversion.outcome == "finish"

    @cached_property
    def external_calls(self) -> tuple[StoredCall, ...]:
        return tuple(external_calls(self.calls))


def _waits_for_user(facts: EventFacts) -> bool:
    only_streamed = facts.is_fragment  # appended at the end of the run
    return only_streamed or facts.is_final or facts.reports_a(Waiting)


class Transcript:
    """The conversation of a session. A ``Transcript`` is immutable."""

    def __init__(self, events: Iterable[Event] = (), *, call_ids: CallIds = NO_IDS) -> None:
        """``events``: the stored events. ``call_ids``: if ``events`` are only the end of a session, the ``toolCallId``
        of each earlier call.
        """
        self.stored: Final = tuple(map(readable_event, events))
        """All events of the session. After speech in a live run, the user event has the transcription as its
        content."""
        self._facts = tuple(map(read, self.stored))
        first = FirstReading()
        for facts in self._facts:
            first.add(facts)
        hidden, self._beginnings = first.hidden, first.beginnings
        self.call_ids: Final = call_ids.copy()
        """The client ids of the calls in all turns."""
        self._reader = TranscriptReader(self._beginnings, hidden=hidden, call_ids=self.call_ids)
        current_events = [placed for facts in self._facts for placed in self._reader.place(facts)]
        steering = _SteeringMessages(self._facts, current_events)
        self.accepted: Final = steering.accepted
        """The steering messages in order: id -> message."""
        self.waiting: Final = steering.waiting
        """The steering messages that no model call has read and that begin no turn, in order."""
        self._hidden = hidden.hidden_events
        self.turns: Final = tuple(_read(current_events, self._reader, self._hidden))
        """The turns of the chat, without rewound turns."""

    @property
    def current(self) -> Turn | None:
        """The newest turn, if it begins with a user message; otherwise ``None``. The client can answer only calls of
        this turn.
        """
        return self.current_before(None)

    def current_before(self, turn: Turn | None) -> Turn | None:
        """Return the turn directly before ``turn``, or the newest turn if ``turn`` is ``None``. The result is ``None``
        if there is no such turn, or if the agent began that turn."""
        remaining = self.turns if turn is None else self.turns[: self.turns.index(turn)]
        newest = remaining[-1] if remaining else None
        return newest if newest is not None and newest.user_event is not None else None

    def find_call(self, reference: CallReference) -> StoredCall | None:
        """Return the call of the current turn that ``reference`` identifies; ``None`` if there is none."""
        return self._reader.calls.find(reference) if self.current is not None else None

    def next_message_id(self, invocation_id: str) -> str:
        """Return the id of the next assistant message. ``invocation_id``: the invocation in which this message
        begins."""
        return self._reader.next_message_id(invocation_id)

    def is_answering(self, idempotency_key: str) -> bool:
        """Return True if the chat's newest response belongs to the request with this idempotency key."""
        newest = self.turns[-1].responses[-1:] if self.turns else ()
        return any(
            EventMetadata.of(event).idempotency_key == idempotency_key for response in newest for event in response
        )

    def find_steering(self, client_id: str) -> Turn | None:
        """Return the newest turn in which a run has read the steering message ``client_id`` (sent while the agent
        worked). Return ``None`` if there is none.
        """
        return next((turn for turn in reversed(self.turns) if client_id in turn.steering_ids), None)

    def versions(self, client_id: str) -> list[Turn]:
        """Return all turns with a version of the user message ``client_id``, including turns that a rewind removed."""
        return [turn for turn in self._as_if_not_rewound if client_id in turn.user_message_ids]

    @cached_property
    def version_tree(self) -> VersionTree:
        """The user messages of the session and their versions, including messages that a rewind removed."""
        return VersionTree(self._facts)

    def has_taken_back(self, ids: frozenset[str]) -> bool:
        """Return True if a rewind has removed a message with one of these ids, and the message has not come back to the
        chat.
        """
        unknown = ids.difference(*(turn.message_ids for turn in self.turns))
        return bool(unknown) and any(unknown & turn.message_ids for turn in self._as_if_not_rewound)

    @cached_property
    def _as_if_not_rewound(self) -> tuple[Turn, ...]:
        reader = TranscriptReader(self._beginnings, hidden=HiddenEvents(self._hidden))
        return tuple(_read(self._facts, reader, self._hidden))


class _SteeringMessages:
    """The steering messages of a session: messages that the user sent while the agent worked. ``stored``: all events.
    ``current``: the events that no rewind has removed.

    The event directly before a rewind lists the steering messages that the rewind keeps. After the rewind, these
    messages wait for a model call again.
    """

    def __init__(self, stored: Sequence[EventFacts], current: Iterable[EventFacts]) -> None:
        self.accepted: dict[str, AcceptedMessage] = {}
        """Id -> steering message, in the order of the session."""
        settled: set[str] = set()
        kept = _kept_by_rewinds(stored)
        for facts in current:
            message, settled_id = steering_state(facts.event)
            for each in (*kept.get(facts.event.id, ()), *([message] if message is not None else ())):
                self.accepted[each.id] = each
                settled.discard(each.id)
            if settled_id is not None:
                settled.add(settled_id)
        self.waiting = tuple(each for each in self.accepted.values() if each.id not in settled)


def _kept_by_rewinds(stored: Sequence[EventFacts]) -> dict[str, list[AcceptedMessage]]:
    """Return the steering messages (sent while the agent worked) that wait again after a rewind. The keys of the result
    are the ids of the events with the rewinds.
    """
    ids = {
        facts.event.id: names
        for before, facts in pairwise(stored)
        if facts.reports_a(Rewind) and (names := kept_steering(before.event))
    }
    if not ids:
        return {}
    known = {message.id: message for facts in stored if (message := steering_state(facts.event)[0]) is not None}
    return {rewind: [known[name] for name in names if name in known] for rewind, names in ids.items()}


@dataclass
class _Draft:
    """A turn that is not complete yet, because more of its events may follow."""

    message_id: str
    facts: list[EventFacts]
    starts: list[int]
    calls: list[StoredCall]
    earlier_ids: CallIds
    compactions: defaultdict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))


def _read(conversation: Iterable[EventFacts], reader: TranscriptReader, hidden: frozenset[str]) -> Iterator[Turn]:
    drafts: list[_Draft] = []
    for facts in conversation:
        match reader.read(facts):
            case EventRole.NEW_MESSAGE:
                drafts.append(_Draft(reader.message_id, [facts], [0], reader.calls.calls, reader.earlier_ids))
            case EventRole.NEW_RESPONSE:
                drafts[-1].starts.append(len(drafts[-1].facts))
                drafts[-1].facts.append(facts)
            case EventRole.SAME_RESPONSE:
                drafts[-1].facts.append(facts)
            case EventRole.HIDDEN if drafts:
                drafts[-1].facts.append(facts)
            case EventRole.BESIDE if drafts:
                drafts[-1].compactions[len(drafts[-1].facts)].append(facts.event)
    for draft in drafts:
        yield Turn(
            message_id=draft.message_id,
            stored=tuple(facts.event for facts in draft.facts),
            response_starts=tuple(draft.starts),
            hidden_events=hidden,
            calls=tuple(draft.calls),
            call_ids=draft.earlier_ids,
            compactions=draft.compactions,
        )
