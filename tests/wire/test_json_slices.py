import json
from collections.abc import Generator
from random import Random
from typing import Any

import pytest

from stream_protocol.wire import _json_slices, parse_json
from stream_protocol.wire._forbidden_keys import rename_forbidden_keys
from stream_protocol.wire._json_slices import (
    CONTAINER_BYTES,
    MAX_LEVELS,
    PIECE,
    SLICE,
    VALUE_BYTES,
    TooManyValuesError,
    parse_json_in_slices,
)
from tests.batch import batch


def run(parsing: Generator[int, None, Any]) -> tuple[Any, list[int]]:
    """The generator's return value, and the values that it yields."""
    yielded: list[int] = []
    while True:
        try:
            yielded.append(next(parsing))
        except StopIteration as end:
            return end.value, yielded


def parsed(text: bytes) -> Any:
    return run(parse_json_in_slices(text))[0]


SCALARS: list[Any] = [1, None, True, 2.5, "é😀", "", "\ud83d", "\\\"'\n" * 8, "\U0001f600" * 20, "x" * 60]
KEYS = ["a", "b", "é", '"\\', "", "constructor", "prototype", "__proto__", "x" * 12]
SNIPPETS = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    '"a"',
    "1",
    "null",
    '"__proto__"',
    '"long é😀 \\n\\\\ \\ud83d text text"',
    '"\\',
]


def value(rng: Random, level: int = 0) -> Any:
    kind = rng.random()
    if level > 4 or kind < 0.35:
        return rng.choice(SCALARS)
    if kind < 0.65:
        return [value(rng, level + 1) for _ in range(rng.randrange(5))]
    return {rng.choice(KEYS): value(rng, level + 1) for _ in range(rng.randrange(5))}


def spoilt(text: str, rng: Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(SNIPPETS) + text[at + rng.randrange(3) :]


def a_text(rng: Random) -> bytes:
    text = json.dumps(value(rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, None, 1]))
    kind = rng.random()
    if kind < 0.3:
        text = spoilt(text, rng)
    elif kind < 0.4:
        text = "".join(rng.choice(SNIPPETS) for _ in range(rng.randrange(12)))
    return text.encode(errors="surrogatepass")


TOO_LARGE_FOR_A_PIECE = ("without an end", "a key is missing", "no list or object")
"""Longer keys, numbers and blanks, and a string alone, are refused: no client sends these as large as real pieces."""


def test_a_text_in_slices_is_what_the_whole_text_is(rng: Random, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2500):
        monkeypatch.setattr(_json_slices, "PIECE", rng.choice([16, 20, 24, 32, 50, 100]))
        monkeypatch.setattr(_json_slices, "SLICE", rng.choice([10, 1000]))
        text = a_text(rng)
        try:
            whole = rename_forbidden_keys(parse_json(text))
        except ValueError:
            with pytest.raises(ValueError):  # noqa: PT011 - each says something else
                parsed(text)
            continue
        try:
            found = parsed(text)
        except ValueError as refused:
            assert any(reason in str(refused) for reason in TOO_LARGE_FOR_A_PIECE), text  # noqa: PT017 - or it is taken
        else:
            assert found == whole, text


