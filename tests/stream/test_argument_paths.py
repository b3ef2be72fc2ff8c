from typing import Any

import pytest

from stream_protocol.stream.calls._argument_paths import ToolGuess

SCHEMAS: dict[str, Any] = {
    "weather": {"properties": {"city": {"type": "string"}, "days": {"items": {"properties": {"n": {}}}}}},
    "time": {"properties": {"city": {"type": "string"}, "odd key": {}}},
    "nothing": {},
    "anything": None,
}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        pytest.param(["$.days"], ["weather"], id="one property"),
        pytest.param(["$.city", "$.days[0].n"], ["weather"], id="all must fit"),
        pytest.param(["$['odd key']"], ["time"], id="a quoted key"),
        pytest.param(["$.city"], ["weather", "time"], id="two tools fit"),
        pytest.param(["$.days.n"], [], id="a list has no keys"),
        pytest.param(["$.city[0]"], [], id="a text has no items"),
        pytest.param(["$.days", "$.odd"], [], id="none fits all"),
        pytest.param([""], list(SCHEMAS), id="an empty path fits all"),
    ],
)
def test_a_nameless_call_is_of_the_one_tool_that_has_all_its_paths(paths: list[str], names: list[str]) -> None:
    assert ToolGuess().add(paths, SCHEMAS) == (names[0] if len(names) == 1 else None)


@pytest.mark.parametrize(("first", "then"), [("$['odd key']", "$.city"), ("$.city", "$['odd key']")])
def test_a_tool_that_did_not_fit_before_is_not_looked_at_again(first: str, then: str) -> None:
    guess = ToolGuess()
    guess.add([first], SCHEMAS)
    assert guess.add([then], SCHEMAS) == "time"


def test_a_path_that_came_before_tells_nothing_new() -> None:
    guess = ToolGuess()
    assert [guess.add(["$.days"], SCHEMAS), guess.add(["$.days"], SCHEMAS)] == ["weather", None]
