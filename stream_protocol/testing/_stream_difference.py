"""Describes the first difference between two streams of chunks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

Chunks = Sequence[Mapping[str, Any]]

CONTEXT_CHUNKS: Final = 2
"""The number of equal chunks to show before the first difference."""
COMPARED_CHUNKS: Final = 20
"""The number of chunks of each stream to show from the first difference on."""
LINES: Final = 12
"""The maximum number of lines to show."""
WIDTH: Final = 160
"""The maximum number of characters of a line or a value."""


def describe_difference(expected: Sequence[Chunks], actual: Sequence[Chunks]) -> str | None:
    """Describe the first difference between two lists of responses. Returns ``None`` if they are equal, apart from the
    order of keys.
    """
    for number, (expected_turn, actual_turn) in enumerate(zip_longest(expected, actual), 1):
        if expected_turn is None:
            return f"turn {number} was not expected."
        if actual_turn is None:
            return f"turn {number} is missing."
        description = _describe_turn(number, [*map(_line, expected_turn)], [*map(_line, actual_turn)])
        if description:
            return description
    return None


def _line(chunk: Mapping[str, Any]) -> str:
    """Return the chunk as one line of JSON. The type comes first, then the other keys in alphabetical order."""
    rest = {key: value for key, value in sorted(chunk.items()) if key != "type"}
    return json.dumps({"type": chunk["type"], **_sort_keys(rest)}, ensure_ascii=False, separators=(",", ":"))


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [*map(_sort_keys, value)] if isinstance(value, list) else value


def _describe_turn(number: int, expected: list[str], actual: list[str]) -> str | None:
    first = next((at for at, (left, right) in enumerate(zip_longest(expected, actual)) if left != right), None)
    if first is None:
        return None
    head = f"turn {number}, chunk {first + 1}: {_headline(expected[first : first + 1], actual[first : first + 1])}"
    before = expected[max(0, first - CONTEXT_CHUNKS) : first]
    changes = [*_changes(expected[first : first + COMPARED_CHUNKS], actual[first : first + COMPARED_CHUNKS])]
    more = ["    …"] if len(changes) > LINES or max(len(expected), len(actual)) > first + COMPARED_CHUNKS else []
    return "\n".join([head, *_mark_lines("   ", before, before), *changes[:LINES], *more])


def _headline(expected: list[str], actual: list[str]) -> str:
    if not actual:
        return "the stream ends before it."
    if not expected:
        return "the stream should have ended before it."
    first, second = json.loads(expected[0]), json.loads(actual[0])
    if first["type"] != second["type"]:
        return f"{second['type']} in place of {first['type']}."
    path, before, now = next(_differing_values(first, second, ""))
    return f"{first['type']}: {path} is {now}, not {before}."


def _differing_values(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield each path at which the two values differ, with the JSON of both values at this path."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            inner = f"{path}.{key}".lstrip(".")
            if key not in expected or key not in actual:
                yield (
                    inner,
                    _value(expected.get(key), known=key in expected),
                    _value(actual.get(key), known=key in actual),
                )
            else:
                yield from _differing_values(expected[key], actual[key], inner)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from _differing_values(left, right, f"{path}[{index}]")
    elif _value(expected) != _value(actual):
        yield path, *_cut_both(_value(expected), _value(actual))


def _value(value: Any, *, known: bool = True) -> str:
    return json.dumps(value, ensure_ascii=False) if known else "absent"


def _cut_both(left: str, right: str) -> tuple[str, str]:
    at = _first_unequal(left, right)
    return _cut(left, at), _cut(right, at)


def _changes(expected: Sequence[str], actual: Sequence[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, expected, actual, autojunk=False)
    for kind, begin, end, other_begin, other_end in matcher.get_opcodes():
        before, now = expected[begin:end], actual[other_begin:other_end]
        if kind == "equal":
            yield from _mark_lines("   ", before, before)
        else:
            yield from _mark_lines("  -", before, now)
            yield from _mark_lines("  +", now, before)


def _mark_lines(mark: str, lines: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Yield each line with ``mark`` before it. A long line is cut: only the text around its first difference remains.
    The difference is to the line with the same index in ``others``.
    """
    for line, other in zip_longest(lines, others[: len(lines)]):
        yield f"{mark} {_cut(line, _first_unequal(line, other or line))}"


def _first_unequal(left: str, right: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)


def _cut(text: str, at: int = 0) -> str:
    """Return at most ``WIDTH`` characters of the text around the index ``at``. ``…`` stands for omitted text."""
    begin = max(0, at - WIDTH // 2) if at >= WIDTH * 3 // 4 else 0
    end = begin + WIDTH
    return ("…" if begin else "") + text[begin:end] + ("…" if len(text) > end else "")
