"""Requests that only a user or the page can answer: approvals, credentials, inputs, and outputs of the page's tools."""

import json
from itertools import permutations
from typing import Any

import pytest
from google.adk.auth import AuthConfig
from google.adk.events import Event, EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation

from tests.stream.building import (
    REJECTED,
    WAIT_FOR_APPROVAL,
    arg,
    call,
    confirmation,
    decision,
    event,
    fragment,
    piece,
    placeholders,
    response,
    results,
    text,
    user,
    waiting,
)
from tests.stream.running import body, decided, kinds, message_of, only, outputs, run, texts, would_send

ASK = waiting("pay", "A", "B", {"sum": 5})
REQUEST = {"type": "tool-approval-request", "approvalId": "B", "toolCallId": "A"}
PAID = results(response("pay", {"ok": True}, "A"))


def continued(past: list[Event], answers: dict[str, bool], events: list[Event], **options: Any) -> list[dict[str, Any]]:
    """The response after a person decided, judged on top of the message that the page holds."""
    page = decided(message_of(run(past, **options)), answers)
    assert would_send(page), "the page sends the decision by itself"
    return run([decision(*answers.items()), *events], past=past, onto=page, **options)


def test_an_approval_is_requested_on_the_call_that_it_gates() -> None:
    chunks = run(ASK)
    assert only(chunks, "tool") == [
        {"type": "tool-input-start", "toolCallId": "A", "toolName": "pay"},
        {"type": "tool-input-available", "toolCallId": "A", "toolName": "pay", "input": {"sum": 5}},
        REQUEST,
    ]
    assert chunks[-1] == {"type": "finish", "finishReason": "tool-calls"}


