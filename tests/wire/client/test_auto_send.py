from typing import Any

import pytest

from stream_protocol.wire import UIMessage, encode_sse
from stream_protocol.wire.client import auto_send_helper, is_sent_again
from stream_protocol.wire.client._auto_send import APPROVALS, TOOLS

STEP = {"type": "step-start"}
DONE = {"type": "text", "text": "", "state": "done"}
OPEN = {"type": "text", "text": "", "state": "streaming"}


def call(state: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-w", "toolCallId": "t", "state": state, **more}


OUTPUT = call("output-available")
PRELIMINARY = call("output-available", preliminary=True)
ERROR = call("output-error")
DENIED = call("output-denied")
ANSWERED = call("approval-responded")
SERVERS = call("output-available", providerExecuted=True)

CASES: list[tuple[list[dict[str, Any]], str | None]] = [
    ([], None),
    ([DONE], None),
    ([OUTPUT], TOOLS),
    ([STEP, ERROR, DONE], TOOLS),
    ([OUTPUT, STEP], None),
    ([OUTPUT, STEP, DONE], None),
    ([call("input-available"), STEP, OUTPUT], TOOLS),
    ([OUTPUT, call("input-available")], None),
    ([OUTPUT, call("approval-requested")], None),
    ([OUTPUT, DENIED], None),
    ([PRELIMINARY], None),
    ([OUTPUT, OPEN], None),
    ([OPEN, OUTPUT], TOOLS),
    ([SERVERS], None),
    ([SERVERS, OUTPUT], TOOLS),
    ([OUTPUT, call("input-available", providerExecuted=True)], TOOLS),
    ([ANSWERED], APPROVALS),
    ([ANSWERED, OUTPUT, ERROR, DENIED, OPEN], APPROVALS),
    ([ANSWERED, PRELIMINARY], None),
    ([ANSWERED, call("approval-requested")], None),
    ([ANSWERED, STEP, DONE], None),
    ([call("approval-responded", providerExecuted=True)], APPROVALS),
]


@pytest.mark.parametrize(("parts", "helper"), CASES)
def test_a_message_is_sent_again_if_all_calls_of_its_last_step_are_settled(
    parts: list[Any], helper: str | None
) -> None:
    assert auto_send_helper(parts) == helper


def again(*chunks: Any, onto: list[Any] | None = None) -> bool:
    """True if a client sends again after a response of these chunks, to a message with these parts."""
    message: UIMessage | None = None if onto is None else {"id": "m", "role": "assistant", "parts": onto}
    return is_sent_again(map(encode_sse, chunks), message)


CALLED: list[Any] = [
    {"type": "start-step"},
    {"type": "tool-input-start", "toolCallId": "t", "toolName": "w"},
    {"type": "tool-input-delta", "toolCallId": "t", "inputTextDelta": "{}"},
    {"type": "tool-input-available", "toolCallId": "t", "toolName": "w", "input": {}},
]
RESULT: Any = {"type": "tool-output-available", "toolCallId": "t", "output": {"type": "tool-w"}}
FINISH_STEP: Any = {"type": "finish-step"}
FINISH: Any = {"type": "finish", "finishReason": "stop"}
LATER: list[Any] = [FINISH_STEP, {"type": "start-step"}]
SAID: list[Any] = [{"type": "text-start", "id": "0"}, {"type": "text-end", "id": "0"}]
APPROVED = call("approval-responded", approval={"id": "a", "approved": True})
DENIAL = call("approval-responded", approval={"id": "a", "approved": False})
WAITING = {**call("approval-requested", approval={"id": "b"}), "toolCallId": "t2"}


@pytest.mark.parametrize(
    ("chunks", "sent"),
    [
        ([*CALLED, FINISH_STEP, FINISH], False),
        ([*CALLED, RESULT, FINISH_STEP, FINISH], True),
        ([*CALLED, RESULT, *LATER, *SAID, FINISH_STEP, FINISH], False),
        ([*CALLED, {**RESULT, "preliminary": True}, FINISH_STEP, FINISH], False),
        ([*CALLED, {"type": "tool-output-denied", "toolCallId": "t"}, FINISH_STEP, FINISH], False),
        ([*CALLED, RESULT, FINISH_STEP, {"type": "error", "errorText": "no"}], False),
        ([*CALLED, RESULT, FINISH_STEP, {**FINISH, "finishReason": "interrupted"}], False),
        ([*CALLED, RESULT, FINISH_STEP, {"type": "abort"}], True),
        ([*CALLED, RESULT, *LATER, FINISH_STEP, FINISH], True),
        ([*CALLED, RESULT, *LATER, FINISH_STEP, {"type": "abort"}], True),
        ([*CALLED, RESULT, *LATER, FINISH_STEP, {**FINISH, "messageMetadata": {}}], False),
        ([*CALLED, RESULT, *LATER, FINISH_STEP, {"type": "message-metadata", "messageMetadata": {}}], False),
        ([*CALLED, {**RESULT, "toolCallId": "unknown"}, FINISH], False),
        ([*CALLED, RESULT, {"type": "tool-output-available", "toolCallId": "t"}, FINISH], False),
        ([{"type": "data-app", "data": {"type": "tool-w"}}, FINISH], False),
    ],
)
def test_a_response_that_ends_with_settled_calls_is_sent_again(chunks: list[Any], sent: bool) -> None:
    assert again({"type": "start", "messageId": "m"}, *chunks) is sent


@pytest.mark.parametrize(
    ("onto", "chunks", "sent"),
    [
        ([APPROVED], [], True),
        ([APPROVED, WAITING], [], True),
        ([DENIAL, WAITING], [], True),
        ([APPROVED, STEP, DONE], [], True),
        ([OUTPUT], [], True),
        ([STEP, DONE, OUTPUT, WAITING], [], False),
        ([call("input-available")], [], False),
        ([APPROVED], [RESULT], True),
        ([APPROVED], [RESULT, *LATER, *SAID], False),
        ([APPROVED, WAITING], [RESULT], False),
        ([OUTPUT, STEP, APPROVED], [RESULT, *LATER, *SAID], False),
        ([APPROVED, STEP], [], True),
        ([OUTPUT, STEP], [], False),
        ([WAITING], [{"type": "tool-approval-response", "approvalId": "x", "approved": True}], False),
        ([APPROVED, APPROVED], [RESULT, *LATER, *SAID], False),
        ([DENIAL, WAITING], [{"type": "tool-output-denied", "toolCallId": "t"}], False),
        ([APPROVED], [{"type": "tool-input-available", "toolCallId": "t", "toolName": "w", "input": {}}], False),
        ([WAITING], [{"type": "tool-approval-response", "approvalId": "b", "approved": True}], True),
    ],
)
def test_an_answer_that_nothing_came_of_is_sent_again(onto: list[Any], chunks: list[Any], sent: bool) -> None:
    assert again({"type": "start", "messageId": "m"}, *chunks, FINISH, onto=onto) is sent
