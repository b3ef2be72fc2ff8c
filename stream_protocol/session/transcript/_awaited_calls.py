"""Stores a list of the calls that wait for the client in the session's state. The list of chats needs this, because it
reads no events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stream_protocol.adk import Call, CallKind, EventFacts, Rewind, confirmed_call, read
from stream_protocol.session.transcript._metadata import STATE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.adk.events import Event

AWAITED_KEY: Final = f"{STATE_PREFIX}awaited"
"""The key in the session's state for the calls that wait for an answer of the client.

The value has two ids for each call: the id of the expected answer, and the id of the call. They differ for an approval.
A model may use an id twice. A session of another program or an earlier version has no value.
"""


_Awaited: TypeAlias = "list[list[str]]"


def update_awaited(event: Event, state: Mapping[str, Any]) -> None:
    """Find the calls that wait for the client after an event. If the event changes these calls, write the new value of
    the state key ``AWAITED_KEY`` to the event. The event must not be stored yet.

    ``state``: the session's state before the event. If the event is a rewind, it is not changed, because ADK itself
    restores the earlier state.
    """
    facts = read(event)
    if facts.is_fragment or facts.reports_a(Rewind):
        return
    before: _Awaited = state.get(AWAITED_KEY) or []
    after = _after(before, facts)
    if after != before:
        event.actions.state_delta[AWAITED_KEY] = after
    else:  # a recovered run has added a change for its own copy of the session
        event.actions.state_delta.pop(AWAITED_KEY, None)


def has_awaited(state: Mapping[str, Any]) -> bool:
    """Return True if a call of the chat waits for an answer from the client. ``state``: the session's state."""
    return bool(state.get(AWAITED_KEY))


def _after(before: _Awaited, facts: EventFacts) -> _Awaited:
    """Return the calls that wait for the client after an event, as the value of ``AWAITED_KEY``.

    After a user message, earlier calls no longer wait, because nobody can answer them any more. If a model repeats a
    call, the new call replaces the old call. A new approval request replaces the old request for the same call.
    """
    awaited = [] if facts.is_user_message else [*before]
    for result in facts.results:
        if result.waits_for is None:
            _close(awaited, result.id)
    asked = [[call.id or "", _waiting_call(call)] for call in facts.calls if call.kind is not None]
    replies, confirmed = {reply for reply, _ in asked}, {call for reply, call in asked if call != reply}
    kept = [
        [reply, call] for reply, call in awaited if reply not in replies and (call == reply or call not in confirmed)
    ]
    return [*kept, *asked]


def _close(awaited: _Awaited, answered: str | None) -> None:
    """Remove the call with the id ``answered``, and the approval requests for this call, from ``awaited``."""
    answer = next((pair for pair in awaited if pair[0] == answered), None)
    if answer is not None:
        awaited.remove(answer)
    awaited[:] = [[reply, call] for reply, call in awaited if reply == call or call != answered]


def _waiting_call(call: Call) -> str:
    """Return the id of the call. For an approval request, return the id of the call that needs approval."""
    confirmed = confirmed_call(call.args).get("id") if call.kind is CallKind.APPROVAL else None
    return confirmed or call.id or ""
