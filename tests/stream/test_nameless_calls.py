from typing import Any

import pytest

from stream_protocol.stream.calls._nameless_calls import fitting_tools

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
def test_a_nameless_call_can_be_the_tools_that_have_all_its_paths(paths: list[str], names: list[str]) -> None:
    assert fitting_tools(paths, SCHEMAS, among=SCHEMAS) == names


def test_a_tool_that_did_not_fit_before_is_not_looked_at_again() -> None:
    assert fitting_tools(["$.city"], SCHEMAS, among=["time"]) == ["time"]
