"""The events that are appended after a run: their time, their author, and their effect on client and model."""

from collections.abc import Sequence
from typing import Any

from google.adk.events import Event
from google.genai import types

from stream_protocol.adk import ABORTED, CallReference
from stream_protocol.session import RunOutput, Transcript, completing_events, tool_failure_events
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.stream import Ending
from tests.session.test_run_output import shown


def event(author: str, *parts: types.Part, **more: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts))
    return Event(invocation_id="e-1", author=author, content=content, **more)


def call(call_id: str, name: str = "f") -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args={}))


def response(call_id: str, name: str = "f") -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response={"error": "Aborted."}))


USER = event("user", types.Part(text="hi"), timestamp=1.0)


def appended(
    stored: Sequence[Event], outcome: Ending, *, fragments: Sequence[Event] = (), unseen: Sequence[Event] = ()
) -> list[Event]:
    """Return the events that are appended to one run. The client was shown all events except ``unseen``."""
    output = shown(one for one in [*stored, *fragments] if one not in unseen)
    return completing_events(Transcript(stored), output, outcome, events_before_run=0, agent="root", now=2.0)


def test_times_are_strictly_later_than_all_that_is_stored() -> None:
    future = event("a", call("A"), timestamp=2.0e9, branch="x")
    half = event("b", types.Part(text="Half"), partial=True, branch="y")
    added = appended([USER, future], "error", fragments=[half])
    times = [future.timestamp, *(one.timestamp for one in added)]
    assert times == sorted(set(times))
    assert [(one.author, one.branch) for one in added] == [("b", "y"), ("a", "x")]


def test_the_model_is_named_as_the_page_was_told_it() -> None:
    half = event("b", types.Part(text="Half"), partial=True, model_version="m")
    end = types.FinishReason.STOP
    whole = event("b", types.Part(text=" and half"), partial=True, model_version="m", finish_reason=end)
    (unnamed,) = appended([USER], "abort", fragments=[half])
    (named,) = appended([USER], "abort", fragments=[half, whole])
    assert (unnamed.model_version, named.model_version) == (None, "m")


def test_a_call_and_its_error_are_of_one_speaker_and_in_separate_events() -> None:
    (added,) = appended([USER, event("a", call("A"), isolation_scope="s")], "error")
    (answer,) = added.get_function_responses()
    assert (added.author, added.isolation_scope, answer.id) == ("a", "s", "A")
    assert added.content is not None
    assert added.content.role == "user"
    assert answer.response == {"error": "The run failed before the tool finished."}


def test_a_call_that_an_agent_works_on_stays_open_after_an_error() -> None:
    events = [USER, event("root", call("A", "task")), event("task", types.Part(text="Which?"), isolation_scope="A")]
    (added,) = appended(events, "error")
    assert (added.author, added.content) == ("task", None)


def test_a_call_with_the_id_of_a_call_that_an_agent_works_on_ends() -> None:
    calls = event("root", call("A", "task"), call("A"))
    added = appended([USER, calls, event("task", types.Part(text="Which?"), isolation_scope="A")], "error")
    assert [answer.name for each in added for answer in each.get_function_responses()] == ["f"]


def test_nothing_is_appended_to_a_run_that_stored_nothing() -> None:
    transcript = Transcript([USER])
    assert completing_events(transcript, RunOutput(), "error", events_before_run=1, agent="root", now=2.0) == []


def test_a_stored_event_that_never_came_is_hidden_from_the_page() -> None:
    """A run can be cancelled after an event is stored and before it is sent to the client."""
    result = event("a", response("A"))
    stored = [USER, event("a", call("A")), result]
    added = appended(stored, "abort", unseen=[result])
    (turn,) = Transcript([*stored, *added]).turns
    assert result not in turn.events
    assert turn.events[:2] == tuple(stored[:2])


def test_the_model_alone_reads_again_what_adk_keeps_from_it_with_an_approval() -> None:
    approval = types.Part(function_call=types.FunctionCall(id="P", name="adk_request_confirmation", args={}))
    stored = [
        USER,
        event("a", call("A"), long_running_tool_ids={"A"}),
        event("a", approval, long_running_tool_ids={"P"}),
        event("a", response("A"), response("P", "adk_request_confirmation"), error_code="INVOCATION_ABORTED"),
    ]
    (added,) = appended(stored, "abort")
    (answer,) = added.get_function_responses()
    assert (answer.id, answer.response) == ("A", {"error": "Aborted."})
    (turn,) = Transcript([*stored, added]).turns
    assert turn.events == tuple(stored)
    assert appended([*stored, added], "abort") == []


def test_what_was_only_streamed_is_read_where_the_page_was_shown_it() -> None:
    half = event("a", types.Part(text="Half"), partial=True)
    whole, last = event("b", types.Part(text="B")), event("a", types.Part(text="Sorry"))
    output = shown([USER, half, whole, last])
    stored = [USER, whole, last]
    (added,) = completing_events(Transcript(stored), output, "finish", events_before_run=0, agent="root", now=2.0)
    assert (added.author, added.error_code) == ("a", None)
    (turn,) = Transcript([*stored, added]).turns
    assert [one.author for one in turn.events] == ["user", "a", "b", "a"]
    assert turn.events[1].partial


