import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stream_protocol.wire.client._partial_json import parse_partial_json, repair_json

UNDEFINED = object()


def partial(text: str, ai_sdk: Any = 6) -> Any:
    try:
        return parse_partial_json(text, ai_sdk=ai_sdk)
    except ValueError:
        return UNDEFINED


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a": 1.5e', {"a": 1.5}),
        ('{"a": 1e5.', {"a": 1e5}),
        ('{"a": 1--', {"a": 1}),
        ("[1..5", UNDEFINED),
        ("{1}", UNDEFINED),
        ('{"a" 1}', {}),
        ("", UNDEFINED),
        (" ", UNDEFINED),
        ("x", UNDEFINED),
        ("-", UNDEFINED),
        ("{", {}),
        ('{"', {}),
        ('{"a', {}),
        ('{"a"', {}),
        ('{"a":', {}),
        ('{"a": 1', {"a": 1}),
        ('{"a": 1, ', {"a": 1}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1} x', {"a": 1}),
        ('{"a": -', {}),
        ('{"a": 1.', {"a": 1}),
        ('{"a": 12 ', {"a": 12}),
        ('{"a": [1, 2', {"a": [1, 2]}),
        ('{"a": [1, -', {"a": [1]}),
        ('{"a": [1], "b": {"c": tr', {"a": [1], "b": {"c": True}}),
        ('{"a": fa', {"a": False}),
        ('{"a": n', {"a": None}),
        ('{"a": true, "b": [false, nul', {"a": True, "b": [False, None]}),
        ('{"a": true}', {"a": True}),
        ("[true]", [True]),
        ("[1]", [1]),
        ("[[]", [[]]),
        ("[ ", []),
        ("[1 ", [1]),
        ("[1}", [1]),
        ("[1 x", UNDEFINED),
        ("[trx", UNDEFINED),
        ("nulx", UNDEFINED),
        ("12x", 12),
        ("[]", []),
        ("{}", {}),
        ('{"a": {}', {"a": {}}),
        ('"a\\', "a"),
        ('"a\\n', "a\n"),
        ('"a\\u00', "a"),
        ('"a\\u00e9', "aé"),
        ('"a\\u0x0e9', UNDEFINED),
        ('"a" ', "a"),
        ('{"__proto__": 1', UNDEFINED),
    ],
)
def test_unfinished_input_is_shown_as_the_client_shows_it(text: str, shown: Any) -> None:
    assert partial(text) == shown
    assert partial(text, ai_sdk=7) == shown


@pytest.mark.parametrize(("text", "v6", "v7"), [("[-", UNDEFINED, []), ("[x", UNDEFINED, []), ("[ -1", [-1], [-1])])
def test_the_versions_differ_in_what_may_stand_after_an_open_bracket(text: str, v6: Any, v7: Any) -> None:
    assert (partial(text, 6), partial(text, 7)) == (v6, v7)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@given(json_values.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_every_beginning_of_an_object_or_array_is_shown_with_its_root(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text)))]
    assert isinstance(json.loads(repair_json(cut, ai_sdk=7)), type(value))
    assert partial(text) == value
