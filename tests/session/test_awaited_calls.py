"""The calls that wait for the client, kept in the session's state: they equal those that the transcript finds."""

from typing import Any

from stream_protocol.session import Transcript
from stream_protocol.session.transcript import AWAITED_KEY, has_awaited, update_awaited
from tests.batch import batch
from tests.conformance.fixtures import fixture_names, load_fixture, stored_session
from tests.session.test_transcript import answered, asked, call, event, gated, response, rewind, said


def state_after(events: list[Any], state: dict[str, Any] | None = None) -> dict[str, Any]:
    state = {} if state is None else state
    for each in events:
        stored = each.model_copy(deep=True)
        update_awaited(stored, state)
        state.update(stored.actions.state_delta)
    return state


@batch(name=fixture_names())
def test_the_calls_of_each_fixture_wait_as_in_its_transcript(name: str) -> None:
    state: dict[str, Any] = {}
    events = stored_session(load_fixture(name)).events
    for number, each in enumerate(events, 1):
        state_after([each], state)
        turns = Transcript(events[:number]).turns
        awaited = bool(turns) and any(call.is_awaited for call in turns[-1].external_calls)
        assert has_awaited(state) == awaited, each


def test_an_event_that_changes_no_call_changes_no_state() -> None:
    assert state_after([said("a"), event("root", response("T", ok=1)), said("b")]) == {}


def test_an_approval_waits_for_its_answer_and_not_for_the_placeholder() -> None:
    state = state_after([said("a"), *gated("A", "B")])
    assert state == {AWAITED_KEY: [["B", "A"]]}
    assert state_after([answered("B")], state) == {AWAITED_KEY: []}


def test_a_request_that_is_repeated_replaces_the_earlier_one() -> None:
    assert state_after([said("a"), *gated("A", "B"), *gated("A", "C")])[AWAITED_KEY] == [["C", "A"]]


def test_a_client_tool_that_needs_approval_waits_for_the_approval_and_then_for_its_output() -> None:
    _, request, placeholder = gated("A", "B")
    state = state_after([said("a"), asked("A"), request, placeholder, answered("B")])
    assert state[AWAITED_KEY] == [["A", "A"]]
    assert not has_awaited(state_after([answered("A")], state))


def test_the_result_of_a_call_ends_the_wait_for_its_approval() -> None:
    assert state_after([said("a"), *gated("A", "B"), event("root", response("A", error="stopped"))])[AWAITED_KEY] == []


def test_a_call_waits_until_all_are_answered_or_the_user_goes_on() -> None:
    state = state_after([said("a"), asked("A"), asked("B"), answered("A")])
    assert state[AWAITED_KEY] == [["B", "B"]]
    assert not has_awaited(state_after([said("b")], state))


def test_each_call_waits_of_those_to_which_a_model_gives_one_id() -> None:
    twice = event("root", call("A"), call("A"), long_running_tool_ids={"A"})
    state = state_after([said("a"), twice, twice, answered("A")])
    assert state[AWAITED_KEY] == [["A", "A"]]
    assert not has_awaited(state_after([answered("A")], state))


def test_a_rewind_keeps_the_state_that_adk_restores() -> None:
    undone = rewind("e-1")
    undone.actions.state_delta[AWAITED_KEY] = [["A", "A"]]
    update_awaited(undone, {})
    assert undone.actions.state_delta == {AWAITED_KEY: [["A", "A"]]}


def test_a_change_for_another_copy_of_the_session_is_removed() -> None:
    asking = asked("A")
    update_awaited(asking, {})
    update_awaited(asking, {AWAITED_KEY: [["A", "A"]]})
    assert asking.actions.state_delta == {}
