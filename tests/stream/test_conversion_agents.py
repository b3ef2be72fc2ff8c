"""Several agents, workflow nodes, code and tools that the provider runs, and unknown content."""

import logging
from typing import Any, cast

import pytest
from google.adk.events import Event, EventActions
from google.genai.types import (
    CodeExecutionResult,
    Content,
    ExecutableCode,
    Part,
    ToolCall,
    ToolResponse,
    ToolType,
    VideoMetadata,
)

from stream_protocol import StreamProtocolConverter, iter_chunks
from tests.batch import batch
from tests.stream.building import (
    arg,
    call,
    code,
    confirmation,
    event,
    fragment,
    picture,
    piece,
    placeholders,
    ran,
    response,
    results,
    text,
    user,
)
from tests.stream.running import body, inputs, kinds, message_of, only, outputs, run, texts

A: dict[str, Any] = {"author": "a", "branch": "par.a"}
B: dict[str, Any] = {"author": "b", "branch": "par.b"}


def test_a_transfer_is_one_data_part_and_the_other_agent_speaks_for_itself() -> None:
    transfer = EventActions(transfer_to_agent="sub")
    events = [
        event(call("transfer_to_agent", {"agent_name": "sub"}, "A")),
        results(response("transfer_to_agent", {"result": None}, "A"), actions=transfer),
        event(text("Hello, I am sub."), author="sub"),
    ]
    chunks = body(events)
    assert only(chunks, "data-", "tool-") == [{"type": "data-adk-agent", "data": {"agent": "sub", "from": "agent"}}]
    assert [chunk["providerMetadata"] for chunk in chunks if chunk["type"] == "text-start"] == [
        {"adk": {"author": "sub"}}
    ]


def test_a_sequence_of_agents_takes_a_step_each() -> None:
    chunks = run([event(text("one"), author="first"), event(text("two"), author="second")])
    assert [chunk["providerMetadata"]["adk"]["author"] for chunk in chunks if chunk["type"] == "text-start"] == [
        *("first", "second")
    ]
    assert kinds(chunks).count("start-step") == 2


def test_agents_in_parallel_with_tools_and_an_approval_interleave_legally() -> None:
    gated = confirmation("P", "x", "pay", {"sum": 1})
    chunks = run(
        [
            fragment(text("Let me "), **A),
            fragment(piece("look", "y", arg("$.q", "a", more=True)), **B),
            fragment(text("pay."), **A),
            fragment(piece("look", "y", arg("$.q", "b")), **B),
            event(text("Let me pay."), call("pay", {"sum": 1}, "x"), **A),
            event(call("look", {"q": "ab"}, "y"), **B),
            event(
                *(gated.content.parts if gated.content and gated.content.parts else []),
                long_running_tool_ids={"P"},
                **A,
            ),
            results(response("look", {"r": 1}, "y"), **B),
            placeholders(response("pay", {"error": "wait"}, "x"), asking=("x",), **A),
            fragment(text("Found."), **B),
            event(text("Found."), **B),
        ]
    )
    assert texts(chunks) == ["Let me pay.", "Found."]
    assert inputs(chunks) == {"x": {"sum": 1}, "y": {"q": "ab"}}
    assert outputs(chunks) == {"y": {"r": 1}}
    assert kinds(chunks).count("start-step") == 1
    assert chunks[-1]["finishReason"] == "tool-calls"


def test_the_output_of_a_node_that_says_nothing_is_data() -> None:
    chunks = body([event(author="wf", node_path="wf@1/n@1", output={"n": float("nan")})])
    assert chunks == [{"type": "data-adk-output", "data": {"author": "wf", "node": "wf@1/n@1", "output": {"n": None}}}]


def test_the_output_of_a_node_that_says_it_is_not_repeated() -> None:
    assert kinds(only(body([event(text("4"), output=4)]), "data-")) == []


@pytest.mark.parametrize(
    "actions",
    [
        EventActions(end_of_agent=True),
        EventActions(agent_state={"current": "x"}),
        EventActions(escalate=True),
        EventActions(),
    ],
)
def test_events_without_content_add_nothing(actions: EventActions) -> None:
    empty = event(actions=actions)
    assert body([empty]) == []
    empty.content = Content(role="model")
    assert body([empty, fragment()]) == []


def test_code_and_its_result_are_a_tool_that_the_provider_runs() -> None:
    chunks = body([event(code(code_id="c"), ran("2", "c"), text("Two."))])
    flags = {"providerExecuted": True, "dynamic": True}
    assert only(chunks, "tool") == [
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "code_execution", **flags},
        {
            "type": "tool-input-available",
            "toolCallId": "c",
            "toolName": "code_execution",
            "input": {"language": "PYTHON", "code": "1+1"},
            **flags,
        },
        {
            "type": "tool-output-available",
            "toolCallId": "c",
            "output": {"outcome": "OUTCOME_OK", "output": "2"},
            **flags,
        },
    ]
    assert kinds(chunks).count("start-step") == 1, "code is in the middle of the model's own response"


