from typing import Any

import pytest

from stream_protocol.convert.naming import fitting_tool

SCHEMAS: dict[str, Any] = {
    "weather": {"properties": {"city": {"type": "string"}, "days": {"items": {"properties": {"n": {}}}}}},
    "time": {"properties": {"city": {"type": "string"}, "odd key": {}}},
    "nothing": {},
    "anything": None,
}


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        pytest.param(["$.days"], "weather", id="one property"),
        pytest.param(["$.city", "$.days[0].n"], "weather", id="all must fit"),
        pytest.param(["$['odd key']"], "time", id="a quoted key"),
        pytest.param(["$.city"], None, id="two tools fit"),
        pytest.param(["$.days.n"], None, id="a list has no keys"),
        pytest.param(["$.city[0]"], None, id="a text has no items"),
        pytest.param(["$.days", "$.odd"], None, id="none fits all"),
        pytest.param([], None, id="no paths"),
        pytest.param([""], None, id="an empty path fits all"),
    ],
)
def test_a_nameless_call_is_the_one_tool_that_its_paths_fit(paths: list[str], name: str | None) -> None:
    assert fitting_tool(paths, SCHEMAS) == name


def test_without_schemas_nothing_fits() -> None:
    assert fitting_tool(["$.city"], {}) is None
