"""Reads a conversation once, to find the effects of later events on earlier events: rewinds, hidden and moved events.

A later event can rewind an earlier event, or hide it from the client. Streamed text that ADK did not store is appended
after its run, and must be moved to the position at which the client was shown the text. Some events belong to no run,
such as a state update by a monitor. Only the surrounding events show to which message such an event belongs.

In a second reading, the events are processed in the order in which the client was shown them.
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
    """A rewind that has removed events."""

    removed: range
    """The numbers of the removed events. The event that contains the rewind comes directly after them."""
    invocation_id: str | None
    """The invocation of the event that contains the rewind. A later rewind that names this invocation undoes the
    rewind. ``None`` if other events have the same invocation."""


class Rewinds:
    """The rewinds of a conversation, and the events that they remove. Event numbers start at 0.

    A rewind names an invocation. The rewind removes all events from the first event of this invocation up to the
    rewind, including other rewinds. ADK removes the same events from the model's prompt.
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
        """The numbers of the events that all rewinds together remove, in order and without overlap."""
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
    """The hidden, rewound and moved events of a conversation. Event numbers start at 0."""

    hidden_events: frozenset[str] = frozenset()
    """The ids of events that are hidden from the client."""
    rewound: tuple[range, ...] = ()
    """The numbers of rewound events as ranges, in order and without overlap."""
    moved: Mapping[str, Sequence[EventFacts]] = field(default_factory=dict)
    """Event id -> the events that were stored after this event, but that the client was shown before it."""

    def is_rewound(self, number: int) -> bool:
        """Return True if a rewind removed the event with this number."""
        later = bisect_right(self.rewound, number, key=lambda numbers: numbers.start)
        return later > 0 and number in self.rewound[later - 1]


class DisplayOrder:
    """Yields the events of a conversation in the order in which the client was shown them."""

    def __init__(self, hidden: HiddenEvents) -> None:
        self._hidden = hidden
        self._numbers = count()
        self._moved = dict(hidden.moved)
        """The moved events that were not yielded yet."""
        self._placed: set[str] = set()
        """The ids of moved events that were yielded before their stored position was reached."""

    def place(self, facts: EventFacts) -> Iterator[EventFacts]:
        """Yield the events to process for the next stored event: usually only this event.

        Rewound events are left out. A moved event comes directly before the event that the client was shown next.
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


@dataclass(slots=True)
class _Invocation:
    last: int
    """The number of the newest event."""
    by_agent: bool | None = None
    """True if the first content of the invocation is from an agent, False if it is from the user; ``None`` without
    content."""


class FirstReading:
    """Finds hidden, rewound and moved events, and invocations that begin a message without a user event.

    Requests for approvals and credentials may have to move. Usually ADK yields such a request before the tool responses
    of the same step, but creates it after them. A store that sorts events by time then returns the request after the
    responses.
    """

    def __init__(self) -> None:
        self._count = 0
        self._hidden: set[str] = set()
        self._moved: dict[str, list[EventFacts]] = {}
        self._waiting: dict[_Speaker, EventFacts] = {}
        """Invocation, agent and branch -> the newest event, if it has placeholder responses.

        Requests for approvals and credentials do not count as the newest event.
        """
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
        """Store an event with placeholder responses. A later request for an approval or a credential is moved before
        this event."""
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
        """The hidden, rewound and moved events. Read this property after all events have been added."""
        return HiddenEvents(frozenset(self._hidden), self._rewinds.removed, self._moved)

    @property
    def beginnings(self) -> frozenset[str]:
        """The ids of invocations whose first content is from an agent. Invocations inside another invocation are left
        out."""
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
    """Return True if the event has a response to a call that needs no approval. A placeholder for a credential also
    counts."""
    return any(result.waits_for is not CallKind.APPROVAL for result in facts.results)
