from typing import Any

import pytest

from stream_protocol.wire.client import auto_send_helper
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
