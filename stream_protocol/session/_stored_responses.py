"""A request that was answered before: its stored response, if the client may get that again.

A client repeats a request whose response it lost. No event says that a run is over, so this module also decides whether
a stored response came to its end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stream_protocol.adk import Waiting, is_user_event, read
from stream_protocol.session._idempotency_key import idempotency_key
from stream_protocol.session._request_plans import NothingToRun
from stream_protocol.session._submitted_answers import (
    CONFLICT,
    SubmittedAnswer,
    answered_call,
    calls_by_page_id,
    is_stored_answer,
    submitted_answers,
)
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.stream import Settings, chunk_conversion
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.adk import EventFacts
    from stream_protocol.session.transcript import StoredCall, Transcript, Turn
    from stream_protocol.wire import ChatRequest, UIMessage


def wants_stored_response(request: ChatRequest, turn: Turn, transcript: Transcript) -> bool:
    """Return True if a retry gets the stored response. Otherwise no client has more than the beginning of a response:
    the request is answered anew."""
    if not request.says_new_words:
        return False
    goes_on = turn is not transcript.turns[-1] or len(turn.response_starts) > 1
    return goes_on or _ended_by_itself(turn)


def repeated_words(key: str, turn: Turn) -> NothingToRun | None:
    """The stored response to an equal request; ``None`` if no equal one is stored. ``key``: its idempotency key."""
    if EventMetadata.of(turn.stored[0]).idempotency_key != key:
        return None
    return NothingToRun(
        message_id=turn.message_id,
        past=(),
        events=turn.first_response,
        is_interrupted=all(map(is_user_event, turn.first_response)),
        repeats="words",
        call_ids=turn.call_ids,
    )


def taken_in_before(turn: Turn, *, is_superseded: bool) -> NothingToRun:
    """The stored response of the run that has taken in the message: the whole message of the agent.

    ``is_superseded``: the user has begun another turn since.
    """
    return NothingToRun(
        message_id=turn.message_id,
        past=(),
        events=turn.events,
        repeats="steering",
        is_superseded=is_superseded,
        call_ids=turn.call_ids,
    )


def superseded_answers(
    request: ChatRequest, message: UIMessage, transcript: Transcript, known_key: str | None
) -> NothingToRun | None:
    """The stored response to an equal request whose message another one of the user follows; ``None`` if there is none.

    A page that lost its connection repeats a request that was accepted, whatever the user has said elsewhere since.
    """
    key = known_key or idempotency_key(request)
    for turn in transcript.turns:
        is_equal = any(EventMetadata.of(event).idempotency_key == key for event in turn.stored if is_user_event(event))
        if turn is transcript.current or not is_equal:
            continue
        calls = calls_by_page_id(turn)
        matched = [(answer, answered_call(answer, calls)) for answer in submitted_answers(message, turn)]
        if matched:
            stored = answered_before(message["id"] or turn.message_id, matched, turn)
            return replace(stored, is_superseded=True)
    return None


def answered_before(target_id: str, matched: list[tuple[SubmittedAnswer, StoredCall]], turn: Turn) -> NothingToRun:
    """Return the events that followed from stored answers. Raises ``ChatRequestError`` unless the answers are the
    same."""
    if any(not is_stored_answer(answer, call) for answer, call in matched):
        raise ChatRequestError("That request was answered differently before.", status=CONFLICT)
    awaited = [
        call.answered_index for answer, call in matched if answer.awaits_response and call.answered_index is not None
    ]
    end = len(turn.stored)
    seen = max(awaited, default=end)
    events = turn.shown(seen, end)
    return NothingToRun(
        message_id=target_id,
        past=turn.shown(0, seen),
        events=events,
        is_interrupted=bool(events) and all(map(is_user_event, events)),
        repeats="answers",
        call_ids=turn.call_ids,
    )


def _ended_by_itself(turn: Turn) -> bool:
    """Return True if the turn's first response came to its end: no error, no stop, and its worker did not die.

    No event says that a run is over. So two conditions must hold. The newest event must be one after which an agent
    waits for the user. No call may lack a result that its agent waits for.
    """
    first = [*map(read, turn.first_response)]
    by_agent = [said for said in first if not said.by_user and said.shows_something]
    of_agent = {said.id for said in first}
    calls = [call for call in turn.calls if call.event.id in of_agent]
    delegated = {said.scope for said in first}
    if not by_agent or not _waits_for_user(by_agent[-1]) or any(_lacks_result(call, delegated) for call in calls):
        return False
    conversion = chunk_conversion((), turn.message_id, Settings(), turn.call_ids)
    with conversion.warn.silenced():
        for said in first:
            conversion.feed(said.event)
        conversion.finish()
    return conversion.outcome == "finish"


def _waits_for_user(said: EventFacts) -> bool:
    only_streamed = said.is_fragment  # stored at the end of its run
    return only_streamed or said.is_final or said.reports_a(Waiting)


def _lacks_result(call: StoredCall, delegated: set[str | None]) -> bool:
    """``delegated``: the ids of calls that an agent in task mode works on: its result can come in a later message."""
    waits = call.call.kind is not None or call.has_placeholder or call.call.id in delegated
    return not (waits or call.responses)
