from collections.abc import Callable
from typing import Any, get_args

import pytest

from stream_protocol import StreamProtocolError
from stream_protocol.adk import KnownCall
from stream_protocol.stream.calls import CallState, ToolCall
from stream_protocol.stream.calls._call_states import TRANSITIONS, CallEvent
from stream_protocol.wire import ChunkSink

UNSEEN: tuple[CallEvent, ...] = ("reveal", "end silently")


def announce(call: ToolCall, *, hidden: bool = False) -> None:
    call.announce("f", hidden=hidden, dynamic=False, title=None)


STEPS: dict[CallEvent, Callable[[ToolCall], None]] = {
    "announce": announce,
    "complete input": lambda call: call.complete_input({}),
    "fail input": lambda call: call.fail_input("cut"),
    "announce approval": lambda call: call.announce_approval(gated=True),
    "request approval": lambda call: call.request_approval(),
    "answer approval": lambda call: call.answer_approval(approved=True, write_response=True),
    "request credential": lambda call: call.await_credential(lacking=True),
    "await client": lambda call: call.await_client(),
    "stop waiting": lambda call: call.stop_waiting(),
    "interim output": lambda call: call.accept_interim({"ok": 1}),
    "answer": lambda call: call.answer({"ok": 2}),
    "fail": lambda call: call.fail("broken"),
    "reveal": lambda call: call.reveal(),
    "end silently": lambda call: call.end_silently(),
}
PATHS: dict[CallState, list[CallEvent]] = {
    CallState.UNNAMED: [],
    CallState.INPUT_STREAMING: ["announce"],
    CallState.RUNNING: ["announce", "complete input"],
    CallState.APPROVAL_ANNOUNCED: ["announce", "complete input", "announce approval"],
    CallState.APPROVAL_REQUESTED: ["announce", "complete input", "announce approval", "request approval"],
    CallState.AWAITING_CREDENTIAL: ["announce", "complete input", "request credential"],
    CallState.AWAITING_CLIENT: ["announce", "complete input", "await client"],
    CallState.INTERIM: ["announce", "complete input", "interim output"],
    CallState.ANSWERED: ["announce", "complete input", "answer"],
}


def call_in(state: CallState, sink: ChunkSink, *, hidden: bool = False) -> ToolCall:
    call = ToolCall(sink, KnownCall("A", ("a", None, "")))
    for step in PATHS[state]:
        if step == "announce":
            announce(call, hidden=hidden)
        else:
            STEPS[step](call)
    assert call.state is state
    sink.take()
    return call


def fields_of(call: ToolCall) -> dict[str, Any]:
    return {name: getattr(call, name) for name in ToolCall.__slots__}


@pytest.mark.parametrize("state", CallState)
@pytest.mark.parametrize("step", STEPS)
def test_a_step_leads_where_the_table_says_or_raises_and_changes_nothing(state: CallState, step: CallEvent) -> None:
    sink = ChunkSink()
    call = call_in(state, sink)
    follows = None if step in UNSEEN and call.is_shown else TRANSITIONS[state].get(step)
    before = fields_of(call)
    if follows is None:
        shown = ", shown" if call.is_shown else ""
        with pytest.raises(StreamProtocolError) as refused:
            STEPS[step](call)
        assert str(refused.value) == (
            f"The tool call 'A' ({call.name or 'unnamed'}{shown}) is {state.name}: it can't {step!r}"
        )
        assert (fields_of(call), sink.take()) == (before, [])
    else:
        STEPS[step](call)
        assert call.state is follows


@pytest.mark.parametrize("state", CallState)
@pytest.mark.parametrize("step", UNSEEN)
def test_a_hidden_call_can_be_shown_after_all_or_end_without_a_word(state: CallState, step: CallEvent) -> None:
    sink = ChunkSink()
    call = call_in(state, sink, hidden=True)
    STEPS[step](call)
    assert call.state is TRANSITIONS[state][step]
    assert sink.take() == []


def test_the_table_has_every_state_and_every_event() -> None:
    assert set(TRANSITIONS) == set(CallState)
    assert set(STEPS) == set(get_args(CallEvent)) == {event for events in TRANSITIONS.values() for event in events}


@pytest.mark.parametrize(
    ("state", "answers"),
    [(state, CallState.APPROVAL_REQUESTED <= state <= CallState.AWAITING_CLIENT) for state in CallState],
)
def test_somebody_outside_the_run_can_answer_what_was_requested(state: CallState, *, answers: bool) -> None:
    assert call_in(state, ChunkSink()).is_pending is answers


def test_an_approval_that_is_announced_anew_takes_no_answer_to_the_request_before() -> None:
    call = call_in(CallState.APPROVAL_REQUESTED, ChunkSink())
    call.announce_approval(gated=True)
    assert call.state is CallState.APPROVAL_REQUESTED
    call.answer_approval(approved=True, write_response=False)
    call.announce_approval(gated=False)
    with pytest.raises(StreamProtocolError):
        call.answer_approval(approved=True, write_response=False)
