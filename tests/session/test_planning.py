"""The plan of a request, made without an event loop, a model or a store."""

from collections.abc import Iterable
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from stream_protocol.session import (
    AnsweredCalls,
    InlineFile,
    NewUserTurn,
    NothingToRun,
    Transcript,
    idempotency_key,
    plan,
)
from stream_protocol.session._request_plans import CallAnswer
from stream_protocol.session._user_message import MAX_TEXTS_AND_FILES
from stream_protocol.session.transcript import update_metadata
from stream_protocol.wire import ChatRequest, ChatRequestError, parse_chat_request

INVOCATION = "e-1"


def event(author: str, *parts: types.Part, waiting: Iterable[str] = (), **actions: Any) -> Event:
    return Event(
        invocation_id=INVOCATION,
        author=author,
        content=types.Content(role="user" if author == "user" else "model", parts=list(parts)),
        long_running_tool_ids=set(waiting),
        actions=EventActions(**actions),
    )


def call(call_id: str, name: str = "pay", **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


def response(call_id: str, name: str = "pay", **value: Any) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response=value))


def user_text(text: str = "hi") -> Event:
    return event("user", types.Part(text=text))


def confirmation(approval_id: str, call_id: str) -> Event:
    gate = call(approval_id, "adk_request_confirmation", originalFunctionCall={"id": call_id, "name": "pay"})
    return event("root", gate, waiting=[approval_id])


def gated(*pairs: tuple[str, str]) -> list[Event]:
    """Return a model response whose calls all wait for approval, in ADK's order."""
    ids = [call_id for call_id, _ in pairs]
    return [
        event("root", *map(call, ids)),
        *(confirmation(approval_id, call_id) for call_id, approval_id in pairs),
        event(
            "root",
            *(response(call_id, error="needs confirmation") for call_id in ids),
            requested_tool_confirmations={call_id: {"hint": ""} for call_id in ids},
        ),
    ]


def request(*parts: dict[str, Any], message_id: str | None = None, own_id: str = "m1") -> ChatRequest:
    assistant = {"id": own_id, "role": "assistant", "parts": [{"type": "step-start"}, *parts]}
    return parse_chat_request({"id": "c1", "messageId": message_id, "messages": [assistant]})


def answer(call_id: str, approval_id: str, *, approved: bool = True) -> dict[str, Any]:
    return {
        "type": "tool-pay",
        "toolCallId": call_id,
        "state": "approval-responded",
        "approval": {"id": approval_id, "approved": approved},
    }


def output(call_id: str, value: Any, tool: str = "ask") -> dict[str, Any]:
    return {"type": f"tool-{tool}", "toolCallId": call_id, "state": "output-available", "output": value}


def refusal(asked: ChatRequest, events: list[Event]) -> ChatRequestError:
    with pytest.raises(ChatRequestError) as refused:
        plan(asked, Transcript(events))
    return refused.value


def test_a_message_has_no_more_texts_and_files_than_a_page_sends() -> None:
    parts = [{"type": "text", "text": "hi"}] * (MAX_TEXTS_AND_FILES + 1)
    for count, is_refused in ((MAX_TEXTS_AND_FILES, False), (MAX_TEXTS_AND_FILES + 1, True)):
        body = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": parts[:count]}]}
        try:
            plan(parse_chat_request(body), Transcript())
            refusal = None
        except ChatRequestError as error:
            refusal = (error.status, str(error))
        assert refusal == ((413, "The message has more than 1,000 texts and files.") if is_refused else None)


def test_the_users_last_message_is_a_new_text_with_its_files_in_order() -> None:
    parts = [
        {"type": "file", "mediaType": "image/png", "url": "data:image/png,x"},
        {"type": "data-note", "data": 1},
        {"type": "text", "text": "look"},
        {"type": "text", "text": ""},
    ]
    asked = parse_chat_request({"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": parts}]})
    image = InlineFile(media_type="image/png", data=b"x", name=None)
    assert plan(asked, Transcript([])) == NewUserTurn(texts_and_files=(image, "look"), client_message_id="u1")


@pytest.mark.parametrize("trigger", ["submit-message", "regenerate-message"])
def test_a_text_is_a_turn_whatever_else_the_request_says(trigger: str) -> None:
    user = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    asked = parse_chat_request({"id": "c1", "trigger": trigger, "messageId": "gone", "messages": [user]})
    assert isinstance(plan(asked, Transcript([user_text(), *gated(("A", "B"))])), NewUserTurn)


def test_an_approval_answers_the_confirmation_and_brings_the_past() -> None:
    events = [user_text("before"), event("root", types.Part(text="ok")), user_text(), *gated(("A", "B"))]
    assert plan(request(answer("A", "B")), Transcript(events)) == AnsweredCalls(
        answers=(CallAnswer(id="B", name="adk_request_confirmation", response={"confirmed": True}),),
        message_id="m1",
        past=tuple(events[2:]),
    )


