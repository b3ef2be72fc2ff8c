"""Reads a conversation twice. The first reading finds the events that the client received, and their order. The second
reading assigns each event to a message.

The first reading (``FirstReading``) finds events that affect earlier events. For example, an event can remove (rewind)
earlier events, hide them, or belong before them. Some events belong to no run, such as a state update by a monitoring
job. The events around such an event show to which message it belongs.

The second reading (``TranscriptReader``) takes the events in the order in which the client received them.
``Transcript`` and the package ``recording`` use ``TranscriptReader``. In a recording, the invocation id can change
within a message, and user events can be missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from stream_protocol.adk import NO_IDS, CallIds, CallKind, Compaction, LiveTurnEnd, Rewind, UserSpeechEnd, Waiting
from stream_protocol.session.transcript._metadata import hidden_events, moved_before
from stream_protocol.session.transcript._turn_calls import CallReader, shown_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream_protocol.adk import EventFacts

_Speaker: TypeAlias = "tuple[str, str, str | None]"
"""Invocation id, author and branch of an event."""

UNNAMED: Final = "message"
"""Placeholder in the ids of messages without an invocation id."""


class AppliedRewind(NamedTuple):
    """A rewind that has removed events of the session."""

    removed: range
    """The numbers of the removed events. The rewind's own event comes next."""
    invocation_id: str | None
    """The invocation of the rewind's event. A later rewind to this invocation undoes the rewind. ``None`` if other
    events share the invocation."""


