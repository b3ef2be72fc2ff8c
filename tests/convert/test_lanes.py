import pytest

from stream_protocol.convert._speakers import Kind, Lane, Ordinals, signed
from stream_protocol.wire import ChunkSink


@pytest.fixture
def sink() -> ChunkSink:
    return ChunkSink()


@pytest.fixture
def lane(sink: ChunkSink) -> Lane:
    return Lane(("agent", "par.agent", "root@1"), sink)


def test_ordinals_count_each_kind_on_its_own() -> None:
    ordinals = Ordinals()
    assert [ordinals.next(kind) for kind in (Kind.TEXT, Kind.TEXT, Kind.REASONING, Kind.TEXT)] == ["0", "1", "0", "2"]


def test_a_lane_says_who_speaks() -> None:
    assert Lane(("a", None, ""), ChunkSink()).provider == {"adk": {"author": "a"}}
    assert Lane(("a", "par.a", ""), ChunkSink()).provider == {"adk": {"author": "a", "branch": "par.a"}}


def test_an_open_part_makes_the_lane_busy_until_it_is_closed(lane: Lane) -> None:
    busy = [lane.busy]
    lane.open(Kind.TEXT, "0")
    busy.append(lane.busy)
    lane.close()
    busy.append(lane.busy)
    assert busy == [False, True, False]


def test_nothing_can_be_written_where_no_part_is_open(lane: Lane, sink: ChunkSink) -> None:
    lane.open(Kind.TEXT, "0")
    lane.close()
    with pytest.raises(AssertionError, match="no part is open for 'x'"):
        lane.write("x")
    with pytest.raises(AssertionError, match="no part is open"):
        lane.keep("x")
    assert [chunk["type"] for chunk in sink.written] == ["text-start", "text-end"]


def test_closing_twice_ends_once(lane: Lane, sink: ChunkSink) -> None:
    lane.open(Kind.REASONING, "0")
    lane.close()
    lane.close()
    assert [chunk["type"] for chunk in sink.written] == ["reasoning-start", "reasoning-end"]


def test_the_end_of_a_response_forgets_what_was_streamed(lane: Lane) -> None:
    lane.open(Kind.TEXT, "0")
    lane.keep("x")
    lane.shown["inline_data"] = 1
    lane.fresh = False
    lane.end_response()
    assert (lane.streamed, lane.shown, lane.fresh, lane.busy) == ([[], []], {}, True, False)


def test_a_signature_is_standard_base64_where_googles_provider_keeps_it() -> None:
    assert signed(b"\xfb\xff") == {"google": {"thoughtSignature": "+/8="}}


def test_a_signature_without_an_open_part_is_not_kept_for_the_next(lane: Lane, sink: ChunkSink) -> None:
    lane.sign(b"s")
    lane.open(Kind.TEXT, "0")
    lane.close()
    assert sink.written[-1] == {"type": "text-end", "id": "0"}