def test_confirmation_placeholder_error_is_hidden() -> None:
    assert outputs(run(ASK)) == {}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_call_confirmation_and_placeholder_may_come_in_any_order(
    order: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    assert only(run([ASK[index] for index in order]), "tool") == only(run(ASK), "tool")


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("settled_first", [True, False])
def test_several_approvals_and_a_settled_sibling(order: tuple[int, ...], *, settled_first: bool) -> None:
    calls = [call("pay", {}, "A1"), call("pay", {}, "A2"), call("look", {}, "C")]
    answers = [
        response("pay", WAIT_FOR_APPROVAL, "A1"),
        response("pay", WAIT_FOR_APPROVAL, "A2"),
        response("look", {"r": 1}, "C"),
    ]
    settled = placeholders(*(answers[index] for index in order), asking=("A1", "A2"))
    asked = event(
        *(confirmed.content.parts[0] for confirmed in CONFIRMED if confirmed.content and confirmed.content.parts),
        long_running_tool_ids={"B1", "B2"},
    )
    past = [event(*(calls[index] for index in order)), *([settled, asked] if settled_first else [asked, settled])]
    chunks = run(past)
    assert outputs(chunks) == {"C": {"r": 1}}
    assert [chunk["toolCallId"] for chunk in only(chunks, "tool-approval")] == ["A1", "A2"]
    after = continued(
        past,
        {"B1": True, "B2": False},
        [results(response("pay", {"ok": 1}, "A1"), response("pay", REJECTED, "A2")), event(text("Done."))],
    )
    assert kinds(only(after, "tool", "start-step", "text-start")) == [
        *("tool-output-available", "tool-output-denied", "start-step", "text-start")
    ]


CONFIRMED = [confirmation("B1", "A1", "pay", {}), confirmation("B2", "A2", "pay", {})]


def test_an_approved_call_gets_its_output_before_any_new_step() -> None:
    chunks = continued(ASK, {"B": True}, [PAID, event(text("Paid."))])
    assert kinds(chunks) == [
        *(
            "start",
            "tool-output-available",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish",
        )
    ]
    assert chunks[0] == {"type": "start", "messageId": "run-1"}


def test_denied_is_output_denied_not_error() -> None:
    chunks = continued(ASK, {"B": False}, [results(response("pay", REJECTED, "A")), event(text("Fine."))])
    assert only(chunks, "tool") == [{"type": "tool-output-denied", "toolCallId": "A"}]


def test_a_denial_is_told_by_the_decision_and_not_by_its_text() -> None:
    other_words = results(response("pay", {"error": "Nicht genehmigt."}, "A"))
    assert kinds(only(continued(ASK, {"B": False}, [other_words]), "tool")) == ["tool-output-denied"]
    failed = results(response("pay", {"error": "This tool call is rejected."}, "A"))
    assert kinds(only(continued(ASK, {"B": True}, [failed]), "tool")) == ["tool-output-error"]


def denial(output: Any) -> dict[str, Any]:
    return {"type": "data-adk-denial", "id": "A", "data": {"toolCallId": "A", "output": output}}


DENIED = {"type": "tool-output-denied", "toolCallId": "A"}


def test_what_a_tool_did_although_it_was_denied_is_told_beside_the_denial() -> None:
    """A client refuses messages in which a denied call has an output (``validateUIMessages``)."""
    assert only(continued(ASK, {"B": False}, [PAID]), "tool", "data-") == [denial({"ok": True}), DENIED]


def test_a_denied_call_whose_run_breaks_off_is_denied() -> None:
    assert only(continued(ASK, {"B": False}, [event(error_message="no")]), "tool", "data-") == [DENIED]


def dynamic(placeholder: dict[str, Any]) -> list[Event]:
    """A tool that asked in the middle of its run; the model continues at once."""
    asked = placeholders(response("pay", placeholder, "A"), asking=("A",))
    return [ASK[0], ASK[1], asked, event(text("I asked you."))]


def test_model_text_after_a_dynamic_confirmation_stays_in_its_step() -> None:
    chunks = run(dynamic({"status": "asked"}))
    assert kinds(chunks).count("start-step") == 1
    assert texts(chunks) == ["I asked you."]
    assert outputs(chunks) == {}


@pytest.mark.parametrize("answer", [{"status": "not paid"}, {"error": "You said no."}])
def test_what_a_dynamic_tool_says_to_a_denial_is_told_beside_it(answer: dict[str, Any]) -> None:
    chunks = continued(dynamic({"status": "asked"}), {"B": False}, [results(response("pay", answer, "A"))])
    assert only(chunks, "tool", "data-") == [denial(answer), DENIED]


def test_progress_of_a_denied_tool_is_no_output_either() -> None:
    progress = results(response("pay", {"n": 1}, "A", will_continue=True))
    chunks = continued(dynamic({"status": "asked"}), {"B": False}, [progress, results(response("pay", {"n": 2}, "A"))])
    assert only(chunks, "tool", "data-") == [denial({"n": 1}), denial({"n": 2}), DENIED]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            ToolConfirmation(hint="Which seat?", payload={"seat": None}),
            {"hint": "Which seat?", "payload": {"seat": None}},
        ),
        (ToolConfirmation(hint="Sure?"), {"hint": "Sure?"}),
        (ToolConfirmation(payload=[{1}]), {"payload": [[1]]}),
        (ToolConfirmation(payload=False), {"payload": False}),
    ],
)
def test_what_a_tool_says_when_it_asks_by_itself_goes_to_the_page(
    asked: ToolConfirmation, told: dict[str, Any]
) -> None:
    actions = EventActions(requested_tool_confirmations={"A": asked})
    placeholder = results(response("pay", {"status": "asked"}, "A"), actions=actions)
    chunks = run([*ASK[:2], placeholder])
    assert only(chunks, "data-") == [{"type": "data-adk-confirmation", "id": "A", "data": {"toolCallId": "A", **told}}]


def test_a_gate_in_front_of_a_tool_and_a_tool_without_words_say_nothing() -> None:
    actions = EventActions(requested_tool_confirmations={"A": ToolConfirmation(hint="Send a FunctionResponse.")})
    gate = results(response("pay", WAIT_FOR_APPROVAL, "A"), actions=actions)
    assert only(run([*ASK[:2], gate]), "data-") == []
    assert only(run(dynamic({"status": "asked"})), "data-") == []


def test_another_call_after_a_dynamic_confirmation_stays_in_its_step() -> None:
    past = [*dynamic({"status": "asked"}), event(call("look", {}, "C")), results(response("look", {"r": 1}, "C"))]
    chunks = continued([*past, event(text("Meanwhile"))], {"B": True}, [PAID, event(text("Paid."))])
    assert kinds(chunks)[:3] == ["start", "tool-output-available", "start-step"]