class Rewinds:
    """The rewinds of a conversation, and the events that they remove. Event numbers start at 0.

    A rewind names an invocation. It removes all events from the first event of this invocation up to the rewind, and
    also other rewinds among these events. ADK removes the same events from the model's prompt.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first_numbers: dict[str, int] = {}
        """Invocation id -> the number of its first event."""
        self._applied: list[AppliedRewind] = []

    def add(self, facts: EventFacts) -> AppliedRewind | None:
        """Read the next event. If the event is a rewind that removes events, return the rewind; otherwise ``None``."""
        number, self._count = self._count, self._count + 1
        first_of_own = self._first_numbers.setdefault(facts.invocation_id, number)
        if (rewind := facts.report(Rewind)) is None:
            return None
        removed = range(self._first_numbers.get(rewind.invocation_id, number), number)
        if not removed:
            return None
        self._applied.append(AppliedRewind(removed, facts.invocation_id if first_of_own == number else None))
        return self._applied[-1]

    @property
    def removed(self) -> tuple[range, ...]:
        """The numbers of all removed events, as ranges, in order and without overlap."""
        return tuple(reversed([*self._removed()]))

    def _removed(self) -> Iterator[range]:
        """Yield the ranges of removed events, the last range first. A rewind has no effect if a later rewind has
        removed it."""
        end = self._count
        for removed, _ in reversed(self._applied):
            if removed.stop < end:
                yield removed
                end = removed.start


@dataclass(frozen=True)
class HiddenEvents:
    """The events that are hidden from the client, removed by a rewind, or moved before another event. Event numbers
    start at 0."""

    hidden_events: frozenset[str] = frozenset()
    """The ids of the events that are hidden from the client."""
    rewound: tuple[range, ...] = ()
    """The numbers of rewound events as ranges, in order and without overlap."""
    moved: Mapping[str, Sequence[EventFacts]] = field(default_factory=dict)
    """Event id -> events that were stored later, but that the client was shown before this event."""

    def is_rewound(self, number: int) -> bool:
        later = bisect_right(self.rewound, number, key=lambda numbers: numbers.start)
        return later > 0 and number in self.rewound[later - 1]


@dataclass(slots=True)
class _Invocation:
    last: int
    """The number of the newest event."""
    by_agent: bool | None = None
    """True if the first content of the invocation is from an agent, False if from the user; ``None`` without
    content."""


class FirstReading:
    """Finds ``HiddenEvents``, and invocations that begin a message without a user event.

    Some requests for approvals and credentials must be moved to their original position. ADK yields such a request
    before the tool responses of the same step, but gives the request a later timestamp. So a store that sorts events by
    time returns the request after the responses.
    """

    def __init__(self) -> None:
        self._count = 0
        self._hidden: set[str] = set()
        self._moved: dict[str, list[EventFacts]] = {}
        self._waiting: dict[_Speaker, EventFacts] = {}
        """Invocation, agent and branch -> the newest event, if this event has placeholder responses. Requests for
        approvals and credentials do not count as newest."""
        self._invocations: dict[str, _Invocation] = {}
        """The invocations, in the order in which they began."""
        self._rewinds = Rewinds()

    def add(self, facts: EventFacts) -> None:
        number, self._count = self._count, self._count + 1
        self._hidden.update(hidden_events(facts.event))
        if (before := moved_before(facts.event)) is not None:
            self._moved.setdefault(before, []).append(facts)
        self._note_question(facts)
        if facts.invocation_id:
            invocation = self._invocations.setdefault(facts.invocation_id, _Invocation(number))
            invocation.last = number
            if invocation.by_agent is None and facts.shows_something:
                invocation.by_agent = not facts.by_user
        self._rewinds.add(facts)

    def _note_question(self, facts: EventFacts) -> None:
        """Find requests for approvals and credentials that must be moved. While a call waits for the user, its tool
        response is a placeholder. If the request comes after the placeholder, it is moved before the event with the
        placeholder.
        """
        if not self._waiting and not facts.reports:
            return
        author, branch, _ = facts.speaker
        speaker = (facts.invocation_id, author, branch)
        kinds = {call.kind for call in facts.calls}
        waiting = self._waiting.get(speaker)
        if waiting is None or kinds.isdisjoint((CallKind.APPROVAL, CallKind.CREDENTIAL)):
            if facts.reports_a(Waiting):
                self._waiting[speaker] = facts
            else:
                self._waiting.pop(speaker, None)
        elif CallKind.CREDENTIAL in kinds or not _has_settled_results(waiting):
            self._moved.setdefault(waiting.id, []).append(facts)

    @property
    def hidden(self) -> HiddenEvents:
        """The events that are hidden from the client, removed by a rewind, or moved. The result is complete only after
        all events have been added.
        """
        return HiddenEvents(frozenset(self._hidden), self._rewinds.removed, self._moved)

    @property
    def beginnings(self) -> frozenset[str]:
        """The ids of invocations whose first content is from an agent. Omits invocations that ran during another
        invocation.
        """
        return frozenset(self._beginnings())

    def _beginnings(self) -> Iterator[str]:
        end = -1
        for invocation_id, invocation in self._invocations.items():
            if invocation.by_agent is None:
                continue  # an invocation that shows nothing has no other invocation inside it
            if invocation.by_agent and invocation.last > end:
                yield invocation_id
            end = max(end, invocation.last)


def _has_settled_results(facts: EventFacts) -> bool:
    """Return True if the event has a function response that is not a placeholder for an approval."""
    return any(result.waits_for is not CallKind.APPROVAL for result in facts.results)


class EventRole(Enum):
    """The role of an event in its conversation, such as the first event of a turn."""

    NEW_MESSAGE = auto()
    """The first event of a turn: the user's message, or the agent's first event if the agent began."""
    NEW_RESPONSE = auto()
    """The first event of a further response in the newest message, after the user has answered a call."""
    SAME_RESPONSE = auto()
    HIDDEN = auto()
    """An event of the newest turn that only the model reads."""
    BESIDE = auto()
    """A compaction event in the newest turn, which only the client is shown."""
    OUTSIDE = auto()
    """An event that is not part of the conversation, such as a rewind or a user event without content."""


class TranscriptReader:
    """Finds the ``EventRole`` of each event. For example, the event begins a turn, or belongs to the newest response.

    - A user message begins a turn. If user events are missing, a new invocation begins a turn. But if a call of the
      newest message waits for an answer, the new invocation continues this message.
    - Any other user event begins a response. If the event with the user's approval is missing, the result of the
      approved call begins the response.
    - All other events belong to the newest response.
    """

    def __init__(
        self,
        beginnings: frozenset[str] | None = None,
        *,
        hidden: HiddenEvents | None = None,
        call_ids: CallIds | None = None,
    ) -> None:
        """``beginnings``: ids of the invocations that can begin a message without a user event; ``None`` if all can.
        ``hidden``: the events that the client did not receive, or received at another position. ``call_ids``: creates
        the ``toolCallId`` of each call."""
        self._beginnings = beginnings
        self._hidden = hidden or HiddenEvents()
        self._numbers = count()
        self._moved = dict(self._hidden.moved)
        """The moved events that ``place`` has not yielded yet."""
        self._placed: set[str] = set()
        """The ids of moved events that ``place`` has yielded before their stored position."""
        self._call_ids = call_ids if call_ids is not None else CallIds()
        self.earlier_ids = NO_IDS
        """The client ids of calls before the newest message."""
        self.calls = CallReader(self._call_ids)
        """The calls of the newest message."""
        self.message_id = ""
        """The id of the newest message; empty before the first message."""
        self._counts: Counter[str] = Counter()
        """Invocation id -> number of messages that began in this invocation."""
        self._invocation: str | None = None
        """The invocation of the newest response."""
        self._begun = False
        self._has_turns = False
        """True after a recording has marked a turn. After that, events begin no message or response."""
        self._has_user_events = False
        self._after_user_event = False
        self._user_is_speaking = False
        """True from the first piece of the user's speech in a live run to its end."""
        self._ended = False
        """True if the newest response is known to have ended."""

    def next_message_id(self, invocation_id: str) -> str:
        """Return the id of the next assistant message. ``invocation_id``: the invocation in which this message
        begins."""
        return message_id(invocation_id, self._counts[invocation_id] + 1)

    def begin_turn(self, *, continues: bool, earlier_ids: CallIds | None = None) -> None:
        """Begin a turn that has a ``TurnRecord`` in a recording. ``continues``: True if the turn continues the newest
        message.

        ``earlier_ids``: the ``toolCallId`` of each call that stays in the chat, if the turn removes other turns;
        otherwise ``None``.
        """
        self._has_turns = True
        if earlier_ids is not None:
            self._call_ids = earlier_ids.copy()
        if not continues:
            self._begin_calls()

    def begin_message(self, invocation_id: str) -> None:
        """Begin an assistant message, which may stay empty."""
        self.message_id = self.next_message_id(invocation_id)
        self._counts[invocation_id] += 1
        self._begun = True
        self._begin_calls()

    def _begin_calls(self) -> None:
        self.earlier_ids = self._call_ids.copy()
        self.calls = CallReader(self._call_ids)

    def end_response(self) -> None:
        """Record that the newest response has ended. The agent's next event then begins a new message. Exception: if
        this event is the result of an approved call, it begins a response in the newest message.
        """
        self._ended = True

    def place(self, facts: EventFacts) -> Iterator[EventFacts]:
        """Take the next stored event, and yield the events to pass to ``read``. This is usually the event itself.

        Nothing is yielded for an event that a rewind removed. A moved event is yielded at its new position, and not
        again at its stored position.
        """
        if self._hidden.is_rewound(next(self._numbers)):
            return
        for earlier in self._moved.pop(facts.id, ()):
            self._placed.add(earlier.id)
            yield earlier
        if facts.id in self._placed:
            self._placed.remove(facts.id)
        else:
            yield facts

    def read(self, facts: EventFacts) -> EventRole:
        """Return the ``EventRole`` of the next event. Pass the events in the order in which ``place`` yields them."""
        if facts.reports_a(Compaction):
            return EventRole.BESIDE
        if not _is_of_conversation(facts):
            if facts.reports_a(UserSpeechEnd):
                self._user_is_speaking = False  # older ADKs only report the end of the speech
            return EventRole.OUTSIDE
        if facts.id in hidden_events(facts.event):
            self._read_calls(facts)
            return EventRole.HIDDEN
        place = EventRole.SAME_RESPONSE if self._has_turns else self._find_place(facts)
        if place is EventRole.NEW_MESSAGE:
            self.begin_message(facts.invocation_id)
        if place is EventRole.OUTSIDE:
            return place
        if place is not EventRole.SAME_RESPONSE or not self._invocation:
            self._invocation = facts.invocation_id
            self._ended = False
        self._read_calls(facts)
        self._note_speech(facts)
        self._has_user_events |= facts.by_user
        self._after_user_event = facts.by_user
        return place

    def _find_place(self, facts: EventFacts) -> EventRole:
        shows_approval = self.calls.known.shows_approval(facts)
        if facts.is_user_message:
            return EventRole.SAME_RESPONSE if self._user_is_speaking else EventRole.NEW_MESSAGE
        if not self._begun:
            return EventRole.NEW_MESSAGE if facts.shows_something or self._is_turn(facts) else EventRole.OUTSIDE
        if facts.by_user and self._after_user_event:
            return EventRole.SAME_RESPONSE  # one request may have several answers, each in its own event
        if facts.by_user or shows_approval:
            return EventRole.NEW_RESPONSE
        return EventRole.NEW_MESSAGE if self._begins_run(facts) else EventRole.SAME_RESPONSE

    def _begins_run(self, facts: EventFacts) -> bool:
        if self._ended:
            return facts.shows_something or self._is_turn(facts)
        if self._has_user_events or facts.results or not facts.invocation_id != self._invocation != "":
            return False
        return self._is_turn(facts) and not self.calls.any_awaited

    def _is_turn(self, facts: EventFacts) -> bool:
        """Return True if the event's invocation can begin a turn of the chat."""
        return bool(facts.invocation_id) and (self._beginnings is None or facts.invocation_id in self._beginnings)

    def _read_calls(self, facts: EventFacts) -> None:
        is_hidden = facts.id in self._hidden.hidden_events
        self.calls.read(facts if is_hidden else shown_facts(facts), is_hidden=is_hidden)

    def _note_speech(self, facts: EventFacts) -> None:
        if facts.is_user_message:
            self._user_is_speaking = facts.is_fragment
        elif facts.reports_a(LiveTurnEnd) and not self._after_user_event:
            self._user_is_speaking = False  # older ADKs do not repeat the complete speech


def _is_of_conversation(facts: EventFacts) -> bool:
    return not facts.reports_a(Rewind) and (not facts.by_user or bool(facts.parts))


def message_id(invocation_id: str, number: int) -> str:
    """Return the id of an assistant message. ``number``: 1 for the first assistant message of the invocation, 2 for the
    second. The invocation id may be empty.
    """
    return (invocation_id or UNNAMED) + (f".{number}" if number > 1 else "")
