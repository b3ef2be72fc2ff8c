import pytest

from stream_protocol.convert._speakers import Kind, Ordinals, Speaker, signed
from stream_protocol.wire import ChunkSink


@pytest.fixture
def sink() -> ChunkSink:
    return ChunkSink()


@pytest.fixture
def speaker(sink: ChunkSink) -> Speaker:
    return Speaker(("agent", "par.agent", "root@1"), sink)


def test_ordinals_count_each_kind_on_its_own() -> None:
    ordinals = Ordinals()
    assert [ordinals.next(kind) for kind in (Kind.TEXT, Kind.TEXT, Kind.REASONING, Kind.TEXT)] == ["0", "1", "0", "2"]


def test_a_speaker_says_who_speaks() -> None:
    assert Speaker(("a", None, ""), ChunkSink()).provider == {"adk": {"author": "a"}}
    assert Speaker(("a", "par.a", ""), ChunkSink()).provider == {"adk": {"author": "a", "branch": "par.a"}}


def test_an_open_part_makes_the_speaker_busy_until_it_is_closed(speaker: Speaker) -> None:
    busy = [speaker.busy]
    speaker.open(Kind.TEXT, "0")
    busy.append(speaker.busy)
    speaker.close()
    busy.append(speaker.busy)
    assert busy == [False, True, False]


def test_nothing_can_be_written_where_no_part_is_open(speaker: Speaker, sink: ChunkSink) -> None:
    speaker.open(Kind.TEXT, "0")
    speaker.close()
    with pytest.raises(AssertionError, match="no part is open for 'x'"):
        speaker.write("x")
    with pytest.raises(AssertionError, match="no part is open"):
        speaker.keep("x")
    assert [chunk["type"] for chunk in sink.take()] == ["text-start", "text-end"]


def test_closing_twice_ends_once(speaker: Speaker, sink: ChunkSink) -> None:
    speaker.open(Kind.REASONING, "0")
    speaker.close()
    speaker.close()
    assert [chunk["type"] for chunk in sink.take()] == ["reasoning-start", "reasoning-end"]


def test_the_end_of_a_response_forgets_what_was_streamed(speaker: Speaker) -> None:
    speaker.open(Kind.TEXT, "0")
    speaker.keep("x")
    speaker.shown["inline_data"] = 1
    speaker.fresh = False
    speaker.end_response()
    assert (speaker.streamed, speaker.shown, speaker.fresh, speaker.busy) == ([[], []], {}, True, False)


def test_a_signature_is_standard_base64_where_googles_provider_keeps_it() -> None:
    assert signed(b"\xfb\xff") == {"google": {"thoughtSignature": "+/8="}}


def test_a_signature_without_an_open_part_is_not_kept_for_the_next(speaker: Speaker, sink: ChunkSink) -> None:
    speaker.sign(b"s")
    speaker.open(Kind.TEXT, "0")
    speaker.close()
    assert sink.take()[-1] == {"type": "text-end", "id": "0"}
