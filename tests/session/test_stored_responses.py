"""A user message that is posted again in an idle chat gets the stored response if the response is complete."""

from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from stream_protocol.adk import ABORTED
from stream_protocol.session import NewUserTurn, NothingToRun, Transcript, idempotency_key, plan
from stream_protocol.session.transcript import update_metadata
from stream_protocol.wire import ChatRequest, parse_chat_request
from tests.session.test_transcript import answered, asked, call, event, gated, response, rewind, said, spoke


def words(**more: Any) -> ChatRequest:
    user = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return parse_chat_request({"id": "c1", "messages": [user], "trigger": "submit-message", **more})


def planned(events: Sequence[Event], request: ChatRequest | None = None) -> Any:
    """Return the plan for a repeated message. ``events``: the agent's events for it, and later events."""
    request = request or words()
    first = said("hi", "e-1", "u1")
    update_metadata(first, idempotency_key=idempotency_key(request))
    return plan(request, Transcript([first, *events]))


def streamed(text: str) -> Event:
    one = spoke(text)
    update_metadata(one, streamed=True, outcome="finish")
    return one


LOOKED = [event("root", call("A", "look")), event("root", response("A", "look", ok=1))]
RAN_CODE = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="1"))

ENDED: dict[str, list[Event]] = {
    "a text": [spoke("Hello.")],
    "a tool and a text": [*LOOKED, spoke("Done.")],
    "a question to the page": [asked("A")],
    "a question whether a call may run": gated("A", "B"),
    "a question beside a result": [
        event("root", call("A"), call("C", "look")),
        gated("A", "B")[1],
        event(
            "root",
            response("A", error="confirm"),
            response("C", "look", ok=1),
            actions=EventActions(requested_tool_confirmations={"A": {"hint": ""}}),  # type: ignore[dict-item]  # pydantic converts it
        ),
    ],
    "a result that needs no words": [
        LOOKED[0],
        event("root", response("A", "look", ok=1), actions=EventActions(skip_summarization=True)),
    ],
    "a text that was too long": [spoke("Hel", finish_reason="MAX_TOKENS", error_code="MAX_TOKENS")],
    "a text, and a state that something else kept": [
        spoke("Hello."),
        event("system", actions=EventActions(state_delta={"x": 1})),
    ],
    "a text that was only streamed": [streamed("Hello.")],
}

BROKEN_OFF: dict[str, list[Event]] = {
    "nothing": [],
    "a call without a result": LOOKED[:1],
    "a result that the model has not read": LOOKED,
    "a result, and a state that something else kept": [
        *LOOKED,
        event("system", actions=EventActions(state_delta={"x": 1})),
    ],
    "a call beside a text without a result": [event("root", call("A", "look")), spoke("Meanwhile.")],
    "code that has run": [event("root", RAN_CODE)],
    "an error": [spoke("Hel"), event("root", error_code="503", error_message="hunter2")],
    "a stop": [spoke("Hel", error_code=ABORTED)],
}


@pytest.mark.parametrize("events", ENDED.values(), ids=ENDED)
def test_a_response_that_came_to_its_end_is_given_again(events: list[Event]) -> None:
    turn = planned(events)
    assert isinstance(turn, NothingToRun)
    assert (turn.repeats, len(turn.events), turn.is_interrupted) == ("words", len(events) + 1, False)


@pytest.mark.parametrize("events", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_messages_whose_response_broke_off_are_answered_anew(events: list[Event]) -> None:
    assert planned(events) == NewUserTurn(texts_and_files=("hi",), client_message_id="u1", rewind_before="e-1")


@pytest.mark.parametrize("events", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_what_was_said_later_is_never_taken_back_by_a_retry(events: list[Event]) -> None:
    assert isinstance(planned([*events, said("on", "e-2", "u2"), spoke("2", "e-2")]), NothingToRun)


def test_what_was_answered_later_is_never_taken_back_by_a_retry() -> None:
    """An error leaves the client tool open, but its call was answered."""
    failed = [asked("A"), event("root", error_code="503", error_message="hunter2")]
    turn = planned([*failed, answered("A"), spoke("Done.")])
    assert isinstance(turn, NothingToRun)
    assert len(turn.events) == 3
    assert isinstance(planned(failed), NewUserTurn)


@pytest.mark.parametrize(
    "more", [{"trigger": None}, {"trigger": "regenerate-message"}, {"messageId": "u1"}, {"messageId": "other"}]
)
def test_who_does_not_say_that_the_messages_are_new_wants_another_answer(more: dict[str, Any]) -> None:
    """A transport that sends only the last message sends an equal request when the user wants another reply."""
    assert isinstance(planned([spoke("Hello.")], words(**more)), NewUserTurn)


def test_messages_that_were_taken_back_or_are_others_are_new() -> None:
    assert planned([spoke("Hello."), rewind("e-1")]).rewind_before is None
    other = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "ho"}]}
    first = said("hi", "e-1", "u1")
    update_metadata(first, idempotency_key=idempotency_key(words()))
    assert isinstance(plan(words(messages=[other]), Transcript([first, spoke("Hello.")])), NewUserTurn)
