import sys
from typing import Any

import pytest

from stream_protocol.wire import ClientStreamError
from stream_protocol.wire.client._reducer import merge_metadata


@pytest.mark.parametrize(
    ("base", "overrides", "merged"),
    [
        (None, None, None),
        ({"a": 1}, None, {"a": 1}),
        (None, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"x": 1}}, {"a": None}, {"a": None}),
        ({"a": None}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({}, {"__proto__": 1, "constructor": 2, "prototype": 3}, {}),
        ([1, 2], {"a": 3}, {"0": 1, "1": 2, "a": 3}),
        ([1, 2], [3], {"0": 3, "1": 2}),
        ({"a": 1}, "xy", {"a": 1, "0": "x", "1": "y"}),
        ({"a": 1}, 5, {"a": 1}),
        ("xy", {}, {"0": "x", "1": "y"}),
        (5, 6, {}),
    ],
)
def test_metadata_merges_as_in_the_client(base: Any, overrides: Any, merged: Any) -> None:
    assert merge_metadata(base, overrides) == merged


@pytest.mark.parametrize(("base", "text"), [("xy", "xy"), (5, "5"), (True, "true")])
def test_metadata_that_is_no_object_cannot_get_keys(base: Any, text: str) -> None:
    with pytest.raises(ClientStreamError) as caught:
        merge_metadata(base, {"a": 1})
    assert caught.value.error_class == "TypeError"
    assert caught.value.text == f"Cannot use 'in' operator to search for 'a' in {text}"


def test_neither_side_is_changed() -> None:
    base, overrides = {"a": {"x": 1}}, {"a": {"y": 2}}
    merge_metadata(base, overrides)
    assert (base, overrides) == ({"a": {"x": 1}}, {"a": {"y": 2}})


def test_metadata_may_be_nested_deeper_than_pythons_stack() -> None:
    def nested(leaf: Any) -> Any:
        for _ in range(2 * sys.getrecursionlimit()):
            leaf = {"in": leaf}
        return leaf

    merged = merge_metadata(nested({"a": 1}), nested({"b": 2}))
    while "in" in merged:
        merged = merged["in"]
    assert merged == {"a": 1, "b": 2}
