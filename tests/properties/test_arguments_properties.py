import json
from collections.abc import Iterator
from typing import Any

from google.adk.utils.streaming_utils import _JsonPathTracker
from google.genai.types import PartialArg
from hypothesis import example, given, strategies as st

from stream_protocol.convert.arguments import GrowingText, PathText, integral
from stream_protocol.wire.values import json_value

KEYS = st.text(max_size=6) | st.sampled_from(
    ["a", "a.b", "it's", 'say "hi"', "[0]", "$", "\\", "\\u0041", "__proto__", "prototype", "constructor", "\n", "数"]
)
TEXTS = st.text() | st.sampled_from(['"', "\\", "\\u00e9", "}]", "😀😀", "\u2028", "\x00"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)


def members(values: st.SearchStrategy[Any], *, least: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(KEYS, values, min_size=least, max_size=4)


FULL = st.recursive(SCALARS, lambda inner: st.lists(inner, min_size=1, max_size=3) | members(inner, least=1))
ANY = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | members(inner, least=0))
FULL_OBJECTS = members(FULL, least=1)
ANY_OBJECTS = members(ANY, least=0)


@st.composite
def pieces(draw: st.DrawFn, text: str) -> list[str]:
    """The text, cut anywhere, also in places where nothing lies between two cuts."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def model_texts(draw: st.DrawFn, objects: st.SearchStrategy[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """An object, and the pieces in which a model writes it."""
    value = draw(objects)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :  ")]))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), separators=separators)
    return value, draw(pieces(text))


@st.composite
def vertex_fragments(draw: st.DrawFn) -> tuple[dict[str, Any], list[PartialArg]]:
    """An object, and its values as Vertex streams them: one path after the other, strings in pieces."""
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
    """The key in a JSON path: between double quotes, escaped as JSON escapes it."""
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


def final_arguments(value: dict[str, Any]) -> Any:
    return integral(json_value(value, lossy=True))


def as_client_reads(text: str) -> Any:
    """The text's JSON with the numbers that JavaScript has."""
    return json.loads(text, parse_int=float)


def closing(text: str) -> str:
    """What closes the string and the brackets that this beginning of a JSON text leaves open."""
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
    """The value that the text is once it is closed; ``None`` if it is none."""
    try:
        return json.loads(text + closing(text))
    except json.JSONDecodeError:
        return None


def tracked(cut: list[str]) -> list[PartialArg]:
    """What ADK makes of the pieces, for LiteLlm, OpenAI and Anthropic alike."""
    tracker = _JsonPathTracker()
    return [fragment for piece in cut for fragment in tracker.handle_chunk(piece)]


@given(model_texts(FULL_OBJECTS))
@example(({"a": "x😀y", "b": 1}, ['{"a": "x\\ud83d', '\\ude00y", "b": 1', "}"]))
@example(({"a": ["", ""]}, ['{"a": ["', '", "', '"]}']))
def test_arguments_that_adk_tracks_concatenate_in_any_chunking(given_text: tuple[dict[str, Any], list[str]]) -> None:
    value, cut = given_text
    text = PathText()
    sent = "".join(text.write(fragment) for fragment in tracked(cut))
    rest = text.complete(final_arguments(value))
    assert rest is not None
    assert as_client_reads(sent + rest) == as_client_reads(json.dumps(final_arguments(value)))
    assert set(rest) <= set("]}"), "only closing brackets remain for the finished call"


@given(vertex_fragments())
def test_arguments_as_vertex_streams_them_concatenate_in_any_chunking(
    streamed: tuple[dict[str, Any], list[PartialArg]],
) -> None:
    value, fragments = streamed
    text = PathText()
    sent = "".join(text.write(fragment) for fragment in fragments)
    rest = text.complete(final_arguments(value))
    assert rest is not None
    assert as_client_reads(sent + rest) == as_client_reads(json.dumps(final_arguments(value)))
    assert set(rest.removeprefix('"')) <= set("]}"), (
        "at most the quote of an unclosed string stands before the brackets"
    )


@given(model_texts(ANY_OBJECTS))
def test_empty_containers_stop_the_deltas_or_arrive_with_the_finished_call(
    given_text: tuple[dict[str, Any], list[str]],
) -> None:
    value, cut = given_text
    text = PathText()
    sent = "".join(text.write(fragment) for fragment in tracked(cut))
    rest = text.complete(final_arguments(value))
    if not sent or rest is None:
        assert not sent or closed(sent)
    else:
        assert as_client_reads(sent + rest) == as_client_reads(json.dumps(final_arguments(value)))


@given(vertex_fragments(), st.randoms(use_true_random=False))
def test_fragments_in_any_order_never_write_what_is_no_json(
    streamed: tuple[dict[str, Any], list[PartialArg]], random: Any
) -> None:
    value, fragments = streamed
    random.shuffle(fragments)
    text = PathText()
    sent = ""
    for fragment in fragments:
        sent += text.write(fragment)
        assert not sent or closed(sent)
    rest = text.complete(final_arguments(value))
    assert (
        not sent or rest is None or as_client_reads(sent + rest) == as_client_reads(json.dumps(final_arguments(value)))
    )


@st.composite
def grown_states(draw: st.DrawFn) -> list[dict[str, Any]]:
    """An object as a model repeats it: each state is what a lenient parser makes of the text so far."""
    text = json.dumps(draw(ANY_OBJECTS), ensure_ascii=False)
    cuts = sorted(draw(st.lists(st.integers(1, len(text)), max_size=8)))
    return [lenient(text[:cut]) for cut in [*cuts, len(text)]]


def lenient(text: str) -> dict[str, Any]:
    """The longest beginning of the text that is an object once it is closed."""
    values = (closed(text[:end]) for end in range(len(text), 0, -1))
    return next(value for value in values if isinstance(value, dict))


@given(grown_states())
def test_arguments_that_repeat_and_grow_concatenate_to_the_last_state(states: list[dict[str, Any]]) -> None:
    text = GrowingText()
    sent = "".join(text.write(json_value(state, lossy=True), streaming=True) for state in states)
    rest = text.complete(json_value(states[-1], lossy=True))
    assert rest is not None
    assert as_client_reads(sent + rest) == as_client_reads(json.dumps(json_value(states[-1], lossy=True)))