def test_a_message_without_an_id_gets_the_one_that_its_invocation_says() -> None:
    events = [user_text(), *gated(("A", "B"))]
    turn = plan(request(answer("A", "B"), own_id=""), Transcript(events))
    assert isinstance(turn, AnsweredCalls)
    assert turn.message_id == INVOCATION
    turn = plan(request(answer("A", "B"), own_id=""), Transcript([user_text("one"), *events]))
    assert isinstance(turn, AnsweredCalls)
    assert turn.message_id == f"{INVOCATION}.2"


def test_the_named_message_is_continued_even_if_another_is_the_last() -> None:
    messages = [
        {"id": "m1", "role": "assistant", "parts": [answer("A", "B")]},
        {"id": "m2", "role": "assistant", "parts": []},
    ]
    asked = parse_chat_request({"id": "c1", "messageId": "m1", "messages": messages})
    turn = plan(asked, Transcript([user_text(), *gated(("A", "B"))]))
    assert isinstance(turn, AnsweredCalls)
    assert turn.message_id == "m1"


def test_siblings_wait_for_each_other() -> None:
    events = [user_text(), *gated(("A1", "B1"), ("A2", "B2"))]
    assert plan(request(answer("A1", "B1")), Transcript(events)) == NothingToRun(message_id="m1", past=tuple(events))
    turn = plan(request(answer("A1", "B1"), answer("A2", "B2", approved=False)), Transcript(events))
    assert isinstance(turn, AnsweredCalls)
    assert [(given.id, given.response["confirmed"]) for given in turn.answers] == [("B1", True), ("B2", False)]


def test_a_request_that_a_newer_one_replaced_is_not_waited_for_and_takes_no_answer() -> None:
    first, again = gated(("A", "B1")), gated(("A", "B2"))
    events = [user_text(), *first, again[1]]
    turn = plan(request(answer("A", "B2")), Transcript(events))
    assert isinstance(turn, AnsweredCalls)
    assert [given.id for given in turn.answers] == ["B2"]
    assert refusal(request(answer("A", "B1")), events).status == 409


def test_calls_of_another_model_response_are_not_waited_for() -> None:
    events = [user_text(), *gated(("A1", "B1")), *gated(("A2", "B2"))]
    assert isinstance(plan(request(answer("A1", "B1")), Transcript(events)), AnsweredCalls)


def test_a_client_tools_output_becomes_an_object_for_adk() -> None:
    events = [user_text(), event("root", call("A", "ask"), waiting=["A"])]
    turn = plan(request(output("A", "Oslo")), Transcript(events))
    assert isinstance(turn, AnsweredCalls)
    assert turn.answers == (CallAnswer(id="A", name="ask", response={"result": "Oslo"}),)


def test_outputs_of_the_servers_own_tools_are_no_answers() -> None:
    done = [event("root", call("S", "look")), event("root", response("S", "look", ok=True))]
    events = [user_text(), *done, *gated(("A", "B"))]
    turn = plan(request(output("S", "forged", "look"), answer("A", "B")), Transcript(events))
    assert isinstance(turn, AnsweredCalls)
    assert [given.id for given in turn.answers] == ["B"]


def test_an_answer_under_an_id_that_only_the_client_saw_finds_its_call() -> None:
    events = [
        user_text(),
        event("root", call("stored-1", "ask"), call("stored-2", "ask"), waiting=["stored-1", "stored-2"]),
    ]
    transcript = Transcript(events)
    seen = output("seen-1", 1), output("seen-2", 2)
    turn = plan(request(*seen, own_id=transcript.turns[0].message_id), transcript)
    assert isinstance(turn, AnsweredCalls)
    assert [(given.id, given.response) for given in turn.answers] == [
        ("stored-1", {"result": 1}),
        ("stored-2", {"result": 2}),
    ]


def test_an_answer_under_an_unknown_id_in_another_message_is_refused() -> None:
    events = [user_text(), event("root", call("stored", "ask"), waiting=["stored"])]
    assert refusal(request(output("removed", 1), own_id="removed-reply"), events).status == 409


def test_an_answer_given_before_brings_back_what_followed_from_it() -> None:
    asked = [user_text(), *gated(("A", "B"))]
    then = [
        event("user", response("B", "adk_request_confirmation", confirmed=True)),
        event("root", response("A", ok=1)),
    ]
    turn = plan(request(answer("A", "B")), Transcript([*asked, *then]))
    assert turn == NothingToRun(message_id="m1", past=tuple(asked), events=tuple(then))
    assert refusal(request(answer("A", "B", approved=False)), [*asked, *then]).status == 409


def test_an_output_whose_consequence_the_client_has_seen_is_not_replayed() -> None:
    events = [
        user_text(),
        event("root", call("A", "ask"), waiting=["A"]),
        event("user", response("A", "ask", result="Oslo")),
        event("root", types.Part(text="Oslo it is.")),
    ]
    seen = request(output("A", "Oslo"), {"type": "step-start"}, {"type": "text", "text": "Oslo it is."})
    assert plan(seen, Transcript(events)) == NothingToRun(message_id="m1", past=tuple(events))
    lost = plan(request(output("A", "Oslo")), Transcript(events))
    assert lost == NothingToRun(message_id="m1", past=tuple(events[:2]), events=tuple(events[2:]))
    assert refusal(request(output("A", "Rome")), events).status == 409


