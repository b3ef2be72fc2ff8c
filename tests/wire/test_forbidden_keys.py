from typing import Any

import pytest

from stream_protocol.wire._forbidden_keys import free_key, has_forbidden_key, rename_forbidden_keys


@pytest.mark.parametrize(
    ("value", "forbidden"),
    [
        ("__proto__", False),
        (["__proto__"], False),
        ({"a": "__proto__"}, False),
        ({"constructor": "prototype"}, False),
        ({"constructor": {"a": {"prototype": 1}}}, False),
        ({"constructor": [{"prototype": 1}]}, False),
        ({"prototype": 1}, False),
        ({"__proto__": None}, True),
        ([[{"a": {"__proto__": 1}}]], True),
        ({"a": {"constructor": {"prototype": 1}}}, True),
    ],
    ids=repr,
)
def test_a_forbidden_key_is_found_and_renamed_and_nothing_else(value: Any, forbidden: bool) -> None:
    assert has_forbidden_key(value) is forbidden
    renamed = rename_forbidden_keys(value)
    assert not has_forbidden_key(renamed)
    assert (renamed != value) is forbidden


def test_a_key_that_is_taken_gets_the_next_free_number() -> None:
    assert [free_key("a", taken) for taken in ([], ["a"], ["a", "a (2)"])] == ["a", "a (2)", "a (3)"]
