"""Reads events one after the other: which message each belongs to, and which response of that message.

It serves stored sessions (``Transcript`` is made with it) and recordings, also those that are larger than memory and
those of old ADKs. In these a continuation can have an invocation id of its own, and the user's events can be missing.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from typing import TYPE_CHECKING

from stream_protocol.convert import ABORTED, is_user_event
from stream_protocol.convert.calls import CallKind, external_kind, gated_call
from stream_protocol.session.transcript._metadata import hidden_events

if TYPE_CHECKING:
    from google.adk.events import Event


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
    """No part of the conversation: a compaction, a rewind, or an event of the user's without content."""


class TranscriptReader:
    """Finds the place of each event that no rewind took back (``Omissions`` tells which those are).

    A user's message begins an exchange. If the user's events are missing, each new invocation does. Any other event of
    the user's begins another response of the message; so does the result of a call that waited for approval, if the
    answer is missing. All else goes on in the newest response.
    """

    def __init__(self) -> None:
        self.message_id = ""
        """The id of the newest message; empty before the first one."""
        self._counts: Counter[str] = Counter()
        """Invocation id -> how many messages began in it."""
        self._waiting_calls: dict[str, str] = {}
        """Id of the response that answers a call -> id of that call. Of all calls so far, answered or not."""
        self._calls_to_approve: set[str] = set()
        """Ids of the calls of the newest message that wait for approval."""
        self._invocation: str | None = None
        """The invocation of the newest response."""
        self._has_user_events = False
        self._after_user_event = False
        self._ended = False
        """Whether the newest response is known to have ended."""

    def next_message_id(self, invocation_id: str) -> str:
        """The id of the next message that begins in this invocation."""
        return message_id(invocation_id, self._counts[invocation_id] + 1)

    def end_response(self) -> None:
        """The newest response has ended. What the agent does next begins a message, unless it shows an approval."""
        self._ended = True

    def read(self, event: Event) -> Place:
        """The place of the next event."""
        if not _is_conversation_event(event):
            return Place.OUTSIDE
        if event.id in hidden_events(event):
            return Place.HIDDEN
        by_user = is_user_event(event)
        place = self._find_place(event, by_user=by_user)
        if place is Place.NEW_MESSAGE:
            self._begin_message(event.invocation_id)
        if place is not Place.SAME_RESPONSE:
            self._invocation = event.invocation_id
        self._note_calls(event)
        self._has_user_events |= by_user
        self._after_user_event = by_user
        self._ended = False
        return place

    def _find_place(self, event: Event, *, by_user: bool) -> Place:
        answers = self._take_answer(event, by_user=by_user)
        if not self._counts or is_user_message(event):
            return Place.NEW_MESSAGE
        if by_user and self._after_user_event:
            return Place.SAME_RESPONSE  # one request can hold several answers, in events of their own
        if by_user or answers:
            return Place.NEW_RESPONSE
        if self._ended or (event.invocation_id != self._invocation and not self._has_user_events):
            return Place.NEW_MESSAGE
        return Place.SAME_RESPONSE

    def _begin_message(self, invocation_id: str) -> None:
        self.message_id = self.next_message_id(invocation_id)
        self._counts[invocation_id] += 1
        self._calls_to_approve.clear()

    def _take_answer(self, event: Event, *, by_user: bool) -> bool:
        """Returns whether the event answers a call, or shows that one was approved. Ends the wait for its approval."""
        ids = {response.id for response in event.get_function_responses() if response.id}
        if not ids:
            return False
        if by_user:
            answered = ids & self._waiting_calls.keys()
            self._calls_to_approve -= {self._waiting_calls[answer_id] for answer_id in answered}
            return bool(answered)
        if event.error_code == ABORTED:  # ADK closes the calls of a stopped run
            return False
        approved = (ids & self._calls_to_approve) - event.actions.requested_tool_confirmations.keys()
        self._calls_to_approve -= approved
        return bool(approved)

    def _note_calls(self, event: Event) -> None:
        for call in () if event.partial else event.get_function_calls():
            kind = external_kind(event, call)
            if kind is None or not call.id:
                continue
            self._waiting_calls[call.id] = call.id
            if kind is CallKind.APPROVAL:
                self._waiting_calls[call.id] = call_id = gated_call(call.args or {}).get("id") or call.id
                self._calls_to_approve.add(call_id)


def is_user_message(event: Event) -> bool:
    """Whether the event is what the user said, which begins an exchange, and not only an answer to one of the agent's
    calls. Up to ADK 1.x one event could be both."""
    if not is_user_event(event) or event.content is None or not event.content.parts:
        return False
    parts = event.content.parts
    says_something = any(part.text or part.inline_data or part.file_data for part in parts)
    return says_something or not any(part.function_response for part in parts)


def _is_conversation_event(event: Event) -> bool:
    if event.actions.compaction is not None or event.actions.rewind_before_invocation_id:
        return False
    return not is_user_event(event) or bool(event.content and event.content.parts)


def message_id(invocation_id: str, number: int) -> str:
    """The id of the assistant message with this number, from 1, in its invocation."""
    return invocation_id if number <= 1 else f"{invocation_id}.{number}"