def test_an_approval_can_be_asked_for_again() -> None:
    again = [
        confirmation("B2", "A", "pay", {"sum": 5}),
        placeholders(response("pay", WAIT_FOR_APPROVAL, "A"), asking=("A",)),
    ]
    chunks = continued(ASK, {"B": True}, again)
    assert only(chunks, "tool") == [{**REQUEST, "approvalId": "B2"}]
    assert chunks[-1]["finishReason"] == "tool-calls"
    page = decided(message_of(chunks, decided(message_of(run(ASK)), {"B": True})), {"B2": False})
    past = [*ASK, decision(("B", True)), *again]
    last = run([decision(("B2", False)), results(response("pay", REJECTED, "A"))], past=past, onto=page)
    assert kinds(only(last, "tool")) == ["tool-output-denied"]


def test_a_placeholder_before_the_repeated_request_keeps_the_call_waiting() -> None:
    again = [
        placeholders(response("pay", WAIT_FOR_APPROVAL, "A"), asking=("A",)),
        confirmation("B2", "A", "pay", {"sum": 5}),
    ]
    assert only(continued(ASK, {"B": True}, again), "tool") == [{**REQUEST, "approvalId": "B2"}]


def test_an_old_decision_posted_again_does_not_decide_the_new_request() -> None:
    again = [*ASK, decision(("B", True)), confirmation("B2", "A", "pay", {"sum": 5})]
    chunks = run([decision(("B", True))], past=again)
    assert chunks[-1]["finishReason"] == "tool-calls"


def test_a_decision_posted_twice_counts_once() -> None:
    page = decided(message_of(run(ASK)), {"B": True})
    chunks = run([decision(("B", True)), decision(("B", False)), PAID], past=ASK, onto=page)
    assert outputs(chunks) == {"A": {"ok": True}}


@pytest.mark.parametrize("late", [*ASK[2:], "credential", "abort"])
def test_a_placeholder_after_the_result_changes_nothing(late: Event | str) -> None:
    match late:
        case "credential":
            late = results(response("pay", {}, "A"), actions=EventActions(requested_auth_configs={"A": AUTH}))
        case "abort":
            late = results(response("pay", {"error": "stopped"}, "A"), error_code="INVOCATION_ABORTED")
    assert isinstance(late, Event)
    assert outputs(run([ASK[0], PAID, late, event(text("Paid."))])) == {"A": {"ok": True}}


def test_one_of_two_decisions_leaves_the_other_call_waiting() -> None:
    past = [event(call("pay", {}, "A1"), call("pay", {}, "A2")), *CONFIRMED]
    page = decided(message_of(run(past)), {"B1": True})
    assert not would_send(page)
    first = run([decision(("B1", True)), results(response("pay", {"ok": 1}, "A1"))], past=past, onto=page)
    assert first[-1]["finishReason"] == "tool-calls"
    page = decided(message_of(first, page), {"B2": True})
    assert would_send(page)
    past += [decision(("B1", True)), results(response("pay", {"ok": 1}, "A1"))]
    last = run(
        [decision(("B2", True)), results(response("pay", {"ok": 2}, "A2")), event(text("Paid."))], past=past, onto=page
    )
    assert outputs(last) == {"A2": {"ok": 2}}


def test_a_decision_that_nothing_follows_ends_the_call() -> None:
    assert outputs(continued(ASK, {"B": True}, [])) == {"A": "The tool gave no result."}


@pytest.mark.parametrize("nonsense", [{}, {"confirmed": "yes"}, {"response": "no json"}, {"response": "[1]"}, None])
def test_what_does_not_decide_leaves_the_call_waiting(nonsense: dict[str, Any] | None) -> None:
    chunks = run([user(response("adk_request_confirmation", nonsense, "B"))], past=ASK)
    assert chunks[-1]["finishReason"] == "tool-calls"


def test_v7_clients_hear_of_the_decision() -> None:
    chunks = continued(ASK, {"B": False}, [results(response("pay", REJECTED, "A"))], ai_sdk=7)
    assert only(chunks, "tool") == [
        {"type": "tool-approval-response", "approvalId": "B", "approved": False},
        {"type": "tool-output-denied", "toolCallId": "A"},
    ]


