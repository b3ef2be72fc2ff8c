from typing import Any

import pytest

from stream_protocol.wire import AiSdkVersion
from stream_protocol.wire.client import MessageReducer, closing_events, parse_sse

START = {"type": "start", "messageId": "m1"}
STEP = {"type": "start-step"}
STEP_END = {"type": "finish-step"}
ERROR = {"type": "error", "errorText": "An error occurred."}


def call(call_id: str, *, dynamic: bool = False) -> list[dict[str, Any]]:
    more = {"dynamic": True} if dynamic else {}
    return [{"type": "tool-input-available", "toolCallId": call_id, "toolName": "t", "input": {}, **more}]


def asked(call_id: str) -> dict[str, Any]:
    return {"type": "tool-approval-request", "approvalId": f"a-{call_id}", "toolCallId": call_id}


def result(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-output-available", "toolCallId": call_id, "output": 1, **more}


def unanswered(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-output-error", "toolCallId": call_id, "errorText": "Lost.", **more}


CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "nothing came": ([], [], [ERROR]),
    "only the start": ([START], [], [ERROR]),
    "an open text": (
        [START, STEP, {"type": "text-start", "id": "1"}],
        [],
        [{"type": "text-end", "id": "1"}, STEP_END, ERROR],
    ),
    "open reasoning": (
        [START, STEP, {"type": "reasoning-start", "id": "1"}],
        [],
        [{"type": "reasoning-end", "id": "1"}, STEP_END, ERROR],
    ),
    "the middle of an argument": (
        [START, STEP, {"type": "tool-input-start", "toolCallId": "c", "toolName": "t"}],
        [],
        [unanswered("c"), STEP_END, ERROR],
    ),
    "a running tool": ([START, STEP, *call("c", dynamic=True)], [], [unanswered("c", dynamic=True), STEP_END, ERROR]),
    "an interim result": (
        [START, STEP, *call("c"), result("c", preliminary=True)],
        [],
        [unanswered("c"), STEP_END, ERROR],
    ),
    "a result": ([START, STEP, *call("c"), result("c")], [], [STEP_END, ERROR]),
    "a pending approval": ([START, STEP, *call("c"), asked("c")], [], [STEP_END, ERROR]),
    "a closed step": ([START, STEP, STEP_END], [], [ERROR]),
    "a call that waits from before": ([START], [STEP, *call("c")], [ERROR]),
    "a call that was answered in this response": ([START, result("c")], [STEP, *call("c")], [ERROR]),
    "an end": ([START, {"type": "finish"}], [], []),
    "an abort": ([START, {"type": "abort"}], [], []),
    "an error": ([START, ERROR], [], []),
    "a stream that no client reads": ([START, result("nobody's")], [], [ERROR]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_open_is_ended(name: str) -> None:
    stream, past, end = CASES[name]
    assert closing(stream, past) == end


@pytest.mark.parametrize("ai_sdk", [6, 7])
@pytest.mark.parametrize("name", [name for name in CASES if name != "a stream that no client reads"])
def test_a_client_folds_it(name: str, ai_sdk: AiSdkVersion) -> None:
    stream, past, _ = CASES[name]
    reducer = MessageReducer(ai_sdk=ai_sdk)
    for chunk in [*stream[:1], *past, *stream[1:], *closing(stream, past)]:
        if chunk["type"] != "error":
            reducer.apply(chunk)
    assert not reducer.open_ids("text")
    assert not reducer.open_ids("reasoning")


def closing(stream: list[Any], past: list[Any]) -> list[Any]:
    *events, done = closing_events(stream, past=past, unanswered="Lost.", error="An error occurred.")
    assert done == b"data: [DONE]\n\n"
    return list(parse_sse(b"".join(events)))
