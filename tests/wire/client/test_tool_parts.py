from typing import Any, SupportsIndex

import pytest

from stream_protocol.wire.client._tool_parts import ToolParts

CALLS = 300
STEP = {"type": "step-start"}


class CountingList(list[dict[str, Any]]):
    """A list that counts the parts that are read of it."""

    looks = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        found = super().__getitem__(key)
        self.looks += len(found) if isinstance(key, slice) else 1
        return found


@pytest.mark.parametrize("between", [[], [STEP]], ids=["of one step", "of earlier steps"])
def test_each_of_many_calls_is_found_without_a_look_at_the_others(between: list[dict[str, Any]]) -> None:
    parts = CountingList()
    tools = ToolParts(parts, ai_sdk=7)
    for number in range(CALLS):
        tools.input_available({"toolCallId": f"call-{number}", "toolName": "w", "input": {}})
    parts.extend(between)
    for number in range(CALLS):
        tools.output_available({"toolCallId": f"call-{number}", "output": number})
    assert [part["output"] for part in parts if part != STEP] == [*range(CALLS)]
    assert parts.looks <= 4 * CALLS


def test_after_a_reset_the_calls_of_earlier_steps_are_found_and_no_others() -> None:
    parts: list[dict[str, Any]] = []
    tools = ToolParts(parts, ai_sdk=7)
    tools.input_available({"toolCallId": "kept", "toolName": "w", "input": {}})
    parts.append(dict(STEP))
    tools.input_available({"toolCallId": "removed", "toolName": "w", "input": {}})
    assert [part["toolCallId"] for part in tools.reset_step()] == ["removed"]
    tools.input_available({"toolCallId": "next", "toolName": "w", "input": {}})
    assert tools.find("removed") is None
    assert tools.find("kept") is parts[0]
    assert tools.find_in_step("kept") is None
    assert tools.find("next") is parts[2]
