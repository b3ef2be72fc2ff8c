"""Resolves an id that ADK used before to the call that it means, and to the client's id for that call."""

from typing import Any

import pytest
from google.adk.events import Event
from google.genai.types import Part

from stream_protocol import (
    StreamProtocolConverter,
    StreamProtocolError,
    iter_chunks,
    iter_sse,
    stream_chunks,
    stream_sse,
)
from stream_protocol.adk import ANSWERED_KEY, CallIds, CallReference, KnownCalls
from tests.stream.building import (
    WAIT_FOR_APPROVAL,
    call,
    code,
    confirmation,
    decision,
    event,
    fragment,
    piece,
    placeholders,
    ran,
    response,
    results,
    text,
    user,
    waiting,
)
from tests.stream.running import inputs, only, outputs, run

A, B = {"author": "a", "branch": "a"}, {"author": "b", "branch": "b"}


def client_tool(*parts: Part, **fields: Any) -> Event:
    return event(
        *parts, long_running_tool_ids={part.function_call.id for part in parts if part.function_call}, **fields
    )


@pytest.mark.parametrize("second", [{"x": 1}, {"x": 2}], ids=["equal", "with other arguments"])
def test_two_calls_under_one_id_in_one_event_are_two_and_their_results_come_in_their_order(second: Any) -> None:
    calls = event(call("f", {"x": 1}, "0"), call("f", second, "0"))
    chunks = run([calls, results(response("f", {"r": 1}, "0"), response("f", {"r": 2}, "0"))])
    assert inputs(chunks) == {"0": {"x": 1}, "0.2": second}
    assert outputs(chunks) == {"0": {"r": 1}, "0.2": {"r": 2}}


def test_results_that_come_one_by_one_go_to_the_call_of_their_tool_first() -> None:
    calls = event(call("f", {}, "0"), call("g", {}, "0"), call("f", {}, "0"))
    answers = [results(response(name, {"r": number}, "0")) for number, name in enumerate(("g", "f", "f"))]
    assert outputs(run([calls, *answers])) == {"0": {"r": 1}, "0.2": {"r": 0}, "0.3": {"r": 2}}


def test_an_equal_call_in_a_later_event_repeats_one_that_has_no_result() -> None:
    calls = [event(call("f", {"x": 1}, "0")), event(call("f", {"x": 1}, "0"))]
    assert list(inputs(run([*calls, results(response("f", {}, "0"))]))) == ["0"]


@pytest.mark.parametrize(
    ("between", "again"),
    [
        pytest.param(results(response("f", {}, "0")), call("f", {"x": 1}, "0"), id="after its result"),
        pytest.param(results(response("f", {})), call("f", {"x": 1}, "0"), id="after a result without an id"),
        pytest.param(user(text("And?")), call("f", {"x": 1}, "0"), id="after the user spoke"),
        pytest.param(event(text("…")), call("f", {"x": 2}, "0"), id="with other arguments"),
        pytest.param(event(text("…")), call("g", {"x": 1}, "0"), id="of another tool"),
    ],
)
def test_a_call_that_is_not_a_repetition_is_another(between: Event, again: Part) -> None:
    assert list(inputs(run([event(call("f", {"x": 1}, "0")), between, event(again)]))) == ["0", "0.2"]


def test_an_open_call_and_an_equal_one_after_another_answer_are_two() -> None:
    past = [client_tool(call("where", {}, "0"), call("where", {}, "1"))]
    chunks = run([user(response("where", {"r": 1}, "1")), client_tool(call("where", {}, "0"))], past=past)
    assert list(inputs(chunks)) == ["0.2"]


def test_what_the_page_gives_for_two_calls_under_one_id_goes_to_each() -> None:
    past = [client_tool(call("where", {"x": 1}, "0"), **A), client_tool(call("where", {"x": 2}, "0"), **B)]
    given = user(response("where", {"r": 1}, "0"), response("where", {"r": 2}, "0"))
    assert outputs(run([given], past=past)) == {"0": {"r": 1}, "0.2": {"r": 2}}


def test_a_later_result_goes_to_the_call_that_had_fewest() -> None:
    calls = client_tool(call("f", {"x": 1}, "0"), call("f", {"x": 2}, "0"))
    interim = results(response("f", {"s": 1}, "0"), response("f", {"s": 2}, "0"))
    late = [user(response("f", {"r": number}, "0")) for number in (1, 2)]
    assert outputs(run(late, past=[calls, interim])) == {"0": {"r": 1}, "0.2": {"r": 2}}


def test_a_result_of_another_tool_is_for_a_call_of_an_earlier_message() -> None:
    events = [event(call("f", {}, "0")), results(response("f", {"r": 1}, "0")), results(response("g", {"r": 2}, "0"))]
    assert outputs(run(events, taken_ids=["x"])) == {"0": {"r": 1}}