SIZE = 64 * 1024
LARGE = {
    "numbers": b"[" + b"1," * (SIZE // 2) + b"1]",
    "empty objects": b"[" + b"{}," * (SIZE // 3) + b"1]",
    "objects in objects": b"[" + (b'{"a":' * 200 + b"1" + b"}" * 200 + b",") * 50 + b"1]",
    "keys": b"{" + b",".join(b'"%05x":1' % number for number in range(SIZE // 10)) + b"}",
    "one key again and again": b"{" + b'"a":[],' * (SIZE // 7) + b'"a":1}',
    "a long text": b'{"a":"' + b"a" * SIZE + b'"}',
    "a long text of escapes": b'{"a":"' + rb"\u00e9" * (SIZE // 6) + b'"}',
    "a long text of lone surrogates": b'{"a":"' + rb"\ud83d" * (SIZE // 6) + b'"}',
    "a long text of backslashes": b'{"a":"' + b"\\\\" * (SIZE // 2) + b'"}',
    "a long text of emoji": b'["' + "😀".encode() * (SIZE // 4) + b'"]',
    "long texts": b"[" + b",".join([b'"' + b"a" * 4000 + b'"'] * 16) + b"]",
    "brackets around blanks": b"[" * 200 + b"1" + (b" " * 2000 + b"]") * 200,
    "texts without a comma": b'["a"' + b'""' * SIZE + b"]",
    "backslashes without an end": b'["' + b"\\" * (SIZE + 1) + b'"]',
    "brackets": b"[" * SIZE,
    "keys around keys": (b'{"' + b"k" * 4000 + b'":') * 20,
    "not UTF-8 at the end": b'{"a":"' + b"a" * SIZE + b'\xff"}',
    "continuation bytes": b'{"a":"' + b"\x80" * SIZE + b'"}',
    "a control character behind escapes": b'{"a":"' + rb"\n" * (SIZE // 2) + b'\x01"}',
    "no comma behind a list": b"[[" + b"1," * SIZE + b"1][]]",
    "no comma behind a text": b'["' + b"a" * SIZE + b'""' + b"a" * SIZE + b'"]',
    "no value behind a comma": b"[[" + b"1," * SIZE + b"]]",
    "no value before a comma": b'["' + b"a" * (PIECE // 16 - 12) + b'",[' + b" " * 20 + b",1]]",
    "two values": b"[1][2]",
    "a text alone": b'"' + b"a" * SIZE + b'"',
    "blanks": b'{"a":' + b" " * SIZE + b"1}",
    "digits": b"[" + b"1" * SIZE + b"]",
    "a long key": b'{"' + b"a" * SIZE + b'":1}',
}
REFUSED_BECAUSE_OF_THEIR_SIZE = [LARGE[name] for name in ("a text alone", "blanks", "a long key")]


@pytest.mark.slow
@batch(text=LARGE)
def test_a_large_text_is_handed_to_the_parser_in_small_pieces(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def parse(piece: bytes) -> Any:
        sizes.append(len(piece))
        return parse_json(piece)

    monkeypatch.setattr(_json_slices, "parse_json", parse)
    monkeypatch.setattr(_json_slices, "PIECE", PIECE // 16)
    monkeypatch.setattr(_json_slices, "SLICE", SLICE // 16)
    try:
        found, yielded = run(parse_json_in_slices(text))
    except ValueError:
        found, yielded = ValueError, [0] * len(text)
    assert max(sizes, default=0) <= 5 * PIECE // 16
    assert len(yielded) >= len(text) * 16 // SLICE - 1
    try:
        whole = parse_json(text)
    except ValueError:
        whole = ValueError
    assert found == whole or text in REFUSED_BECAUSE_OF_THEIR_SIZE


@pytest.mark.parametrize("bound", ["MAX_VALUES", "MAX_CONTAINERS"])
def test_a_text_has_no_more_values_than_a_bound(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json_slices, bound, 5)
    assert len(parsed(b"[[],[],[],[]]" if bound == "MAX_CONTAINERS" else b"[1,2,3,4,5]")) in (4, 5)
    with pytest.raises(TooManyValuesError):
        parsed(b"[[],[],[],[],[]]" if bound == "MAX_CONTAINERS" else b"[1,2,3,4,5,6]")


def test_a_text_has_no_more_levels_than_can_be_written_again() -> None:
    assert parsed(b"[" * MAX_LEVELS + b"]" * MAX_LEVELS)
    with pytest.raises(ValueError, match="nested"):
        parsed(b"[" * (MAX_LEVELS + 1) + b"]" * (MAX_LEVELS + 1))


def test_each_pause_says_what_the_values_before_it_take() -> None:
    _, yielded = run(parse_json_in_slices(b"[" + b"{}," * 20_000 + b"1]"))
    taken = 20_000 * (CONTAINER_BYTES + VALUE_BYTES)
    assert taken - 2 * max(yielded) < sum(yielded) <= taken + CONTAINER_BYTES


def test_forbidden_keys_are_renamed_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json_slices, "PIECE", 16)
    text = rb'{"\u005f_proto__":{"a":"0123456789abcdef0123456789"},"constructor":{"prototype":{"b":[1,2,3,4,5,6,7]}}}'
    assert parsed(text) == {
        "[__proto__]": {"a": "0123456789abcdef0123456789"},
        "constructor": {"[prototype]": {"b": [1, 2, 3, 4, 5, 6, 7]}},
    }


@pytest.mark.parametrize("size", [16, PIECE])
def test_nul_becomes_the_replacement_character_wherever_it_stands(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json_slices, "PIECE", size)
    long = rb"0123456789\\\u0000\\u0000\u0000\u0000\\\\u0000 \u00000 0123456789"
    text = rb'{"a\u0000":["\u0000",1],"\\u0000":{"constructor":"%b"},"\u0000":"\ud83d\u0000"}' % long
    assert parsed(text) == {
        "a\ufffd": ["\ufffd", 1],
        "\\u0000": {"constructor": "0123456789\\\ufffd\\u0000\ufffd\ufffd\\\\u0000 \ufffd0 0123456789"},
        "\ufffd": "\ufffd\ufffd",
    }


@pytest.mark.parametrize("text", [b'["\0\0u0000"]', rb'["\u0000' + b'\0"]', rb'["\u000"]', rb"\u0000", rb"[\u0000]"])
def test_nul_makes_no_json_of_what_is_none(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text)
