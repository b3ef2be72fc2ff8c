"""Counts what checking an answer against a JSON schema may cost, before it is done.

The cost is a number of steps. Each pair of a schema and a value that jsonschema-rs may look at is one step. Keywords
that take longer are more steps. It is a bound for any answer: all alternatives count, also those after one that fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

STEPS: Final = 16_000
"""Steps that the answers of one request may take together. A step takes up to 3 µs."""

SCHEMA_VALUES: Final = 1_000
"""The most values, keys among them, of the schemas that one request is checked by."""

ANSWER_VALUES: Final = 20_000
"""The most values, keys among them, of the answers of one request."""

SHORT: Final = 100
"""Values of a short answer. If it takes too many steps, its schema is at fault."""

PATTERN_COST: Final = 6_000
"""The steps that compiling the patterns of one request may take: see ``_pattern_cost``."""

MAX_PATTERN: Final = 500
"""Characters of one pattern: jsonschema-rs reads it in quadratic time."""

MAX_DEPTH: Final = 100
"""Levels of nesting: in a schema, in an answer, and of schemas that are applied within each other."""

MAX_INTEGER: Final = 2**64
LARGEST, SMALLEST = 1e30, 1e-30
"""Numbers beyond these are compared as fractions of many digits."""

MAX_REFERENCE: Final = 1_000
"""Characters of a reference."""

_LONG_TEXT: Final = 1_000
"""A text counts as one more value for each so many characters."""

_EXACT: Final = 2**53
"""Integers from here on share hashes, so ``uniqueItems`` compares each with each."""

UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
UNEVALUATED_COST: Final = 4
"""Factor for the cost of a schema in or beside ``unevaluated…``, which is judged again."""

_HEAVY: Final = re.compile(r"\{|\\[pP]")
"""Repeated parts and classes of Unicode, which make the program of a pattern far longer than its text."""

_HEAVY_COST: Final = 500
_PATTERN_STEP: Final = 25
"""A step searches so many characters by a pattern of cost 1."""

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SCHEMAS: Final = frozenset(
    {*_LISTS, *_SINGLE, *UNEVALUATED, "properties", "patternProperties", "additionalProperties", "propertyNames"}
    | {"dependentSchemas", "items", "prefixItems", "contains", "$defs", "definitions"}
)
"""Keywords with schemas in their arguments, which are counted when they are reached."""


class TooCostlyError(Exception):
    """Checking the answer takes too many steps, or needs too many levels."""


class UnusableSchemaError(Exception):
    """The schema has something whose cost cannot be counted. The message says what."""


@dataclass(slots=True)
class Budget:
    """The rest of a request's budget of work. All answers of the request share it."""

    steps: int = STEPS
    schema_values: int = SCHEMA_VALUES
    answer_values: int = ANSWER_VALUES
    pattern_cost: int = PATTERN_COST

    def take_schema(self, schema: Any) -> None:
        """Counts a schema and its patterns. Raises ``UnusableSchemaError`` if too little is left for it."""
        count = count_values(schema, self.schema_values)
        if count is None:
            raise UnusableSchemaError("it is too large")
        self.schema_values -= count
        patterns = set(_patterns(schema))
        self.pattern_cost -= sum(map(_pattern_cost, patterns))
        if self.pattern_cost < 0 or any(len(pattern) > MAX_PATTERN for pattern in patterns):
            raise UnusableSchemaError("its patterns are too long")

    def take_answer(self, schema: Any, answer: Any) -> None:
        """Counts an answer, and what it takes to check it.

        Raises ``TooCostlyError`` if that is too much, ``UnusableSchemaError`` if the schema makes it so.
        """
        count = count_values(answer, self.answer_values)
        if count is None:
            raise TooCostlyError
        self.answer_values -= count
        cost = _Cost(schema, self.steps)
        try:
            cost.add(schema, answer)
        except TooCostlyError:
            if count > SHORT:
                raise
            raise UnusableSchemaError("it takes too many steps") from None
        finally:
            self.steps = max(cost.steps, 0)


