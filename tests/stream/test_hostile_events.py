"""Events that no sane agent sends: a model's inventions, an adapter's omissions, and huge numbers of anything."""

from functools import partial
from typing import Any

import pytest
from google.adk.events import Event

from stream_protocol import StreamProtocolConverter, iter_chunks
from tests.stream.building import (
    arg,
    call,
    code,
    confirmation,
    event,
    fragment,
    piece,
    ran,
    response,
    results,
    text,
)
from tests.stream.counting import calls_made
from tests.stream.running import inputs, judge, kinds, only, outputs, run, texts


def asked(name: str, **args: Any) -> Event:
    return event(call(name, args, "P"), long_running_tool_ids={"P"})


def test_the_text_of_an_event_that_does_not_say_who_speaks_is_ended() -> None:
    assert texts(run([fragment(text("Hel"), author="")])) == ["Hel"]


@pytest.mark.parametrize("nonsense", [5, ["A"], {"A": 1}, True])
def test_a_confirmation_of_a_call_whose_id_is_no_text_is_shown_on_a_call_of_its_own(nonsense: Any) -> None:
    chunks = run([asked("adk_request_confirmation", originalFunctionCall={"id": nonsense, "name": "pay"})])
    assert only(chunks, "tool-approval") == [
        {"type": "tool-approval-request", "approvalId": "P", "toolCallId": "call_0"}
    ]


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"functionCallId": {"A": 1}}, {}),
        ({"functionCallId": ["A"], "message": "Sign in"}, {"message": "Sign in"}),
        ({"authConfig": {"authScheme": {"flows": {"implicit": {"scopes": 5}}}}}, {}),
    ],
)
def test_a_request_for_a_credential_may_hold_anything(args: dict[str, Any], shown: dict[str, Any]) -> None:
    assert inputs(run([asked("adk_request_credential", **args)])) == {"P": shown}


def test_a_request_for_a_credential_may_break_off_in_raw_text() -> None:
    raw = fragment(piece("adk_request_credential", "A", arg(None, '{"authConfig": "SECR')))
    assert inputs(run([raw, results(response("adk_request_credential", {"r": 1}, "A"))])) == {"A": {}}


def test_a_call_that_needs_approval_while_its_input_streams_gets_its_input_first() -> None:
    started = fragment(piece("pay", "A", arg("$.to", "Ma", more=True)))
    chunks = run([started, confirmation("P", "A", "pay", {"to": "Max"}), event(call("pay", {"to": "Max"}, "A"))])
    assert inputs(chunks) == {"A": {"to": "Max"}}
    assert kinds(only(chunks, "tool-"))[-2:] == ["tool-input-available", "tool-approval-request"]


@pytest.mark.parametrize("answer", [results(response("f", {"r": 1}, "A")), event(ran("1", "A"))])
def test_a_call_that_ended_before_it_had_a_name_has_no_output_either(answer: Event) -> None:
    held = fragment(piece(None, "A", arg("$.x", 1)))
    assert outputs(run([held, answer, answer])) == {}
    assert outputs(run([held, event(code("", "B")), event(text("x")), answer])).keys() == {"B"}


def test_an_input_that_still_streams_stays_in_its_step_when_a_credential_is_asked_for() -> None:
    events = [
        fragment(piece("f", "A", arg("$.x", 1))),
        event(text("x")),
        asked("adk_request_credential", functionCallId="B"),
        results(response("f", {"r": 1}, "A")),
    ]
    assert outputs(run(events)) == {"A": {"r": 1}}


@pytest.mark.parametrize("path", ["$.a" + "[0]" * 400, "$.a" + ".b" * 2_000, "$.a[" + "9" * 5_000 + "]"])
def test_a_path_beyond_all_measure_costs_only_its_own_deltas(path: str) -> None:
    cut = fragment(piece("f", "A", arg(path, "x", more=True)))
    assert outputs(run([cut, event(call("f", {"a": 1}, "A")), results(response("f", {"r": 1}, "A"))])) == {
        "A": {"r": 1}
    }
    assert kinds(only(run([cut]), "tool-"))[-1] == "tool-input-error"


@pytest.mark.parametrize("depth", [300, 900])
def test_raw_arguments_may_be_as_deep_as_they_like(depth: int) -> None:
    raw = fragment(piece("f", "A", arg(None, '{"a":' + "[" * depth + "]" * depth + "}")))
    assert outputs(run([raw, event(call("f", {"a": 1}, "A")), results(response("f", {"r": 1}, "A"))])) == {
        "A": {"r": 1}
    }


@pytest.mark.parametrize("junk", [5, "text", b"bytes", object(), [None], [{"type": 5}], {}, {"id": "no type"}, True])
def test_a_transform_that_returns_no_chunk_fails_the_response_and_not_the_page(junk: Any) -> None:
    def transform(chunk: Any) -> Any:
        return junk if chunk["type"] == "text-start" else chunk

    chunks = list(iter_chunks([event(text("x"))], transform=transform))
    judge(chunks)
    assert chunks[-1] == {"type": "error", "errorText": "An error occurred."}


@pytest.mark.parametrize("junk", [None, 5, b"bytes", ["text"], object()])
def test_an_on_error_that_returns_no_text_is_replaced_by_the_default(junk: Any) -> None:
    chunks = run([event(error_code="X")], on_error=lambda error: junk)
    assert chunks[-1] == {"type": "error", "errorText": "An error occurred."}


def cost_of(*events: Event, after: list[Event], **options: Any) -> int:
    """The number of calls for converting these events after those."""
    converter = StreamProtocolConverter(**options)
    for earlier in after:
        converter.convert(earlier)
    return calls_made(lambda: [converter.convert(newest) for newest in events])


def one_by_one(number: int) -> list[Event]:
    return [event(text("x"), branch=f"b{number}")]


def delegated(number: int) -> list[Event]:
    agent = event(text("x"), author="sub", branch=f"sub@{number}")
    return [event(call("sub", {}, f"{number}")), agent, results(response("sub", {}, f"{number}"))]


def same_id(number: int) -> list[Event]:
    return [event(call("f", {}, "A")), results(response("f", {"r": number}, "A"))]


def without_id(number: int) -> list[Event]:
    return [event(call("f", {}, None)), results(response("f", {"r": number}))]


def waiting(number: int) -> list[Event]:
    return [event(call("f", {}, f"{number}"))]


def nameless(number: int) -> list[Event]:
    return [fragment(piece(None, "A", arg(f"$.k{number}", "x", more=True)))]


def test_a_response_costs_the_same_however_many_calls_of_its_id_wait() -> None:
    few, many = ([event(call("f", {"n": n}, "A")) for n in range(count)] for count in (10, 200))
    newest = results(response("f", {"r": 1}, "A"))
    assert cost_of(newest, after=many) == cost_of(newest, after=few)


@pytest.mark.parametrize("round_of", [one_by_one, delegated, same_id, without_id, waiting, nameless])
def test_an_event_costs_the_same_however_many_came_before(round_of: Any) -> None:
    schemas: dict[str, Any] = {name: {"properties": {f"k{n}": {} for n in range(202)}} for name in ("f", "g")}
    cost = partial(cost_of, tool_schemas=schemas)
    few, many = ([made for n in range(count) for made in round_of(n)] for count in (10, 200))
    assert cost(*round_of(200), after=many) == cost(*round_of(201), after=few)