@pytest.mark.parametrize("hidden", ["all", {"pay"}])
def test_an_approval_of_a_hidden_tool_still_shows_in_a_step_of_its_own(hidden: Any) -> None:
    streamed = fragment(piece("pay", "A", arg("$.sum", 5)))
    chunks = body([event(text("Let me pay.")), streamed, *ASK], hidden_tools=hidden, tool_titles={"pay": "Pay"})
    assert only(chunks, "tool") == [
        {"type": "tool-input-start", "toolCallId": "A", "toolName": "pay", "title": "Pay"},
        {"type": "tool-input-available", "toolCallId": "A", "toolName": "pay", "input": {"sum": 5}, "title": "Pay"},
        REQUEST,
    ]
    assert kinds(chunks).count("start-step") == 2
    assert outputs(continued(ASK, {"B": True}, [PAID], hidden_tools=hidden)) == {"A": {"ok": True}}


def test_an_approval_of_a_call_that_was_never_seen_brings_the_call() -> None:
    chunks = run([confirmation("B", "A", "pay", {"sum": 5})], dynamic_tools=["pay"])
    assert kinds(only(chunks, "tool")) == ["tool-input-start", "tool-input-available", "tool-approval-request"]
    assert [chunk.get("dynamic") for chunk in only(chunks, "tool-input")] == [True, True]


def test_an_approval_that_says_nothing_of_its_call_is_shown_all_the_same() -> None:
    chunks = only(run([event(call("adk_request_confirmation", {}, "B"), long_running_tool_ids={"B"})]), "tool")
    assert [chunk["toolCallId"] for chunk in chunks] == ["call_0"] * 3
    assert chunks[1]["input"] == {}


@pytest.mark.parametrize("gated", ["A", "never"])
@pytest.mark.parametrize("approval_id", ["B", None])
def test_a_confirmation_that_the_model_made_up_is_not_shown(gated: str, approval_id: str | None) -> None:
    """ADK marks its own as long-running, and only those can be answered."""
    made_up = call("adk_request_confirmation", {"originalFunctionCall": {"id": gated, "name": "pay"}}, approval_id)
    refused = results(response("adk_request_confirmation", {"error": "There is no such tool."}, approval_id))
    events = [event(call("look", {}, "A")), results(response("look", {"r": 1}, "A"))]
    for made in ([event(made_up)], [fragment(made_up), event(made_up)]):
        chunks = run([*events, *made, refused, event(text("Well."))])
        assert chunks == run([*events, event(text("Well."))])


def test_fragments_of_a_confirmation_are_not_shown() -> None:
    name = "adk_request_confirmation"
    pieces = [
        fragment(piece(name, "B", arg("$.originalFunctionCall.id", "A"))),
        fragment(piece(None, "B", arg("$.originalFunctionCall.name", "pay"))),
    ]
    assert only(run(pieces), "tool") == []
    assert only(run([ASK[0], *pieces, *ASK[1:]]), "tool") == only(run(ASK), "tool")
    again = only(run([ASK[0], *pieces, ASK[1], ASK[1], ASK[2]]), "tool")
    assert again == only(run([*ASK[:2], *ASK[1:]]), "tool")


@pytest.mark.parametrize("tool", ["adk_request_input", "adk_request_credential"])
def test_a_request_that_the_model_made_up_waits_for_nobody(tool: str) -> None:
    made_up = event(call(tool, {"functionCallId": "A"}, "B"))
    chunks = run([ASK[0], made_up, results(response(tool, {"error": "There is no such tool."}, "B"))])
    assert outputs(chunks)["B"] == "There is no such tool."
    assert outputs(run([ASK[0], made_up]))["B"] == "The tool gave no result."


def test_a_run_that_breaks_off_before_it_asked_leaves_no_call_waiting() -> None:
    assert outputs(run([ASK[0], ASK[2]])) == {"A": "The tool gave no result."}


