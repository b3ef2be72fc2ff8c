import enum
import ipaddress
import json
import socket
import subprocess
import sys
import types
from collections import OrderedDict, UserDict, UserString, deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID

import orjson
import pydantic
import pytest
from hypothesis import given, strategies as st

from stream_protocol.wire import (
    MAX_DEPTH,
    SHORT_JSON_LENGTH,
    UnrepresentableValueError,
    encode_sse,
    json_value,
    short_json,
    to_well_formed,
    whole_words,
)
from stream_protocol.wire._forbidden_keys import has_forbidden_key


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, {2})


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()


class Count(int):
    __slots__ = ()


class Share(float):
    __slots__ = ()


@dataclass
class Point:
    x: int
    _hidden: Any = None


@dataclass(slots=True)
class Slotted:
    when: date


class Inner(pydantic.BaseModel):
    raw: bytes


class Model(pydantic.BaseModel):
    inner: Inner
    some_set: set[str] = pydantic.Field(serialization_alias="someSet")
    link: pydantic.AnyUrl
    secret: pydantic.SecretStr


class Tags(pydantic.RootModel[set[str]]):
    pass


Pair = namedtuple("Pair", ["left", "right"])
MODEL = Model(
    inner=Inner(raw=b"\xff"), some_set={"b", "a"}, link=pydantic.AnyUrl("http://x.y/"), secret=pydantic.SecretStr("key")
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        ([float("inf"), -float("inf")], [None, None]),
        (b"\xfb\xff", "+/8="),
        (bytearray(b"a"), "YQ=="),
        (memoryview(b"abcd")[::2], "YWM="),
        (datetime(2024, 1, 2, 3, 4, 5, 6), "2024-01-02T03:04:05.000006"),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (date(7, 1, 2), "0007-01-02"),
        (time(1, 2, tzinfo=UTC), "01:02:00+00:00"),
        (timedelta(minutes=1, milliseconds=5), 60.005),
        (Decimal("1.10"), "1.10"),
        (Decimal("NaN"), None),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
        (Colour.RED, "red"),
        (Colour.PAIR, [1, [2]]),
        (Level.HIGH, 3),
        (Name("n"), "n"),
        (Count(4), 4),
        (Share(0.5), 0.5),
        (UserString("u"), "u"),
        (Point(1, {1}), {"x": 1, "_hidden": [1]}),
        (Slotted(date(2024, 1, 2)), {"when": "2024-01-02"}),
        (Pair(1, b"a"), [1, "YQ=="]),
        (MODEL, {"inner": {"raw": "/w=="}, "someSet": ["a", "b"], "link": "http://x.y/", "secret": "**********"}),
        (Tags({"b", "a"}), ["a", "b"]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (UserDict({"a": {1}}), {"a": [1]}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        ((1, [2]), [1, [2]]),
        (deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        ({"b": 1, "a": 2}.keys(), ["b", "a"]),
        ({"b": 1}.items(), [["b", 1]]),
        ({10, 9, 8}, [8, 9, 10]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({"x", 2, 1.5, None, True, (2, 1), (1, 2), b"a"}, [None, True, 1.5, 2, "YQ==", "x", [1, 2], [2, 1]]),
        ({None: 1, True: 2, 3: 4, 1.5: 6, (1, 2): 7}, {"null": 1, "true": 2, "3": 4, "1.5": 6, "(1, 2)": 7}),
        ({Colour.RED: 1, date(2024, 1, 2): 2, Name("k"): 3}, {"red": 1, "2024-01-02": 2, "k": 3}),
        ({1: "a", "1": "b", "1 (2)": "c"}, {"1": "a", "1 (2)": "b", "1 (2) (2)": "c"}),
        (dict.fromkeys(["\ud800", "\ud801", "\ud802"], 0), {"\ufffd": 0, "\ufffd (2)": 0, "\ufffd (3)": 0}),
        (2**64 - 1, 2**64 - 1),
        (-(2**63), -(2**63)),
        (2**64, "18446744073709551616"),
        ([-(2**63) - 1], ["-9223372036854775809"]),
        ("\ud83d\ude00", "😀"),
        ({"\ud83d\ude00": "a\ud83d"}, {"😀": "a\ufffd"}),
        ({"__proto__": 1, "a": "__proto__"}, {"[__proto__]": 1, "a": "__proto__"}),
        ({"a": [{"__proto__": {}}]}, {"a": [{"[__proto__]": {}}]}),
        ({"constructor": {"prototype": 1}}, {"constructor": {"[prototype]": 1}}),
        ({"constructor": [{"prototype": 1}], "prototype": 2}, {"constructor": [{"prototype": 1}], "prototype": 2}),
        ({"[__proto__]": 1, "__proto__": 2}, {"[__proto__]": 1, "[__proto__] (2)": 2}),
        ({"t": '{"__proto__":1}', 'x"__proto__': 1}, {"t": '{"__proto__":1}', 'x"__proto__': 1}),
        ({1: {"__proto__": 2}}, {"1": {"[__proto__]": 2}}),
    ],
    ids=lambda case: type(case).__name__,  # what it prints differs from run to run
)
def test_a_value_becomes_plain_json(value: Any, expected: Any) -> None:
    strict = json_value(value)
    assert strict == expected
    assert repr(strict) == repr(expected)
    assert json_value(value, lossy=True) == expected


def test_the_walk_agrees_with_the_fast_path() -> None:
    value = {"p": Point(1), "e": Colour.RED, "d": datetime(2024, 1, 2, 3), "u": UUID(int=1), "n": [float("nan")]}
    through_the_walk = json_value([value, 2**70])
    assert through_the_walk == [json_value(value), str(2**70)]


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = [value]
    return value


def circular() -> Any:
    loop: dict[str, Any] = {}
    loop["self"] = {"items": [loop]}
    return loop


class Hostile:
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__

    @property
    def __class__(self) -> Any:
        raise ValueError("no class")

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise ValueError("no class")


class RaisingModel(pydantic.BaseModel):
    def model_dump(self, **_: Any) -> dict[str, Any]:
        raise ValueError("no dump")


class RaisingMapping(dict[str, Any]):
    def __len__(self) -> int:
        raise ValueError("no length")


class Endless(UserDict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)


@dataclass
class RaisingField:
    value: int = 1

    def __getattribute__(self, name: str) -> Any:
        if name == "value":
            raise AttributeError(name)
        return super().__getattribute__(name)


def generate() -> Iterator[int]:
    yield 1


HOPELESS: list[tuple[Any, str]] = [
    (object(), "A value of type builtins.object at $ has no JSON form."),
    ({"a": [1, {"b": object()}]}, "A value of type builtins.object at $['a'][1]['b'] has no JSON form."),
    ({"line\nbreak": object()}, "A value of type builtins.object at $['line\\nbreak'] has no JSON form."),
    ({(1,): object(), "x": 2**70}, "A value of type builtins.object at $[?] has no JSON form."),
    (socket.socket, "A value of type builtins.type at $ has no JSON form."),
    (Point, "A value of type builtins.type at $ has no JSON form."),
    (Colour, "A value of type enum.EnumType at $ has no JSON form."),
    (ValueError("x"), "A value of type builtins.ValueError at $ has no JSON form."),
    (MagicMock(), "A value of type unittest.mock.MagicMock at $ has no JSON form."),
    (generate(), "A value of type builtins.generator at $ has no JSON form."),
    (iter([1]), "A value of type builtins.list_iterator at $ has no JSON form."),
    (types.SimpleNamespace(a=1), "A value of type types.SimpleNamespace at $ has no JSON form."),
    ({object(): 1}, "A value of type builtins.dict at $ has no JSON form."),
    ({frozenset({1}): 1}, "A value of type builtins.dict at $ has no JSON form."),
    (10**5000, "A value of type builtins.int at $ has no JSON form."),
    (circular(), "A value of type builtins.dict at $['self']['items'][0] contains itself."),
    (RaisingModel(), f"A value of type {__name__}.RaisingModel at $ has no JSON form."),
    (Endless(a=1), f"A value of type {__name__}.Endless at $ has no JSON form."),
    (RaisingField(), f"A value of type {__name__}.RaisingField at $ has no JSON form."),
    (Hostile(), f"A value of type {__name__}.Hostile at $ has no JSON form."),
]


@pytest.mark.parametrize(("value", "text"), HOPELESS, ids=[text for _, text in HOPELESS])
def test_a_hopeless_value_is_refused_in_one_line_that_names_type_and_place(value: Any, text: str) -> None:
    with pytest.raises(UnrepresentableValueError) as caught:
        json_value(value)
    assert str(caught.value) == text


@pytest.mark.parametrize(("value", "text"), HOPELESS, ids=[text for _, text in HOPELESS])
def test_only_the_hopeless_piece_is_lost_when_lossy_and_encoding_never_fails(value: Any, text: str) -> None:
    assert json_value({"bad": value, "good": 1}, lossy=True)["good"] == 1
    chunk: Any = {"type": "data-x", "data": {"bad": value, "good": 1}}
    event = encode_sse(chunk)
    assert event.startswith(b"data: ")
    assert orjson.loads(event[6:])["data"]["good"] == 1


def test_lossy_puts_null_where_the_piece_stood() -> None:
    assert json_value({"a": [1, object(), circular()]}, lossy=True) == {"a": [1, None, {"self": {"items": [None]}}]}


def test_a_dictionary_that_lies_about_its_length_cannot_stop_the_encoder() -> None:
    assert json_value(RaisingMapping(a=1), lossy=True) == {"a": 1}


def test_the_deepest_value_still_encodes_inside_a_message_in_a_body() -> None:
    value = json_value(nested(MAX_DEPTH))
    orjson.dumps({"messages": [{"parts": [{"input": value}]}]})


@pytest.mark.parametrize("extra", [[], [2**70]], ids=["fast path", "walk"])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 300, 100_000])
def test_a_value_deeper_than_the_bound_is_refused(extra: list[int], levels: int) -> None:
    with pytest.raises(UnrepresentableValueError, match="stands deeper than 246 levels") as caught:
        json_value([nested(levels - 1), *extra])
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("extra", [{}, {"n": 2**70}], ids=["fast path", "walk"])
def test_a_value_at_the_bound_is_kept_on_both_paths(extra: dict[str, Any]) -> None:
    assert json_value({"v": nested(MAX_DEPTH - 1), **extra})["v"] == nested(MAX_DEPTH - 1)


def test_a_later_change_of_the_tools_dictionary_does_not_change_what_was_sent() -> None:
    inner = [1]
    sent = json_value({"a": inner})
    inner.append(2)
    assert sent == {"a": [1]}


def test_numpy_values_become_lists_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Array:
        def tolist(self) -> Any:
            return [1, float("nan")]

    class Scalar:
        def tolist(self) -> Any:
            return float("nan")

    fake = types.ModuleType("numpy")
    monkeypatch.setattr(fake, "ndarray", Array, raising=False)
    monkeypatch.setattr(fake, "generic", Scalar, raising=False)
    monkeypatch.setitem(sys.modules, "numpy", fake)
    assert json_value({"a": Array(), "s": Scalar()}) == {"a": [1, None], "s": None}


def test_a_value_is_the_same_json_whatever_was_loaded_before() -> None:
    code = """
import ipaddress, re, sys
from stream_protocol.wire import json_value
assert "pydantic_core" not in sys.modules
print(json_value([ipaddress.ip_address("10.0.0.1"), {ipaddress.ip_network("10.0.0.0/8"): 1}, re.compile("a+")]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("['10.0.0.1', {'10.0.0.0/8': 1}, 'a+']\n", "")


plain_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
anything = st.recursive(
    plain_json
    | st.integers()
    | st.floats()
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.text(st.characters(codec=None, categories=["Cs", "Ll"])),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.sets(st.integers() | st.text() | st.none() | st.floats())
        | st.dictionaries(
            st.text() | st.integers() | st.floats() | st.sampled_from(["__proto__", "constructor", "prototype"]), inner
        )
    ),
    max_leaves=20,
)


@given(plain_json.filter(lambda value: not has_forbidden_key(value)))
def test_plain_json_is_what_the_standard_encoder_says(value: Any) -> None:
    assert repr(json_value(value)) == repr(json.loads(json.dumps(value)))


@given(anything)
def test_every_result_encodes_is_final_and_passes_the_clients_parser(value: Any) -> None:
    plain = json_value(value)
    assert orjson.loads(orjson.dumps(plain)) == plain
    assert json_value(plain) == plain
    assert not has_forbidden_key(plain)
    assert json_value(value, lossy=True) == plain


@given(st.text(st.characters(codec=None, categories=["Cs", "Ll", "So"])))
def test_text_is_always_encodable_and_loses_only_halves(text: str) -> None:
    whole = to_well_formed(text)
    whole.encode()
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert whole == "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in expected)


def test_the_json_in_a_sentence_is_short_and_in_ascii() -> None:
    assert short_json({"name": "é"}) == r'{"name":"\xe9"}'
    assert short_json([10**30, float("inf"), "\ud800"]) == r'["1000000000000000000000000000000",null,"\ufffd"]'
    assert short_json("x" * 100) == f'"{"x" * (SHORT_JSON_LENGTH - 1)}..."'
    assert short_json("Please tell me the weather in Oslo, and in Bergen as well, if you can.") == (
        '"Please tell me the weather in Oslo, and in Bergen as well,..."'
    )


@given(st.text("ab \n\t", max_size=40), st.integers(1, 50))
def test_the_beginning_of_a_text_has_whole_words_unless_one_is_too_long(text: str, limit: int) -> None:
    begin = whole_words(text, limit)
    assert text.startswith(begin)
    assert len(begin) <= limit
    if text[len(begin) :][:1].strip() and begin:
        assert len(begin) - len(begin.split()[-1]) <= limit // 2 + 1
