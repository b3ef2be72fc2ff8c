"""Converts JSON schemas to types.

Rules that TypeScript cannot express, such as lengths and patterns, are ignored. The drafts 4 to 2020-12, and
``nullable`` of OpenAPI 3.0, are supported. The target of a ``$ref`` becomes a named type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import unquote

from stream_protocol.typescript._nodes import (
    NULL,
    Array,
    Constant,
    Field,
    Intersection,
    Named,
    Never,
    Node,
    Object,
    Primitive,
    Tuple,
    Union,
    Unknown,
    intersection,
    union,
)

_SCALARS: Final[Mapping[str, Node]] = {
    "boolean": Primitive("boolean"),
    "integer": Primitive("number"),
    "null": NULL,
    "number": Primitive("number"),
    "string": Primitive("string"),
}


@dataclass(frozen=True)
class NamedType:
    """A type that has a name. ``text``: the description of the type."""

    type: Node
    text: str


class SchemaReader:
    """Converts all JSON schemas of a generated file. Equal types get the same name. If two different types would get
    the same name, a number is appended to the second.
    """

    def __init__(self, taken: Collection[str]) -> None:
        """``taken``: names that no type may have."""
        self.named: dict[str, NamedType] = {}
        self._taken = set(taken)
        self._names: dict[str, str] = {}
        """JSON of a schema, and of all schemas to which it refers -> the type's name."""

    def read(self, schema: Any) -> Node:
        """Return the type for a JSON schema. Each ``$ref`` must refer to a place in this schema."""
        return self._read(schema, schema)

    def members(self, node: Node) -> Iterator[Node]:
        """Yield the members of a union, or the type itself if it is not a union.

        A named type stands for the type that it names, whose members are yielded. Exception: a named object type is
        yielded itself.
        """
        match node:
            case Named(name) if not isinstance(self.named[name].type, Object):
                yield from self.members(self.named[name].type)
            case Union(members):
                for member in members:
                    yield from self.members(member)
            case _:
                yield node

    def is_object(self, node: Node) -> bool:
        """Return True if a value of the type can be an object. ``node``: a type that ``members`` has yielded."""
        match node:
            case Named(name):
                return self.is_object(self.named[name].type)
            case Intersection(members):
                return any(map(self.is_object, members))
        return isinstance(node, Object | Unknown)

    def _read(self, schema: Any, root: Any) -> Node:
        if schema is False:
            return Never()
        if not isinstance(schema, Mapping):
            return Unknown()
        parts = [self._reference(schema["$ref"], root) if isinstance(schema.get("$ref"), str) else Unknown()]
        parts.append(self._own_type(schema, root))
        parts += [self._read(each, root) for each in _list(schema.get("allOf"))]
        for keyword in ("anyOf", "oneOf"):
            if choices := _list(schema.get(keyword)):
                parts.append(union(self._read(choice, root) for choice in choices))
        found = intersection(parts)
        return union([found, NULL]) if schema.get("nullable") is True else found

    def _own_type(self, schema: Mapping[str, Any], root: Any) -> Node:
        kinds = _kinds(schema)
        if "const" in schema:
            return _constant(schema["const"])
        if "enum" in schema:
            choices = [_constant(value) for value in _list(schema["enum"])]
            return union([*choices, NULL] if "null" in kinds else choices)
        return union(self._of_kind(kind, schema, root) for kind in kinds) if kinds else Unknown()

    def _of_kind(self, kind: str, schema: Mapping[str, Any], root: Any) -> Node:
        match kind:
            case "object":
                return self._object(schema, root)
            case "array":
                return self._array(schema, root)
        return _SCALARS.get(kind, Unknown())

    def _object(self, schema: Mapping[str, Any], root: Any) -> Node:
        required = _list(schema.get("required"))
        properties = schema.get("properties")
        fields = tuple(
            Field(name, self._read(value, root), optional=name not in required, text=description(value))
            for name, value in (properties.items() if isinstance(properties, Mapping) else ())
        )
        others = schema.get("additionalProperties")
        if fields or schema.get("patternProperties") or others is None:
            return Object(fields)
        return Object(rest=self._read(others, root))

    def _array(self, schema: Mapping[str, Any], root: Any) -> Node:
        item = schema.get("items")
        first, others = (item, schema.get("additionalItems")) if isinstance(item, list) else (None, item)
        first = schema.get("prefixItems", first)
        if not isinstance(first, list):
            return Array(self._read(item, root))
        items = tuple(self._read(each, root) for each in first)
        if schema.get("minItems", 0) < len(items):  # some items may be missing
            return Array(union([*items, self._read(others, root)]))
        ends = others is False or schema.get("maxItems") == len(items)
        return Tuple(items, None if ends else self._read(others, root))

    def _reference(self, reference: str, root: Any) -> Node:
        found = _resolve(reference, root)
        if found is None:
            return Unknown()
        key = json.dumps(_closure(reference, root), sort_keys=True, default=str)
        if key not in self._names:
            self._names[key] = name = self._free_name(_key(reference.rpartition("/")[2]))
            self.named[name] = NamedType(Unknown(), "")  # the type may refer to itself
            self.named[name] = NamedType(self._read(found, root), description(found))
        return Named(self._names[key])

    def _free_name(self, wanted: str) -> str:
        words = [word for word in re.split(r"\W+|_+", wanted) if word]
        name = "".join(word[0].upper() + word[1:] for word in words)
        name = name if name.isidentifier() else f"Type{name}"
        free, number = name, 1
        while free in self._taken:
            number += 1
            free = f"{name}{number}"
        self._taken.add(free)
        return free


def description(schema: Any) -> str:
    text = schema.get("description") if isinstance(schema, Mapping) else None
    return text if isinstance(text, str) else ""


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    declared = schema.get("type")
    if declared is None:
        return ["object"] if "properties" in schema else ["array"] if "prefixItems" in schema else []
    return [str(kind).lower() for kind in (declared if isinstance(declared, list) else [declared])]


def _constant(value: Any) -> Node:
    match value:
        case str() | bool() | int() | float() | None:
            return Constant(value)
        case list():
            return Tuple(tuple(_constant(item) for item in value), None)
        case dict() if value:
            return Object(tuple(Field(str(name), _constant(item)) for name, item in value.items()))
    return Unknown()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolve(reference: str, root: Any) -> Any:
    """Return the schema to which a ``$ref`` refers. Returns ``None`` if the schema is missing or in another
    document.
    """
    if not reference.startswith("#"):
        return None
    found = root
    for step in reference[1:].split("/")[1:]:
        key = _key(step)
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _key(step: str) -> str:
    """Decode one segment of a ``$ref`` path."""
    return unquote(step).replace("~1", "/").replace("~0", "~")


def _closure(reference: str, root: Any) -> list[Any]:
    """Return a list of two items: ``reference`` (a ``$ref``), and all schemas that can be reached from it. The second
    is a dictionary whose keys are the ``$ref`` of the schemas.
    """
    reached: dict[str, Any] = {}
    waiting = [reference]
    while waiting:
        if (current := waiting.pop()) not in reached:
            reached[current] = _resolve(current, root)
            waiting += _references(reached[current])
    return [reference, reached]


def _references(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as found:
                if isinstance(found.get("$ref"), str):
                    yield cast("str", found["$ref"])
                waiting += found.values()
            case list() as found:
                waiting += found