def test_a_long_running_tool_that_needs_approval_waits_for_that_first() -> None:
    events = [user_text(), *gated(("A", "B"))]
    events[1].long_running_tool_ids = {"A"}
    turn = plan(request(answer("A", "B")), Transcript(events))
    assert isinstance(turn, AnsweredCalls)
    assert [given.id for given in turn.answers] == ["B"]
    assert refusal(request(output("A", "forged", "pay")), events).status == 409
    approved = [*events, event("user", response("B", "adk_request_confirmation", confirmed=True))]
    answered = plan(request(output("A", "paid", "pay")), Transcript(approved))
    assert isinstance(answered, AnsweredCalls)
    assert [given.id for given in answered.answers] == ["A"]


def test_a_call_that_the_agent_closed_takes_no_answer() -> None:
    closed = event("root", response("B", "adk_request_confirmation", error="aborted"))
    assert refusal(request(answer("A", "B")), [user_text(), *gated(("A", "B")), closed]).status == 409


def test_a_credential_of_another_kind_is_not_taken_and_none_is_waited_for() -> None:
    asks = event("root", call("C", "adk_request_credential"), call("A", "ask"), waiting=["C", "A"])
    events = [user_text(), asks]
    assert refusal(request(output("C", {"apiKey": "x"}, "adk_request_credential")), events).status == 422
    assert isinstance(plan(request(output("A", 1)), Transcript(events)), AnsweredCalls)


@pytest.mark.parametrize(
    ("config", "output_of_page", "key"),
    [
        ("x", {"authCode": "c"}, "authConfig"),
        ([{}], {"authCode": "c"}, "authConfig"),
        ({"authScheme": "x"}, {"authCode": "c"}, "authScheme"),
        ({"exchangedAuthCredential": 5}, {"authCode": "c"}, "exchangedAuthCredential"),
        ({"exchangedAuthCredential": {"oauth2": "x"}}, {"authCode": "c"}, "oauth2"),
        ({"authScheme": {"type": "apiKey"}, "rawAuthCredential": [1]}, {"apiKey": "k"}, "rawAuthCredential"),
        ({"authScheme": {"type": "http"}, "exchangedAuthCredential": {"http": 5}}, {"token": "t"}, "http"),
        ({"authScheme": {"type": "http"}, "rawAuthCredential": {"http": {"credentials": 5}}}, {"token": "t"}, "creden"),
    ],
    ids=str,
)
def test_a_request_for_a_credential_that_nobody_can_read_is_refused(config: Any, output_of_page: Any, key: str) -> None:
    asks = event("root", call("C", "adk_request_credential", authConfig=config), waiting=["C"])
    refused = refusal(request(output("C", output_of_page, "adk_request_credential")), [user_text(), asks])
    assert (refused.status, f"its {key}" in str(refused)) == (422, True)


def test_a_rewind_takes_the_calls_with_it() -> None:
    rewind = Event(author="user", invocation_id="e-2", actions=EventActions(rewind_before_invocation_id=INVOCATION))
    assert refusal(request(answer("A", "B")), [user_text(), *gated(("A", "B")), rewind]).status == 409


@pytest.mark.parametrize(
    ("parts", "events"),
    [
        ([], []),
        ([answer("A", "B")], []),
        ([answer("A", "other")], [user_text(), *gated(("A", "B"))]),
        ([answer("A", "A")], [user_text(), event("root", call("A", "ask"), waiting=["A"])]),
        ([answer("A", "B")], [user_text(), *gated(("A", "B")), user_text("never mind")]),
    ],
)
def test_an_answer_to_nothing_is_refused(parts: list[dict[str, Any]], events: list[Event]) -> None:
    assert refusal(request(*parts), events).status == 409


def test_messages_that_were_stored_while_another_run_went_on_are_not_run_again() -> None:
    def said(words: str) -> ChatRequest:
        user = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": words}]}
        return parse_chat_request({"id": "c1", "messages": [user]})

    words = user_text("hi")
    update_metadata(words, message_id="u1", idempotency_key=idempotency_key(said("hi")))
    events = [words, event("root", types.Part(text="Hello."))]
    stored = NothingToRun(message_id=INVOCATION, past=(), events=tuple(events))
    assert plan(said("hi"), Transcript(events), chat_was_busy=True) == stored
    assert isinstance(plan(said("hi"), Transcript(events)), NewUserTurn)
    broken_off = plan(said("hi"), Transcript(events[:1]), chat_was_busy=True)
    assert isinstance(broken_off, NothingToRun)
    assert broken_off.is_interrupted
    assert isinstance(plan(said("ho"), Transcript(events), chat_was_busy=True), NewUserTurn)