def test_results_without_ids_answer_their_code_in_order() -> None:
    chunks = run([event(code(), ran("1"), code(), ran("2"))])
    assert [output["output"] for output in outputs(chunks).values()] == ["1", "2"]


def test_parts_that_were_streamed_whole_are_not_repeated() -> None:
    streamed = [
        fragment(text("a")),
        fragment(code(code_id="c")),
        fragment(ran("2", "c")),
        fragment(picture()),
        fragment(text("b")),
    ]
    complete = event(text("a"), code(code_id="c"), ran("2", "c"), picture(), picture(b"other"), text("b"))
    chunks = body([*streamed, complete])
    assert texts(chunks) == ["a", "b"]
    assert kinds(only(chunks, "tool-input-start", "file")) == ["tool-input-start", "file", "file"]


def test_code_that_never_ran_ends_in_an_error() -> None:
    assert outputs(run([event(Part(executable_code=ExecutableCode(code="1")))])) == {
        "call_0": "The tool gave no result."
    }


def test_a_result_without_its_code_is_left_out() -> None:
    assert body([event(ran("2")), event(Part(code_execution_result=CodeExecutionResult(output="2")))]) == []


def test_code_execution_can_be_hidden() -> None:
    assert body([event(code(), ran("2"))], hidden_tools=["code_execution"]) == []


def test_a_tool_on_the_providers_side_is_shown_as_such() -> None:
    search = Part(tool_call=ToolCall(id="s", tool_type=ToolType.GOOGLE_SEARCH_WEB, args={"q": "sea"}))
    found = Part(tool_response=ToolResponse(id="s", tool_type=ToolType.GOOGLE_SEARCH_WEB, response={"hits": 1}))
    chunks = only(run([event(search, found)]), "tool")
    assert {chunk.get("toolName", "google_search_web") for chunk in chunks} == {"google_search_web"}
    assert all(chunk["providerExecuted"] for chunk in chunks)
    assert outputs(chunks) == {"s": {"hits": 1}}


def test_a_providers_tool_of_no_known_kind_still_has_a_name() -> None:
    chunks = run([event(Part(tool_call=ToolCall(id="s")), Part(tool_response=ToolResponse(id="s", response={})))])
    assert [chunk["toolName"] for chunk in only(chunks, "tool-input")] == ["server_tool"] * 2


def test_unknown_part_is_skipped_not_fatal(caplog: pytest.LogCaptureFixture) -> None:
    unknown = Part(video_metadata=VideoMetadata(fps=1))
    with caplog.at_level(logging.WARNING, "stream_protocol"):
        chunks = run([event(text("a"), unknown, text("b"))])
    assert texts(chunks) == ["ab"]
    assert set(caplog.messages) == {"Skipped a part with video_metadata"}


def test_what_is_skipped_is_logged_once_a_response(caplog: pytest.LogCaptureFixture) -> None:
    unknown = Part(video_metadata=VideoMetadata(fps=1))
    list(iter_chunks([event(unknown, unknown, Part()), fragment(unknown), event(Part())]))
    assert caplog.messages == ["Skipped a part with video_metadata", "Skipped a part with nothing in it"]


INNER = {"author": "flow", "branch": "flow@A", "node_path": "root@1/flow@A/ask@1"}
ASKED = event(call("adk_request_input", {"message": "Where?"}, "Q"), long_running_tool_ids={"Q"}, **INNER)


@batch(
    before={
        "nothing": [],
        "something that shows nothing": [event(state={"n": 1}, **INNER)],
        "progress": [results(text("Looking"), **INNER)],
    }
)
def test_a_tool_whose_node_waits_for_input_has_not_ended(before: list[Event]) -> None:
    begun = [event(call("flow", {}, "A")), *before, ASKED]
    chunks = run(begun)
    assert outputs(chunks) == {}
    page = message_of(chunks)
    states = {part["toolCallId"]: part["state"] for part in cast("list[Any]", page["parts"]) if "toolCallId" in part}
    assert states["Q"] == "input-available"
    assert chunks[-1]["finishReason"] == "tool-calls"
    answered = user(response("adk_request_input", {"result": "Oslo"}, "Q"))
    after = [answered, event(output="Oslo", **INNER), results(response("flow", {"result": "Oslo"}, "A"))]
    later = run(after, past=begun, onto=page)
    assert outputs(later) == {"Q": "Oslo", "A": {"result": "Oslo"}}


def test_a_tool_whose_node_waits_ends_with_a_run_that_is_stopped() -> None:
    converter = StreamProtocolConverter()
    for one in (event(call("flow", {}, "A")), ASKED):
        converter.convert(one)
    assert sorted(chunk["toolCallId"] for chunk in only(map(dict, converter.abort()), "tool-output-error")) == [
        "A",
        "Q",
    ]
