"""Tool calls: announced, filled, matched with their fragments, answered, ended."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.events import Event
from google.genai.types import Part, PartialArg

from stream_protocol.wire._value_size import MAX_VALUE_ITEMS
from tests.stream.building import (
    arg,
    call,
    event,
    fragment,
    picture,
    piece,
    response,
    results,
    text,
    thought,
    waiting,
)
from tests.stream.running import body, deltas, inputs, kinds, only, outputs, run

SPEAKER = {"adk": {"author": "agent"}}
DONE = results(response("f", {"ok": True}, "A"))


def test_a_complete_call_and_its_output() -> None:
    assert body([event(call("f", {"x": 1}, "A")), DONE, event(text("Done."))]) == [
        {"type": "start-step"},
        {"type": "tool-input-start", "toolCallId": "A", "toolName": "f", "providerMetadata": SPEAKER},
        {
            "type": "tool-input-available",
            "toolCallId": "A",
            "toolName": "f",
            "input": {"x": 1},
            "providerMetadata": SPEAKER,
        },
        {"type": "tool-output-available", "toolCallId": "A", "output": {"ok": True}},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "text-start", "id": "0", "providerMetadata": SPEAKER},
        {"type": "text-delta", "id": "0", "delta": "Done."},
        {"type": "text-end", "id": "0"},
        {"type": "finish-step"},
    ]


def test_a_call_without_arguments_has_an_empty_object_for_input() -> None:
    assert inputs(run([event(call("f", None, "A"))])) == {"A": {}}


def test_a_signature_on_a_call_goes_with_its_provider_metadata() -> None:
    chunks = only_tool(
        run([fragment(call("f", {}, "A", signature=b"\xfb")), event(call("f", {}, "A", signature=b"\xfb"))])
    )
    assert [chunk.get("providerMetadata") for chunk in chunks[:2]] == [
        {"adk": {"author": "agent"}, "google": {"thoughtSignature": "+w=="}}
    ] * 2


def only_tool(chunks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk for chunk in chunks if chunk["type"].startswith("tool-")]


def test_a_title_and_the_dynamic_flag_go_with_every_chunk_that_knows_them() -> None:
    events = [fragment(piece("f", "A", arg("$.x", 1)), author="agent"), event(call("f", {"x": 1}, "A")), DONE]
    chunks = only(
        run(events, tool_titles={"f": "Find"}, dynamic_tools=["f"]), "tool-input-start", "tool-input-av", "tool-o"
    )
    assert [chunk.get("title") for chunk in chunks] == ["Find", "Find", None]
    assert [chunk.get("dynamic") for chunk in chunks] == [True, True, True]


# Streamed arguments


def vertex(args: Sequence[PartialArg], final: dict[str, Any], ids: Sequence[str] = ("A",) * 99) -> list[Event]:
    """The shape of Vertex: a name alone, pieces without a name, a closing piece, and the complete call."""
    given = iter(ids)
    return [
        fragment(piece("f", next(given))),
        *[fragment(piece(None, next(given), one)) for one in args],
        fragment(piece(None, next(given), more=None)),
        event(call("f", final, next(given))),
    ]


BOSTON = [arg("$.city", "Bos", more=True), arg("$.city", "ton", more=True), arg("$.city", "")]


def test_streamed_arguments_go_out_as_they_come() -> None:
    converted = only(run([*vertex(BOSTON, {"city": "Boston"}), DONE]), "tool-input")
    assert converted == [
        {"type": "tool-input-start", "toolCallId": "A", "toolName": "f"},
        {"type": "tool-input-delta", "toolCallId": "A", "inputTextDelta": '{"city":"Boston"}'},
        {"type": "tool-input-available", "toolCallId": "A", "toolName": "f", "input": {"city": "Boston"}},
    ]


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(["A"] * 9, id="one id, as ADK 2.11 gives"),
        pytest.param(["adk-1", "adk-2", "adk-3", "adk-4", "adk-5", "adk-6"], id="a new id in every chunk, before 2.11"),
        pytest.param(["adk-1", "adk-1", "adk-1", "adk-1", "adk-1", "adk-2"], id="another id in the complete call"),
        pytest.param(["", "", "", "", "", ""], id="no ids at all"),
    ],
)
def test_id_changes_between_partial_and_final(ids: list[str]) -> None:
    chunks = run([*vertex(BOSTON, {"city": "Boston"}, ids), results(response("f", {"ok": True}, ids[5]))])
    (first,) = inputs(chunks)
    assert first == ids[0] or (ids[0] == "" and first == "call_0"), "the id that the page saw first stays"
    assert inputs(chunks) == {first: {"city": "Boston"}}
    assert deltas(chunks, first) == '{"city":"Boston"}'
    assert outputs(chunks) == {first: {"ok": True}}


def test_numbers_are_integers_where_they_are_shown_as_integers() -> None:
    chunks = run(vertex([arg("$.n", 3.0), arg("$.x", 2.5)], {"n": 3.0, "x": 2.5}))
    assert deltas(chunks, "A") == '{"n":3,"x":2.5}'
    assert [type(value) for value in inputs(chunks)["A"].values()] == [int, float]


def test_deltas_stop_where_order_makes_them_impossible_and_the_final_input_stands() -> None:
    final = {"a": {"b": 1, "d": 3}, "c": 2}
    chunks = run(vertex([arg("$.a.b", 1), arg("$.c", 2), arg("$.a.d", 3)], final))
    assert deltas(chunks, "A") == '{"a":{"b":1},"c":2'
    assert inputs(chunks) == {"A": final}


def test_raw_json_without_paths_is_passed_on() -> None:
    chunks = run(vertex([arg(None, '{"a"'), arg(None, ":1}")], {"a": 1}))
    assert deltas(chunks, "A") == '{"a":1}'


def test_a_surrogate_pair_that_two_pieces_share_comes_whole() -> None:
    halves = [arg("$.x", "a\ud83d", more=True), arg("$.x", "\ude00", more=True), arg("$.x", "")]
    assert deltas(run(vertex(halves, {"x": "a😀"})), "A") == '{"x":"a😀"}'


def test_litellm_repeats_the_name_on_every_piece_and_closes_nothing() -> None:
    pieces = [
        fragment(piece("f", "call_A", one))
        for one in (arg("$.city", "Bos", more=True), arg("$.city", "ton", more=True))
    ]
    chunks = run([fragment(piece("f", "call_A")), *pieces, event(call("f", {"city": "Boston"}, "call_A"))])
    assert deltas(chunks, "call_A") == '{"city":"Boston"}'


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([{"a": "x"}, {"a": "xy"}, {"a": "xy", "b": [1]}], id="each repeats and grows"),
        pytest.param([{"a": "x"}, {"a": "x"}, {"a": "xy", "b": [1]}], id="one says nothing new"),
    ],
)
def test_accumulated_arguments_become_deltas(steps: list[dict[str, Any]]) -> None:
    final = {"a": "xy", "b": [1, 2]}
    chunks = run([*(fragment(call("f", args, "A", more=True)) for args in steps), event(call("f", final, "A"))])
    assert json.loads(deltas(chunks, "A")) == final


def test_accumulated_arguments_that_do_not_grow_stop_their_deltas() -> None:
    steps = [{"a": "x"}, {"b": "y"}, {"a": "x"}]
    chunks = run([*(fragment(call("f", args, "A", more=True)) for args in steps), event(call("f", {"b": "y"}, "A"))])
    assert inputs(chunks) == {"A": {"b": "y"}}
    assert deltas(chunks, "A") == '{"a":"x'


def test_a_whole_call_that_is_streamed_once_needs_no_deltas() -> None:
    chunks = run([fragment(call("f", {"a": 1}, "adk-1")), event(call("f", {"a": 1}, "adk-2"))])
    assert kinds(only_tool(chunks))[:2] == ["tool-input-start", "tool-input-available"]
    assert inputs(chunks) == {"adk-1": {"a": 1}}


@pytest.mark.parametrize("first", [arg("$.a", 1), arg(None, '{"a":1')])
def test_pieces_of_another_form_than_the_first_are_ignored(first: PartialArg) -> None:
    second = arg("$.b", 2) if first.json_path is None else arg(None, "junk")
    events = [fragment(piece("f", "A", first)), fragment(piece("f", "A", second)), fragment(call("f", {"b": 2}, "A"))]
    chunks = run([*events, event(call("f", {"a": 1, "b": 2}, "A"))])
    assert "junk" not in deltas(chunks, "A")
    assert inputs(chunks) == {"A": {"a": 1, "b": 2}}


def test_a_repeated_complete_call_is_one_call() -> None:
    chunks = run(
        [event(call("f", {"x": 1}, "A")), fragment(call("f", {"x": 1}, "A")), event(call("f", {"x": 1}, "A")), DONE]
    )
    assert kinds(only_tool(chunks)) == ["tool-input-start", "tool-input-available", "tool-output-available"]


# Calls without a name

SCHEMAS = {
    "weather": {"properties": {"city": {}, "days": {"items": {"properties": {"n": {}}}}}},
    "time": {"properties": {"city": {}, "zone": {}}},
}


def nameless(*args: PartialArg) -> list[Event]:
    return [fragment(piece(None, "A", one)) for one in args]


def test_a_call_is_held_until_a_piece_names_it() -> None:
    events = [*nameless(arg("$.city", "Bos", more=True)), fragment(piece("f", "A", arg("$.city", "ton")))]
    chunks = only(body([*events, event(call("f", {"city": "Boston"}, "A"))]), "tool-input")
    assert kinds(chunks)[0] == "tool-input-start"
    assert deltas(chunks, "A") == '{"city":"Boston"}'


def test_a_nameless_piece_under_a_models_own_new_id_begins_a_call_beside_an_open_one() -> None:
    pieces = [piece("f", "A", arg("$.x", 1)), piece(None, "B", arg("$.y", 2)), piece("g", "B")]
    chunks = run([*map(fragment, pieces), event(call("f", {"x": 1}, "A"), call("g", {"y": 2}, "B"))])
    assert inputs(chunks) == {"A": {"x": 1}, "B": {"y": 2}}
    assert deltas(chunks, "B") == '{"y":2}'


def test_a_call_is_held_until_its_paths_fit_one_tool() -> None:
    events = nameless(arg("$.city", "Rome"), arg("$.zone", "CET"))
    chunks = body([*events, event(call("time", {"city": "Rome", "zone": "CET"}, "A"))], tool_schemas=SCHEMAS)
    assert [chunk["toolName"] for chunk in chunks if chunk["type"] == "tool-input-start"] == ["time"]
    assert deltas(chunks, "A") == '{"city":"Rome","zone":"CET"}'


def test_a_call_is_held_until_the_complete_one_comes() -> None:
    chunks = body([*nameless(arg("$.city", "Rome")), event(call("f", {"city": "Rome"}, "adk-9"))])
    assert inputs(chunks) == {"A": {"city": "Rome"}}
    assert deltas(chunks, "A") == '{"city":"Rome"}'


def test_a_held_call_that_turns_out_hidden_has_sent_nothing() -> None:
    events = [*nameless(arg("$.agent_name", "x")), event(call("transfer_to_agent", {"agent_name": "x"}, "A"))]
    assert body([*events, results(response("transfer_to_agent", {"result": None}, "A"))]) == []


def test_a_held_call_that_nobody_names_has_sent_nothing() -> None:
    assert body([*nameless(arg("$.city", "Rome")), event(error_code="OTHER", error_message="cut")], error=None) == []


def test_a_result_for_a_held_call_is_not_shown() -> None:
    assert body([*nameless(arg("$.city", "Rome")), results(response("f", {"ok": 1}, "A"))]) == []


# Several calls


def test_two_same_name_calls_keep_their_ids() -> None:
    calls = event(call("f", {"x": 1}, "A"), call("f", {"x": 2}, "B"))
    chunks = run([calls, results(response("f", {"r": 2}, "B"), response("f", {"r": 1}, "A"))])
    assert inputs(chunks) == {"A": {"x": 1}, "B": {"x": 2}}
    assert outputs(chunks) == {"A": {"r": 1}, "B": {"r": 2}}


@pytest.mark.parametrize(
    ("ids", "final_ids"),
    [
        pytest.param(["A", "A", "B", "B"], ["A", "B"], id="ids that last"),
        pytest.param(["adk-1", "adk-2", "adk-3", "adk-4"], ["adk-5", "adk-6"], id="a new id every time"),
        pytest.param([None, None, None, None], [None, None], id="no ids"),
        pytest.param(["adk-1", "adk-1", "adk-2", "adk-2"], ["adk-3", "adk-4"], id="other ids in the complete calls"),
    ],
)
def test_two_streamed_calls_of_one_tool_stay_two(ids: list[str | None], final_ids: list[str | None]) -> None:
    events = [
        fragment(piece("f", ids[0])),
        fragment(piece(None, ids[1], arg("$.x", "one"), more=None)),
        fragment(piece("f", ids[2])),
        fragment(piece(None, ids[3], arg("$.x", "two"), more=None)),
        event(call("f", {"x": "one"}, final_ids[0]), call("f", {"x": "two"}, final_ids[1])),
        results(response("f", {"r": 1}, final_ids[0]), response("f", {"r": 2}, final_ids[1])),
    ]
    chunks = run(events)
    assert list(inputs(chunks).values()) == [{"x": "one"}, {"x": "two"}]
    assert list(outputs(chunks).values()) == [{"r": 1}, {"r": 2}]
    assert [deltas(chunks, call_id) for call_id in inputs(chunks)] == ['{"x":"one"}', '{"x":"two"}']


def test_pieces_of_two_calls_in_one_event_are_of_two_calls() -> None:
    final = [call("f", {"x": 1}, "adk-3"), call("f", {"x": 2}, "adk-4")]
    chunks = run([fragment(call("f", {"x": 1}, "adk-1"), call("f", {"x": 2}, "adk-2")), event(*final)])
    assert inputs(chunks) == {"adk-1": {"x": 1}, "adk-2": {"x": 2}}


@pytest.mark.parametrize(
    ("second", "calls"),
    [
        pytest.param(piece("f", "adk-2", arg("$.b", 2)), 1, id="a path that can follow"),
        pytest.param(piece("f", "adk-2", arg("$.a", 2)), 2, id="a path that was written"),
        pytest.param(piece("g", "adk-2", arg("$.b", 2)), 2, id="another tool"),
        pytest.param(piece("f", "B", arg("$.b", 2)), 2, id="an id that the model gave"),
        pytest.param(piece("f", "adk-2"), 2, id="no arguments: a beginning"),
        pytest.param(call("f", {"b": 2}, "adk-2"), 2, id="arguments in another form"),
    ],
)
def test_a_named_piece_with_a_new_id_continues_a_call_only_if_it_can(second: Part, calls: int) -> None:
    chunks = run([fragment(piece("f", "adk-1", arg("$.a", 1))), fragment(second)])
    assert kinds(chunks).count("tool-input-start") == calls


def test_raw_text_is_continued_under_any_new_id() -> None:
    chunks = run([fragment(piece("f", "adk-1", arg(None, '{"a"'))), fragment(piece("f", "adk-2", arg(None, ":1}")))])
    assert deltas(chunks, "adk-1") == '{"a":1}'


@pytest.mark.parametrize("other", [{"a": "x"}, {"a": "xy"}, {"a": "x", "b": 1}], ids=["equal", "longer", "more"])
def test_two_calls_of_one_tool_that_come_whole_are_two_whatever_their_arguments(other: dict[str, Any]) -> None:
    calls = [call("f", {"a": "x"}, "adk-1"), call("f", other, "adk-2")]
    for pieces in ([fragment(one) for one in calls], [fragment(*calls)]):
        ran = results(response("f", {"r": 1}, "adk-1"), response("f", {"r": 2}, "adk-2"))
        chunks = run([*pieces, event(*calls), ran])
        assert inputs(chunks) == {"adk-1": {"a": "x"}, "adk-2": other}
        assert outputs(chunks) == {"adk-1": {"r": 1}, "adk-2": {"r": 2}}


@pytest.mark.parametrize(("grown", "calls"), [({"a": "xy"}, 1), ({"a": "z"}, 2)])
def test_accumulated_arguments_under_a_new_id_continue_what_they_repeat(grown: dict[str, Any], calls: int) -> None:
    chunks = run([fragment(call("f", {"a": "x"}, "adk-1", more=True)), fragment(call("f", grown, "adk-2", more=True))])
    assert kinds(chunks).count("tool-input-start") == calls


def test_calls_that_an_old_adk_merged_end_as_one_call_and_one_that_was_cut() -> None:
    chunks = run(
        [
            fragment(piece("f", "adk-1")),
            fragment(piece(None, "adk-2", arg("$.x", "Boston"), more=None)),
            fragment(piece("f", "adk-3")),
            fragment(piece(None, "adk-4", arg("$.x", "Rome"), more=None)),
            event(call("f", {"x": "BostonRome"}, "adk-5")),
            results(response("f", {"ok": 1}, "adk-5")),
        ]
    )
    assert inputs(chunks) == {"adk-1": {"x": "BostonRome"}}
    assert outputs(chunks) == {"adk-1": {"ok": 1}}
    assert [chunk["toolCallId"] for chunk in only(chunks, "tool-input-error")] == ["adk-3"]


def test_one_id_twice_in_a_message_makes_two_parts() -> None:
    turn = [event(call("f", {}, "call_0")), results(response("f", {"r": 1}, "call_0"))]
    again = [event(call("f", {}, "call_0")), results(response("f", {"r": 2}, "call_0"))]
    third = [fragment(call("f", {}, "call_0")), *again]
    chunks = run([*turn, *again, *third])
    assert outputs(chunks) == {"call_0": {"r": 1}, "call_0.2": {"r": 2}, "call_0.3": {"r": 2}}


# Results


class Hopeless:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ({"result": None}, {"result": None}),
        ({"x": float("nan"), "y": b"\xfb\xff", "z": {3, 1}}, {"x": None, "y": "+/8=", "z": [1, 3]}),
        ({"error": "no", "hint": "try"}, {"error": "no", "hint": "try"}),
        ({"error": None}, {"error": None}),
        ({"isError": False, "content": []}, {"isError": False, "content": []}),
        ({"__proto__": 1}, {"[__proto__]": 1}),
        (None, None),
    ],
)
def test_what_a_tool_returned_is_its_output_as_json(value: Any, output: Any) -> None:
    assert outputs(run([event(call("f", {}, "A")), results(response("f", value, "A"))])) == {"A": output}


@pytest.mark.parametrize(
    ("value", "text_of_error"),
    [
        ({"error": "Not found"}, "Not found"),
        ({"error": {"code": 3}}, '{"code":3}'),
        ({"isError": True, "content": [{"type": "text", "text": "boom"}]}, "boom"),
    ],
)
def test_a_failure_is_told_by_its_shape(value: Any, text_of_error: str) -> None:
    chunks = run([event(call("f", {}, "A")), results(response("f", value, "A"))])
    assert only(chunks, "tool-output") == [{"type": "tool-output-error", "toolCallId": "A", "errorText": text_of_error}]


def test_a_first_response_without_a_json_form_is_the_error_of_a_long_running_call() -> None:
    asked = event(call("f", {}, "A"), long_running_tool_ids={"A"})
    chunks = run([asked, results(response("f", {"x": Hopeless()}, "A"))])
    (error,) = only(chunks, "tool-output")
    assert error["errorText"].startswith("The result of the tool f is not JSON.")


@pytest.mark.parametrize("hidden", ["f", "other"])
def test_a_streamed_call_whose_name_comes_late_may_be_hidden(hidden: str) -> None:
    pieces = [fragment(piece(name, "A", arg("$.x", "a", more=True))) for name in (None, None, "f", None)]
    chunks = run([*pieces, event(call("f", {"x": "aaaa"}, "A"))], hidden_tools=[hidden])
    assert inputs(chunks) == ({} if hidden == "f" else {"A": {"x": "aaaa"}})


def test_arguments_that_come_after_the_result_are_not_sent() -> None:
    begun = fragment(piece("f", "A", arg("$.x", "a", more=True)))
    done = results(response("f", {"ok": True}, "A"), author="workflow")
    chunks = run([begun, done, fragment(piece("f", "A", arg("$.x", "b")))])
    assert "".join(chunk["inputTextDelta"] for chunk in only(chunks, "tool-input-delta")) == '{"x":"a"}'
    assert outputs(chunks) == {"A": {"ok": True}}


def test_a_result_without_a_json_form_is_that_calls_error_and_nothing_else_suffers() -> None:
    chunks = run([event(call("f", {}, "A")), results(response("f", {"x": Hopeless()}, "A")), event(text("Well."))])
    (error,) = only(chunks, "tool-output-error")
    assert error["errorText"] == (
        f"The result of the tool f is not JSON. A value of type {__name__}.Hopeless at $['x'] has no JSON form. "
        "Return plain values."
    )
    assert chunks[-1]["finishReason"] == "stop"


def test_media_in_a_result_are_files_after_it() -> None:
    answer = response("f", {"ok": 1}, "A", parts=[{"inline_data": {"data": b"\x01", "mime_type": "image/png"}}])
    chunks = body([event(call("f", {}, "A")), results(answer)])
    assert only(chunks, "tool-output", "file") == [
        {"type": "tool-output-available", "toolCallId": "A", "output": {"ok": 1}},
        {"type": "file", "url": "data:image/png;base64,AQ==", "mediaType": "image/png"},
    ]


def test_a_response_without_an_id_answers_the_oldest_open_call_of_that_name() -> None:
    calls = event(call("f", {"x": 1}), call("g", {}), call("f", {"x": 2}))
    chunks = run([calls, results(response("f", {"r": 1}), response("g", {"r": 0}), response("f", {"r": 2}))])
    assert outputs(chunks) == {"call_0": {"r": 1}, "call_1": {"r": 0}, "call_2": {"r": 2}}


def test_a_result_ends_a_call_whose_complete_form_never_came() -> None:
    events = [fragment(piece("f", "A", arg("$.city", "Bos", more=True))), DONE, event(text("Done."))]
    chunks = run(events)
    assert inputs(chunks) == {"A": {"city": "Bos"}}
    assert outputs(chunks) == {"A": {"ok": True}}


def test_a_result_that_will_continue_is_preliminary() -> None:
    more = results(response("f", {"n": 1}, "A", will_continue=True))
    chunks = only(run([event(call("f", {}, "A")), more, DONE]), "tool-output")
    assert [chunk.get("preliminary") for chunk in chunks] == [True, None]


# Ends

CUT = {
    "type": "tool-input-error",
    "toolCallId": "A",
    "toolName": "f",
    "errorText": "The model did not finish this call.",
}


@pytest.mark.parametrize(
    ("fragments", "so_far"),
    [
        ([fragment(piece("f", "A"))], None),
        ([fragment(piece("f", "A", arg("$.city", "Bos", more=True)))], {"city": "Bos"}),
        ([fragment(piece("f", "A", arg(None, '{"ci')))], '{"ci'),
        ([fragment(call("f", {"city": "B"}, "A", more=True))], {"city": "B"}),
    ],
)
@pytest.mark.parametrize(
    "then",
    [
        pytest.param([], id="the events end"),
        pytest.param([event(error_code="MAX_TOKENS", finish_reason="MAX_TOKENS")], id="the complete event lacks it"),
        pytest.param([event(text("Sorry"))], id="something else was said"),
        pytest.param([event(error_code="OTHER"), event(call("g", {}, "B"))], id="another call follows"),
    ],
)
def test_a_call_that_the_model_did_not_finish_is_an_input_error(
    fragments: list[Event], so_far: Any, then: list[Event]
) -> None:
    chunks = run([*fragments, *then], tool_titles={})
    assert only(chunks, "tool-input-error") == [{**CUT, "input": so_far}]


def test_a_call_that_nothing_answers_ends_in_an_error() -> None:
    chunks = run([event(call("f", {}, "A"))])
    assert only(chunks, "tool-output") == [
        {"type": "tool-output-error", "toolCallId": "A", "errorText": "The tool gave no result."}
    ]


# Hidden tools


@pytest.mark.parametrize("name", ["transfer_to_agent", "set_model_response", "exit_loop", "finish_task"])
def test_adks_control_tools_are_hidden(name: str) -> None:
    assert body([event(call(name, {}, "A")), results(response(name, {"result": None}, "A"))]) == []


def test_a_hidden_tool_sends_nothing_whatever_it_does() -> None:
    events = [
        fragment(piece("h", "A", arg("$.x", 1))),
        event(thought("Hm."), call("h", {"x": 1}, "A")),
        results(text("1 %"), author="h", branch="h@A"),
        results(picture(), author="h", branch="h@A"),
        results(text("2 %"), author="h", branch="h@A"),
        results(response("h", {"r": 1}, "A", parts=[{"inline_data": {"data": b"1", "mime_type": "image/png"}}])),
    ]
    chunks = body(events, hidden_tools={"h"})
    assert kinds(chunks) == ["start-step", "reasoning-start", "reasoning-delta", "reasoning-end", "finish-step"]


def test_a_hidden_call_that_is_cut_sends_nothing() -> None:
    assert body([fragment(piece("h", "A", arg("$.x", 1)))], hidden_tools="all") == []


def test_the_form_of_the_first_arguments_counts_for_the_whole_call() -> None:
    grown = fragment(call("f", {"x": "Bos"}, "A", more=True))
    by_path = fragment(piece(None, "A", arg("$.x", "ton")))
    chunks = run([grown, by_path, event(call("f", {"x": "Boston"}, "A")), DONE])
    assert json.loads(deltas(chunks, "A")) == {"x": "Boston"}


def test_arguments_that_are_too_large_are_a_text_and_the_call_goes_on() -> None:
    args = {"x": [0] * (MAX_VALUE_ITEMS + 1)}
    whole = [event(call("f", args, "A")), DONE]
    grown = [fragment(call("f", {"x": [0]}, "A", more=True)), fragment(call("f", args, "A", more=True)), *whole]
    renamed = [fragment(call("f", {"x": [0]}, "adk-1", more=True)), fragment(call("f", args, "adk-2")), *whole]
    streamed = [fragment(piece("f", "A", arg("$.x[0]", 0))), *whole]
    for events in (whole, grown, renamed, streamed, waiting("f", "A", "P", args)):
        assert [*inputs(run(events)).values()] == ["The arguments are too large to be shown."]
    assert outputs(run(whole)) == {"A": {"ok": True}}
