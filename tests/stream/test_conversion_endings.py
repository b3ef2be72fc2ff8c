"""The endings of responses: finish reasons, failures, aborts. There is exactly one terminal, and nothing is left
open.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.event import NodeInfo
from google.adk.events.event_actions import EventCompaction
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, FinishReason, GenerateContentResponseUsageMetadata

from stream_protocol import AnyChunk, StreamProtocolConverter, StreamProtocolError, iter_chunks
from stream_protocol.stream import AgentRunError
from tests.batch import batch
from tests.stream.building import (
    AGENT,
    arg,
    call,
    event,
    fragment,
    piece,
    response,
    results,
    text,
    thought,
    user,
    waiting,
)
from tests.stream.running import judge, kinds, message_of, only, outputs, run, texts

MASKED = {"type": "error", "errorText": "An error occurred."}


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (FinishReason.STOP, "stop"),
        (FinishReason.MAX_TOKENS, "length"),
        (FinishReason.SAFETY, "content-filter"),
        (FinishReason.RECITATION, "content-filter"),
        (FinishReason.MALFORMED_FUNCTION_CALL, "error"),
        (FinishReason.OTHER, "other"),
    ],
)
def test_a_finish_reason_with_content_is_no_error(reason: FinishReason, told: str) -> None:
    code = None if reason is FinishReason.STOP else reason.value
    chunks = run([fragment(text("Hel")), event(text("Hello"), finish_reason=reason, error_code=code)])
    assert chunks[-1] == {"type": "finish", "finishReason": told}


def test_unknown_finish_reason_is_other() -> None:
    with pytest.warns(UserWarning, match="FROM_THE_FUTURE"):
        reason = FinishReason("FROM_THE_FUTURE")
    assert run([event(text("Hello"), finish_reason=reason)])[-1]["finishReason"] == "other"


@pytest.mark.parametrize("reason", [FinishReason.SAFETY, FinishReason.MAX_TOKENS, FinishReason.MALFORMED_FUNCTION_CALL])
def test_a_finish_reason_without_any_content_is_an_error(reason: FinishReason) -> None:
    said = {"finish_reason": reason, "error_code": reason.value}
    assert run([fragment(text(""), **said), event(**said)])[-1] == MASKED


def test_a_finish_reason_after_a_tools_output_is_no_error() -> None:
    events = [*waiting("f", "A", "B"), results(response("f", {"r": 1}, "A"))]
    last = run(
        [events[-1], event(finish_reason="SAFETY", error_code="SAFETY")],
        past=events[:-1],
        onto=message_of(run(events[:-1])),
    )
    assert last[-1]["finishReason"] == "content-filter"


def test_a_hidden_call_is_no_content() -> None:
    events = [event(call("exit_loop", {}, "A")), event(finish_reason="SAFETY", error_code="SAFETY")]
    assert run(events)[-1] == MASKED


def test_truncated_arguments_end_the_call_and_the_response_says_length() -> None:
    cut = event(finish_reason="MAX_TOKENS", error_code="MAX_TOKENS")
    chunks = run([fragment(piece("f", "A", arg("$.x", "a", more=True))), cut])
    assert kinds(chunks)[-3:] == ["start-step", "finish-step", "finish"]
    assert only(chunks, "tool-input-error")
    assert chunks[-1]["finishReason"] == "length"


@pytest.mark.parametrize(
    ("events", "terminal"),
    [
        pytest.param([], {"type": "finish", "finishReason": "other"}, id="no events"),
        pytest.param([event()], {"type": "finish", "finishReason": "other"}, id="nothing said"),
        pytest.param(
            [fragment(finish_reason="STOP")], {"type": "finish", "finishReason": "stop"}, id="a fragment alone"
        ),
        pytest.param(
            [fragment(text(""), finish_reason="STOP")], {"type": "finish", "finishReason": "stop"}, id="an empty one"
        ),
        pytest.param([event(error_code="MODEL_RETURNED_NO_CONTENT")], MASKED, id="no content"),
        pytest.param(
            [event(thought("Hm.")), event(error_code="MODEL_RETURNED_NO_CONTENT", finish_reason="STOP")],
            {"type": "finish", "finishReason": "other"},
            id="no content but thoughts",
        ),
        pytest.param(
            [event(text("a"), interrupted=True)], {"type": "finish", "finishReason": "other"}, id="interrupted"
        ),
        pytest.param([event(error_code="INVOCATION_ABORTED")], {"type": "abort"}, id="aborted"),
        pytest.param(
            [event(author="user", error_code="RuntimeError", node_info=NodeInfo(path="root@1"))],
            MASKED,
            id="a node that speaks as the user",
        ),
        pytest.param(
            [fragment(text("a"), finish_reason="MAX_TOKENS")],
            {"type": "finish", "finishReason": "length"},
            id="no aggregate",
        ),
    ],
)
def test_every_stream_ends_once(events: list[Event], terminal: dict[str, Any]) -> None:
    assert run(events)[-1] == terminal


def test_an_aborted_tool_has_failed_and_the_response_is_aborted() -> None:
    aborted = results(
        response("f", {"error": "Invocation was aborted by client."}, "A"), error_code="INVOCATION_ABORTED"
    )
    chunks = run([event(call("f", {}, "A")), aborted])
    assert outputs(chunks) == {"A": "The run was stopped before the tool finished."}
    assert kinds(chunks)[-2:] == ["message-metadata", "abort"]


def test_an_abort_closes_what_waits_for_a_person_too_since_adk_takes_no_answer_any_more() -> None:
    approval, client_tool = waiting("f", "A", "B"), event(call("ask", {}, "C"), long_running_tool_ids={"C"})
    closed = results(response("ask", {"error": "aborted"}, "C"), error_code="INVOCATION_ABORTED")
    stopped = "The run was stopped before the tool finished."
    assert outputs(run([*approval, client_tool, closed])) == {"A": stopped, "C": stopped}


# In every state

STATES = {
    "nothing": [],
    "the user's words": [event(text("Hi"), author="user")],
    "open text": [fragment(text("Hel"))],
    "open reasoning": [fragment(thought("Hm"))],
    "a streaming call": [fragment(piece("f", "A", arg("$.x", "a", more=True)))],
    "a held call": [fragment(piece(None, "A", arg("$.x", "a", more=True)))],
    "a hidden call": [event(call("exit_loop", {}, "A"))],
    "a running call": [event(call("f", {}, "A"))],
    "an answered call": [event(call("f", {}, "A")), results(response("f", {"r": 1}, "A"))],
    "a running call beside open text": [event(call("f", {}, "A"), author="a"), fragment(text("x"), author="b")],
    "a pending approval": waiting("f", "A", "B"),
    "a request before its placeholder": waiting("f", "A", "B")[:2],
    "a placeholder before its request": [waiting("f", "A", "B")[0], waiting("f", "A", "B")[2]],
    "a pending client tool": [event(call("f", {}, "A"), long_running_tool_ids={"A"})],
    "a pending approval beside a running call": [*waiting("f", "A", "B"), event(call("g", {}, "C"))],
}
WAITING = {name for name in STATES if "pending" in name or "request before" in name}
in_every_state = pytest.mark.parametrize("state", STATES)


@in_every_state
def test_error_closes_open_text(state: str) -> None:
    chunks = run(STATES[state], error=RuntimeError("secret"))
    assert chunks[-1] == MASKED


@in_every_state
def test_an_abort_closes_what_is_open(state: str) -> None:
    converter = StreamProtocolConverter()
    chunks = [chunk for given in STATES[state] for chunk in converter.convert(given)]
    chunks += converter.abort("stopped")
    judge(chunks)
    assert chunks[-1] == {"type": "abort", "reason": "stopped"}


@in_every_state
def test_an_error_event_that_is_raised_as_well_is_told_once(state: str) -> None:
    told = event(error_code="RESOURCE_EXHAUSTED", error_message="https://internal?key=secret")
    chunks = run([*STATES[state], told, told], error=RuntimeError("secret"))
    assert kinds(chunks).count("error") == 1


@in_every_state
def test_what_waits_for_a_person_survives_the_end_and_all_else_is_settled(state: str) -> None:
    chunks = run(STATES[state])
    assert (chunks[-1].get("finishReason") == "tool-calls") is (state in WAITING)


ENDINGS: dict[str, Callable[[StreamProtocolConverter], list[AnyChunk]]] = {
    "finish": lambda converter: converter.finish(),
    "fail": lambda converter: converter.fail(RuntimeError()),
    "abort": lambda converter: converter.abort(),
}


@pytest.mark.parametrize("first", ENDINGS)
@pytest.mark.parametrize("second", [*ENDINGS, "convert"])
def test_error_after_finish_is_impossible(first: str, second: str) -> None:
    converter = StreamProtocolConverter()
    assert ENDINGS[first](converter)
    with pytest.raises(StreamProtocolError, match="the response has ended"):
        converter.convert(event(text("x"))) if second == "convert" else ENDINGS[second](converter)


@pytest.mark.parametrize("end", ENDINGS.values())
def test_a_refused_step_changes_nothing(end: Callable[[StreamProtocolConverter], list[AnyChunk]]) -> None:
    converter = StreamProtocolConverter()
    converter.finish()
    for _ in range(2):
        with pytest.raises(StreamProtocolError):
            end(converter)


# Failures that events report

FAILED = event(error_code="UNAVAILABLE", error_message="try later")


def test_a_failure_that_only_an_event_reports_is_the_error() -> None:
    seen: list[BaseException] = []

    def on_error(error: BaseException) -> str:
        seen.append(error)
        return "Try later."

    assert run([fragment(text("Hel")), FAILED, event(error_code="SECOND")], on_error=on_error)[-1] == {
        "type": "error",
        "errorText": "Try later.",
    }
    assert {str(error) for error in seen} == {"UNAVAILABLE: try later"}
    assert all(isinstance(error, AgentRunError) and error.code == "UNAVAILABLE" for error in seen)


@batch(
    events={
        "a message without a code, as of a remote agent": [event(error_message="unreachable")],
        "a code without a message": [event(error_code="UNAVAILABLE")],
        "after the words of the same event": [event(text("I tried."), error_message="unreachable")],
        "after words": [event(text("Half")), event(error_message="unreachable")],
        "on the last fragment": [fragment(text("Half")), fragment(error_message="unreachable")],
        "on a fragment with words": [fragment(text("Half"), error_code="UNAVAILABLE")],
        "of an agent that speaks as the user": [event(text("Half")), user(error_message="unreachable")],
        "beside a branch that goes on": [
            event(author="a", branch="p.a", error_message="unreachable"),
            event(text("I go on."), author="b", branch="p.b"),
        ],
        "again after a recovery": [
            event(error_message="first"),
            event(text("I go on."), error_message="second"),
        ],
    }
)
def test_whatever_an_event_reports_as_a_failure_ends_the_response_with_an_error(events: list[Event]) -> None:
    assert run(events)[-1] == MASKED


@batch(
    events={
        "a message": [event(error_message="unreachable"), event(text("I go on."))],
        "a fragment": [fragment(error_message="unreachable"), fragment(text("I go")), event(text("I go on."))],
        "a finish reason on a fragment, and content": [
            fragment(text(""), finish_reason="SAFETY", error_code="SAFETY"),
            event(text("No."), finish_reason="SAFETY", error_code="SAFETY"),
        ],
    }
)
def test_a_failure_that_the_same_agent_outlives_is_no_error(events: list[Event]) -> None:
    assert run(events)[-1]["type"] == "finish"


def test_a_message_about_a_finish_reason_is_no_failure_if_something_was_said() -> None:
    last = run([event(text("Half"), finish_reason="MAX_TOKENS", error_message="Too long.")])[-1]
    assert last["finishReason"] == "length"


def test_a_failure_after_which_the_model_goes_on_is_mended() -> None:
    chunks = run([fragment(text("Hel")), FAILED, event(text("Hello again"), finish_reason="STOP")])
    assert chunks[-1]["finishReason"] == "stop"
    assert texts(chunks) == ["Hel", "Hello again"]


@pytest.mark.parametrize(
    ("branch", "mended"),
    [(None, True), ("par.a", True), ("par", True), ("par.b", False), ("par.a.deeper", False), ("pa", False)],
)
def test_a_failure_is_mended_only_in_its_own_branch_or_above(branch: str | None, *, mended: bool) -> None:
    failed = event(error_code="UNAVAILABLE", author="a", branch="par.a")
    terminal = run([failed, event(text("I go on."), author="b", branch=branch)])[-1]
    assert terminal["type"] == ("finish" if mended else "error")


def test_a_failure_without_a_branch_is_not_mended_by_a_branch() -> None:
    assert run([FAILED, event(text("x"), branch="par.b")])[-1] == MASKED


def test_the_default_words_hide_everything(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "stream_protocol"):
        chunks = run([fragment(text("Hel"))], error=RuntimeError("key=hunter2"))
    assert "hunter2" not in str(chunks)
    assert "the run failed" in caplog.messages


def test_an_on_error_that_raises_is_replaced_by_the_default(caplog: pytest.LogCaptureFixture) -> None:
    def on_error(error: BaseException) -> str:
        raise ValueError("worse")

    assert run([FAILED], on_error=on_error)[-1] == MASKED
    assert "`on_error` raised" in caplog.messages


def test_lone_surrogates_in_an_error_text_are_replaced() -> None:
    assert run([FAILED], on_error=lambda error: "a\ud800")[-1]["errorText"] == "a\ufffd"


# Calls whose tools raised

RAN, RAISED = event(call("f", {}, "A")), event(error_code="ValueError", error_message="secret")
RAISED_ELSEWHERE = event(error_code="ValueError", author="b")
UNFINISHED, TOOL_FAILED = "The run failed before the tool finished.", "The tool failed."


@batch(
    told={
        "one call": ([RAN, RAISED], {"A": TOOL_FAILED}),
        "its sibling has finished": (
            [event(call("f", {}, "A"), call("g", {}, "B")), results(response("g", {"r": 1}, "B")), RAISED],
            {"A": TOOL_FAILED, "B": {"r": 1}},
        ),
        "its sibling runs, too": (
            [event(call("f", {}, "A"), call("g", {}, "B")), RAISED],
            {"A": UNFINISHED, "B": UNFINISHED},
        ),
        "its sibling may have raised, although it looks as if it waits": (
            [event(call("f", {}, "A"), call("g", {}, "B"), long_running_tool_ids={"B"}), RAISED],
            {"A": UNFINISHED},
        ),
        "a call of the page": ([event(call("f", {}, "A"), long_running_tool_ids={"A"}), RAISED], {}),
        "another agent fails": ([RAN, event(error_code="ValueError", author="b")], {"A": UNFINISHED}),
        "the same agent fails in another branch": (
            [RAN, event(error_code="ValueError", branch="x")],
            {"A": UNFINISHED},
        ),
        "its node took too long": ([RAN, event(error_code="NodeTimeoutError")], {"A": UNFINISHED}),
        "the model was cut": ([RAN, event(error_code="MAX_TOKENS"), RAISED_ELSEWHERE], {"A": UNFINISHED}),
        "a result after all": ([RAN, RAISED, results(response("f", {"r": 1}, "A"))], {"A": {"r": 1}}),
        "a later call of the same agent": (
            [RAN, RAISED, event(call("g", {}, "B")), RAISED_ELSEWHERE],
            {"A": TOOL_FAILED, "B": UNFINISHED},
        ),
    }
)
def test_an_event_that_reports_a_failure_tells_which_call_failed_if_only_one_can_have(
    told: tuple[list[Event], dict[str, Any]],
) -> None:
    events, expected = told
    chunks = run(events)
    assert outputs(chunks) == expected
    assert "secret" not in str(chunks)


def test_a_call_whose_tool_raised_says_so_although_the_run_goes_on() -> None:
    events = [RAN, RAISED, event(text("Sorry."))]
    assert outputs(run(events)) == {"A": TOOL_FAILED}
    assert run(events)[-1]["type"] == "finish"


def test_a_run_that_was_stopped_has_no_tool_that_failed() -> None:
    aborted = event(error_code="INVOCATION_ABORTED")
    assert outputs(run([RAN, RAISED, aborted])) == {"A": "The run was stopped before the tool finished."}


class Context(ToolContext):
    """The context of a call, as ADK makes it, without the rest of a run."""

    def __init__(self, invocation_id: str, call_id: str | None) -> None:
        self._invocation_context = SimpleNamespace(  # type: ignore[assignment]
            invocation_id=invocation_id, agent=SimpleNamespace(name=AGENT), branch=None
        )
        self._function_call_id = call_id


def raised_with(*contexts: Context) -> Exception:
    """An error that was raised where these contexts are known, the first in the outermost frame."""

    def go(left: Sequence[Context]) -> None:
        tool_context = left[0] if left else None
        assert tool_context is not None, "secret"
        go(left[1:])

    with pytest.raises(AssertionError) as caught:
        go(contexts)
    return caught.value


@pytest.mark.parametrize(
    ("contexts", "failed"),
    [
        ([Context("run-1", "A")], {"A"}),
        ([Context("run-1", None), Context("run-1", "B")], {"B"}),
        ([Context("run-1", "A"), Context("run-1", "B")], {"A", "B"}),
        ([Context("run-1", "A"), Context("run-2", "B")], {"A"}),
        ([Context("run-1", "C"), Context("run-1", "unknown")], {"C"}),
        ([Context("run-1", None)], set()),
        ([], set()),
    ],
)
def test_an_exception_tells_by_its_traceback_in_which_calls_it_was_raised(
    contexts: list[Context], failed: set[str]
) -> None:
    calls = event(call("f", {}, "A"), call("g", {}, "B"), call("h", {}, "C"), long_running_tool_ids={"C"})
    told = outputs(run([calls], error=raised_with(*contexts)))
    assert {call_id for call_id, error in told.items() if error == TOOL_FAILED} == failed
    assert told.keys() == {"A", "B"} | failed


def test_an_exception_without_adk_has_no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    error = raised_with(Context("run-1", "A"))
    monkeypatch.delitem(sys.modules, "google.adk.tools.tool_context")
    assert outputs(run([RAN], error=error)) == {"A": UNFINISHED}


# Metadata


def used(prompt: int, answer: int) -> GenerateContentResponseUsageMetadata:
    return GenerateContentResponseUsageMetadata(prompt_token_count=prompt, candidates_token_count=answer)


def usage(chunk: dict[str, Any]) -> tuple[int, int, int]:
    told = chunk["messageMetadata"]["usage"]
    return told["inputTokens"], told["outputTokens"], told["totalTokens"]


def test_usage_is_counted_from_complete_events_and_summed_over_the_message() -> None:
    first = [fragment(text("a"), usage_metadata=used(5, 1)), event(call("f", {}, "A"), usage_metadata=used(5, 2))]
    second = [results(response("f", {"r": 1}, "A")), event(text("b"), usage_metadata=used(9, 3), model_version="m-2")]
    finish = run([*first, *second])[-1]
    assert usage(finish) == (14, 5, 19)
    assert finish["messageMetadata"]["modelId"] == "m-2"


def test_usage_of_a_continuation_holds_all_that_came_before() -> None:
    past = [event(call("f", {}, "A"), usage_metadata=used(5, 2), model_version="m-1", long_running_tool_ids={"A"})]
    answered = results(response("f", {"r": 1}, "A"), author="user")
    finish = run([answered, event(text("b"), usage_metadata=used(9, 3))], past=past)[-1]
    assert usage(finish) == (14, 5, 19)
    assert finish["messageMetadata"]["modelId"] == "m-1"


@pytest.mark.parametrize("returned", [None, {}])
def test_metadata_can_be_left_out(returned: dict[str, Any] | None) -> None:
    assert (
        "messageMetadata"
        not in run([event(text("a"), usage_metadata=used(1, 1))], message_metadata=lambda _: returned)[-1]
    )


def test_metadata_of_an_app_becomes_json_once() -> None:
    chunks = run(
        [event(text("a"), model_version="m")],
        message_metadata=lambda metadata: {**metadata, "at": {3}, "nan": float("nan")},
    )
    assert chunks[-1]["messageMetadata"] == {"modelId": "m", "at": [3], "nan": None}


def test_metadata_goes_before_an_abort() -> None:
    converter = StreamProtocolConverter()
    converter.convert(event(text("a"), model_version="m"))
    assert kinds(map(dict, converter.abort())) == ["finish-step", "message-metadata", "abort"]


def test_a_metadata_hook_that_raises_is_a_failure() -> None:
    def hook(metadata: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("no")

    chunks = run([fragment(text("a"))], message_metadata=hook)
    assert kinds(chunks)[-3:] == ["text-end", "finish-step", "error"]


@pytest.mark.parametrize("after", [[], [event(text("x"))]], ids=["last", "before more"])
def test_an_artifact_url_that_raises_is_called_once_and_the_response_has_an_end(after: list[Event]) -> None:
    asked: list[str] = []

    def artifact_url(name: str, version: int) -> str:
        asked.append(name)
        raise ValueError("no")

    saving = results(response("f", {"r": 1}, "A"), actions=EventActions(artifact_delta={"a.txt": 0}))
    chunks = list(iter_chunks([event(call("f", {}, "A")), saving, *after], artifact_url=artifact_url))
    judge(chunks)
    assert (chunks[-1], asked) == (MASKED, ["a.txt"])


# A hook that raises

EVERYTHING = [
    fragment(thought("Hm.")),
    fragment(text("Let me see.")),
    fragment(piece("f", "A", arg("$.x", "a"))),
    event(thought("Hm."), text("Let me see."), call("f", {"x": "a"}, "A"), call("g", {}, "C"), call("pay", {}, "D")),
    *waiting("pay", "D", "P")[1:],
    results(response("f", {"r": 1}, "A"), response("g", {"error": "no"}, "C")),
    fragment(piece("f", "E", arg("$.x", "a", more=True))),
]


@pytest.mark.parametrize("fatal", range(len(run(EVERYTHING)) + 1))
@pytest.mark.parametrize("error", [None, RuntimeError("boom")])
def test_a_transform_that_raises_leaves_a_legal_stream(fatal: int, error: Exception | None) -> None:
    count = iter(accumulate([1] * 999))

    def transform(chunk: AnyChunk) -> AnyChunk:
        if next(count) == fatal:
            raise ValueError("no")
        return chunk

    def events() -> Any:
        yield from EVERYTHING
        if error is not None:
            raise error

    chunks = list(iter_chunks(events(), transform=transform))
    if fatal != 1:  # `start` itself did not get through
        judge(chunks)
    assert kinds(map(dict, chunks)).count("error") == (1 if fatal or error else 0)


def test_a_node_that_goes_on_after_a_failure_tries_again() -> None:
    node: Any = {"node_info": {"path": "wf@1/agent@1"}}
    failed = event(error_code="RuntimeError", error_message="boom", **node)
    events = [fragment(text("Half "), **node), failed, event(text("Whole."), **node), event(text("More."), **node)]
    retries = [chunk for chunk in run(events) if chunk["type"] == "data-adk-retry"]
    assert retries == [{"type": "data-adk-retry", "data": {"author": AGENT, "node": "wf@1/agent@1"}}]
    result = results(response("look", {"error": "boom"}, "A"), **node)
    assert "data-adk-retry" not in kinds(run([event(call("look", {}, "A"), **node), failed, result]))
    output = event(output={"sum": 3}, **node)
    assert "data-adk-retry" in kinds(run([failed, output]))


def test_an_agent_that_is_no_node_has_no_retries() -> None:
    failed = event(error_code="RuntimeError", error_message="boom")
    assert "data-adk-retry" not in kinds(run([failed, event(text("Sorry."))]))


def test_a_compaction_is_data_and_ends_nothing() -> None:
    compaction = EventCompaction(start_timestamp=1, end_timestamp=2, compacted_content=Content(parts=[text("sum")]))
    summed = event(author="user", actions=EventActions(compaction=compaction))
    chunks = run([fragment(text("Hel")), summed, event(text("Hello."))])
    assert texts(chunks) == ["Hello."]
    assert only(chunks, "data-") == [
        {"type": "data-adk-compaction", "data": {"startTimestamp": 1.0, "endTimestamp": 2.0}}
    ]
    assert "data-adk-compaction" not in kinds(run([event(text("More."))], past=[event(text("Hello.")), summed]))