def count_values(value: Any, most: int) -> int | None:
    """The number of values and keys in a JSON value; a long text counts as several.

    ``None`` if there are more than ``most``, if it is nested too deeply, or if it has a number that is too long.
    """
    count, level = 1, [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for one in level:
            match one:
                case dict():
                    count += len(one)
                    below += one
                    below += one.values()
                case list():
                    below += one
                case str():
                    count += len(one) // _LONG_TEXT
                case bool():
                    pass
                case int() if abs(one) >= MAX_INTEGER:
                    return None
                case float() if one and not SMALLEST <= abs(one) <= LARGEST:
                    return None
        count += len(below)
        if count > most:
            return None
        if not below:
            return count
        level = below
    return None


def _all_values(value: Any) -> Iterator[Any]:
    """A JSON value and all values in it."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value."""
    return (one for one in _all_values(value) if isinstance(one, dict))


def _patterns(schema: Any) -> Iterator[str]:
    for one in objects(schema):
        if isinstance(one.get("pattern"), str):
            yield one["pattern"]
        if isinstance(one.get("patternProperties"), dict):
            yield from one["patternProperties"]


def _pattern_cost(pattern: str) -> int:
    return len(pattern) + (_HEAVY_COST if _HEAVY.search(pattern) else 0)


def _numbers(value: Any) -> int:
    """The number of numbers in a JSON value."""
    return sum(isinstance(one, int | float) and not isinstance(one, bool) for one in _all_values(value))


def _number_steps(value: Any) -> int:
    """Steps of one comparison with a number: a number that is not a small integer is compared as a fraction."""
    match value:
        case bool() | str() | None:
            return 0
        case int() if abs(value) < _EXACT:
            return 2
        case float() if 1e-5 <= abs(value) <= 1e15 or not value:
            return 10
    return 40


@dataclass(slots=True)
class _Cost:
    """The highest possible cost of checking an answer. The schema must not change meanwhile."""

    root: Any
    steps: int
    """Steps that are left."""
    _own: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Schema, by identity -> its size without the schemas in it, and the numbers that it compares values with."""
    _targets: dict[str, Any] = field(default_factory=dict)
    """Reference -> the schema that it leads to."""

    def __post_init__(self) -> None:
        keys: set[str] = set()
        for one in objects(self.root):
            keys.update(one)
            if one is not self.root and isinstance(one.get("$id"), str):
                raise UnusableSchemaError("it holds other documents")
        if not keys.isdisjoint(UNEVALUATED) and not keys.isdisjoint(_REFERENCES):
            raise UnusableSchemaError("it has references beside unevaluated values")

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooCostlyError

    def add(self, schema: Any, value: Any, times: int = 1, depth: int = 0) -> None:
        """Adds the cost of judging the value so many times."""
        if depth > MAX_DEPTH:
            raise TooCostlyError
        if not isinstance(schema, dict):
            return self.spend(times)
        size, numbers = self._own_cost(schema)
        size += len(value) // _LONG_TEXT if isinstance(value, str) else 0
        self.spend(times * (size + numbers * _number_steps(value)))
        again = times * UNEVALUATED_COST if any(keyword in schema for keyword in UNEVALUATED) else times
        for part in self._in_place(schema, value):
            self.add(part, value, again, depth + 1)
        match value:
            case str() if isinstance(schema.get("pattern"), str):
                self._add_search(schema["pattern"], value, times)
            case dict():
                self._add_members(schema, value, times, depth + 1)
            case list():
                self._add_items(schema, value, times, depth + 1)
        return None

    def _own_cost(self, schema: dict[str, Any]) -> tuple[int, int]:
        known = self._own.get(id(schema))
        if known is None:
            size = 1
            for keyword, argument in schema.items():
                if keyword not in _SCHEMAS:
                    size += count_values(argument, SCHEMA_VALUES) or SCHEMA_VALUES
                elif keyword in ("properties", "dependentSchemas"):
                    size += len(argument)
            numbers = sum(_numbers(schema.get(keyword)) for keyword in ("const", "enum", "multipleOf"))
            numbers += sum(isinstance(schema.get(keyword), float) for keyword in _LIMITS)
            known = self._own[id(schema)] = size, numbers
        return known

    def _in_place(self, schema: dict[str, Any], value: Any) -> Iterator[Any]:
        """The schemas by which the value itself is judged, too."""
        for keyword in _LISTS:
            yield from _list(schema.get(keyword))
        for keyword in _SINGLE:
            if keyword in schema:
                yield schema[keyword]
        for keyword in _REFERENCES:
            if keyword in schema:
                yield self._target(schema[keyword])
        if isinstance(value, dict):
            yield from (part for name, part in _dict(schema.get("dependentSchemas")).items() if name in value)

    def _add_search(self, pattern: str, text: str, times: int) -> None:
        self.spend(times * (1 + len(text) * _pattern_cost(pattern) // _PATTERN_STEP))

    def _add_members(self, schema: dict[str, Any], value: dict[str, Any], times: int, depth: int) -> None:
        properties, patterns = _dict(schema.get("properties")), _dict(schema.get("patternProperties"))
        for name, part in properties.items():
            if name in value:
                self.add(part, value[name], times, depth)
        for name, item in value.items():
            for pattern, part in patterns.items():
                self._add_search(pattern, name, 2 * times)  # and once more for the names that match none
                self.add(part, item, times, depth)
            if name not in properties and "additionalProperties" in schema:
                self.add(schema["additionalProperties"], item, times, depth)
            if "unevaluatedProperties" in schema:
                self.add(schema["unevaluatedProperties"], item, times * UNEVALUATED_COST, depth)
            if "propertyNames" in schema:
                self.add(schema["propertyNames"], name, times, depth)

    def _add_items(self, schema: dict[str, Any], value: list[Any], times: int, depth: int) -> None:
        first = _list(schema.get("prefixItems"))
        again = times * UNEVALUATED_COST if "unevaluatedItems" in schema else times
        for part, item in zip(first, value, strict=False):
            self.add(part, item, times, depth)
        for index, item in enumerate(value):
            if "items" in schema and index >= len(first):
                self.add(schema["items"], item, times, depth)
            if "contains" in schema:
                self.add(schema["contains"], item, again, depth)
            if "unevaluatedItems" in schema:
                self.add(schema["unevaluatedItems"], item, again, depth)
        if schema.get("uniqueItems") is True:
            large = sum(isinstance(item, int) and abs(item) >= _EXACT for item in _all_values(value))
            self.spend(times * ((count_values(value, ANSWER_VALUES) or ANSWER_VALUES) + large * large // 10))

    def _target(self, reference: Any) -> Any:
        """The schema that a reference leads to; True for one that leads nowhere, which jsonschema-rs refuses."""
        if not isinstance(reference, str) or not reference.startswith("#") or len(reference) > MAX_REFERENCE:
            raise UnusableSchemaError("it refers to another document")
        if reference not in self._targets:
            self._targets[reference] = self._find(unquote(reference[1:]))
        return self._targets[reference]

    def _find(self, fragment: str) -> Any:
        if fragment and not fragment.startswith("/"):
            return self._find_anchor(fragment)
        schema = self.root
        for step in fragment.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            match schema:
                case dict() if key in schema:
                    schema = schema[key]
                case list() if key.isdecimal() and int(key) < len(schema):
                    schema = schema[int(key)]
                case _:
                    return True
        return schema

    def _find_anchor(self, name: str) -> Any:
        found = [one for one in objects(self.root) if name in (one.get("$anchor"), one.get("$dynamicAnchor"))]
        if len(found) > 1:
            raise UnusableSchemaError("it has an anchor twice")
        return found[0] if found else True


def _list(argument: Any) -> list[Any]:
    return argument if isinstance(argument, list) else []


def _dict(argument: Any) -> dict[str, Any]:
    return argument if isinstance(argument, dict) else {}
