import logging

import pytest
from google.adk.events import Event

from stream_protocol.adk import CallIds, CallReference, SpeakerKey
from stream_protocol.adk._calls import Answered
from stream_protocol.stream.calls import CallRegistry, ToolCall
from stream_protocol.wire import ChunkSink
from tests.batch import batch
from tests.stream.building import AGENT, call, event, fragment, piece, response, results, text, user
from tests.stream.running import inputs, outputs, run

ONE: SpeakerKey = ("a", None, "")
OTHER: SpeakerKey = ("b", None, "")


def registry(*taken: str) -> CallRegistry:
    return CallRegistry(ChunkSink(), CallIds(taken))


def announce(added: ToolCall) -> None:
    added.announce("f", hidden=False, dynamic=False, title=None)


def test_an_id_of_adk_is_the_clients_id() -> None:
    assert registry().new("adk-1", ONE).id == "adk-1"


def test_calls_without_an_id_are_numbered_in_order_of_first_sight() -> None:
    chunks = run([event(call("f", {"x": 1}), call("g", {"x": 2})), event(call("f", {"x": 3}))])
    assert inputs(chunks) == {"call_0": {"x": 1}, "call_1": {"x": 2}, "call_2": {"x": 3}}


def test_a_made_up_id_is_warned_about_once_a_call(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "stream_protocol"):
        calls = registry()
        calls.new(None, ONE)
        calls.new("A", ONE)
        calls.new(None, ONE, provider_executed=True)
    assert caplog.messages == ["ADK gave a function call no id; it is call_0"]


def test_numbering_goes_on_in_a_continuation() -> None:
    past = [event(call("f", {})), results(response("f", {"r": 1}))]
    assert list(inputs(run([event(call("f", {}))], past=past))) == ["call_1"]


def test_an_alias_finds_the_call_and_nothing_finds_none() -> None:
    calls = registry()
    added = calls.new("A", ONE)
    calls.known.alias("B", added.known)
    assert [calls.find(CallReference(adk_id)) for adk_id in ("A", "B", None, "", "C")] == [
        added,
        added,
        None,
        None,
        None,
    ]


def test_a_response_with_an_id_answers_a_call_that_came_without_and_keeps_to_it() -> None:
    events = [
        event(call("f", {"x": 1}), call("f", {"x": 2}), call("f", {"x": 3}, "C"), call("g", {})),
        results(response("f", {"r": 3}, "C"), response("f", {"r": 1}, "A", will_continue=True)),
        results(response("f", {"r": 2}, "B"), response("f", {"r": 4}, "A")),
        results(response("f", {"r": 5}, "D"), response("h", {"r": 6}, "E")),
    ]
    missing = "The tool gave no result."
    assert outputs(run(events)) == {"C": {"r": 3}, "call_0": {"r": 4}, "call_1": {"r": 2}, "call_2": missing}


def test_a_response_without_an_id_answers_its_own_speakers_call_first() -> None:
    calls = registry()
    others, own = calls.new(None, OTHER), calls.new(None, ONE)
    for call_of_both in (others, own):
        announce(call_of_both)
        calls.known.complete(None, call_of_both.known, "f", {})
    assert calls.known.resolve_response(None, ONE, CallReference(None, "f")) == Answered(own.known)
    own.fail_input("cut")
    assert calls.known.resolve_response(None, ONE, CallReference(None, "f")) == Answered(others.known)
    assert calls.known.resolve_response(None, ONE, CallReference(None, "g")) == Answered(None)


def test_a_call_waits_from_when_it_was_shown_until_it_is_answered() -> None:
    calls = registry()
    added = calls.new("A", ONE)
    assert list(calls.waiting()) == []
    announce(added)
    added.complete_input({})
    assert list(calls.waiting()) == [added]
    added.answer({})
    assert list(calls.waiting()) == calls.unsettled() == []


