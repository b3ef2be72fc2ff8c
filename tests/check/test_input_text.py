"""A streamed input is whole without ``tool-input-available`` if the client can parse all of it."""

from typing import Any

import pytest

from stream_protocol.check import Rule
from tests.check.test_check_file import DONE, FINISH, START, STEP, STEP_END, TEXT, rules, sse

OUTPUT = {"type": "tool-output-available", "toolCallId": "t1", "output": 1}


@pytest.mark.parametrize(
    ("deltas", "is_whole"),
    [
        (['{"city":"Pa', 'ris"}'], True),
        (['{"a":"}', '\\"","b":[1', "]}"], True),
        (['{"a":"\\', '""}'], True),
        ("{}", True),
        (['{"city":"Pa'], False),
        (['{"city":"}'], False),
        (["[{}"], False),
        ([], False),
    ],
)
def test_an_output_may_follow_the_whole_text_of_an_input(deltas: list[str], *, is_whole: bool) -> None:
    chunks: list[dict[str, Any]] = [
        {"type": "tool-input-start", "toolCallId": "t1", "toolName": "w"},
        *({"type": "tool-input-delta", "toolCallId": "t1", "inputTextDelta": delta} for delta in deltas),
    ]
    found = rules(sse(START, STEP, *chunks, OUTPUT, STEP_END, STEP, *TEXT, STEP_END, FINISH, DONE))
    assert found == ([] if is_whole else [Rule.INPUT_INCOMPLETE])


def test_an_input_that_is_text_is_whole() -> None:
    start = {"type": "tool-input-start", "toolCallId": "t1", "toolName": "w", "inputEncoding": "text"}
    delta = {"type": "tool-input-delta", "toolCallId": "t1", "inputTextDelta": "*** begin {"}
    chunks: list[dict[str, Any] | str] = [
        START,
        STEP,
        start,
        delta,
        OUTPUT,
        STEP_END,
        STEP,
        *TEXT,
        STEP_END,
        FINISH,
        DONE,
    ]
    assert Rule.INPUT_INCOMPLETE not in rules(sse(*chunks), 7)