def test_many_calls_under_one_id_keep_their_results() -> None:
    turns = [
        one
        for number in range(30)
        for one in (event(call("f", {"x": number}, "0")), results(response("f", {"r": number}, "0")))
    ]
    chunks = run(turns)
    assert list(outputs(chunks).values()) == [{"r": number} for number in range(30)]
    assert list(outputs(chunks))[-1] == "0.30"


def test_an_approval_is_asked_for_the_call_that_it_quotes() -> None:
    calls = event(call("pay", {"x": 1}, "0"), call("pay", {"x": 2}, "0"))
    asked = [confirmation("C1", "0", "pay", {"x": 2}), confirmation("C2", "0", "pay", {"x": 1})]
    requests = only(run([calls, *asked]), "tool-approval-request")
    assert [(one["toolCallId"], one["approvalId"]) for one in requests] == [("0.2", "C1"), ("0", "C2")]


def test_a_repeated_request_asks_once_and_not_about_the_equal_call_beside_it() -> None:
    asked = confirmation("C", "0", "f", {"x": 1})
    chunks = run([event(call("f", {"x": 1}, "0"), call("f", {"x": 1}, "0")), asked, asked])
    assert [chunk["toolCallId"] for chunk in chunks if chunk["type"] == "tool-approval-request"] == ["0"]


def test_a_request_under_the_id_of_another_calls_request_asks_too() -> None:
    calls = event(call("f", {"x": 1}, "0"), call("f", {"x": 2}, "1"))
    chunks = run([calls, confirmation("C", "0", "f", {"x": 1}), confirmation("C", "1", "f", {"x": 2})])
    assert [chunk["toolCallId"] for chunk in chunks if chunk["type"] == "tool-approval-request"] == ["0", "1"]


def test_of_two_calls_under_one_id_the_one_that_was_not_asked_about_has_its_result() -> None:
    calls = event(call("pay", {"x": 1}, "0"), call("look", {}, "0"))
    said = placeholders(response("pay", WAIT_FOR_APPROVAL, "0"), response("look", {"sky": "blue"}, "0"), asking=("0",))
    past = [calls, confirmation("C", "0", "pay", {"x": 1}), said]
    assert outputs(run(past)) == {"0.2": {"sky": "blue"}}
    assert outputs(run([decision(("C", True)), results(response("pay", {"paid": 1}, "0"))], past=past)) == {
        "0": {"paid": 1}
    }


def test_a_response_with_a_stored_number_is_a_result_if_only_the_other_call_was_asked_about() -> None:
    calls = event(call("pay", {"x": 1}, "0"), call("look", {}, "0"))
    said = placeholders(response("look", {"sky": "blue"}, "0"), response("pay", WAIT_FOR_APPROVAL, "0"), asking=("0",))
    said.custom_metadata = {ANSWERED_KEY: {"0": [1, 0]}}
    assert outputs(run([calls, confirmation("C", "0", "pay", {"x": 1}), said])) == {"0.2": {"sky": "blue"}}


def test_of_two_calls_under_one_id_that_were_asked_about_the_decided_one_has_the_next_result() -> None:
    past = [*waiting("pay", "0", "C1", {"x": 1}), *waiting("pay", "0", "C2", {"x": 2})]
    second = [decision(("C2", True)), results(response("pay", {"paid": 2}, "0"))]
    assert outputs(run(second, past=past)) == {"0.2": {"paid": 2}}
    first = [decision(("C1", True)), results(response("pay", {"paid": 1}, "0"))]
    assert outputs(run(first, past=[*past, *second])) == {"0": {"paid": 1}}


def test_an_approval_before_its_call_is_one_with_it() -> None:
    events = [confirmation("C", "0", "pay", {"x": 1}), event(call("pay", {"x": 1}, "0"))]
    assert list(inputs(run(events))) == ["0"]


def test_streamed_calls_under_an_id_that_came_before_are_new_ones() -> None:
    turn = [fragment(piece("f", "0")), event(call("f", {}, "0")), results(response("f", {}, "0"))]
    assert list(inputs(run([*turn, *turn], taken_ids={"0.2"}))) == ["0", "0.3"]


def test_a_complete_call_takes_the_fragments_under_its_own_id() -> None:
    past = [event(call("f", {"x": 0}, "0")), results(response("f", {}, "0"))]
    streamed = [fragment(piece("f", "0", more=None)), event(call("f", {"x": 1}, "1"), call("f", {"x": 2}, "0"))]
    assert inputs(run(streamed, past=past)) == {"0.2": {"x": 2}, "1": {"x": 1}}


def test_code_and_calls_without_ids_are_numbered_past_those_that_are_taken() -> None:
    chunks = run([event(code(), ran("2")), event(call("f", {}))], taken_ids=["call_0", "call_2"])
    assert list(inputs(chunks)) == ["call_1", "call_3"]
    assert outputs(chunks)["call_1"] == {"outcome": "OUTCOME_OK", "output": "2"}