def test_a_confirmation_of_a_pending_call_survives_a_failure_beside_it() -> None:
    calls = event(call("pay", {}, "A"), call("look", {}, "C"))
    chunks = run([calls, ASK[1]], error=RuntimeError("boom"))
    assert outputs(chunks) == {"C": "The run failed before the tool finished."}


# Tools that the page or a backend answers

LOCATE = event(call("locate", {}, "A"), long_running_tool_ids={"A"})


def test_a_long_running_call_is_left_to_the_page() -> None:
    chunks = run([LOCATE])
    assert kinds(only(chunks, "tool")) == ["tool-input-start", "tool-input-available"]
    assert chunks[-1]["finishReason"] == "tool-calls"


def test_what_the_page_gave_is_the_output_and_the_answer_is_another_step() -> None:
    page = message_of(run([LOCATE]))
    answered = [user(response("locate", {"at": "home"}, "A")), event(text("At home."))]
    chunks = run(answered, past=[LOCATE], onto=page)
    assert kinds(chunks)[1:4] == ["tool-output-available", "start-step", "text-start"]


def test_a_servers_tool_beside_a_long_running_one_leaves_it_pending_in_the_last_step() -> None:
    both = event(call("locate", {}, "A"), call("look", {}, "C"), long_running_tool_ids={"A"})
    chunks = run([both, results(response("look", {"r": 1}, "C")), event(text("Where are you?"))])
    assert kinds(chunks).count("start-step") == 1
    assert chunks[-1]["finishReason"] == "tool-calls"


def test_the_first_word_of_a_long_running_tool_is_preliminary_until_the_last_one_comes() -> None:
    first = [LOCATE, results(response("locate", {"status": "pending"}, "A")), event(text("I started it."))]
    chunks = run(first)
    assert only(chunks, "tool-output") == [
        {"type": "tool-output-available", "toolCallId": "A", "output": {"status": "pending"}, "preliminary": True}
    ]
    assert chunks[-1]["finishReason"] == "stop"
    last = run([user(response("locate", {"at": "home"}, "A"))], past=first, onto=message_of(chunks))
    assert outputs(last) == {"A": {"at": "home"}}


def test_a_first_word_beside_a_question_becomes_final_so_that_the_answer_is_sent() -> None:
    both = event(call("locate", {}, "L"), call("pay", {"sum": 5}, "A"), long_running_tool_ids={"L"})
    started = results(response("locate", {"status": "pending"}, "L"))
    past = [both, *ASK[1:], started]
    assert outputs(run(past)) == {"L": {"status": "pending"}}
    chunks = continued(past, {"B": True}, [PAID, event(text("Paid."))])
    assert outputs(chunks) == {"A": {"ok": True}}


def test_a_long_running_tool_that_fails_at_once_has_failed() -> None:
    assert outputs(run([LOCATE, results(response("locate", {"error": "no"}, "A"))])) == {"A": "no"}


def test_an_approved_long_running_call_goes_back_to_the_page() -> None:
    past = [event(call("pay", {"sum": 5}, "A"), long_running_tool_ids={"A"}), *ASK[1:]]
    chunks = continued(past, {"B": True}, [])
    assert kinds(only(chunks, "tool")) == ["tool-input-available"]
    assert chunks[-1]["finishReason"] == "tool-calls"


# Input and credentials


def test_a_request_for_input_is_a_tool_of_the_page() -> None:
    ask = event(call("adk_request_input", {"message": "Name?"}, "I"), long_running_tool_ids={"I"})
    chunks = run([ask])
    assert only(chunks, "tool-input-av") == [
        {
            "type": "tool-input-available",
            "toolCallId": "I",
            "toolName": "adk_request_input",
            "input": {"message": "Name?"},
        }
    ]
    answered = run([user(response("adk_request_input", {"result": "Ada"}, "I"))], past=[ask], onto=message_of(chunks))
    assert outputs(answered) == {"I": "Ada"}


