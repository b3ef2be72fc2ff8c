"""The check of histories finds messages that the real clients refuse."""

from typing import Any, cast

from stream_protocol.wire import UIMessage
from tests.conformance.fixtures import PROJECT
from tests.histories import Histories
from tests.tools import require_node_project


def message(*parts: dict[str, Any], role: str = "assistant") -> UIMessage:
    return cast("UIMessage", {"id": "m", "role": role, "parts": list(parts)})


def tool(approval: dict[str, Any], **more: Any) -> UIMessage:
    return message({"type": "tool-pay", "toolCallId": "A", "input": {}, "approval": {"id": "P", **approval}, **more})


TAKEN = [
    message(),
    tool({"approved": False}, state="output-denied"),
    tool({"approved": True}, state="output-available", output=1),
    message({"type": "text", "text": ""}, role="user"),
]
REFUSED = [
    message(role="user"),
    tool({"approved": False}, state="output-available", output=1),
    tool({}, state="output-error", errorText="no"),
    message({"type": "text"}),
]


def test_each_version_refuses_what_it_would_refuse_in_an_app() -> None:
    node = require_node_project(PROJECT)
    histories = Histories()
    histories.add([*TAKEN, *REFUSED, *TAKEN])
    assert len(histories.refused(node)) == 2 * len(REFUSED)
    assert Histories().refused(node) == []