async def test_every_way_to_convert_takes_the_ids_of_earlier_messages() -> None:
    events = [event(call("f", {}, "0")), results(response("f", {}, "0"))]

    async def arriving() -> Any:
        for each in events:
            yield each

    converter = StreamProtocolConverter(taken_ids={"0"})
    expected = [*(chunk for each in events for chunk in converter.convert(each)), *converter.finish()]
    assert list(inputs(expected)) == ["0.2"]
    assert list(iter_chunks(events, taken_ids={"0"})) == expected
    assert [chunk async for chunk in stream_chunks(arriving(), taken_ids={"0"})] == expected
    body = b"".join(iter_sse(events, taken_ids={"0"}))
    assert b"".join([item async for item in stream_sse(arriving(), taken_ids={"0"})]) == body
    assert b'"toolCallId":"0.2"' in body


def test_a_text_is_no_collection_of_ids() -> None:
    with pytest.raises(StreamProtocolError, match="`taken_ids` must be a list of ids"):
        StreamProtocolConverter(taken_ids="0")


MANY = range(40)


def test_many_calls_that_wait_under_one_id_each_get_their_own_result_in_their_order() -> None:
    calls = [event(call("f", {"x": number}, "0")) for number in MANY]
    answers = [results(response("f", {"r": number}, "0")) for number in MANY]
    assert list(outputs(run([*calls, *answers])).values()) == [{"r": number} for number in MANY]


def test_of_many_calls_under_one_id_each_is_approved_that_was_quoted() -> None:
    calls = event(*(call("pay", {"x": number}, "0") for number in MANY))
    asked = [confirmation(f"C{number}", "0", "pay", {"x": number}) for number in reversed(MANY)]
    requests = only(run([calls, *asked]), "tool-approval-request")
    ids = ["0", *(f"0.{number + 1}" for number in MANY if number)]
    assert [(one["toolCallId"], one["approvalId"]) for one in requests] == [
        (ids[number], f"C{number}") for number in reversed(MANY)
    ]


def test_many_calls_without_an_id_get_the_results_that_have_one_in_their_order() -> None:
    calls = [event(call("f", {"x": number})) for number in MANY]
    answers = [results(response("f", {"r": number}, f"A{number}")) for number in MANY]
    assert list(outputs(run([*calls, *answers])).values()) == [{"r": number} for number in MANY]


class CountingName(str):
    """The name of a tool, which counts its comparisons."""

    __slots__ = ()

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountingName.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        CountingName.compared += 1
        return str.__ne__(self, other)


def test_each_response_without_an_id_looks_at_no_more_calls_than_it_needs() -> None:
    known, name = KnownCalls(CallIds()), CountingName("f")
    calls = [known.new(None, ("a", None, ""), name) for _ in MANY]
    CountingName.compared = 0
    for call_ in calls:
        assert known.resolve_response(None, ("a", None, ""), CallReference(None, name)).call is call_
    assert CountingName.compared <= 2 * len(MANY)


def test_a_response_without_id_and_name_is_not_for_a_call_that_is_still_streamed() -> None:
    chunks = run([fragment(piece("f", None, more=True)), results(response("", {"r": 1})), event(call("f", {}))])
    assert outputs(chunks) == {"call_0": "The tool gave no result."}


def test_what_is_long_answered_is_forgotten_also_while_its_event_goes_on() -> None:
    calls = [event(call("f", {"x": 0}, "0"), **B), *(event(call("f", {"x": n}, "0"), **A) for n in range(1, 12))]
    own = event(*(response("f", {"r": n}, "0") for n in range(1, 12)), call("f", {"x": 12}, "0"), **A)
    others, last = results(response("f", {"r": 0}, "0"), **B), results(response("f", {"r": 12}, "0"), **A)
    assert list(outputs(run([*calls, others, own, last])).values()) == [{"r": n} for n in range(13)]


def deep(levels: int) -> Any:
    return {"x": deep(levels - 1)} if levels else [1]


@pytest.mark.parametrize("levels", [1, 40])
def test_calls_with_deep_arguments_are_told_apart_by_them(levels: int) -> None:
    first, second = event(call("f", deep(levels), "0")), event(call("f", {"x": 1}, "0"))
    again = event(call("f", deep(levels), "0"))
    assert list(inputs(run([first, second, again]))) == ["0", "0.2"]


def test_progress_belongs_to_the_call_of_the_newest_run_and_not_to_one_that_an_earlier_run_left_open() -> None:
    past = [event(call("f", {"x": 1}, "0"), call("ask", {}, "q"), long_running_tool_ids={"q"})]
    answer, again = user(response("ask", {"result": "yes"}, "q")), event(call("f", {"x": 2}, "0"))
    progress = results(text("Looking"), author="f", branch="f@0")
    chunks = run([*past, answer, again, progress, results(response("f", {"r": 2}, "0"))])
    shown = [(chunk["toolCallId"], chunk["output"]) for chunk in chunks if chunk.get("preliminary")]
    assert shown == [("0.2", "Looking")]
