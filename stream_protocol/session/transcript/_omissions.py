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
from typing import TYPE_CHECKING, Final

from stream_protocol.convert.calls import REQUEST_CONFIRMATION, REQUEST_CREDENTIAL
from stream_protocol.session.transcript._metadata import hidden_events, moved_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from google.adk.events import Event

_QUESTIONS: Final = (REQUEST_CONFIRMATION, REQUEST_CREDENTIAL)


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
    since, earlier rewinds among them. ADK asks for an approval or a credential before it says that the call waits, but
    makes that event first: a store that sorts by time has the question after it.
    """

    def __init__(self) -> None:
        self._hidden: set[str] = set()
        self._moved: dict[str, list[Event]] = {}
        self._waiting: Event | None = None
        """The newest event, but for questions, if it says that calls wait for an answer to a question."""
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
            if self._waiting is not None and _asks_for(self._waiting, event):
                self._moved.setdefault(self._waiting.id, []).append(event)
            else:
                asked = event.actions.requested_tool_confirmations or event.actions.requested_auth_configs
                self._waiting = event if asked else None
            if event.invocation_id:
                self._first_events.setdefault(event.invocation_id, number)
            if event.actions.rewind_before_invocation_id:
                self._rewinds.append((number, event.actions.rewind_before_invocation_id))
            yield event

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


def _asks_for(waiting: Event, event: Event) -> bool:
    """Whether the event asks what the calls in the other one wait for."""
    same_agent = (event.invocation_id, event.author, event.branch) == (
        waiting.invocation_id,
        waiting.author,
        waiting.branch,
    )
    return same_agent and any(call.name in _QUESTIONS for call in event.get_function_calls())
