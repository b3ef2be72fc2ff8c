"""The calls of a stored turn have the ids that the converter gives them."""

from collections.abc import Iterable, Sequence

from google.adk.events import Event, EventActions
from hypothesis import given, settings, strategies as st

from stream_protocol import StreamProtocolConverter, reduce_chunks
from stream_protocol.session import METADATA_KEY, Transcript
from stream_protocol.wire import is_tool_part
from tests.stream.building import (
    call,
    code,
    confirmation,
    decision,
    event,
    placeholders,
    ran,
    response,
    results,
    text,
    user,
    waiting,
)

IDS = st.sampled_from(["0", "0", "0.2", "1", None])
GATED = st.sampled_from(["0", "1"])
ARGS = st.sampled_from([{}, {"x": 1}])
WHO = st.sampled_from([{"author": "a"}, {"author": "b", "branch": "b"}])
NAMES = st.sampled_from(["f", "g"])
CALL = st.builds(call, NAMES, ARGS, IDS)

EVENTS = st.one_of(
    st.builds(lambda parts, who: event(*parts, **who), st.lists(CALL, min_size=1, max_size=3), WHO),
    st.builds(
        lambda parts, who: event(*parts, long_running_tool_ids={one.function_call.id for one in parts} - {None}, **who),
        st.lists(CALL, min_size=1, max_size=2),
        WHO,
    ),
    st.builds(
        lambda parts, who: results(*parts, **who),
        st.lists(st.builds(lambda name, adk_id: response(name, {"r": 1}, adk_id), NAMES, IDS), min_size=1, max_size=3),
        WHO,
    ),
    st.builds(lambda name, adk_id: user(response(name, {"r": 2}, adk_id)), NAMES, IDS),
    st.builds(
        lambda name, adk_id, args: confirmation(f"C-{adk_id}", adk_id, name, args),
        NAMES,
        st.sampled_from(["0", "1"]),
        ARGS,
    ),
    st.builds(lambda name: placeholders(response(name, {"error": "?"}, "0"), asking=("0",)), NAMES),
    st.builds(lambda: event(code(), ran("2"))),
    st.builds(lambda words: user(text(words)), st.sampled_from(["hi", "and?"])),
)


def shown_ids(events: Sequence[Event], taken: Iterable[str]) -> list[str]:
    """Return the ids of all calls that a client is shown, in order."""
    converter = StreamProtocolConverter(taken_ids=[*taken])
    chunks = [chunk for each in events for chunk in converter.convert(each)]
    parts = reduce_chunks([*chunks, *converter.finish()])["parts"]
    return [part["toolCallId"] for part in parts if is_tool_part(part)]


def assert_agree(events: Sequence[Event]) -> None:
    transcript = Transcript(events)
    turns = transcript.turns
    for turn, after in zip(turns, [*(one.call_ids for one in turns[1:]), transcript.call_ids], strict=True):
        earlier = [*turn.call_ids]
        given_ids = [*after][len(earlier) :]
        assert given_ids == shown_ids(turn.events, earlier)
        assert {one.known.id for one in turn.external_calls} <= {*given_ids}


@settings(max_examples=50)
@given(events=st.lists(EVENTS, max_size=10))
def test_the_ids_of_stored_calls_are_those_that_the_converter_gives(events: list[Event]) -> None:
    assert_agree([user(text("go")), *events])


def test_a_call_that_the_page_was_not_shown_takes_no_id() -> None:
    unseen = event(call("f", {}, "0"))
    mark = event(custom_metadata={METADATA_KEY: {"untold": [unseen.id]}})
    transcript = Transcript([user(text("go")), unseen, mark, user(text("on")), event(call("f", {}, "0"))])
    assert [*transcript.call_ids] == ["0"]
    assert [one.known.id for one in transcript.turns[0].calls] == [""]


TWO_WAIT = [*waiting("pay", "0", "C1", {"x": 1}), *waiting("pay", "0", "C2", {"x": 2})]
"""Return two calls with the same id that both wait for approval."""

PAID = [results(response("pay", {"paid": number}, "0")) for number in range(2)]


def test_the_result_of_an_approved_call_belongs_to_the_response_that_the_approval_began() -> None:
    (turn,) = Transcript([user(text("go")), *TWO_WAIT, decision(("C2", True)), PAID[0]]).turns
    assert turn.response_starts == (0, 7)
    assert [one.known.id for one in turn.external_calls if one.is_pending] == ["0"]


def test_where_answers_are_missing_each_result_of_a_call_that_waited_begins_a_response() -> None:
    (turn,) = Transcript([*TWO_WAIT, *PAID]).turns
    assert turn.response_starts == (0, 6, 7)


def test_nothing_is_awaited_after_the_answer_to_a_request_that_came_twice() -> None:
    waits = waiting("pay", "0", "C")
    (turn,) = Transcript([user(text("go")), *waits, waits[1], decision(("C", True))]).turns
    assert [(one.tool_call_id, one.is_awaited, one.is_pending) for one in turn.external_calls] == [("C", False, False)]


def test_the_result_of_another_call_under_the_id_shows_no_approval() -> None:
    waits = waiting("pay", "0", "C")
    other = [event(call("look", {}, "0")), results(response("look", {}, "0"))]
    (turn,) = Transcript([user(text("go")), *waits, *other]).turns
    assert turn.response_starts == (0,)
    assert [one.is_pending for one in turn.external_calls] == [True]


def test_while_a_call_waits_another_one_under_its_id_may_be_answered() -> None:
    waits = event(call("pick", {}, "0"), long_running_tool_ids={"0"})
    other = [event(call("look", {}, "0")), results(response("look", {}, "0"))]
    (turn,) = Transcript([waits, *other, event(text("Done."), invocation_id="later")]).turns
    assert turn.response_starts == (0,), "as it is where each call has an id of its own"


def test_what_was_rewound_takes_no_id() -> None:
    rewind = event(invocation_id="back", actions=EventActions(rewind_before_invocation_id="run-1"))
    turn = [user(text("go")), event(call("f", {}, "0")), results(response("f", {}, "0"))]
    again = [one.model_copy(update={"invocation_id": "run-2"}) for one in turn]
    assert [*Transcript([*turn, rewind, *again]).call_ids] == ["0"]
    assert [*Transcript([*turn, *again]).call_ids] == ["0", "0.2"]
