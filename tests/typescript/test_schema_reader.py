"""JSON schemas as TypeScript and as zod schemas: one table."""

from typing import Any

import pytest

from stream_protocol.typescript._printing import comment, key, schema_text, type_text
from stream_protocol.typescript._schema_reader import SchemaReader

STRING = {"type": "string"}
NUMBER = {"type": "number"}
PROPERTIES = {"a": STRING, "b-c": NUMBER}

SHAPES: list[tuple[Any, str, str]] = [
    (True, "unknown", "z.unknown()"),
    ({}, "unknown", "z.unknown()"),
    (False, "never", "z.never()"),
    (None, "unknown", "z.unknown()"),
    (STRING, "string", "z.string()"),
    ({"type": "integer", "minimum": 1}, "number", "z.number()"),
    ({"type": "STRING", "format": "date-time"}, "string", "z.string()"),
    ({"type": "invented"}, "unknown", "z.unknown()"),
    ({"type": ["string", "null"]}, "string | null", "z.union([z.string(), z.null()])"),
    ({"type": "string", "nullable": True}, "string | null", "z.union([z.string(), z.null()])"),
    ({"type": "object", "nullable": True}, "{ [key: string]: unknown } | null", ""),
    ({"const": "x"}, '"x"', 'z.literal("x")'),
    ({"const": None}, "null", "z.literal(null)"),
    (
        {"const": {"a": [1, True]}},
        "{\n  a: [1, true];\n}",
        "z.looseObject({\n  a: z.tuple([z.literal(1), z.literal(true)]),\n})",
    ),
    ({"enum": [1, 1.5, True, None, 'a"b']}, '1 | 1.5 | true | null | "a\\"b"', ""),
    ({"type": ["null", "string"], "enum": ["a"]}, '"a" | null', 'z.union([z.literal("a"), z.null()])'),
    ({"enum": []}, "never", "z.never()"),
    ({"enum": [{}]}, "unknown", "z.unknown()"),
    ({"anyOf": [STRING, NUMBER, STRING]}, "string | number", "z.union([z.string(), z.number()])"),
    ({"oneOf": [STRING, {}]}, "unknown", "z.unknown()"),
    ({"anyOf": [STRING, False]}, "string", "z.string()"),
    ({"type": "array"}, "unknown[]", "z.array(z.unknown())"),
    (
        {"type": "array", "items": {"anyOf": [STRING, NUMBER]}},
        "(string | number)[]",
        "z.array(z.union([z.string(), z.number()]))",
    ),
    (
        {"prefixItems": [STRING, NUMBER], "minItems": 2, "maxItems": 2},
        "[string, number]",
        "z.tuple([z.string(), z.number()])",
    ),
    (
        {"type": "array", "items": [STRING], "additionalItems": False, "minItems": 1},
        "[string]",
        "z.tuple([z.string()])",
    ),
    (
        {"prefixItems": [STRING], "items": NUMBER, "minItems": 1},
        "[string, ...number[]]",
        "z.tuple([z.string()], z.number())",
    ),
    ({"prefixItems": [STRING], "items": NUMBER}, "(string | number)[]", ""),
    ({"type": "object"}, "{ [key: string]: unknown }", "z.record(z.string(), z.unknown())"),
    (
        {"type": "object", "additionalProperties": STRING},
        "{ [key: string]: string }",
        "z.record(z.string(), z.string())",
    ),
    ({"type": "object", "additionalProperties": False}, "{ [key: string]: never }", "z.record(z.string(), z.never())"),
    (
        {"properties": PROPERTIES, "required": ["a"], "additionalProperties": NUMBER},
        '{\n  a: string;\n  "b-c"?: number;\n}',
        'z.looseObject({\n  a: z.string(),\n  "b-c": z.number().optional(),\n})',
    ),
    (
        {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": STRING}}}},
        "{\n  a?: {\n    b?: string;\n  };\n}",
        "z.looseObject({\n  a: z.looseObject({\n    b: z.string().optional(),\n  }).optional(),\n})",
    ),
    ({"type": "object", "required": ["a"], "anyOf": [{"required": ["b"]}]}, "{ [key: string]: unknown }", ""),
    (
        {"allOf": [{"properties": {"a": STRING}}, {"anyOf": [STRING, NUMBER]}, {}]},
        "{\n  a?: string;\n} & (string | number)",
        "z.intersection(z.looseObject({\n  a: z.string().optional(),\n}), z.union([z.string(), z.number()]))",
    ),
    ({"allOf": [STRING, False]}, "never", "z.never()"),
    ({"$ref": "https://elsewhere.example/x.json"}, "unknown", "z.unknown()"),
    ({"$ref": "#/$defs/missing"}, "unknown", "z.unknown()"),
    ({"$ref": "#/anyOf/5", "anyOf": []}, "unknown", "z.unknown()"),
    ({"$defs": {"a/b": STRING}, "$ref": "#/$defs/a~1b"}, "AB", "ABSchema"),
    ({"$defs": {"1": STRING}, "$ref": "#/$defs/1"}, "Type1", "Type1Schema"),
]


@pytest.mark.parametrize(("schema", "expected", "zod"), SHAPES)
def test_a_schema_becomes_a_type_and_its_validator(schema: Any, expected: str, zod: str) -> None:
    node = SchemaReader(()).read(schema)
    assert type_text(node) == expected
    assert schema_text(node) == zod or not zod


def test_types_have_names_which_they_keep_in_all_schemas() -> None:
    reader = SchemaReader(["Taken"])
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}, "description": "A tree."}
    first = reader.read({"$defs": {"tree": tree, "Taken": STRING}, "type": "array", "items": {"$ref": "#/$defs/tree"}})
    again = reader.read({"$defs": {"tree": tree}, "$ref": "#/$defs/tree"})
    other = reader.read({"$defs": {"tree": STRING}, "$ref": "#/$defs/tree"})
    taken = reader.read({"$defs": {"Taken": STRING}, "$ref": "#/$defs/Taken"})
    assert [*map(type_text, (first, again, other, taken))] == ["Tree[]", "Tree", "Tree2", "Taken2"]
    assert {name: (type_text(each.type), each.text) for name, each in reader.named.items()} == {
        "Tree": ("{\n  next?: Tree;\n}", "A tree."),
        "Tree2": ("string", ""),
        "Taken2": ("string", ""),
    }


