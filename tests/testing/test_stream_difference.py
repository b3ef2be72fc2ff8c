from typing import Any

import pytest

from stream_protocol.testing._stream_difference import LINES, WIDTH, Chunks, describe_difference

START = {"type": "start", "messageId": "message-1"}
FINISH = {"type": "finish", "finishReason": "stop"}


def output(value: Any) -> dict[str, Any]:
    return {"type": "tool-output-available", "toolCallId": "call-1", "output": value}


def told(expected: Chunks, actual: Chunks) -> str:
    text = describe_difference([expected], [actual])
    assert text is not None
    return text


def test_equal_streams_differ_in_nothing() -> None:
    expected, actual = (output({"a": 1, "b": 2}), output({"b": 2, "a": 1}))
    assert describe_difference([[START, expected, FINISH]], [[START, actual, FINISH]]) is None
    assert describe_difference([], []) is None


def test_the_first_difference_is_on_top_and_between_its_neighbours() -> None:
    expected = [START, {"type": "start-step"}, output({"degrees": [3, 4]}), {"type": "finish-step"}, FINISH]
    actual = [START, {"type": "start-step"}, output({"degrees": [3, 5]}), {"type": "finish-step"}, FINISH]
    assert told(expected, actual).split("\n") == [
        "turn 1, chunk 3: tool-output-available: output.degrees[1] is 5, not 4.",
        '    {"type":"start","messageId":"message-1"}',
        '    {"type":"start-step"}',
        '  - {"type":"tool-output-available","output":{"degrees":[3,4]},"toolCallId":"call-1"}',
        '  + {"type":"tool-output-available","output":{"degrees":[3,5]},"toolCallId":"call-1"}',
        '    {"type":"finish-step"}',
        '    {"type":"finish","finishReason":"stop"}',
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "headline"),
    [
        ([START, FINISH], [START], "turn 1, chunk 2: the stream ends before it."),
        ([START], [START, FINISH], "turn 1, chunk 2: the stream should have ended before it."),
        ([START, FINISH], [START, output(1)], "turn 1, chunk 2: tool-output-available in place of finish."),
        ([output({"a": 1})], [output({})], "turn 1, chunk 1: tool-output-available: output.a is absent, not 1."),
        ([output({})], [output({"a": None})], "turn 1, chunk 1: tool-output-available: output.a is null, not absent."),
        ([output([1])], [output([1, 2])], "turn 1, chunk 1: tool-output-available: output is [1, 2], not [1]."),
        ([output(1)], [output(True)], "turn 1, chunk 1: tool-output-available: output is true, not 1."),
        ([output(3)], [output(3.0)], "turn 1, chunk 1: tool-output-available: output is 3.0, not 3."),
    ],
)
def test_the_headline_names_what_differs(expected: Chunks, actual: Chunks, headline: str) -> None:
    assert told(expected, actual).split("\n")[0] == headline


def test_a_missing_chunk_does_not_hide_those_after_it() -> None:
    lines = told([START, output(1), output(2), FINISH], [START, output(2), FINISH]).split("\n")
    assert [line[:3] for line in lines[1:]] == ["   ", "  -", "   ", "   "]


def test_turns_are_counted() -> None:
    turn = [START, FINISH]
    assert describe_difference([turn], [turn, turn]) == "turn 2 was not expected."
    assert describe_difference([turn, turn], [turn]) == "turn 2 is missing."
    assert str(describe_difference([turn, turn], [turn, [START]])).startswith("turn 2, chunk 2: ")


def test_a_long_difference_stays_short() -> None:
    lines = told([output(n) for n in range(1000)], [output(-n) for n in range(1000)]).split("\n")
    assert len(lines) <= LINES + 4
    assert lines[-1] == "    …"


def test_a_long_line_is_cut_around_its_difference() -> None:
    text = "x" * 5000
    lines = told([output(f"{text}here{text}")], [output(f"{text}there{text}")]).split("\n")
    assert all(len(line) <= 2 * WIDTH + 100 for line in lines)
    assert "xxhere" in lines[1]
    assert "xxthere" in lines[2]
    assert "there" in lines[0]
