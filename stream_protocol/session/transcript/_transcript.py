"""A stored session as its page was shown it: the one reading of the past that all else takes.

A *turn* is one message of the user's and everything that the agent said to it: one assistant message. Answers to
the agent's own calls (approvals, client tools, input) do not begin a new turn. A *response* is smaller: what the agent
says to one request. So a turn has a response to the user's message, and one to each request with answers.

The assistant message has the id of its invocation. If the agent answers a later user message in an old invocation (task
mode), ``.2``, ``.3``… follows.
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
    is_aborted,
    is_compaction,
    is_user_event,
    is_user_message,
    read,
    readable_event,
    steering_id,
)
from stream_protocol.session.transcript._first_reading import DisplayOrder, FirstReading
from stream_protocol.session.transcript._metadata import AcceptedMessage, EventMetadata, shown_event, steering_state
from stream_protocol.session.transcript._transcript_reader import EventRole, TranscriptReader
from stream_protocol.session.transcript._turn_calls import external_calls
from stream_protocol.session.transcript._version_tree import VersionTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event

    from stream_protocol.adk import EventFacts
    from stream_protocol.session.transcript._turn_calls import StoredCall


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """A user message and all of the agent's answers to it."""

    message_id: str
    """The id of the assistant message."""
    stored: tuple[Event, ...]
    """In order, never empty, with the events that are hidden from the page. The user's message comes first, unless the
    agent spoke by itself."""
    response_starts: tuple[int, ...]
    """The indices of the first events of the responses."""
    hidden_events: frozenset[str]
    """The ids of events that are hidden from the page."""
    calls: tuple[StoredCall, ...]
    """Its function calls, with their answers."""
    call_ids: CallIds
    """The ids under which the page knows the calls of earlier turns."""
    compactions: Mapping[int, Sequence[Event]]
    """The compactions since its beginning, by the number of events that were stored before them."""

    @property
    def was_stopped(self) -> bool:
        """The newest run of the turn was stopped before its end."""
        return is_aborted(self.stored[-1])

    @cached_property
    def user_event(self) -> Event | None:
        """The event with what the user said."""
        return self.stored[0] if is_user_message(self.stored[0]) else None

    @cached_property
    def user_message_ids(self) -> frozenset[str]:
        """The ids of the user's message: the one that its client gave it, and that of its event."""
        event = self.user_event
        return frozenset(filter(None, (event.id, EventMetadata.of(event).message_id) if event is not None else ()))

    @cached_property
    def message_ids(self) -> frozenset[str]:
        """The ids of the user's message and of the assistant's."""
        return self.user_message_ids | {self.message_id}

    @cached_property
    def steering_ids(self) -> frozenset[str]:
        """The ids of the steering messages that the runs of the turn have taken in."""
        return frozenset(filter(None, map(steering_id, self.stored)))

    @cached_property
    def user_events(self) -> tuple[Event, ...]:
        """The user's message, and the user's answers to the agent's calls."""
        return tuple(event for event in self.events if is_user_event(event) and not is_compaction(event))

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The events as the page was shown them: without hidden ones, and with the content that it saw."""
        return self.shown(0, len(self.stored))

    @cached_property
    def responses(self) -> tuple[tuple[Event, ...], ...]:
        """The events of each run as the page was shown them, after the user's events that began it.

        The client got one response for each run.
        """
        cuts = (0, *self.response_starts[1:], len(self.stored))
        return tuple(shown for begin, end in pairwise(cuts) if (shown := self.shown(begin, end)))

    @cached_property
    def first_response(self) -> tuple[Event, ...]:
        """The events of the run that the user's message began, with that message, as the page was shown them."""
        return self.shown(0, self.response_starts[1] if len(self.response_starts) > 1 else len(self.stored))

    def shown(self, begin: int, end: int) -> tuple[Event, ...]:
        """The stored events from one index to another, as the page was shown them, and the compactions after them."""
        if self.compactions and begin < end:
            return tuple(self._with_compactions(begin, end))
        return tuple(shown_event(event) for event in self.stored[begin:end] if event.id not in self.hidden_events)

    def _with_compactions(self, begin: int, end: int) -> Iterator[Event]:
        for index in range(begin, end):
            if (event := self.stored[index]).id not in self.hidden_events:
                yield shown_event(event)
            yield from self.compactions.get(index + 1, ())

    @cached_property
    def external_calls(self) -> tuple[StoredCall, ...]:
        """The calls that need, or needed, an answer from outside."""
        return tuple(external_calls(self.calls))


