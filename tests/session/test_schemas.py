"""Answers are checked against schemas that a model wrote: as the standard defines it, and in a limited number
of steps."""

import logging
import random
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from stream_protocol.session._schema_checks import first_misfit
from stream_protocol.session._schema_costs import Budget, TooCostlyError
from tests.batch import batch

N: Final = 6_000


def repeated(value: Any, keyword: str, times: int) -> Any:
    for _ in range(times):
        value = {keyword: [value, value] if keyword.endswith("Of") else value}
    return value


def chain(keyword: str, length: int = 24) -> dict[str, Any]:
    """Return a schema in which each part refers to the next part twice."""
    links = {f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(length)}
    return {"$defs": links | {f"a{length}": {"type": "integer"}}, "$ref": "#/$defs/a0"}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def repeated_both(one: str, other: str, times: int) -> Any:
    value: Any = {"type": "integer"}
    for _ in range(times):
        value = {one: value, other: False}
    return value


def unevaluated(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


TOO_LARGE: Final = "too large"


def hostile() -> dict[str, tuple[Any, Any, Any]]:
    """Return schemas, answers, and their errors. They are large, so they are created only when they are used."""
    keys = {"a" * 20 + str(n): n for n in range(N)}
    rows: list[tuple[str, Any, Any, Any]] = [
        ("unique objects", {"uniqueItems": True}, [{"n": n} for n in range(N)], TOO_LARGE),
        ("unique integers of one hash", {"uniqueItems": True}, [2**63 - n for n in range(1, N)], TOO_LARGE),
        ("a nested quantifier", {"pattern": "^(a+)+$"}, "a" * 50_000 + "b", ()),
        ("an alternative twice", {"pattern": "^(x|x)*y"}, "x" * 40_000, ()),
        ("names by a pattern", {"propertyNames": {"pattern": "^(a+)+$"}}, keys, TOO_LARGE),
        ("many patterns", {"patternProperties": {f"^(a+)+b{n}$": True for n in range(99)}}, keys, TOO_LARGE),
        (
            "other names than patterns",
            {"additionalProperties": False, "patternProperties": {f"(a|b)*x{n}$": True for n in range(99)}},
            keys,
            TOO_LARGE,
        ),
        ("a pattern of many states", {"pattern": "[ab]*a[ab]{900}c"}, "ab" * 10_000, None),
        ("patterns to compile", {"allOf": [{"pattern": "a{1000}" * 130 + str(n)} for n in range(200)]}, "a", None),
        ("anyOf by references", chain("anyOf"), "x", None),
        ("few anyOf by references", chain("anyOf", 11), "x", ()),
        ("oneOf by references", chain("oneOf"), 5, None),
        ("few oneOf by references", chain("oneOf", 11), 5, ()),
        ("allOf by references", chain("allOf"), 5, None),
        ("nested anyOf", repeated({"type": "integer"}, "anyOf", 6), "x", ()),
        ("nested not", repeated({"type": "integer"}, "not", 90), 5, None),
        ("nested unevaluated", unevaluated(40), {"a": 1}, None),
        ("few nested unevaluated", unevaluated(6), {"a": 1}, ("a",)),
        ("unevaluated by references", chain("anyOf", 15) | {"unevaluatedItems": False}, 5, None),
        ("unevaluated contains", repeated_both("contains", "unevaluatedItems", 40), nested(40), None),
        (
            "contains of contains",
            {"contains": {"contains": {"contains": {"const": "x"}}}},
            [[list(range(50))] * 5] * 20,
            (),
        ),
        ("a long enum for each item", {"items": {"enum": list(range(900))}}, list(range(N)), TOO_LARGE),
        ("dependent schemas", {"dependentSchemas": {f"a{n}": True for n in range(300)}}, {"a1": 1}, None),
        ("huge floats", {"items": {"multipleOf": 1e-300}}, [1e300 + n for n in range(N)], None),
        ("an answer of huge floats", {"items": {"multipleOf": 0.1}}, [1e300 + n for n in range(N)], TOO_LARGE),
        ("fractions", {"items": {"enum": [n / 7 for n in range(40)]}}, [n / 7e9 for n in range(N)], TOO_LARGE),
        ("an answer of many digits", {"multipleOf": 7}, 10**100_000, TOO_LARGE),
        ("a schema of many digits", {"multipleOf": 10**100_000}, 5, None),
        ("many keys", {"additionalProperties": {"type": "integer"}}, {str(n): n for n in range(10**5)}, TOO_LARGE),
        ("a deep answer", {"items": {"$ref": "#"}}, nested(900), TOO_LARGE),
        ("a long text", {"type": "integer"}, "x" * 10**7, ()),
        ("a large schema", {"enum": list(range(10**5))}, 5, None),
        ("a long reference", {"$ref": "#" + "/a" * 10**5}, 5, None),
        ("a reference out for each item", {"items": {"$ref": "http://x/" + "y" * 10**4}}, list(range(9_000)), None),
        ("a reference of many escapes", {"items": {"$ref": "#/" + "%41" * 330}}, list(range(5_000)), None),
        ("patterns to read", {"allOf": [{"pattern": r"\d" * 490 + rf"{n}\A"} for n in range(200)]}, "a", None),
        ("a long text at many levels", {"enum": [nested(90)]}, [["x" * 10**6] * 9] * 9, TOO_LARGE),
        ("alternatives of a large answer", {"anyOf": [{"type": "integer"}] * 140}, [["y"] * 9] * 1900, ()),
    ]
    return {name: (schema, answer, expected) for name, schema, answer, expected in rows}


@pytest.mark.slow
@batch(case=hostile)
def test_whatever_the_schema_the_work_is_counted_and_ends(case: tuple[Any, Any, Any]) -> None:
    schema, answer, expected = case
    budget = Budget()
    try:
        told: Any = first_misfit(schema, answer, budget)
    except TooCostlyError:
        told = TOO_LARGE
    assert told == expected


CIRCLES: list[Any] = [
    {"$ref": "#"},
    {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    {"not": {"$ref": "#"}},
    {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"oneOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"if": {"$ref": "#"}, "then": False, "else": False},
    {"$dynamicAnchor": "node", "$dynamicRef": "#node"},
    {"unevaluatedProperties": {"$ref": "#"}, "allOf": [{"$ref": "#"}]},
    {"contains": {"$ref": "#"}, "$ref": "#"},
]
NOT_RUN: list[Any] = [
    {"pattern": "(?=a)b"},
    {"pattern": r"(a*)\1b"},
    {"pattern": "("},
    {"pattern": "\ud800"},
    {"propertyNames": {"pattern": "(?=x)"}},
    {"patternProperties": {"(?=a)": True}, "additionalProperties": False},
    {"patternProperties": {"(?=a)": False}},
    {"patternProperties": {"(?=a)": True}, "unevaluatedProperties": False},
    {"$ref": "http://127.0.0.1:9/x"},
    {"$ref": "#/nowhere"},
    {"$defs": {"b": {"$id": "urn:b", "$defs": {"x": True}, "$ref": "#/$defs/x"}, "x": False}, "$ref": "#/$defs/b"},
    {"pattern": r"\Ab"},
    {"pattern": r"\ud83d"},
    {"pattern": r"\p{Script=Nowhere}"},
    {"pattern": "^.{9,999}$"},
    {"$ref": "#nowhere"},
    {"not": {"$ref": "other.json"}},
    {"type": "STRING"},
    {"type": 3},
    {"minLength": "3"},
    {"multipleOf": 0},
    {"enum": 5},
    {"required": "name"},
    {"properties": {"a": 5}},
    {"properties": ["a"]},
    {"properties": 5},
    {"dependentSchemas": None},
    {"items": [{"type": "string"}]},
    {"allOf": {}},
    {"if": {"$ref": "x:y"}, "then": False},
    {"contains": {"$ref": "x:y"}, "maxContains": 0},
    {"contains": True, "minContains": "x"},
]


@batch(schema=[*CIRCLES, *NOT_RUN], answer=[5, "b", ["b"], {"a": "b", "aa": 1}])
def test_what_cannot_be_run_refuses_no_answer(schema: Any, answer: Any) -> None:
    assert first_misfit(schema, answer, Budget()) is None


@pytest.mark.parametrize(
    "schema", [{"not": {"pattern": "(?=a)b"}}, {"oneOf": [{"pattern": "(?!a)"}, {"pattern": "(?=a)"}]}], ids=str
)
@pytest.mark.parametrize("answer", ["b", 5], ids=str)
def test_what_cannot_be_run_refuses_nothing_by_its_opposite(schema: Any, answer: Any) -> None:
    assert first_misfit(schema, answer, Budget()) is None


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"pattern": "(?=a)\n"}, "regex"),
        ({"minLength": []}, "is not of type"),
        ({"$ref": "x:" + "y" * 10**4}, "it refers to another document"),
        ({"properties": {"a": {"$ref": "x:y"}}}, "is not present"),
        ({"enum": list(range(10**4))}, "it is too large"),
        (chain("anyOf"), "it takes too many steps"),
    ],
    ids=str,
)
def test_one_line_of_the_log_says_why_nothing_was_checked(
    schema: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert first_misfit(schema, "a", Budget()) is None
    (record,) = caplog.records
    assert reason in record.getMessage()
    assert len(record.getMessage()) < 300


class SchemaServer(BaseHTTPRequestHandler):
    """An HTTP server whose schema no value matches."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"false")

    def log_request(self, *args: Any) -> None:
        pass


REACHED: Final = [
    lambda uri: {"$ref": uri},
    lambda uri: {"properties": {"elsewhere": {"$ref": uri}}},
    lambda uri: {"$defs": {"a": {"$ref": uri}}, "properties": {"elsewhere": {"$ref": "#/$defs/a"}}},
    lambda uri: {"$schema": uri},
    lambda uri: {"$id": uri, "properties": {"elsewhere": {"$ref": "other"}}},
    lambda uri: {"$dynamicRef": uri},
]
"""Schemas that refer to other schemas, even if the answer does not need the other schemas."""


@pytest.mark.parametrize("schema", REACHED)
def test_no_schema_is_fetched(schema: Callable[[str], Any]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SchemaServer) as server:
        server.asked = []  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            assert first_misfit(schema(f"http://127.0.0.1:{server.server_port}/a"), {}, Budget()) is None
        finally:
            server.shutdown()
        assert server.asked == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("schema", REACHED)
def test_no_file_is_opened(schema: Callable[[str], Any], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The files contain schemas. If they were read, there would be no warning."""
    for name in ("a", "other"):
        (tmp_path / name).write_text("true")
    whole = schema((tmp_path / "a").as_uri())
    assert first_misfit(whole, {}, Budget()) is None
    assert len(caplog.records) == ("$schema" not in whole)


def test_the_answers_of_a_request_share_its_budget() -> None:
    budget, schema = Budget(), {"items": {"type": "integer"}}
    answer = list(range(2_000))
    assert first_misfit(schema, answer, budget) is None
    assert first_misfit(schema, answer, budget) is None
    with pytest.raises(TooCostlyError):
        first_misfit(schema, list(range(8_000)), budget)


def test_a_short_answer_is_judged_by_any_schema() -> None:
    """Return the costliest schema for a value: every keyword applies to the value."""
    widest = {"allOf": [{"type": "string", "minLength": 1, "maxLength": 3}] * 140, "not": chain("anyOf", 10)}
    for answer in ("a", ["a", "b"], {"a": "b"}):
        first_misfit(widest, answer, Budget())


PATTERNS: list[tuple[str, str, str]] = [  # pattern in ECMAScript, a matching text, a text without a match
    (r"^[\u3040-\u30ff\u4e00-\u9fff]+$", "漢字かな", "kanji"),
    (r"^\u{1F600}\x41$", "\U0001f600A", "A"),
    (r"^[\w\s]+$", "a\u3000b\xa0c", "a-b"),
    (r"^[^\S\n]$", "\ufeff", "\n"),
    (r"^\S+$", "é", "a\u2009b"),
    (r"^\cA$", "\x01", "A"),
    (r"^[\s\S]$", "\u2028", ""),
    ("^[\\S\\s]$", "\n", ""),
    ("a[^\\s\\S]|b", "b", "a]"),
    ("^[[:alpha:]]$", ":]", "a"),
    (r"^[\]\[a]$", "]", "b"),
    (r"^a\/\d$", "a/1", "a/x"),
    ("^a$", "a", "a\n"),
]


@pytest.mark.parametrize(("pattern", "found", "other"), PATTERNS)
def test_patterns_are_those_of_ecmascript(pattern: str, found: str, other: str) -> None:
    assert first_misfit({"pattern": pattern}, found, Budget()) is None
    assert first_misfit({"pattern": pattern}, other, Budget()) == ()


def test_a_form_of_many_fields_with_long_texts_is_judged() -> None:
    fields = {f"f{n}": {"type": "string", "pattern": f"^[\\w\\s.,]{{{n},100}}$"} for n in range(10)}
    answer = {f"f{n}": "a b " * 15 for n in range(10)}
    assert first_misfit({"properties": fields}, answer, Budget()) is None
    assert first_misfit({"properties": fields}, answer | {"f9": "-"}, Budget()) == ("f9",)


def test_a_condition_without_a_consequence_is_no_fault_of_the_schema(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"if": {"required": ["a"]}, "properties": {"a": True}, "unevaluatedProperties": False}
    assert first_misfit(schema, {"a": 1}, Budget()) is None
    assert first_misfit(schema, {}, Budget()) is None
    assert not caplog.records


FITTING: list[tuple[Any, Any]] = [
    ({"multipleOf": 0.01}, 19.99),
    ({"multipleOf": 3}, 9.0),
    ({"multipleOf": 2**900}, 2**1000),
    ({"type": "integer"}, 1.0),
    ({"const": 1}, 1.0),
    ({"enum": [[1, {"a": None}]]}, [1.0, {"a": None}]),
    ({"uniqueItems": True}, [1, True, "1", [1], {"a": 1}, None, "None", 0, False]),
    ({"pattern": "^\\d{4}-\\d{2}$"}, "2026-01"),
    ({"$id": "urn:x", "$defs": {"a b/c": {"type": "string"}}, "$ref": "urn:x#/$defs/a%20b~1c"}, "x"),
    ({"prefixItems": [{"type": "string"}], "items": {"$ref": "#/prefixItems/0"}}, ["a", "b"]),
    ({"items": {"$ref": "#thing"}, "$defs": {"x": {"$anchor": "thing", "type": "null"}}}, [None]),
]
MISFITS: list[tuple[Any, Any, tuple[str, ...]]] = [
    ({"multipleOf": 0.01}, 19.995, ()),
    ({"uniqueItems": True}, [1, 1.0], ()),
    ({"type": "integer"}, True, ()),
    ({"const": 1}, True, ()),
    ({"properties": {"a": {"items": {"required": ["n"]}}}}, {"a": [{"n": 1}, {}]}, ("a", "1", "n")),
    ({"additionalProperties": False, "properties": {"a": True}}, {"a": 1, "b": 2}, ("b",)),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ("b",)),
    ({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 2}, [1, 2, 3], ()),
    ({"prefixItems": [True, False]}, [1, 2], ("1",)),
    (False, 1, ()),
]


