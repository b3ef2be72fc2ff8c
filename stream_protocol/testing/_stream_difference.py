"""Describes the first difference between two streams."""

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

Chunks = Sequence[Mapping[str, Any]]

CONTEXT_CHUNKS: Final = 2
"""Equal chunks that are shown before the first difference."""
COMPARED_CHUNKS: Final = 20
"""Chunks of each stream that are compared, from the first difference on."""
LINES: Final = 12
"""Lines of the comparison that are shown."""
WIDTH: Final = 160
"""Characters that are shown of a line, or of a value."""


def describe_difference(expected: Sequence[Chunks], actual: Sequence[Chunks]) -> str | None:
    """Describes the first turn that differs, beginning with its first difference; ``None`` if the streams are equal.

    Both have a list of chunks for each turn. The order of keys does not count.
    """
    for number, (wanted, came) in enumerate(zip_longest(expected, actual), 1):
        if wanted is None:
            return f"turn {number} was not expected."
        if came is None:
            return f"turn {number} is missing."
        description = _describe_turn(number, [*map(_line, wanted)], [*map(_line, came)])
        if description:
            return description
    return None


def _line(chunk: Mapping[str, Any]) -> str:
    """The chunk as one line of JSON: its type first, then the other keys in alphabetical order."""
    rest = {key: value for key, value in sorted(chunk.items()) if key != "type"}
    return json.dumps({"type": chunk["type"], **_sort_keys(rest)}, ensure_ascii=False, separators=(",", ":"))


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [*map(_sort_keys, value)] if isinstance(value, list) else value


def _describe_turn(number: int, wanted: list[str], came: list[str]) -> str | None:
    first = next((at for at, (one, other) in enumerate(zip_longest(wanted, came)) if one != other), None)
    if first is None:
        return None
    head = f"turn {number}, chunk {first + 1}: {_headline(wanted[first : first + 1], came[first : first + 1])}"
    before = wanted[max(0, first - CONTEXT_CHUNKS) : first]
    changes = [*_changes(wanted[first : first + COMPARED_CHUNKS], came[first : first + COMPARED_CHUNKS])]
    more = ["    …"] if len(changes) > LINES or max(len(wanted), len(came)) > first + COMPARED_CHUNKS else []
    return "\n".join([head, *_mark_lines("   ", before, before), *changes[:LINES], *more])


def _headline(wanted: list[str], came: list[str]) -> str:
    if not came:
        return "the stream ends before it."
    if not wanted:
        return "the stream should have ended before it."
    one, other = json.loads(wanted[0]), json.loads(came[0])
    if one["type"] != other["type"]:
        return f"{other['type']} in place of {one['type']}."
    path, before, now = next(_differing_values(one, other, ""))
    return f"{one['type']}: {path} is {now}, not {before}."


def _differing_values(one: Any, other: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """The paths at which two values differ, with the JSON that each has there."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            inner = f"{path}.{key}".lstrip(".")
            if key not in one or key not in other:
                yield inner, _value(one.get(key), known=key in one), _value(other.get(key), known=key in other)
            else:
                yield from _differing_values(one[key], other[key], inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differing_values(left, right, f"{path}[{index}]")
    elif _value(one) != _value(other):
        yield path, *_cut_both(_value(one), _value(other))


def _value(value: Any, *, known: bool = True) -> str:
    return json.dumps(value, ensure_ascii=False) if known else "absent"


def _cut_both(one: str, other: str) -> tuple[str, str]:
    at = _first_unequal(one, other)
    return _cut(one, at), _cut(other, at)


def _changes(wanted: Sequence[str], came: Sequence[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, wanted, came, autojunk=False)
    for kind, begin, end, other_begin, other_end in matcher.get_opcodes():
        before, now = wanted[begin:end], came[other_begin:other_end]
        if kind == "equal":
            yield from _mark_lines("   ", before, before)
        else:
            yield from _mark_lines("  -", before, now)
            yield from _mark_lines("  +", now, before)


def _mark_lines(mark: str, lines: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """The lines with a mark in front. A long line is cut around the place where it differs from the other stream's."""
    for line, other in zip_longest(lines, others[: len(lines)]):
        yield f"{mark} {_cut(line, _first_unequal(line, other or line))}"


def _first_unequal(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)


def _cut(text: str, at: int = 0) -> str:
    """The text; if it is longer than a line, the part of it around ``at``."""
    begin = max(0, at - WIDTH // 2) if at >= WIDTH * 3 // 4 else 0
    end = begin + WIDTH
    return ("…" if begin else "") + text[begin:end] + ("…" if len(text) > end else "")