def test_what_was_shown_before_an_event_that_is_not_there_stays_where_it_is_stored() -> None:
    half = event("a", types.Part(text="Half"), partial=True)
    output = shown([USER, half, event("b", types.Part(text="B"))])
    (added,) = completing_events(Transcript([USER]), output, "finish", events_before_run=0, agent="root", now=2.0)
    assert added.custom_metadata == {"adk_ui_stream": {"sealed": "finish", "streamed": True}}
    added.custom_metadata["adk_ui_stream"]["before"] = "gone"
    (turn,) = Transcript([USER, added]).turns
    assert [one.author for one in turn.events] == ["user", "a"]


def test_after_an_error_the_events_that_say_so_are_the_last_of_the_page() -> None:
    """Otherwise the answer between the events would look like a recovery."""
    half = event("a", types.Part(text="Half"), partial=True)
    other = event("b", types.Part(text="B"))
    output = shown([USER, half, other])
    added = completing_events(Transcript([USER, other]), output, "error", events_before_run=0, agent="root", now=2.0)
    assert [(one.author, one.error_code) for one in added] == [("a", None), ("b", "RUN_FAILED")]


def test_an_error_text_with_characters_that_stores_refuse_is_stored_without_them() -> None:
    output = shown([USER])
    output.end("The key \0 is \ud83d.")
    (added,) = completing_events(Transcript([USER]), output, "error", events_before_run=0, agent="root", now=2.0)
    assert EventMetadata.of(added).error_text == "The key \ufffd is \ufffd."
    assert r"\u0000" not in added.model_dump_json()


def test_a_stop_that_adk_has_stored_needs_no_event_for_an_error_text() -> None:
    """A stopped response ends in an error if its client would send the same answers again."""
    stored = [USER, event("a", error_code=ABORTED)]
    output = shown(stored)
    output.end("There is nothing new.")
    assert completing_events(Transcript(stored), output, "abort", events_before_run=0, agent="root", now=2.0) == []


def test_a_run_whose_messages_are_all_stored_needs_no_event() -> None:
    known = [USER, event("a", types.Part(text="Hi"), partial=True), event("a", types.Part(text="Hi"))]
    output = shown(known)
    assert output.is_stored
    assert shown([*known, event("a", types.Part(text=""), partial=True)]).is_stored
    assert not shown([*known, event("a", types.Part(text="more"), partial=True)]).is_stored


# Calls whose tools raised


def failure_events(*stored: Event, call_ids: Sequence[str] = ("A",), run_failed: bool = True) -> list[Event]:
    raised = [CallReference(call_id) for call_id in call_ids]
    return tool_failure_events(Transcript([USER, *stored]), raised, run_failed=run_failed)


def test_the_error_of_a_call_whose_tool_raised_repeats_what_adk_says_of_the_failure() -> None:
    raised = event("a", error_code="ValueError", error_message="secret", timestamp=2.0e9)
    (added,) = failure_events(event("a", call("A"), branch="x"), raised)
    (answer,) = added.get_function_responses()
    assert (added.author, added.branch, answer.id) == ("a", "x", "A")
    assert answer.response == {"error": "The tool failed."}
    assert (added.error_code, added.error_message) == ("ValueError", "secret")
    assert added.timestamp > raised.timestamp


def test_the_error_says_that_the_run_failed_where_adk_does_not() -> None:
    (added,) = failure_events(event("a", call("A")))
    assert (added.error_code, added.error_message) == ("RUN_FAILED", None)
    (cut,) = failure_events(event("a", call("A"), error_code="MAX_TOKENS"))
    assert cut.error_code == "RUN_FAILED"


def test_the_error_in_a_run_that_went_on_reports_no_failure() -> None:
    (added,) = failure_events(event("a", call("A")), event("a", types.Part(text="Sorry.")), run_failed=False)
    assert (added.error_code, added.error_message) == (None, None)


def test_a_call_that_has_a_response_gets_no_error() -> None:
    assert failure_events(event("a", call("A")), event("a", response("A"))) == []


def test_of_calls_with_one_id_the_newest_has_failed() -> None:
    first, second = event("a", call("A")), event("b", call("A"))
    (added,) = failure_events(first, event("a", response("A")), event("user", types.Part(text="On.")), second)
    assert added.author == "b"


def test_failures_of_one_response_are_one_event_and_those_of_several_come_in_order() -> None:
    side_by_side = [event("a", call("A"), call("B"), branch="x"), event("b", call("C"), branch="y")]
    added = failure_events(*side_by_side, call_ids=("C", "B", "A", "unknown"))
    assert [[one.id for one in each.get_function_responses()] for each in added] == [["A", "B"], ["C"]]
    assert added[0].timestamp < added[1].timestamp


def test_a_session_in_which_nobody_has_spoken_has_no_failures() -> None:
    assert tool_failure_events(Transcript([event("a", call("A"))]), [CallReference("A")], run_failed=True) == []