def test_what_fits_and_what_does_not() -> None:
    assert [first_misfit(schema, answer, Budget()) for schema, answer in FITTING] == [None] * len(FITTING)
    assert [first_misfit(schema, answer, Budget()) for schema, answer, _ in MISFITS] == [path for *_, path in MISFITS]


class Draw:
    """Random schemas and values."""

    names: Final = ("a", "b", "ab", "c")

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def value(self, depth: int) -> Any:
        kind = self.rng.random() if depth else 1
        if kind < 0.3:
            return [self.value(depth - 1) for _ in range(self.rng.randrange(4))]
        if kind < 0.65:
            return {name: self.value(depth - 1) for name in self.names if self.rng.random() < 0.5}
        return self.rng.choice([None, True, False, 0, 1, 1.0, 1.5, -3, "", "a", "ab", "abc", 2**63])

    def schema(self, depth: int) -> Any:
        if not depth or self.rng.random() < 0.1:
            return self.rng.choice([True, False, {"type": "string"}])
        return {key: value for _ in range(self.rng.randrange(1, 4)) for key, value in self.keyword(depth - 1).items()}

    def keyword(self, depth: int) -> dict[str, Any]:
        pick = self.rng.choice
        count, names = self.rng.randrange(3), self.rng.sample(self.names, 2)
        schemas = [self.schema(depth), self.schema(depth)]
        named = dict(zip(names, schemas, strict=True))
        return pick(
            [
                {"type": pick(["null", "boolean", "integer", "number", ["string", "null"], ["array", "object"]])},
                {"enum": [self.value(1), self.value(1)]},
                {"const": self.value(1)},
                {pick(["allOf", "anyOf", "oneOf", "prefixItems"]): schemas},
                {pick(["not", "items", "additionalProperties", "propertyNames"]): schemas[0]},
                {pick(["unevaluatedItems", "unevaluatedProperties"]): schemas[0]},
                {"contains": schemas[0], "minContains": count, "maxContains": self.rng.randrange(3)},
                {"if": schemas[0], "then": schemas[1], "else": pick(schemas)},
                {"$ref": pick(["#/$defs/x", "#y"])},
                {pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]): pick([0, 1, 1.5])},
                {"multipleOf": pick([1, 2, 0.5])},
                {pick(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]): count},
                {"pattern": pick(["a", "^a$", "b|c", "^$"]), "uniqueItems": True},
                {"required": names, "dependentRequired": {names[0]: names}},
                {pick(["properties", "dependentSchemas"]): named},
                {"patternProperties": {pick(["a", "^b", "c$"]): schemas[0]}},
            ]
        )


DEFINITIONS: Final = {
    "x": {"type": "object", "properties": {"a": {"type": ["integer", "object", "string"]}}},
    "y": {"$anchor": "y", "anyOf": [{"type": "string"}, {"items": {"type": "integer"}}, {"required": ["b"]}]},
}


def test_any_schema_judges_as_a_usual_validator_does(rng: random.Random) -> None:
    draw = Draw(rng)
    for _ in range(60):
        schema, value = draw.schema(3), draw.value(3)
        whole = {"allOf": [schema], "$defs": DEFINITIONS}
        if "$ref" in str(schema) and "unevaluated" in str(schema):  # not used: see HOSTILE
            continue
        fits = first_misfit(whole, value, Budget()) is None
        assert fits is Draft202012Validator(whole).is_valid(value), (whole, value)
