"""Finds the message and the response to which each event belongs.

``Transcript`` uses ``TranscriptReader`` for stored sessions. ``TranscriptReader`` also reads recordings. In a
recording, a continued response can have a new invocation id, and user events can be missing.
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
"""Placeholder in the ids of messages that begin without an invocation id."""


class EventRole(Enum):
    """The role of an event in its conversation."""

    NEW_MESSAGE = auto()
    """The first event of a turn: the user's message, or the agent's first event if the agent began."""
    NEW_RESPONSE = auto()
    """The first event of a further response in the newest message, after the user has answered a call."""
    SAME_RESPONSE = auto()
    HIDDEN = auto()
    """An event of the newest turn that only the model reads."""
    BESIDE = auto()
    """A summary of earlier events (compaction) in the newest turn. Only the client is shown this event."""
    OUTSIDE = auto()
    """An event that is not part of the conversation, such as a rewind or a user event without content."""


class TranscriptReader:
    """Finds the role of each event in the conversation. Do not pass rewound events (``HiddenEvents`` lists them).

    - A user message begins a turn. If user events are missing, a new invocation begins a turn, unless a call of the
      newest message waits for an answer.
    - Any other user event begins a new response. If the answer to an approval is missing, the result of the approved
      call begins a new response.
    - All other events belong to the newest response, even events that have nothing to do with it.
    """

    def __init__(
        self,
        beginnings: frozenset[str] | None = None,
        *,
        hidden_events: frozenset[str] = frozenset(),
        call_ids: CallIds | None = None,
    ) -> None:
        """``beginnings``: the invocations that begin a message (``FirstReading.beginnings``). ``None`` if each
        invocation can begin a message. ``hidden_events``: the ids of hidden events. ``call_ids``: creates the client
        ids of calls."""
        self._beginnings = beginnings
        self._hidden_events = hidden_events
        self._call_ids = call_ids if call_ids is not None else CallIds()
        self.earlier_ids = NO_IDS
        """The client ids of calls before the newest message."""
        self.calls = CallReader(self._call_ids)
        """Reads the calls of the newest message."""
        self.message_id = ""
        """The id of the newest message; empty before the first message."""
        self._counts: Counter[str] = Counter()
        """Invocation id -> number of messages that began in this invocation."""
        self._invocation: str | None = None
        """The invocation of the newest response."""
        self._begun = False
        """True after a message has begun."""
        self._has_turns = False
        """True after a recording has marked a turn. Then no event begins a message or a response."""
        self._has_user_events = False
        self._after_user_event = False
        self._user_is_speaking = False
        """True between the first fragment of the user's speech in a live run and the end of the speech."""
        self._ended = False
        """True if the newest response is known to have ended."""

    def next_message_id(self, invocation_id: str) -> str:
        """Return the id of the next message, if it begins in this invocation."""
        return message_id(invocation_id, self._counts[invocation_id] + 1)

    def begin_turn(self, *, continues: bool, earlier_ids: CallIds | None = None) -> None:
        """Begin a turn that a recording marks. After this, the events themselves never begin a message or a response.

        ``continues``: True if the turn continues the newest message. ``earlier_ids``: the client ids of calls before
        the turn, if the turn removes earlier turns; otherwise ``None``.
        """
        self._has_turns = True
        if earlier_ids is not None:
            self._call_ids = earlier_ids.copy()
        if not continues:
            self._begin_calls()

    def begin_message(self, invocation_id: str) -> None:
        """Begin an assistant message in this invocation. No event is needed, because the message may be empty."""
        self.message_id = self.next_message_id(invocation_id)
        self._counts[invocation_id] += 1
        self._begun = True
        self._begin_calls()

    def _begin_calls(self) -> None:
        self.earlier_ids = self._call_ids.copy()
        self.calls = CallReader(self._call_ids)

    def end_response(self) -> None:
        """Record that the newest response has ended. The agent's next event begins a message, unless the event shows
        that the user has approved a call."""
        self._ended = True

    def read(self, facts: EventFacts) -> EventRole:
        """Return the role of the next event."""
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
            return EventRole.SAME_RESPONSE  # a request with several answers has an event for each
        if facts.by_user or shows_approval:
            return EventRole.NEW_RESPONSE
        return EventRole.NEW_MESSAGE if self._begins_run(facts) else EventRole.SAME_RESPONSE

    def _begins_run(self, facts: EventFacts) -> bool:
        """Return True if the event is the first of a run that has no user event."""
        if self._ended:
            return facts.shows_something or self._is_turn(facts)
        if self._has_user_events or facts.results or not facts.invocation_id != self._invocation != "":
            return False
        return self._is_turn(facts) and not self.calls.any_awaited

    def _is_turn(self, facts: EventFacts) -> bool:
        """Return True if the event's invocation can begin a turn. Return False for an unrelated invocation."""
        return bool(facts.invocation_id) and (self._beginnings is None or facts.invocation_id in self._beginnings)

    def _read_calls(self, facts: EventFacts) -> None:
        is_hidden = facts.id in self._hidden_events
        self.calls.read(facts if is_hidden else shown_facts(facts), is_hidden=is_hidden)

    def _note_speech(self, facts: EventFacts) -> None:
        if facts.is_user_message:
            self._user_is_speaking = facts.is_fragment
        elif facts.reports_a(LiveTurnEnd) and not self._after_user_event:
            self._user_is_speaking = False  # older ADKs do not repeat the complete speech


def _is_of_conversation(facts: EventFacts) -> bool:
    return not facts.reports_a(Rewind) and (not facts.by_user or bool(facts.parts))


def message_id(invocation_id: str, number: int) -> str:
    """Return the id of the assistant message with this number in an invocation. Numbers start at 1. The invocation id
    may be empty."""
    return (invocation_id or UNNAMED) + (f".{number}" if number > 1 else "")