def test_an_answer_to_an_older_approval_request_means_nothing() -> None:
    calls = registry()
    added = calls.new("A", ONE)
    announce(added)
    added.complete_input({})
    for approval_id in ("B", "C"):
        assert calls.known.request_approval(ONE, approval_id, {"originalFunctionCall": {"id": "A"}}) is added.known
    answers = [
        calls.known.resolve_response(None, None, CallReference(approval_id), by_user=True) for approval_id in ("B", "C")
    ]
    assert answers == [Answered(None, is_approval=True), Answered(added.known, is_approval=True)]


def test_a_call_whose_approval_is_requested_after_its_result_waits_again() -> None:
    calls = registry()
    first, second = calls.new("A", ONE), calls.new("B", ONE)
    for each in (first, second):
        announce(each)
        each.complete_input({})
    first.answer({})
    calls.known.request_approval(ONE, "C", {"originalFunctionCall": {"id": "A"}})
    calls.request_approval(first)
    assert calls.unsettled() == [second, first]


PARALLEL = ({"author": "a", "branch": "par.a"}, {"author": "b", "branch": "par.b"})


@pytest.mark.parametrize("adk_id", ["call_0", None])
def test_agents_in_parallel_may_use_the_same_ids(adk_id: str | None) -> None:
    calls = [event(call("f", {"of": who["author"]}, adk_id), **who) for who in PARALLEL]
    answers = [results(response("f", {"of": who["author"]}, adk_id), **who) for who in reversed(PARALLEL)]
    chunks = run([*calls, *answers])
    assert outputs(chunks) == inputs(chunks)
    assert [value["of"] for value in inputs(chunks).values()] == ["a", "b"]


def test_the_page_answers_the_call_that_waits_not_another_agents_under_the_same_id() -> None:
    first, second = PARALLEL
    past = [
        event(call("locate", {}, "0"), long_running_tool_ids={"0"}, **first),
        event(call("f", {}, "0"), **second),
        results(response("f", {"r": 1}, "0"), **second),
    ]
    assert outputs(run([user(response("locate", {"at": "home"}, "0"))], past=past)) == {"0": {"at": "home"}}


def test_agents_in_parallel_may_stream_under_the_same_id() -> None:
    first, second = PARALLEL
    chunks = run(
        [
            fragment(piece("f", "0"), **first),
            fragment(piece("f", "0"), **second),
            fragment(piece("f", "0"), **first),
            event(call("f", {"of": "a"}, "0"), **first),
            fragment(piece("f", "0"), **second),
            event(call("f", {"of": "b"}, "0"), **second),
        ]
    )
    assert inputs(chunks) == {"0": {"of": "a"}, "0.2": {"of": "b"}}


def test_a_result_that_somebody_else_reports_finds_its_call_by_id() -> None:
    chunks = run([event(call("f", {}, "A")), results(response("f", {"r": 1}, "A"), author="workflow")])
    assert outputs(chunks) == {"A": {"r": 1}}


def test_an_output_for_a_call_outside_the_message_is_never_sent(caplog: pytest.LogCaptureFixture) -> None:
    stray = response("f", {"r": 1}, "elsewhere")
    chunks = run([user(stray), results(stray), results(response("f", {"r": 1})), event(text("Hi"), author=AGENT)])
    assert outputs(chunks) == {}
    assert set(caplog.messages) == {
        "Skipped a response of `f` to the call elsewhere, which is not in this message.",
        "Skipped a response of `f` to the call None, which is not in this message.",
    }


@batch(
    event={
        "an answer of the user's, or of a backend": user(response("f", {"r": 1}, "A")),
        "the result of a task agent": user(response("f", {"r": 1}, "A"), node_path="wf@1"),
        "of a tool that is not shown": results(response("finish_task", {"r": 1})),
        "of a run that was stopped": results(response("f", {"r": 1}, "A"), error_code="INVOCATION_ABORTED"),
    }
)
def test_a_result_that_may_well_be_of_an_earlier_message_is_no_surprise(
    event: Event, caplog: pytest.LogCaptureFixture
) -> None:
    assert outputs(run([event])) == {}
    assert caplog.messages == []
