"""What the keywords of JSON Schema (draft 2020-12) say, for schemas that nobody vouches for.

Whoever writes a schema can make a usual validator work for ever: with references that meet again and again, with
patterns, with ``uniqueItems``. Here each pair of a schema and a value is judged once, so the work is bounded by
the product of their sizes; and it is counted, in ``Budget``.

A judgement has three outcomes: the value fits, it does not, or that cannot be told. The last one comes of what is not
run: a reference in a circle or out of the document, a pattern with look-around, a keyword with a bad argument. Only
what surely does not fit is refused. So every question can be answered, whatever its schema is.

A rule does not call another one: it yields the pair that it has to know of, and gets the judgement. So the depth of a
schema takes no stack. ``format`` is not checked: the standard leaves that open.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from stream_protocol.session.schemas._arguments import (
    TYPES,
    are_maps_of_names,
    are_names,
    are_types,
    is_anything,
    is_count,
    is_divisor,
    is_flag,
    is_list,
    is_map,
    is_number,
    is_text,
)

if TYPE_CHECKING:
    from stream_protocol.session.schemas._check import Check

Path: TypeAlias = tuple[str, ...]
"""The keys and indexes that lead to a field."""

UNKNOWN: Final = "unknown"
Judgement: TypeAlias = Path | Literal["unknown"] | None
"""The path of the first field that does not fit; ``None`` if the value fits."""

Steps: TypeAlias = Generator[tuple["Rule", Any, Any], Any, Any]
"""Yields what has to be known, as rule, schema and value, and is sent what that rule returns."""
Rule: TypeAlias = Callable[["Check", Any, Any], Steps]
_Keyword: TypeAlias = Callable[["Check", Any, Any, dict[str, Any]], Steps]
"""Takes the check, the argument of the keyword, the value, and the schema with the keyword."""


def judge(check: Check, schema: Any, value: Any) -> Steps:
    """Returns the ``Judgement`` of a value by a schema."""
    if isinstance(schema, bool):
        return None if schema else ()
    if not isinstance(schema, dict):
        check.skip("schema", schema)
        return UNKNOWN
    keywords = _keywords(value)
    judgement: Judgement = None
    for keyword, argument in schema.items():
        if keyword not in keywords:
            continue
        has_shape, rule = keywords[keyword]
        check.budget.spend(1 + len(argument) if isinstance(argument, list | dict) else 1)
        if has_shape(argument):
            part = yield from rule(check, argument, value, schema)
        else:
            check.skip(keyword, argument)
            part = UNKNOWN
        if isinstance(part, tuple):
            return part
        judgement = judgement or part
    return judgement


def _asserts(holds: Callable[[Check, Any, Any], bool | None]) -> _Keyword:
    """A keyword that needs to know of nothing else. ``holds`` returns ``None`` if it cannot tell."""

    def rule(check: Check, argument: Any, value: Any, _schema: dict[str, Any]) -> Steps:
        yield from ()
        return {True: None, False: (), None: UNKNOWN}[holds(check, argument, value)]

    return rule


def _applies(parts: Callable[[Check, Any, Any, dict[str, Any]], Iterable[tuple[Path, Any, Any]]]) -> _Keyword:
    """A keyword by which other schemas must fit, all of them. ``parts``: path, schema and value."""

    def rule(check: Check, argument: Any, value: Any, schema: dict[str, Any]) -> Steps:
        judgement: Judgement = None
        for path, part_schema, part in parts(check, argument, value, schema):
            judged = yield judge, part_schema, part
            if isinstance(judged, tuple):
                return (*path, *judged)
            judgement = judgement or judged
        return judgement

    return rule


# ---- any value


def _is_type(_check: Check, names: Any, value: Any) -> bool:
    return any(TYPES[name](value) for name in ([names] if isinstance(names, str) else names))


def _reference(check: Check, reference: str, value: Any, _schema: dict[str, Any]) -> Steps:
    target = check.target(reference)
    if target is None:
        check.skip("$ref", reference)
        return UNKNOWN
    return (yield judge, target, value)


def _any_of(_check: Check, schemas: list[Any], value: Any, _schema: dict[str, Any]) -> Steps:
    judgement: Judgement = ()
    for one in schemas:
        judged = yield judge, one, value
        if judged is None:
            return None
        judgement = UNKNOWN if judged == UNKNOWN else judgement
    return judgement


def _one_of(_check: Check, schemas: list[Any], value: Any, _schema: dict[str, Any]) -> Steps:
    counted = _Count()
    for one in schemas:
        counted.add((yield judge, one, value))
    return counted.judgement(1, 1)


def _contains(_check: Check, contained: Any, items: list[Any], schema: dict[str, Any]) -> Steps:
    counted = _Count()
    for item in items:
        counted.add((yield judge, contained, item))
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(items))
    return counted.judgement(least, most) if is_count(least) and is_count(most) else UNKNOWN


@dataclass(slots=True)
class _Count:
    """How many fit. Those of which that cannot be told may fit or not."""

    sure: int = 0
    unsure: int = 0

    def add(self, judged: Judgement) -> None:
        self.sure += judged is None
        self.unsure += judged == UNKNOWN

    def judgement(self, least: int, most: int) -> Judgement:
        """Whether that many fit."""
        if self.sure > most or self.sure + self.unsure < least:
            return ()
        return None if self.sure >= least and self.sure + self.unsure <= most else UNKNOWN


def _not(_check: Check, schema: Any, value: Any, _schema: dict[str, Any]) -> Steps:
    judged = yield judge, schema, value
    if judged == UNKNOWN:
        return UNKNOWN
    return () if judged is None else None


def _if(_check: Check, condition: Any, value: Any, schema: dict[str, Any]) -> Steps:
    judged = yield judge, condition, value
    if judged == UNKNOWN:
        return UNKNOWN
    return (yield judge, schema.get("then" if judged is None else "else", True), value)


# ---- numbers


def _is_multiple(check: Check, divisor: float, value: float) -> bool:
    """In decimals, as people write them: 19.99 is a multiple of 0.01."""
    check.budget.spend(_DIVISION_STEPS)
    return isfinite(value) and (Fraction(str(value)) / Fraction(str(divisor))).denominator == 1


# ---- objects


def _required(_check: Check, names: list[str], value: dict[str, Any], _schema: dict[str, Any]) -> Steps:
    yield from ()
    return next(((name,) for name in names if name not in value), None)


def _dependent_required(
    check: Check, names: dict[str, list[str]], value: dict[str, Any], _schema: dict[str, Any]
) -> Steps:
    yield from ()
    for name, others in names.items():
        check.budget.spend(len(others))
        if name in value and (missing := next((other for other in others if other not in value), None)) is not None:
            return (missing,)
    return None


def _properties(
    _check: Check, schemas: dict[str, Any], value: dict[str, Any], _schema: dict[str, Any]
) -> Iterator[tuple[Path, Any, Any]]:
    return (((name,), schema, value[name]) for name, schema in schemas.items() if name in value)


def _pattern_properties(
    check: Check, schemas: dict[str, Any], value: dict[str, Any], _schema: dict[str, Any]
) -> Iterator[tuple[Path, Any, Any]]:
    for pattern, schema in schemas.items():
        yield from (((name,), schema, item) for name, item in value.items() if check.matches(pattern, name))


def _additional_properties(
    check: Check, additional: Any, value: dict[str, Any], schema: dict[str, Any]
) -> Iterator[tuple[Path, Any, Any]]:
    named = _named_properties(check, schema, value)
    return (((name,), additional, item) for name, item in value.items() if name not in named)


def _named_properties(check: Check, schema: dict[str, Any], value: dict[str, Any]) -> set[str]:
    """The keys of a value for which its schema has a property or a pattern, surely or perhaps."""
    check.budget.spend(len(value))
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    named = {name for name in value if isinstance(properties, dict) and name in properties}
    for pattern in patterns if isinstance(patterns, dict) else ():
        named |= {name for name in value if name not in named and check.matches(pattern, name) is not False}
    return named


def _dependent_schemas(
    _check: Check, schemas: dict[str, Any], value: dict[str, Any], _schema: dict[str, Any]
) -> Iterator[tuple[Path, Any, Any]]:
    return (((), schema, value) for name, schema in schemas.items() if name in value)


# ---- arrays


def _are_unique(check: Check, unique: bool, items: list[Any]) -> bool:  # noqa: FBT001 - the keyword's argument
    return not unique or len(set(map(check.equal, items))) == len(items)


def _items(_check: Check, schema: Any, items: list[Any], parent: dict[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    first = parent.get("prefixItems")
    begin = len(first) if isinstance(first, list) else 0
    return (((str(index),), schema, item) for index, item in enumerate(items) if index >= begin)


# ---- unevaluated properties and items


def _unevaluated(check: Check, argument: Any, value: Any, schema: dict[str, Any]) -> Steps:
    """Judges what no other keyword of the schema, or of one that applies in its place, has judged."""
    evaluated = yield _evaluated, schema, value
    if evaluated == UNKNOWN:
        return UNKNOWN
    judgement: Judgement = None
    check.budget.spend(len(value))
    for key, item in _members(value):
        if key not in evaluated:
            judged = yield judge, argument, item
            if isinstance(judged, tuple):
                return (str(key), *judged)
            judgement = judgement or judged
    return judgement


def _evaluated(check: Check, schema: Any, value: Any) -> Steps:
    """Returns the keys, or the indexes, that keywords of the schema judge, but for ``unevaluated…`` itself."""
    if not isinstance(schema, dict):
        return frozenset()
    check.budget.spend(len(value))
    evaluated: set[Any]
    if isinstance(value, dict):
        evaluated = set(value) if "additionalProperties" in schema else _named_properties(check, schema, value)
    elif "items" in schema:
        evaluated = set(range(len(value)))
    else:
        first = schema.get("prefixItems")
        evaluated = set(range(len(first) if isinstance(first, list) else 0))
        for index, item in enumerate(value) if "contains" in schema else ():
            if not isinstance((yield judge, schema["contains"], item), tuple):
                evaluated.add(index)
    everything = frozenset(key for key, _ in _members(value))
    parts = _in_place(check, schema, value)
    if "if" in schema:
        condition = yield judge, schema["if"], value
        parts += [schema["if"], schema.get("then", True)] if condition is None else [schema.get("else", True)]
        evaluated |= everything if condition == UNKNOWN else frozenset()
    own = "unevaluatedProperties" if isinstance(value, dict) else "unevaluatedItems"
    for part in parts:
        if isinstance((yield judge, part, value), tuple):
            continue
        check.budget.spend(len(value))
        more: Any = UNKNOWN if isinstance(part, dict) and own in part else (yield _evaluated, part, value)
        evaluated |= everything if more == UNKNOWN else more
    return frozenset(evaluated)


def _in_place(check: Check, schema: dict[str, Any], value: Any) -> list[Any]:
    """The schemas by which the value itself is judged, but for those of ``if``."""
    parts: list[Any] = []
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts += schema[keyword] if isinstance(schema.get(keyword), list) else ()
    for keyword in ("$ref", "$dynamicRef"):
        parts += [check.target(schema[keyword])] if isinstance(schema.get(keyword), str) else ()
    dependent = schema.get("dependentSchemas")
    parts += [dependent[name] for name in dependent if name in value] if isinstance(dependent, dict) else ()
    return parts


def _members(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, dict) else enumerate(value)


# ---- the table


_ANY: Final[dict[str, tuple[Callable[[Any], bool], _Keyword]]] = {
    "$ref": (is_text, _reference),
    "$dynamicRef": (is_text, _reference),  # the same, as there is but one document
    "type": (are_types, _asserts(_is_type)),
    "enum": (
        is_list,
        _asserts(lambda check, allowed, value: check.equal(value) in map(check.equal, allowed)),
    ),
    "const": (is_anything, _asserts(lambda check, only, value: check.equal(value) == check.equal(only))),
    "allOf": (is_list, _applies(lambda _check, schemas, value, _: (((), schema, value) for schema in schemas))),
    "anyOf": (is_list, _any_of),
    "oneOf": (is_list, _one_of),
    "not": (is_anything, _not),
    "if": (is_anything, _if),
}
_NUMBER: Final = _ANY | {
    "minimum": (is_number, _asserts(lambda _check, least, value: value >= least)),
    "maximum": (is_number, _asserts(lambda _check, most, value: value <= most)),
    "exclusiveMinimum": (is_number, _asserts(lambda _check, least, value: value > least)),
    "exclusiveMaximum": (is_number, _asserts(lambda _check, most, value: value < most)),
    "multipleOf": (is_divisor, _asserts(_is_multiple)),
}
_STRING: Final = _ANY | {
    "minLength": (is_count, _asserts(lambda _check, least, text: len(text) >= least)),
    "maxLength": (is_count, _asserts(lambda _check, most, text: len(text) <= most)),
    "pattern": (is_text, _asserts(lambda check, pattern, text: check.matches(pattern, text))),
}
_ARRAY: Final = _ANY | {
    "minItems": (is_count, _asserts(lambda _check, least, items: len(items) >= least)),
    "maxItems": (is_count, _asserts(lambda _check, most, items: len(items) <= most)),
    "uniqueItems": (is_flag, _asserts(_are_unique)),
    "prefixItems": (
        is_list,
        _applies(
            lambda _check, schemas, items, _: (
                ((str(index),), *pair) for index, pair in enumerate(zip(schemas, items, strict=False))
            )
        ),
    ),
    "items": (is_anything, _applies(_items)),
    "contains": (is_anything, _contains),
    "unevaluatedItems": (is_anything, _unevaluated),
}
_OBJECT: Final = _ANY | {
    "minProperties": (is_count, _asserts(lambda _check, least, value: len(value) >= least)),
    "maxProperties": (is_count, _asserts(lambda _check, most, value: len(value) <= most)),
    "required": (are_names, _required),
    "dependentRequired": (are_maps_of_names, _dependent_required),
    "dependentSchemas": (is_map, _applies(_dependent_schemas)),
    "properties": (is_map, _applies(_properties)),
    "patternProperties": (is_map, _applies(_pattern_properties)),
    "additionalProperties": (is_anything, _applies(_additional_properties)),
    "propertyNames": (
        is_anything,
        _applies(lambda _check, names, value, _: (((), names, name) for name in value)),
    ),
    "unevaluatedProperties": (is_anything, _unevaluated),
}

_DIVISION_STEPS: Final = 20


def _keywords(value: Any) -> dict[str, tuple[Callable[[Any], bool], _Keyword]]:
    """Keyword -> whether its argument makes sense, and its rule: of those that say something about such a value."""
    match value:
        case bool():
            return _ANY
        case int() | float():
            return _NUMBER
        case str():
            return _STRING
        case list():
            return _ARRAY
        case dict():
            return _OBJECT
    return _ANY
