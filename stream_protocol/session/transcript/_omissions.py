"""Which events of a conversation its page does not show any more, and which it was shown earlier than they are stored.

An event is taken back, or hidden from the page, by one that comes later; and what was streamed and not stored is
appended when its run has ended. So events are read twice: first to note all that, then to read them in the page's
order. ``Transcript`` does so with events in memory, a replay with a file.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from stream_protocol.adk import CallKind, external_kind
from stream_protocol.session.transcript._metadata import hidden_events, moved_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event

_Speaker: TypeAlias = "tuple[str, str, str | None]"
"""Invocation id, author and branch of an event."""


@dataclass(frozen=True)
class Omissions:
    """The events that are omitted from a conversation. Its events are counted from 0."""

    hidden_events: frozenset[str] = frozenset()
    """The ids of the events that are hidden from the page."""
    rewound: tuple[range, ...] = ()
    """The numbers of the events that rewinds took back, in order, without overlap."""
    moved: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    """Id of an event -> the events, stored later, that the page was shown before it."""

    def is_rewound(self, number: int) -> bool:
        """Whether a rewind took back the event with this number."""
        later = bisect_right(self.rewound, number, key=lambda numbers: numbers.start)
        return later > 0 and number in self.rewound[later - 1]


class PageOrder:
    """Puts the events of a conversation in the order in which the page was shown them."""

    def __init__(self, omissions: Omissions) -> None:
        self._omissions = omissions
        self._numbers = count()
        self._moved = dict(omissions.moved)
        """Those of the moved events that were not placed yet."""
        self._placed: set[str] = set()
        """The ids of the moved events that were placed, and that were not read yet."""

    def place(self, event: Event) -> Iterator[Event]:
        """Yields what the page was shown in the place of the next stored event: often that event alone."""
        if self._omissions.is_rewound(next(self._numbers)):
            return
        for earlier in self._moved.pop(event.id, ()):
            self._placed.add(earlier.id)
            yield earlier
        if event.id in self._placed:
            self._placed.remove(event.id)
        else:
            yield event


class OmissionFinder:
    """Finds the omissions while the events are read.

    A rewind is resolved as ADK does for the model: it takes back the first event of its invocation and all that came
    since, earlier rewinds among them.

    ADK creates the event with the responses of a model's calls, and then its questions for approvals and credentials.
    It yields a question first, except for one kind: if some of the calls wait for no approval, it yields their results
    before it asks for the approvals. A store that sorts by time has each question after the responses.
    """

    def __init__(self) -> None:
        self._hidden: set[str] = set()
        self._moved: dict[str, list[Event]] = {}
        self._waiting: dict[_Speaker, Event] = {}
        """Speaker -> its newest event, except for questions, if that event says that calls wait for an answer."""
        self._first_events: dict[str, int] = {}
        """Invocation id -> the number of its first event."""
        self._rewinds: list[tuple[int, str]] = []
        """The number of each rewind, and the invocation that it takes back."""

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yields the same events."""
        for number, event in enumerate(events):
            self._hidden.update(hidden_events(event))
            if (before := moved_before(event)) is not None:
                self._moved.setdefault(before, []).append(event)
            self._note_question(event)
            if event.invocation_id:
                self._first_events.setdefault(event.invocation_id, number)
            if event.actions.rewind_before_invocation_id:
                self._rewinds.append((number, event.actions.rewind_before_invocation_id))
            yield event

    def _note_question(self, event: Event) -> None:
        """Moves a question that was asked before the responses which precede it. Notes responses that wait."""
        speaker = (event.invocation_id, event.author, event.branch)
        kinds = {external_kind(event, call) for call in event.get_function_calls()}
        waiting = self._waiting.get(speaker)
        if waiting is None or kinds.isdisjoint((CallKind.APPROVAL, CallKind.CREDENTIAL)):
            asked = event.actions.requested_tool_confirmations or event.actions.requested_auth_configs
            if asked:
                self._waiting[speaker] = event
            else:
                self._waiting.pop(speaker, None)
        elif CallKind.CREDENTIAL in kinds or not _has_settled_responses(waiting):
            self._moved.setdefault(waiting.id, []).append(event)

    def found(self) -> Omissions:
        """What is omitted, when all events have been read."""
        return Omissions(frozenset(self._hidden), tuple(reversed([*self._taken_back()])), self._moved)

    def _taken_back(self) -> Iterator[range]:
        """Yields from the last to the first."""
        end: float = inf
        for number, invocation_id in reversed(self._rewinds):
            first = self._first_events.get(invocation_id, number)
            if first < number < end:
                yield range(first, number)
                end = first


def _has_settled_responses(event: Event) -> bool:
    """Whether some of its responses belong to calls that wait for no approval. Such a response may be a credential's
    placeholder: so ADK counts."""
    asked = event.actions.requested_tool_confirmations
    return any(response.id not in asked for response in event.get_function_responses())
