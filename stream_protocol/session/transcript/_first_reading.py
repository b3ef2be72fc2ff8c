"""Reads a conversation once, and notes effects of later events on earlier events: rewinds, hiding and moving.

A later event can rewind an earlier event or hide it from the client. Streamed text that ADK did not store is appended
after its run. An event can also be outside the conversation, such as a monitor's state update between a call and its
result. That event has a separate invocation id or none, and only the surrounding events show its place. A second
reading then takes the events in the order in which the client was shown them. ``Transcript`` reads events in memory
twice, and a replay reads a file twice.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from stream_protocol.adk import CallKind, Rewind, Waiting
from stream_protocol.session.transcript._metadata import hidden_events, moved_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream_protocol.adk import EventFacts

_Speaker: TypeAlias = "tuple[str, str, str | None]"
"""Invocation id, author and branch of an event."""


class AppliedRewind(NamedTuple):
    """A rewind that removes events."""

    removed: range
    """The numbers of the removed events. The event of the rewind itself comes next."""
    invocation_id: str | None
    """The invocation of the rewind. A later rewind that names this invocation undoes the rewind. ``None`` if other
    events have the same invocation.
    """


class Rewinds:
    """The rewinds of a conversation, and the events that they remove. Event numbers start at 0.

    A rewind names an invocation. It removes the first event of this invocation, and all events between that event and
    the rewind. Other rewinds among these events are also removed. ADK does the same for the model's prompt.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first_numbers: dict[str, int] = {}
        """Invocation id -> the number of its first event."""
        self._applied: list[AppliedRewind] = []

    def add(self, facts: EventFacts) -> AppliedRewind | None:
        """Read the next event. Return the rewind if the event is a rewind and removes events."""
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
        """The numbers of the events that all rewinds together remove, in order and without overlap."""
        return tuple(reversed([*self._removed()]))

    def _removed(self) -> Iterator[range]:
        """Yield the ranges, the last range first. A removed rewind no longer counts."""
        end = self._count
        for removed, _ in reversed(self._applied):
            if removed.stop < end:
                yield removed
                end = removed.start


@dataclass(frozen=True)
class HiddenEvents:
    """The events of a conversation that are hidden, rewound or moved. Event numbers start at 0."""

    hidden_events: frozenset[str] = frozenset()
    """The ids of events that are hidden from the client."""
    rewound: tuple[range, ...] = ()
    """The numbers of rewound events, in order and without overlap."""
    moved: Mapping[str, Sequence[EventFacts]] = field(default_factory=dict)
    """Event id -> the events that were stored later but shown before this event."""

    def is_rewound(self, number: int) -> bool:
        """Return True if a rewind removed the event with this number."""
        later = bisect_right(self.rewound, number, key=lambda numbers: numbers.start)
        return later > 0 and number in self.rewound[later - 1]


class DisplayOrder:
    """Sorts the events of a conversation into the order in which the client was shown them."""

    def __init__(self, hidden: HiddenEvents) -> None:
        self._hidden = hidden
        self._numbers = count()
        self._moved = dict(hidden.moved)
        """The moved events that are not yielded yet."""
        self._placed: set[str] = set()
        """The ids of moved events that are already yielded, and whose stored place is not reached yet."""

    def place(self, facts: EventFacts) -> Iterator[EventFacts]:
        """Yield the events that the client was shown in place of the next stored event: usually only the stored event
        itself."""
        if self._hidden.is_rewound(next(self._numbers)):
            return
        for earlier in self._moved.pop(facts.id, ()):
            self._placed.add(earlier.id)
            yield earlier
        if facts.id in self._placed:
            self._placed.remove(facts.id)
        else:
            yield facts


@dataclass(slots=True)
class _Invocation:
    last: int
    """The number of the newest event."""
    by_agent: bool | None = None
    """True if an agent showed something before the user did; ``None`` while nothing is shown."""


class FirstReading:
    """Finds hidden, rewound and moved events, and invocations that begin a message without a user event.

    ADK first creates the event with tool responses, and then its questions for approvals and credentials. But ADK
    usually yields a question before the responses. Only if some of the calls need no approval, ADK yields their results
    before the question. A store that sorts by time has each question after the responses, so questions may have to
    move.
    """

    def __init__(self) -> None:
        self._count = 0
        self._hidden: set[str] = set()
        self._moved: dict[str, list[EventFacts]] = {}
        self._waiting: dict[_Speaker, EventFacts] = {}
        """Agent and branch -> the newest event, if it has placeholder responses. Questions do not count as the newest
        event."""
        self._invocations: dict[str, _Invocation] = {}
        """The invocations in the order in which they began."""
        self._rewinds = Rewinds()

    def add(self, facts: EventFacts) -> None:
        """Read the next event."""
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
        """Note placeholder responses. Move a question (a call for an approval or a credential) before earlier
        placeholders."""
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
        """The hidden, rewound and moved events; complete after all events have been read."""
        return HiddenEvents(frozenset(self._hidden), self._rewinds.removed, self._moved)

    @property
    def beginnings(self) -> frozenset[str]:
        """The ids of invocations in which an agent showed something before the user did.

        Invocations that are nested in another invocation are left out.
        """
        return frozenset(self._beginnings())

    def _beginnings(self) -> Iterator[str]:
        end = -1
        for invocation_id, invocation in self._invocations.items():
            if invocation.by_agent is None:
                continue  # it shows nothing, so no other invocation is nested in it
            if invocation.by_agent and invocation.last > end:
                yield invocation_id
            end = max(end, invocation.last)


def _has_settled_results(facts: EventFacts) -> bool:
    """Return True if some results in the event belong to calls that need no approval. As in ADK, a credential
    placeholder also counts.
    """
    return any(result.waits_for is not CallKind.APPROVAL for result in facts.results)
