"""The first of two readings of a conversation. It notes the information that later events have about earlier ones.

A later event can take back an earlier one, or hide it from the client. Text that was streamed and not stored is
appended when its run has ended. And an event can be beside the conversation: a state update by a monitor, between a
call and its result. Such an event has an invocation id of its own, or none, and only the events around it show its
place. So events are read twice: first to note all that, then to read them in the order in which the client was shown
them. ``Transcript`` does so with events in memory, a replay with a file.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from stream_protocol.adk import CallKind, Rewind, Waiting
from stream_protocol.session.transcript._metadata import hidden_events, moved_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stream_protocol.adk import EventFacts

_Speaker: TypeAlias = "tuple[str, str, str | None]"
"""Invocation id, author and branch of an event."""


@dataclass(frozen=True)
class HiddenEvents:
    """The events that are omitted from a conversation. Its events are counted from 0."""

    hidden_events: frozenset[str] = frozenset()
    """The ids of the events that are hidden from the page."""
    rewound: tuple[range, ...] = ()
    """The numbers of the events that rewinds took back, in order, without overlap."""
    moved: Mapping[str, Sequence[EventFacts]] = field(default_factory=dict)
    """Id of an event -> the events, stored later, that the page was shown before it."""

    def is_rewound(self, number: int) -> bool:
        """Return True if a rewind took back the event with this number."""
        later = bisect_right(self.rewound, number, key=lambda numbers: numbers.start)
        return later > 0 and number in self.rewound[later - 1]


class DisplayOrder:
    """Puts the events of a conversation in the order in which the page was shown them."""

    def __init__(self, hidden: HiddenEvents) -> None:
        self._omissions = hidden
        self._numbers = count()
        self._moved = dict(hidden.moved)
        """Those of the moved events that were not placed yet."""
        self._placed: set[str] = set()
        """The ids of the moved events that were placed, and that were not read yet."""

    def place(self, said: EventFacts) -> Iterator[EventFacts]:
        """Yields what the page was shown in the place of the next stored event: often that event alone."""
        if self._omissions.is_rewound(next(self._numbers)):
            return
        for earlier in self._moved.pop(said.id, ()):
            self._placed.add(earlier.id)
            yield earlier
        if said.id in self._placed:
            self._placed.remove(said.id)
        else:
            yield said


@dataclass(slots=True)
class _Invocation:
    first: int
    """The number of its first event."""
    last: int
    """The number of its newest event."""
    by_agent: bool | None = None
    """True if an agent, and not the user, showed something first; ``None`` until somebody did."""


class FirstReading:
    """Finds the omissions, and the invocations that begin a message though the user's event is missing.

    A rewind is resolved as ADK does for the model. It takes back the first event of its invocation and all later ones,
    earlier rewinds among them.

    ADK creates the event with the responses of a model's calls, and then its questions for approvals and credentials.
    It yields a question first, with one exception. If some of the calls wait for no approval, it yields their results
    before it asks for the approvals. A store that sorts by time has each question after the responses.
    """

    def __init__(self) -> None:
        self._count = 0
        """The number of events read."""
        self._hidden: set[str] = set()
        self._moved: dict[str, list[EventFacts]] = {}
        self._waiting: dict[_Speaker, EventFacts] = {}
        """Speaker -> its newest event, except for questions, if that event says that calls wait for an answer."""
        self._invocations: dict[str, _Invocation] = {}
        """In the order in which they began."""
        self._rewinds: list[tuple[int, str]] = []
        """The number of each rewind, and the invocation that it takes back."""

    def add(self, said: EventFacts) -> None:
        """Reads the next event."""
        number, self._count = self._count, self._count + 1
        self._hidden.update(hidden_events(said.event))
        if (before := moved_before(said.event)) is not None:
            self._moved.setdefault(before, []).append(said)
        self._note_question(said)
        if said.invocation_id:
            invocation = self._invocations.setdefault(said.invocation_id, _Invocation(number, number))
            invocation.last = number
            if invocation.by_agent is None and said.shows_something:
                invocation.by_agent = not said.by_user
        if (rewind := said.report(Rewind)) is not None:
            self._rewinds.append((number, rewind.invocation_id))

    def _note_question(self, said: EventFacts) -> None:
        """Moves a question that was asked before the responses which precede it. Notes responses that wait."""
        if not self._waiting and not said.reports:
            return
        author, branch, _ = said.speaker
        speaker = (said.invocation_id, author, branch)
        kinds = {call.kind for call in said.calls}
        waiting = self._waiting.get(speaker)
        if waiting is None or kinds.isdisjoint((CallKind.APPROVAL, CallKind.CREDENTIAL)):
            if said.reports_a(Waiting):
                self._waiting[speaker] = said
            else:
                self._waiting.pop(speaker, None)
        elif CallKind.CREDENTIAL in kinds or not _has_settled_results(waiting):
            self._moved.setdefault(waiting.id, []).append(said)

    @property
    def hidden(self) -> HiddenEvents:
        """The omissions, complete once all events have been read."""
        return HiddenEvents(frozenset(self._hidden), tuple(reversed([*self._taken_back()])), self._moved)

    def _taken_back(self) -> Iterator[range]:
        """Yields from the last to the first."""
        end: float = inf
        for number, invocation_id in reversed(self._rewinds):
            invocation = self._invocations.get(invocation_id)
            first = invocation.first if invocation is not None else number
            if first < number < end:
                yield range(first, number)
                end = first

    @property
    def beginnings(self) -> frozenset[str]:
        """The ids of the invocations in which an agent spoke first, without those that lie within another one."""
        return frozenset(self._beginnings())

    def _beginnings(self) -> Iterator[str]:
        end = -1
        for invocation_id, invocation in self._invocations.items():
            if invocation.by_agent is None:
                continue  # it says nothing, so nothing lies within it
            if invocation.by_agent and invocation.last > end:
                yield invocation_id
            end = max(end, invocation.last)


def _has_settled_results(said: EventFacts) -> bool:
    """Return True if some of its results belong to calls that wait for no approval. Such a result may be a credential's
    placeholder: ADK counts it, too."""
    return any(result.waits_for is not CallKind.APPROVAL for result in said.results)
