"""Counts the maximum cost of checking an answer against a JSON schema, before the check runs.

The cost is a number of steps. In one step, jsonschema-rs compares a value with a schema. Slow keywords count as more
steps. All alternatives of a schema are counted, even if the first alternative matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

STEPS: Final = 16_000
"""The maximum number of steps for all answers of one request. A step takes up to 3 µs."""

SCHEMA_VALUES: Final = 1_000
"""The maximum number of values and keys in the schemas for one request."""

ANSWER_VALUES: Final = 20_000
"""The maximum number of values and keys in the answers of one request."""

SHORT: Final = 100
"""The maximum number of values in a short answer. If checking a short answer costs too much, the schema is unusable."""

PATTERN_COST: Final = 6_000
"""The maximum number of steps for compiling the patterns of one request."""

MAX_PATTERN: Final = 500
"""The maximum number of characters of a pattern. jsonschema-rs reads a pattern in quadratic time."""

MAX_DEPTH: Final = 100
"""The maximum number of nesting levels of a schema, of an answer, and of schemas that apply to the same value."""

MAX_INTEGER: Final = 2**64
LARGEST, SMALLEST = 1e30, 1e-30
"""Bounds for the absolute value of a float. jsonschema-rs compares other floats as long fractions."""

MAX_REFERENCE: Final = 1_000
"""The maximum number of characters of a ``$ref``."""

_LONG_TEXT: Final = 1_000
"""The number of characters of a text that count as one more value."""

_EXACT: Final = 2**53
"""The smallest integer that may have the hash of another integer. For such integers, ``uniqueItems`` compares all
pairs."""

UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
UNEVALUATED_COST: Final = 4
"""The factor for the cost of a schema with an ``unevaluated…`` keyword, which checks the same values again."""

_HEAVY: Final = re.compile(r"\{|\\[pP]")
"""Finds repetition counts (``{``) and Unicode classes, which are far longer when compiled."""

_HEAVY_COST: Final = 500
_PATTERN_STEP: Final = 25
"""The number of characters that one step searches with a pattern of cost 1."""

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_LIMITS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SCHEMAS: Final = frozenset(
    {*_LISTS, *_SINGLE, *UNEVALUATED, "properties", "patternProperties", "additionalProperties", "propertyNames"}
    | {"dependentSchemas", "items", "prefixItems", "contains", "$defs", "definitions"}
)
"""Keywords that contain schemas, whose costs are added separately."""


class TooCostlyError(Exception):
    """Raised if an answer has too many values or levels, or if its check takes too many steps."""


class UnusableSchemaError(Exception):
    """Raised for a schema that is too large or too slow, or whose cost cannot be counted."""


@dataclass(slots=True)
class Budget:
    """The remaining limits for the schema checks of a request. All answers of the request share one budget."""

    steps: int = STEPS
    schema_values: int = SCHEMA_VALUES
    answer_values: int = ANSWER_VALUES
    pattern_cost: int = PATTERN_COST

    def take_schema(self, schema: Any) -> None:
        """Subtract the cost of a schema and its patterns from the budget. Raises ``UnusableSchemaError`` if the budget
        is exhausted, or if a pattern is too long."""
        count = count_values(schema, self.schema_values)
        if count is None:
            raise UnusableSchemaError("it is too large")
        self.schema_values -= count
        patterns = set(_patterns(schema))
        self.pattern_cost -= sum(map(_pattern_cost, patterns))
        if self.pattern_cost < 0 or any(len(pattern) > MAX_PATTERN for pattern in patterns):
            raise UnusableSchemaError("its patterns are too long")

    def take_answer(self, schema: Any, answer: Any) -> None:
        """Subtract the cost of checking an answer from the budget. Raises ``TooCostlyError`` if the budget is too
        small. If the answer is short, the schema must be the cause. Then raises ``UnusableSchemaError`` instead.
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
    """Return the number of values and keys in a JSON value. A long text counts as several values. Returns ``None`` for
    more than ``most`` values, too many levels, or very long numbers."""
    count, level = 1, [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            match item:
                case dict():
                    count += len(item)
                    below += item
                    below += item.values()
                case list():
                    below += item
                case str():
                    count += len(item) // _LONG_TEXT
                case bool():
                    pass
                case int() if abs(item) >= MAX_INTEGER:
                    return None
                case float() if item and not SMALLEST <= abs(item) <= LARGEST:
                    return None
        count += len(below)
        if count > most:
            return None
        if not below:
            return count
        level = below
    return None


def _all_values(value: Any) -> Iterator[Any]:
    """Yield a JSON value and all values inside it, without keys."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


def objects(value: Any) -> Iterator[dict[str, Any]]:
    return (item for item in _all_values(value) if isinstance(item, dict))


def _patterns(schema: Any) -> Iterator[str]:
    for part in objects(schema):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        if isinstance(part.get("patternProperties"), dict):
            yield from part["patternProperties"]


def _pattern_cost(pattern: str) -> int:
    return len(pattern) + (_HEAVY_COST if _HEAVY.search(pattern) else 0)


def _numbers(value: Any) -> int:
    return sum(isinstance(item, int | float) and not isinstance(item, bool) for item in _all_values(value))


def _number_steps(value: Any) -> int:
    """Return the number of steps for one comparison of ``value`` with a number. Large integers and floats take more
    steps, because jsonschema-rs compares them as fractions.
    """
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
    """Counts the maximum cost of checking an answer against a schema. Do not change the schema while this object is in
    use."""

    root: Any
    steps: int
    """The remaining steps."""
    _own: dict[int, tuple[int, int]] = field(default_factory=dict)
    """``id()`` of a schema object -> its size without nested schemas, and the count of the numbers with which it
    compares a value."""
    _targets: dict[str, Any] = field(default_factory=dict)
    """Reference -> the schema that it points to."""

    def __post_init__(self) -> None:
        keys: set[str] = set()
        for part in objects(self.root):
            keys.update(part)
            if part is not self.root and isinstance(part.get("$id"), str):
                raise UnusableSchemaError("it holds other documents")
        if not keys.isdisjoint(UNEVALUATED) and not keys.isdisjoint(_REFERENCES):
            raise UnusableSchemaError("it has references beside unevaluated values")

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooCostlyError

    def add(self, schema: Any, value: Any, times: int = 1, depth: int = 0) -> None:
        """Add the cost of checking the value against the schema, multiplied by ``times``."""
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
                    size += len(_dict(argument))
            numbers = sum(_numbers(schema.get(keyword)) for keyword in ("const", "enum", "multipleOf"))
            numbers += sum(isinstance(schema.get(keyword), float) for keyword in _LIMITS)
            known = self._own[id(schema)] = size, numbers
        return known

    def _in_place(self, schema: dict[str, Any], value: Any) -> Iterator[Any]:
        """Yield the schemas inside ``schema`` that apply to the value itself, such as those in ``anyOf``. Omit schemas
        for its items or fields.
        """
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
                self._add_search(pattern, name, 2 * times)  # searched again for `additionalProperties`
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
        """Return the schema to which a ``$ref`` points. If there is no such schema, return ``True``: this schema
        matches every value.
        """
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
        found = [part for part in objects(self.root) if name in (part.get("$anchor"), part.get("$dynamicAnchor"))]
        if len(found) > 1:
            raise UnusableSchemaError("it has an anchor twice")
        return found[0] if found else True


def _list(argument: Any) -> list[Any]:
    return argument if isinstance(argument, list) else []


def _dict(argument: Any) -> dict[str, Any]:
    return argument if isinstance(argument, dict) else {}
