import json
from typing import Any

from google.genai.types import PartialArg
from hypothesis import assume, example, given, strategies as st

from stream_protocol.stream.calls._streamed_arguments import GrowingText, PathText, integral
from stream_protocol.wire import json_value
from tests.properties.json_pieces import (
    ANY_OBJECTS,
    FULL_OBJECTS,
    NUMBERS,
    closed,
    ended_too_early,
    grown_states,
    model_texts,
    tracked,
    vertex_fragments,
)


def final_arguments(value: dict[str, Any]) -> Any:
    return integral(json_value(value, lossy=True))


def as_client_reads(text: str) -> Any:
    """The text's JSON with the numbers that JavaScript has."""
    return json.loads(text, parse_int=float)


@given(model_texts(FULL_OBJECTS))
@example(({"a": "x😀y", "b": 1}, ['{"a": "x\\ud83d', '\\ude00y", "b": 1', "}"]))
@example(({"a": ["", ""]}, ['{"a": ["', '", "', '"]}']))
def test_arguments_that_adk_tracks_concatenate_in_any_chunking(given_text: tuple[dict[str, Any], list[str]]) -> None:
    value, cut = given_text
    fragments = tracked(cut)
    assume(not ended_too_early(fragments))
    text = PathText()
    sent = "".join(map(text.write, fragments))
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


def test_adk_ends_a_string_too_early_where_the_quote_after_the_next_key_comes_alone() -> None:
    fragments = tracked(['{"a": "x', 'y", "b', '"', ": 1}"])
    assert ended_too_early(fragments)  # once ADK does not, nothing need be assumed of its fragments
    text = PathText()
    assert "".join(map(text.write, fragments)) == '{"a":"x"'
    assert text.complete({"a": "xy", "b": 1}) is None


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


@given(grown_states())
def test_arguments_that_repeat_and_grow_concatenate_to_the_last_state(states: list[dict[str, Any]]) -> None:
    text = GrowingText()
    sent = "".join(text.write(json_value(state, lossy=True), streaming=True) for state in states)
    rest = text.complete(final_arguments(states[-1]))
    assert rest is not None
    assert as_client_reads(sent + rest) == as_client_reads(json.dumps(final_arguments(states[-1])))


@given(st.lists(st.tuples(NUMBERS, st.booleans()), min_size=1, max_size=4))
def test_numbers_are_those_that_a_client_reads_whatever_fragments_make_of_them(
    numbers: list[tuple[float, bool]],
) -> None:
    final = final_arguments({"n": [number for number, _ in numbers], "end": "x"})
    told = [float(number) if becomes_float else number for number, becomes_float in numbers]
    by_path, by_growth = PathText(), GrowingText()
    pieces = [PartialArg(json_path=f"$.n[{index}]", number_value=number) for index, number in enumerate(told)]
    states: list[dict[str, Any]] = [{"n": told[: index + 1]} for index in range(len(told))]
    sent_by_path = "".join(map(by_path.write, pieces))
    sent_by_growth = "".join(by_growth.write(state, streaming=True) for state in [*states, {"n": told, "end": "x"}])
    for text, sent in ((by_path, sent_by_path), (by_growth, sent_by_growth)):
        rest = text.complete(final)
        assert rest is not None
        assert as_client_reads(sent + rest) == as_client_reads(json.dumps(final))
