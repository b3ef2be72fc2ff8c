import json
from typing import Any

from google.genai.types import PartialArg
from hypothesis import example, given, strategies as st

from stream_protocol.convert.calls._streamed_arguments import GrowingText, PathText, integral
from stream_protocol.wire import json_value
from tests.properties.json_pieces import ANY_OBJECTS, FULL_OBJECTS, model_texts, tracked, vertex_fragments


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
