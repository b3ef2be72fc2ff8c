"""Steps, as the client's auto-send helpers read them; ``run`` judges every stream by those helpers."""

from typing import Any

import pytest
from google.adk.events import Event

from stream_protocol import StreamProtocolConverter
from tests.stream.building import arg, call, code, event, fragment, piece, ran, response, results, text, waiting
from tests.stream.running import kinds, only, run

A: dict[str, Any] = {"author": "a", "branch": "par.a"}
B: dict[str, Any] = {"author": "b", "branch": "par.b"}


def outline(events: list[Event], **options: Any) -> str:
    """The stream in a line: steps as brackets, parts by their first letter, outputs as ``!``."""
    signs = {
        "start-step": "[",
        "finish-step": "]",
        "text-start": "t",
        "text-end": ".",
        "reasoning-start": "r",
        "reasoning-end": ".",
        "tool-input-start": "c",
        "tool-input-error": "x",
        "tool-approval-request": "?",
        "tool-output-available": "!",
        "tool-output-error": "x",
        "file": "f",
    }
    return "".join(signs.get(kind, "") for kind in kinds(run(events, **options)))


def tool(call_id: str, **who: Any) -> list[Event]:
    return [event(call("f", {}, call_id), **who), results(response("f", {"r": 1}, call_id), **who)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([event(text("x"))], "[t.]", id="one response"),
        pytest.param([event(text("x")), event(text("y"))], "[t.][t.]", id="a step for each response"),
        pytest.param([event(text("x"), call("f", {}, "A")), *tool("A")[1:]], "[t.c!][]", id="the end after outputs"),
        pytest.param([*tool("A"), event(text("x"))], "[c!][t.]", id="a step after outputs"),
        pytest.param([*tool("A"), *tool("B"), event(text("x"))], "[c!][c!][t.]", id="rounds"),
        pytest.param([event(text("x"), **A), event(text("y"), **B)], "[t.][t.]", id="one agent after another"),
        pytest.param(
            [fragment(text("x"), **A), event(text("y"), **B), event(text("x"), **A)], "[tt..]", id="a text is open"
        ),
        pytest.param(
            [*tool("A", **A), fragment(text("x"), **B), *tool("C", **A), event(text("x"), **B), event(text("y"), **A)],
            "[c!][tc!.][t.]",
            id="outputs while another speaks",
        ),
        pytest.param(
            [fragment(piece("f", "A", arg("$.x", 1)), **A), *tool("C", **B), event(text("y"), **B), *tool("A", **A)],
            "[cc!t.!][]",
            id="an input that still streams",
        ),
        pytest.param(
            [
                event(call("f", {}, "A"), **A),
                *tool("C", **B),
                event(text("y"), **B),
                *tool("A", **A)[1:],
                event(text("z"), **A),
            ],
            "[cc!t.!][t.]",
            id="a call that still runs",
        ),
        pytest.param(
            [*waiting("f", "A", "P"), *tool("C"), event(text("x")), event(text("y"))],
            "[c?c!t.t.]",
            id="after an approval",
        ),
        pytest.param(
            [event(call("f", {}, "A"), long_running_tool_ids={"A"}), event(text("x"))],
            "[ct.]",
            id="after a client's tool",
        ),
        pytest.param(
            [*waiting("f", "A", "P", {}), fragment(text("x"), **B), event(text("x"), **B)],
            "[c?t.]",
            id="another agent goes on",
        ),
        pytest.param(
            [fragment(piece("f", "A", arg("$.x", 1))), event(error_code="OTHER"), event(text("y"))],
            "[cx][t.]",
            id="a cut",
        ),
    ],
)
def test_where_steps_begin_and_end(events: list[Event], expected: str) -> None:
    assert outline(events) == expected


def test_a_bare_step_is_stored_by_the_metadata_after_it() -> None:
    chunks = run(tool("A"), message_metadata=lambda metadata: None)
    assert kinds(chunks)[-3:] == ["start-step", "finish-step", "finish"]
    assert chunks[-1]["messageMetadata"] == {}


def test_a_bare_step_before_an_abort_is_stored_by_metadata_too() -> None:
    converter = StreamProtocolConverter()
    for given in tool("A"):
        converter.convert(given)
    assert kinds(map(dict, converter.abort())) == [
        "finish-step",
        "start-step",
        "finish-step",
        "message-metadata",
        "abort",
    ]


def test_no_bare_step_where_a_call_waits() -> None:
    both = [event(call("f", {}, "A"), call("f", {}, "C"), long_running_tool_ids={"A"}), results(response("f", {}, "C"))]
    assert outline(both) == "[cc!]"


def test_a_providers_own_tool_needs_no_bare_step() -> None:
    assert outline([event(code(), ran("2"))]) == "[c!]"


def test_a_continuation_begins_no_step_while_its_call_waits() -> None:
    past = [event(call("f", {}, "A"), call("f", {}, "C")), *waiting("f", "A", "P")[1:2], *waiting("f", "C", "Q")[1:]]
    chunks = run([event(text("Still waiting."))], past=past)
    assert only(chunks, "start-step", "finish-step") == []


def test_a_continuation_after_outputs_alone_ends_in_a_bare_step() -> None:
    past = [event(call("f", {}, "A"), long_running_tool_ids={"A"})]
    assert outline([results(response("f", {"r": 1}, "A"), author="user")], past=past) == "![]"
