import random
from collections.abc import Iterable
from typing import Any

from hypothesis import example, given, strategies as st

from stream_protocol.wire import SSE_DONE, JoinedStream, SseSink, encode_sse
from stream_protocol.wire._joined_stream import MAX_JOINED
from stream_protocol.wire.client import parse_sse
from stream_protocol.wire.client._reducer import reduce_chunks
from tests.examples import examples
from tests.wire.random_streams import legal_stream


def text(part_id: str, delta: str, **more: Any) -> bytes:
    chunk: Any = {"type": "text-delta", "id": part_id, "delta": delta, **more}
    return encode_sse(chunk)


def joined(events: Iterable[bytes]) -> list[bytes]:
    stream = JoinedStream()
    stream.add(events)
    return [*stream.complete, *stream.growing]


def test_the_deltas_of_a_part_are_joined() -> None:
    assert joined([text("1", "a"), text("1", "b"), text("1", "c")]) == [text("1", "abc")]


def test_deltas_of_parts_that_are_spoken_at_once_are_joined_each_with_its_own() -> None:
    spoken = [text("1", "a"), text("2", "x"), text("1", "b"), text("2", "y")]
    assert joined(spoken) == [text("1", "ab"), text("2", "xy")]


def output(call_id: str, value: Any, **more: Any) -> bytes:
    sink = SseSink()
    sink.tool_output_available(call_id, value, **more)
    [event] = sink.take()
    return event


def test_only_the_last_preliminary_output_of_a_call_is_kept_until_another_event() -> None:
    growing = [output("A", f"a{number}", preliminary=True) for number in range(5)]
    other = [output('B"\\', f"b{number}", preliminary=True, dynamic=True) for number in range(5)]
    together = [event for pair in zip(growing, other, strict=True) for event in pair]
    assert joined([*together, text("1", "x"), output("A", "end")]) == [
        growing[-1],
        other[-1],
        text("1", "x"),
        output("A", "end"),
    ]
    final = [output("A", "1"), output("A", "2")]
    assert joined(final) == final
    apart = [growing[0], encode_sse({"type": "start-step"}), growing[1]]
    assert joined(apart) == apart
    stream = JoinedStream()
    stream.add(together)
    assert stream.size == len(growing[-1]) + len(other[-1])


def test_nothing_is_joined_across_another_event() -> None:
    done = [text("1", "a"), encode_sse({"type": "text-end", "id": "1"}), text("1", "b"), SSE_DONE]
    assert joined(done) == done


def test_a_delta_with_metadata_of_its_own_is_left_alone() -> None:
    alone = [text("1", "a", providerMetadata={"p": {"k": 1}}), text("1", "b")]
    assert joined(alone) == alone


def test_escapes_stay_as_they_are() -> None:
    odd = ['"', "\\", "\n", "\u2028", "😀", '"}\n\n']
    sink = SseSink()
    write = sink.text_start("1", None)
    for piece in odd:
        write(piece)
    (start, delta) = joined(sink.take())
    assert list(parse_sse([start, delta])) == [
        {"type": "text-start", "id": "1"},
        {"type": "text-delta", "id": "1", "delta": "".join(odd)},
    ]


def test_the_input_of_a_call_stays_in_pieces_after_the_step_that_it_began_in() -> None:
    sink = SseSink()
    write = sink.tool_input_start("A", "look", dynamic=True)
    write("[")
    write("1")
    sink.start_step()
    write(",2")
    write(",3")
    written = sink.take()
    fewer = joined(written)
    assert len(fewer) == len(written) - 1
    assert reduce_chunks(parse_sse(fewer)) == reduce_chunks(parse_sse(written))


@given(st.integers(0, 2**32))
@example(460)
@examples(200)
def test_a_client_makes_the_same_message_of_both(seed: int) -> None:
    stream: Any = legal_stream(random.Random(seed), 6)
    events = [encode_sse(chunk) for chunk in stream]
    assert reduce_chunks(parse_sse(joined(events))) == reduce_chunks(parse_sse(events))


def test_any_number_of_deltas_becomes_one() -> None:
    events = [text("1", "word ")] * 10_000
    assert joined(joined(events[:9_000]) + events[9_000:]) == [text("1", "word " * 10_000)]


def test_a_joined_delta_has_a_most_of_text_and_what_is_longer_alone_is_left_alone() -> None:
    long = text("1", "x" * 2 * MAX_JOINED)
    events = [text("1", "w" * 1000)] * 100 + [long, text("1", "y")]
    assert [len(event) <= MAX_JOINED + 100 or event is long for event in joined(events)] == [True] * 4
    said = [chunk.get("delta") for chunk in parse_sse(joined(events))]
    assert "".join(map(str, said)) == "w" * 100_000 + "x" * 2 * MAX_JOINED + "y"


def test_the_size_of_a_joined_stream_is_that_of_its_events() -> None:
    stream = JoinedStream()
    stream.add([text("1", "a"), text("2", "b"), text("1", "c"), SSE_DONE, text("1", "d" * MAX_JOINED), text("1", "e")])
    assert stream.size == sum(map(len, [*stream.complete, *stream.growing]))
