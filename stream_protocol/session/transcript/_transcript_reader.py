"""Reads events one after the other: which message each belongs to, and which response of that message.

It serves stored sessions (``Transcript`` is made with it) and recordings, also those that are larger than memory and
those of old ADKs. In these a continuation can have an invocation id of its own, and the user's events can be missing.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from stream_protocol.adk import ABORTED, CallKind, Compaction, LiveTurnEnd, Rewind, UserSpeechEnd, gated_call
from stream_protocol.session.transcript._metadata import hidden_events

if TYPE_CHECKING:
    from stream_protocol.adk import EventFacts


UNNAMED: Final = "message"
"""Stands for the invocation in the ids of messages that begin without one."""


class Place(Enum):
    """Where an event stands in its conversation."""

    NEW_MESSAGE = auto()
    """The first of an exchange: the user's message, or the agent's first event if the agent spoke by itself."""
    NEW_RESPONSE = auto()
    """The first of another response that continues the newest message: the user answered one of the agent's calls."""
    SAME_RESPONSE = auto()
    HIDDEN = auto()
    """Of the newest exchange, but for the model alone."""
    OUTSIDE = auto()
    """No part of the conversation: a compaction, a rewind, an event of the user's without content, or an event beside
    the conversation before its first message."""


class TranscriptReader:
    """Finds the place of each event that no rewind took back (``Omissions`` tells which those are).

    A user's message begins an exchange. If the user's events are missing, each new invocation does, unless a call of
    the newest message waits for an answer. Any other event of the user's begins another response of the message; so
    does the result of a call that waited for approval, if the answer is missing. All else goes on in the newest
    response: results, and events that are beside the conversation or name no invocation.
    """

    def __init__(self, beginnings: frozenset[str] | None = None) -> None:
        """``beginnings``: what a ``FirstReading`` found in the conversation; without it each invocation counts."""
        self._beginnings = beginnings
        self.message_id = ""
        """The id of the newest message; empty before the first one."""
        self._counts: Counter[str] = Counter()
        """Invocation id -> how many messages began in it."""
        self._waiting_calls: dict[str, str] = {}
        """Id of the response that answers a call -> id of that call. Of all calls so far, answered or not."""
        self._calls_to_approve: set[str] = set()
        """Ids of the calls of the newest message that wait for approval."""
        self._unanswered: dict[str, str] = {}
        """The part of ``_waiting_calls`` that is of the newest message, and waits still."""
        self._invocation: str | None = None
        """The invocation of the newest response."""
        self._begun = False
        """Whether a message or a recorded turn has begun."""
        self._has_user_events = False
        self._after_user_event = False
        self._user_is_speaking = False
        """Whether pieces of what the user says in a live run have come, and the whole has not."""
        self._ended = False
        """Whether the newest response is known to have ended."""

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
        self._calls_to_approve.clear()
        self._unanswered.clear()

    def end_response(self) -> None:
        """The newest response has ended. What the agent does next begins a message, unless it shows an approval."""
        self._ended = True

    def read(self, said: EventFacts) -> Place:
        """The place of the next event."""
        if not _is_of_conversation(said):
            if said.reports_a(UserSpeechEnd):
                self._user_is_speaking = False  # an older ADK only says that the pieces are all
            return Place.OUTSIDE
        if said.id in hidden_events(said.event):
            return Place.HIDDEN
        place = self._find_place(said)
        if place is Place.NEW_MESSAGE:
            self.begin_message(said.invocation_id)
        if place is Place.OUTSIDE:
            return place
        if place is not Place.SAME_RESPONSE or not self._invocation:
            self._invocation = said.invocation_id
            self._ended = False
        self._note_calls(said)
        self._note_speech(said)
        self._has_user_events |= said.by_user
        self._after_user_event = said.by_user
        return place

    def _find_place(self, said: EventFacts) -> Place:
        answers = self._take_answer(said)
        if said.is_user_message:
            return Place.SAME_RESPONSE if self._user_is_speaking else Place.NEW_MESSAGE
        if not self._begun:
            return Place.NEW_MESSAGE if said.shows_something or self._is_turn(said) else Place.OUTSIDE
        if said.by_user and self._after_user_event:
            return Place.SAME_RESPONSE  # one request can hold several answers, in events of their own
        if said.by_user or answers:
            return Place.NEW_RESPONSE
        return Place.NEW_MESSAGE if self._begins_run(said) else Place.SAME_RESPONSE

    def _begins_run(self, said: EventFacts) -> bool:
        """Whether the event is the first of a run, though nothing of the user's comes before it."""
        if self._ended:
            return said.shows_something or self._is_turn(said)
        if self._has_user_events or self._unanswered or said.results:
            return False
        return said.invocation_id != self._invocation != "" and self._is_turn(said)

    def _is_turn(self, said: EventFacts) -> bool:
        """Whether the event's invocation is not beside the conversation."""
        return bool(said.invocation_id) and (self._beginnings is None or said.invocation_id in self._beginnings)

    def _take_answer(self, said: EventFacts) -> bool:
        """Returns whether the event answers a call, or shows that one was approved. Ends the wait for its approval."""
        results = [result for result in said.results if result.id]
        if not results:
            return False
        given = {result.id for result in results if result.waits_for is None}
        for answer_id, call_id in tuple(self._unanswered.items()):
            if given & {answer_id, call_id}:
                del self._unanswered[answer_id]
        if said.by_user:
            answered = {result.id for result in results} & self._waiting_calls.keys()
            self._calls_to_approve -= {self._waiting_calls[answer_id] for answer_id in answered if answer_id}
            return bool(answered)
        if said.failure is not None and said.failure.code == ABORTED:  # ADK closes the calls of a stopped run
            return False
        ran = {result.id for result in results if result.id and result.waits_for is not CallKind.APPROVAL}
        approved = ran & self._calls_to_approve
        self._calls_to_approve -= approved
        return bool(approved)

    def _note_calls(self, said: EventFacts) -> None:
        for call in () if said.is_fragment else said.calls:
            if call.kind is None or not call.id:
                continue
            call_id = call.id
            if call.kind is CallKind.APPROVAL:
                call_id = gated_call(call.args).get("id") or call.id
                self._calls_to_approve.add(call_id)
            self._waiting_calls[call.id] = self._unanswered[call.id] = call_id

    def _note_speech(self, said: EventFacts) -> None:
        if said.is_user_message:
            self._user_is_speaking = said.is_fragment
        elif said.reports_a(LiveTurnEnd) and not self._after_user_event:
            self._user_is_speaking = False  # an older ADK does not repeat the whole


def _is_of_conversation(said: EventFacts) -> bool:
    return not said.reports_a(Compaction, Rewind) and (not said.by_user or bool(said.parts))


def message_id(invocation_id: str, number: int) -> str:
    """The id of the assistant message with this number, from 1, in its invocation, which may have no id."""
    return (invocation_id or UNNAMED) + (f".{number}" if number > 1 else "")