class Transcript:
    """The conversation of a session, made from its stored events. It never changes."""

    def __init__(self, events: Iterable[Event] = (), *, call_ids: CallIds = NO_IDS) -> None:
        """``call_ids``: those of earlier messages, if these are not all events of the session."""
        self.stored: Final = tuple(map(readable_event, events))
        """All events of the session. In a live run, the content of the user's events is the user's speech."""
        self._said = tuple(map(read, self.stored))
        first = FirstReading()
        for said in self._said:
            first.add(said)
        hidden, self._beginnings = first.hidden, first.beginnings
        order = DisplayOrder(hidden)
        standing = [placed for said in self._said for placed in order.place(said)]
        self.waiting: Final = _waiting(said.event for said in standing)
        """The steering messages that were accepted and not taken in, and that begin no turn, in their order."""
        self._hidden = hidden.hidden_events
        self.call_ids: Final = call_ids.copy()
        """The ids under which the page knows the calls of all turns."""
        self._reader = TranscriptReader(self._beginnings, hidden_events=self._hidden, call_ids=self.call_ids)
        self.turns: Final = tuple(_read(standing, self._reader, self._hidden))
        """The turns as the conversation stands: what a rewind took back is gone."""

    @property
    def current(self) -> Turn | None:
        """The newest turn, in which alone calls can be answered; ``None`` if the user never said anything."""
        return self.current_before(None)

    def current_before(self, turn: Turn | None) -> Turn | None:
        """``current`` as it is once this turn and all later ones are taken back; ``None``: nothing is."""
        standing = self.turns if turn is None else self.turns[: self.turns.index(turn)]
        newest = standing[-1] if standing else None
        return newest if newest is not None and newest.user_event is not None else None

    def next_message_id(self, invocation_id: str) -> str:
        """The id of the assistant's next message, which begins in this invocation."""
        return self._reader.next_message_id(invocation_id)

    def is_answering(self, idempotency_key: str) -> bool:
        """Return True if the newest response answers the request with this idempotency key."""
        newest = self.turns[-1].responses[-1:] if self.turns else ()
        return any(
            EventMetadata.of(event).idempotency_key == idempotency_key for response in newest for event in response
        )

    def find_user_message(self, client_id: str) -> Turn | None:
        """The newest turn whose user's message has this id: that of its client, or else of its event."""
        return next((one for one in reversed(self.turns) if client_id in one.user_message_ids), None)

    def find_steering(self, client_id: str) -> Turn | None:
        """The turn whose run has taken in the steering message with this id."""
        return next((one for one in reversed(self.turns) if client_id in one.steering_ids), None)

    def versions(self, client_id: str) -> list[Turn]:
        """The turns with this user's message as it is and as it was before it was edited."""
        return [one for one in self._as_if_not_rewound if client_id in one.user_message_ids]

    @cached_property
    def version_tree(self) -> VersionTree:
        """The user's messages with those that rewinds took back."""
        return VersionTree(self._said)

    def has_taken_back(self, ids: frozenset[str]) -> bool:
        """Return True if one of these message ids belongs only to a message that a rewind took back."""
        unknown = ids.difference(*(one.message_ids for one in self.turns))
        return bool(unknown) and any(unknown & one.message_ids for one in self._as_if_not_rewound)

    @cached_property
    def _as_if_not_rewound(self) -> tuple[Turn, ...]:
        return tuple(_read(self._said, TranscriptReader(self._beginnings, hidden_events=self._hidden), self._hidden))

    def begins_invocation(self, turn: Turn) -> bool:
        """Return True if the turn can be rewound by itself: no event before it is of its invocation."""
        invocation_id = turn.stored[0].invocation_id
        first = next(one for one in self.turns if any(event.invocation_id == invocation_id for event in one.stored))
        return first is turn


def _waiting(events: Iterable[Event]) -> tuple[AcceptedMessage, ...]:
    waiting: dict[str, AcceptedMessage] = {}
    for event in events:
        accepted, settled = steering_state(event)
        if accepted is not None:
            waiting[accepted.id] = accepted
        if settled is not None:
            waiting.pop(settled, None)
    return tuple(waiting.values())


@dataclass
class _Draft:
    """A turn that is being read."""

    message_id: str
    said: list[EventFacts]
    starts: list[int]
    calls: list[StoredCall]
    earlier_ids: CallIds
    compactions: defaultdict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))


def _read(conversation: Iterable[EventFacts], reader: TranscriptReader, hidden: frozenset[str]) -> Iterator[Turn]:
    """The turns of these events."""
    drafts: list[_Draft] = []
    for said in conversation:
        match reader.read(said):
            case EventRole.NEW_MESSAGE:
                drafts.append(_Draft(reader.message_id, [said], [0], reader.calls.calls, reader.earlier_ids))
            case EventRole.NEW_RESPONSE:
                drafts[-1].starts.append(len(drafts[-1].said))
                drafts[-1].said.append(said)
            case EventRole.SAME_RESPONSE:
                drafts[-1].said.append(said)
            case EventRole.HIDDEN if drafts:
                drafts[-1].said.append(said)
            case EventRole.BESIDE if drafts:
                drafts[-1].compactions[len(drafts[-1].said)].append(said.event)
    for draft in drafts:
        yield Turn(
            message_id=draft.message_id,
            stored=tuple(said.event for said in draft.said),
            response_starts=tuple(draft.starts),
            hidden_events=hidden,
            calls=tuple(draft.calls),
            call_ids=draft.earlier_ids,
            compactions=draft.compactions,
        )
