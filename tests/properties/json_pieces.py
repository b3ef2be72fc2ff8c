"""JSON in pieces: fragments of a model, and results of the adapters."""

import json
from collections.abc import Iterator
from typing import Any

from google.adk.utils.streaming_utils import _JsonPathTracker
from google.genai.types import PartialArg
from hypothesis import strategies as st

KEYS = st.text(max_size=6) | st.sampled_from(
    ["a", "a.b", "it's", 'say "hi"', "[0]", "$", "\\", "\\u0041", "__proto__", "prototype", "constructor", "\n", "数"]
)
TEXTS = st.text() | st.sampled_from(['"', "\\", "\\u00e9", "}]", "😀😀", "\u2028", "\x00"])
EDGES = st.builds(
    lambda edge, step: edge + step, st.sampled_from([0, 2**53, -(2**53), 10**16, 2**63, 2**64 - 4]), st.integers(-3, 3)
)
"""Integers at the limits of float precision, of another notation, and of 64 bits."""
NUMBERS = (
    st.integers(min_value=-(2**63), max_value=2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | EDGES
    | EDGES.map(float)
    | st.just(-0.0)
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS


def members(values: st.SearchStrategy[Any], *, least: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(KEYS, values, min_size=least, max_size=4)


FULL = st.recursive(SCALARS, lambda inner: st.lists(inner, min_size=1, max_size=3) | members(inner, least=1))
ANY = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | members(inner, least=0))
FULL_OBJECTS = members(FULL, least=1)
ANY_OBJECTS = members(ANY, least=0)


@st.composite
def pieces(draw: st.DrawFn, text: str) -> list[str]:
    """Draw the text in pieces. A piece may be empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=min(12, len(text) + 1))))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def model_texts(draw: st.DrawFn, objects: st.SearchStrategy[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Draw an object, and the pieces in which a model writes it."""
    value = draw(objects)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :  ")]))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), separators=separators)
    return value, draw(pieces(text))


@st.composite
def vertex_fragments(draw: st.DrawFn) -> tuple[dict[str, Any], list[PartialArg]]:
    """Draw an object, and its values as Vertex streams them: one path after the other, strings in pieces."""
    value = draw(FULL_OBJECTS)
    return value, [fragment for path, leaf in leaves("$", value) for fragment in draw(leaf_fragments(path, leaf))]


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(path + (f".{key}" if key.isidentifier() and key.isascii() else quoted(key)), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(f"{path}[{index}]", item)
    else:
        yield path, value


def quoted(key: str) -> str:
    """Return the key for a JSON path: in double quotes, with JSON's escapes."""
    return f"[{json.dumps(key, ensure_ascii=False)}]"


@st.composite
def leaf_fragments(draw: st.DrawFn, path: str, leaf: Any) -> list[PartialArg]:
    match leaf:
        case None:
            return [PartialArg(json_path=path, null_value="NULL_VALUE")]
        case bool():
            return [PartialArg(json_path=path, bool_value=leaf)]
        case int() | float():
            return [PartialArg(json_path=path, number_value=leaf)]
    parts = [PartialArg(json_path=path, string_value=piece, will_continue=True) for piece in draw(pieces(leaf))]
    match draw(st.sampled_from(["an empty piece", "the last piece", "nothing"])):
        case "an empty piece":
            parts.append(PartialArg(json_path=path, string_value=""))
        case "the last piece":
            parts[-1].will_continue = None
    return parts


def tracked(cut: list[str]) -> list[PartialArg]:
    """Return ADK's values for the pieces, which are equal for LiteLlm, OpenAI and Anthropic."""
    tracker = _JsonPathTracker()
    return [fragment for piece in cut for fragment in tracker.handle_chunk(piece)]


def ended_too_early(fragments: list[PartialArg]) -> bool:
    """Return True if ADK's tracker reports the end of a string, and then more of the string.

    ADK 2.13 does so if the piece that ends the string begins the next key, and the key's closing quote comes alone.
    """
    ended: set[str | None] = set()
    for fragment in fragments:
        if fragment.string_value and fragment.json_path in ended:
            return True
        if fragment.string_value is not None and not fragment.will_continue:
            ended.add(fragment.json_path)
    return False


@st.composite
def grown_states(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw the states of a growing object: each is the result of a lenient parser for the text so far."""
    text = json.dumps(draw(ANY_OBJECTS), ensure_ascii=False)
    cuts = sorted(draw(st.lists(st.integers(1, len(text)), max_size=8)))
    return [lenient(text[:cut]) for cut in [*cuts, len(text)]]


def lenient(text: str) -> dict[str, Any]:
    """Return the longest beginning of the text that is an object after closing it."""
    values = (closed(text[:end]) for end in range(len(text), 0, -1))
    return next(value for value in values if isinstance(value, dict))


def closing(text: str) -> str:
    """Return the text that closes the open string and brackets of a beginning of JSON."""
    closers, in_string, escaped = "", False, False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            closers = ("}" if character == "{" else "]") + closers
        elif character in "}]":
            closers = closers[1:]
    return ('"' if in_string else "") + closers


def closed(text: str) -> Any:
    """Return the value of the text after closing it; ``None`` if there is none."""
    try:
        return json.loads(text + closing(text))
    except json.JSONDecodeError:
        return None
