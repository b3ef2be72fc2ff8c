"""Prints types as TypeScript, and as zod schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from stream_protocol.typescript._nodes import (
    AgentMessage,
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
)


def type_text(node: Node, indent: str = "") -> str:
    """Return the type as TypeScript. ``indent``: the white space before the line in which the type begins."""
    match node:
        case Unknown():
            return "unknown"
        case Never():
            return "never"
        case Primitive(kind):
            return kind
        case Constant(value):
            return literal(value)
        case Array(item):
            return f"{_grouped(item, indent)}[]"
        case Tuple(items, rest):
            tail = [] if rest is None else [f"...{_grouped(rest, indent)}[]"]
            return f"[{', '.join([*(type_text(item, indent) for item in items), *tail])}]"
        case Object(fields, rest) if not fields:
            return f"{{ [key: string]: {type_text(rest, indent)} }}"
        case Object(fields):
            return braces((_field(field, indent + "  ") for field in fields), indent)
        case Union(members):
            return " | ".join(type_text(member, indent) for member in members)
        case Intersection(members):
            return " & ".join(_grouped(member, indent) for member in members)
        case Named(name):
            return name
        case AgentMessage(result):
            return f"AgentMessage<{type_text(result, indent)}>"


def _grouped(node: Node, indent: str) -> str:
    text = type_text(node, indent)
    return f"({text})" if isinstance(node, Union | Intersection) else text


def _field(field: Field, indent: str) -> str:
    optional = "?" if field.optional else ""
    return f"{comment(field.text, indent)}{key(field.name)}{optional}: {type_text(field.type, indent)};"


def schema_text(node: Node, indent: str = "") -> str:
    """Return the type as a zod schema. The schema allows additional keys of objects."""
    match node:
        case Unknown():
            return "z.unknown()"
        case Never():
            return "z.never()"
        case Primitive(kind):
            return f"z.{kind}()"
        case Constant(value):
            return f"z.literal({literal(value)})"
        case Array(item):
            return f"z.array({schema_text(item, indent)})"
        case Tuple(items, rest):
            inner = ", ".join(schema_text(item, indent) for item in items)
            return f"z.tuple([{inner}]{'' if rest is None else f', {schema_text(rest, indent)}'})"
        case Object(fields, rest) if not fields:
            return f"z.record(z.string(), {schema_text(rest, indent)})"
        case Object(fields):
            lines = (f"{key(field.name)}: {_field_schema(field, indent + '  ')}," for field in fields)
            return f"z.looseObject({braces(lines, indent)})"
        case Union(members):
            return f"z.union([{', '.join(schema_text(member, indent) for member in members)}])"
        case Intersection(members):
            first, *others = (schema_text(member, indent) for member in members)
            for other in others:
                first = f"z.intersection({first}, {other})"
            return first
        case Named(name):
            return f"{name}Schema"
        case AgentMessage(result):
            return f"agentMessageSchema({schema_text(result, indent)})"


def _field_schema(field: Field, indent: str) -> str:
    return schema_text(field.type, indent) + (".optional()" if field.optional else "")


def braces(lines: Iterable[str], indent: str) -> str:
    """Return the lines between braces. Each line is indented by two spaces more than ``indent``."""
    inner = "".join(f"{indent}  {line}\n" for line in lines)
    return f"{{\n{inner}{indent}}}" if inner else "{}"


def comment(text: str, indent: str) -> str:
    """Return the text as a doc comment; empty for an empty text. ``*/`` in the text is escaped."""
    lines = [" ".join(_CONTROL.sub(" ", line).split()) for line in text.strip().splitlines()]
    lines = [line.replace("*/", "*\\/") for line in lines]
    if not any(lines):
        return ""
    if len(lines) == 1:
        return f"/** {lines[0]} */\n{indent}"
    body = "".join(f"{indent} *{f' {line}' if line else ''}\n" for line in lines)
    return f"/**\n{body}{indent} */\n{indent}"


def key(name: str) -> str:
    """Return the name as a key of a TypeScript object type, in quotes if necessary."""
    return name if re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", name) and name != "__proto__" else literal(name)


def literal(value: str | float | bool | None) -> str:  # noqa: FBT001 - a JSON scalar
    """Return a JSON scalar as a TypeScript literal."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Pattern for line separators, lone surrogates, and changes of text direction."""