AUTH = AuthConfig.model_validate(
    {
        "authScheme": {
            "type": "oauth2",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": "https://a/",
                    "tokenUrl": "https://t/",
                    "scopes": {"mail": "Mail"},
                }
            },
        },
        "credentialKey": "key",
        "rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "id", "clientSecret": "SECRET"}},
        "exchangedAuthCredential": {
            "authType": "oauth2",
            "oauth2": {
                "clientId": "id",
                "clientSecret": "SECRET",
                "authUri": "https://a/?x",
                "state": "s",
                "accessToken": "SECRET",
            },
        },
    }
)
NEEDS = [
    event(call("needs", {}, "A")),
    event(
        call(
            "adk_request_credential",
            {"functionCallId": "A", "authConfig": AUTH.model_dump(mode="json", by_alias=True)},
            "B",
        ),
        role="user",
        long_running_tool_ids={"B"},
    ),
    results(response("needs", {"token": "SECRET"}, "A"), actions=EventActions(requested_auth_configs={"A": AUTH})),
]


def test_credential_secret_never_on_wire() -> None:
    provided = user(response("adk_request_credential", AUTH.model_dump(mode="json", by_alias=True), "B"))
    first = run(NEEDS)
    after = run([provided, results(response("needs", {"mail": 3}, "A"))], past=NEEDS, onto=message_of(first))
    assert "SECRET" not in json.dumps(first + after)
    assert outputs(after) == {"B": {"provided": True}, "A": {"mail": 3}}


def test_a_tool_that_cannot_use_the_credential_has_said_its_last_word() -> None:
    """ADK runs it once more, and asks no second time: nothing would ever answer its call."""
    provided = user(response("adk_request_credential", AUTH.model_dump(mode="json", by_alias=True), "B"))
    refused = results(response("needs", {"result": "Pending."}, "A"), actions=NEEDS[-1].actions)
    after = run([provided, refused], past=NEEDS, onto=message_of(run(NEEDS)))
    assert outputs(after) == {"B": {"provided": True}, "A": {"result": "Pending."}}


def test_a_credential_that_nobody_is_asked_for_is_not_waited_for() -> None:
    """ADK asks for none when the tool ran after an approval: the model continues with the tool's output."""
    lacks = results(
        response("pay", {"status": "sign in"}, "A"), actions=EventActions(requested_auth_configs={"A": AUTH})
    )
    after = continued(ASK, {"B": True}, [lacks, event(text("No key."))])
    assert outputs(after) == {"A": {"status": "sign in"}}
    assert kinds(after).count("start-step") == 1


def test_a_request_for_a_credential_says_what_a_person_needs_to_sign_in() -> None:
    (asked,) = (chunk for chunk in only(run(NEEDS), "tool-input-av") if chunk["toolCallId"] == "B")
    assert asked["input"] == {
        "functionCallId": "A",
        "schemeType": "oauth2",
        "scopes": ["mail"],
        "authUri": "https://a/?x",
        "state": "s",
    }


def test_a_gated_call_beside_a_request_for_input_waits_in_the_same_step() -> None:
    both = event(call("pay", {"sum": 5}, "A"), call("adk_request_input", {}, "I"), long_running_tool_ids={"I"})
    chunks = run([both, *ASK[1:]])
    assert kinds(chunks).count("start-step") == 1


def test_a_request_for_a_credential_comes_after_a_step_of_its_own_whatever_runs_beside_it() -> None:
    both = event(call("needs", {}, "A"), call("look", {}, "C"))
    answers = results(
        response("needs", {}, "A"),
        response("look", {"r": 1}, "C"),
        actions=EventActions(requested_auth_configs={"A": AUTH}),
    )
    chunks = run([both, NEEDS[1], answers])
    assert kinds(chunks).count("start-step") == 2
    assert outputs(chunks) == {"C": {"r": 1}}


def test_a_credential_request_that_a_model_streams_shows_nothing_of_its_arguments() -> None:
    secret = {"authConfig": {"rawAuthCredential": {"oauth2": {"clientSecret": "s3cret"}}}}
    pieces = [
        fragment(piece("adk_request_credential", "B", arg("$.authConfig.rawAuthCredential.apiKey", "s3cret"))),
        fragment(piece(None, "B", arg("$.more", "s3cret"))),
        fragment(call("adk_request_credential", secret, "C", more=True)),
    ]
    assert "s3cret" not in json.dumps(run(pieces))
    assert "s3cret" not in json.dumps(run([*pieces, event(call("adk_request_credential", secret, "B"))]))