def test_what_a_definition_refers_to_tells_it_from_another_of_its_name() -> None:
    reader = SchemaReader(())
    for inner in (STRING, NUMBER):
        reader.read({"$defs": {"Outer": {"$ref": "#/$defs/Inner"}, "Inner": inner}, "$ref": "#/$defs/Outer"})
    assert {name: type_text(each.type) for name, each in reader.named.items()} == {
        "Outer": "Inner",
        "Inner": "string",
        "Outer2": "Inner2",
        "Inner2": "number",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n\t", ""),
        ("One line.", "/** One line. */\n  "),
        ("*/ alert(1) /*", "/** *\\/ alert(1) /* */\n  "),
        ("A\u2028B\r\nC\u202e", "/**\n   * A\n   * B\n   * C\n   */\n  "),
        ("A\n\n  B", "/**\n   * A\n   *\n   * B\n   */\n  "),
    ],
)
def test_no_text_ends_its_comment(text: str, expected: str) -> None:
    assert comment(text, "  ") == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("class", "class"),
        ("$a_1", "$a_1"),
        ("1a", '"1a"'),
        ("a.b", '"a.b"'),
        ("", '""'),
        ("__proto__", '"__proto__"'),
        ("größe", '"größe"'),
        ("a\nb\u2028\ud800", '"a\\nb\\u2028\\ud800"'),
    ],
)
def test_a_key_is_quoted_where_it_must_be(name: str, expected: str) -> None:
    assert key(name) == expected
