"""Reads events one after the other: which message each belongs to, and which response of that message.

It serves stored sessions (``Transcript`` is made with it) and recordings, also those that are larger than memory and
those of old ADKs. In these a continuation can have an invocation id of its own, and the user's events can be missing.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from stream_protocol.adk import NO_IDS, CallIds, Compaction, LiveTurnEnd, Rewind, UserSpeechEnd
from stream_protocol.session.transcript._metadata import hidden_events
from stream_protocol.session.transcript._turn_calls import CallReader, shown_facts

if TYPE_CHECKING:
    from stream_protocol.adk import EventFacts


UNNAMED: Final = "message"
"""Stands for the invocation in the ids of messages that begin without one."""


class EventRole(Enum):
    """The place of an event in its conversation."""

    NEW_MESSAGE = auto()
    """The first of a turn: the user's message, or the agent's first event if the agent spoke by itself."""
    NEW_RESPONSE = auto()
    """The first of another response that continues the newest message: the user answered one of the agent's calls."""
    SAME_RESPONSE = auto()
    HIDDEN = auto()
    """Of the newest turn, but for the model alone."""
    BESIDE = auto()
    """A compaction: in the newest turn, for the page alone."""
    OUTSIDE = auto()
    """Not in the conversation: a rewind, or a user's event without content. Also an event beside the
    conversation before its first message."""


class TranscriptReader:
    """Finds the place of each event that no rewind took back (``HiddenEvents`` lists the rewound ones).

    A user's message begins a turn. If the user's events are missing, each new invocation does, unless a call of
    the newest message waits for an answer. Any other event of the user's begins another response of the message. So
    does the result of a call that waited for approval, if the answer is missing. All else goes on in the newest
    response: results, and events that are beside the conversation or name no invocation.
    """

    def __init__(
        self,
        beginnings: frozenset[str] | None = None,
        *,
        hidden_events: frozenset[str] = frozenset(),
        call_ids: CallIds | None = None,
    ) -> None:
        """``beginnings``: what a ``FirstReading`` found in the conversation; without it each invocation counts.
        ``hidden_events``: the ids of the events that it found to be hidden. ``call_ids``: gives the page's ids.
        """
        self._beginnings = beginnings
        self._hidden_events = hidden_events
        self._call_ids = call_ids if call_ids is not None else CallIds()
        self.earlier_ids = NO_IDS
        """The ids under which the page knows the calls of the messages before the newest one."""
        self.calls = CallReader(self._call_ids)
        """Reads the calls of the newest message."""
        self.message_id = ""
        """The id of the newest message; empty before the first one."""
        self._counts: Counter[str] = Counter()
        """Invocation id -> how many messages began in it."""
        self._invocation: str | None = None
        """The invocation of the newest response."""
        self._begun = False
        """True after a message or a recorded turn has begun."""
        self._has_user_events = False
        self._after_user_event = False
        self._user_is_speaking = False
        """True from the first piece of the user's speech in a live run until the whole has come."""
        self._ended = False
        """True if the newest response is known to have ended."""

    def next_message_id(self, invocation_id: str) -> str:
        """The id of the next message that begins in this invocation."""
        return message_id(invocation_id, self._counts[invocation_id] + 1)

    def begin_turn(self) -> None:
        """A turn has begun that was recorded as one. So no event can come before the first message."""
        self._begun = True

    def begin_message(self, invocation_id: str) -> None:
        """A message begins in this invocation: with the event that is read, or without any event."""
        self.message_id = self.next_message_id(invocation_id)
        self._counts[invocation_id] += 1
        self._begun = True
        self.earlier_ids = self._call_ids.copy()
        self.calls = CallReader(self._call_ids)

    def end_response(self) -> None:
        """The newest response has ended. The agent's next event begins a message, unless it shows an approval."""
        self._ended = True

    def read(self, said: EventFacts) -> EventRole:
        """The place of the next event."""
        if said.reports_a(Compaction):
            return EventRole.BESIDE
        if not _is_of_conversation(said):
            if said.reports_a(UserSpeechEnd):
                self._user_is_speaking = False  # an older ADK only says that the pieces are all
            return EventRole.OUTSIDE
        if said.id in hidden_events(said.event):
            self._read_calls(said)
            return EventRole.HIDDEN
        place = self._find_place(said)
        if place is EventRole.NEW_MESSAGE:
            self.begin_message(said.invocation_id)
        if place is EventRole.OUTSIDE:
            return place
        if place is not EventRole.SAME_RESPONSE or not self._invocation:
            self._invocation = said.invocation_id
            self._ended = False
        self._read_calls(said)
        self._note_speech(said)
        self._has_user_events |= said.by_user
        self._after_user_event = said.by_user
        return place

    def _find_place(self, said: EventFacts) -> EventRole:
        shows_approval = self.calls.shows_approval(said)
        if said.is_user_message:
            return EventRole.SAME_RESPONSE if self._user_is_speaking else EventRole.NEW_MESSAGE
        if not self._begun:
            return EventRole.NEW_MESSAGE if said.shows_something or self._is_turn(said) else EventRole.OUTSIDE
        if said.by_user and self._after_user_event:
            return EventRole.SAME_RESPONSE  # one request can hold several answers, in events of their own
        if said.by_user or shows_approval:
            return EventRole.NEW_RESPONSE
        return EventRole.NEW_MESSAGE if self._begins_run(said) else EventRole.SAME_RESPONSE

    def _begins_run(self, said: EventFacts) -> bool:
        """Return True if the event is the first of a run, though no event of the user's comes before it."""
        if self._ended:
            return said.shows_something or self._is_turn(said)
        if self._has_user_events or said.results or not said.invocation_id != self._invocation != "":
            return False
        return self._is_turn(said) and not self.calls.any_awaited

    def _is_turn(self, said: EventFacts) -> bool:
        """Return True unless the event's invocation is beside the conversation."""
        return bool(said.invocation_id) and (self._beginnings is None or said.invocation_id in self._beginnings)

    def _read_calls(self, said: EventFacts) -> None:
        is_hidden = said.id in self._hidden_events
        self.calls.read(said if is_hidden else shown_facts(said), is_hidden=is_hidden)

    def _note_speech(self, said: EventFacts) -> None:
        if said.is_user_message:
            self._user_is_speaking = said.is_fragment
        elif said.reports_a(LiveTurnEnd) and not self._after_user_event:
            self._user_is_speaking = False  # an older ADK does not repeat the whole


def _is_of_conversation(said: EventFacts) -> bool:
    return not said.reports_a(Rewind) and (not said.by_user or bool(said.parts))


def message_id(invocation_id: str, number: int) -> str:
    """The id of the assistant message with this number, from 1, in its invocation, which may have no id."""
    return (invocation_id or UNNAMED) + (f".{number}" if number > 1 else "")
