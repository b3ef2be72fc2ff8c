import pytest

from stream_protocol.adk import OtherPart, continued_text
from stream_protocol.stream import PartKind
from stream_protocol.stream._speakers import AuthorStream
from stream_protocol.stream.calls import provider_metadata
from stream_protocol.wire import ChunkSink
from tests.stream.building import fragment, text


@pytest.fixture
def sink() -> ChunkSink:
    return ChunkSink()


@pytest.fixture
def speaker(sink: ChunkSink) -> AuthorStream:
    return AuthorStream(("agent", "par.agent", "root@1"), sink)


def test_a_speaker_says_who_speaks() -> None:
    assert provider_metadata(("a", None, "")) == {"adk": {"author": "a"}}
    assert provider_metadata(("a", "par.a", "")) == {"adk": {"author": "a", "branch": "par.a"}}


def test_an_open_part_makes_the_speaker_busy_until_it_is_closed(speaker: AuthorStream) -> None:
    busy = [speaker.is_busy]
    speaker.open(PartKind.TEXT, "0")
    busy.append(speaker.is_busy)
    speaker.close()
    busy.append(speaker.is_busy)
    assert busy == [False, True, False]


def test_nothing_can_be_written_where_no_part_is_open(speaker: AuthorStream, sink: ChunkSink) -> None:
    speaker.open(PartKind.TEXT, "0")
    speaker.close()
    with pytest.raises(AssertionError, match="no part is open for 'x'"):
        speaker.write("x")
    event = fragment(text("x"), author="agent", branch="par.agent", node_path="root@1")
    opened = [speaker.opened]
    speaker.open(PartKind.TEXT, "1")
    opened.append(speaker.opened)
    speaker.close()
    opened.append(speaker.opened)
    assert [one and continued_text(event, one) for one in opened] == [None, "x", None]
    assert [chunk["type"] for chunk in sink.take()] == ["text-start", "text-end"] * 2


def test_closing_twice_ends_once(speaker: AuthorStream, sink: ChunkSink) -> None:
    speaker.open(PartKind.REASONING, "0")
    speaker.close()
    speaker.close()
    assert [chunk["type"] for chunk in sink.take()] == ["reasoning-start", "reasoning-end"]


def test_the_end_of_a_response_forgets_what_was_streamed(speaker: AuthorStream) -> None:
    speaker.open(PartKind.TEXT, "0")
    speaker.streamed.add("x")
    speaker.streamed.note_whole(OtherPart("inline_data").fields)
    speaker.in_response = True
    speaker.end_response()
    assert (bool(speaker.streamed), speaker.streamed.written, speaker.in_response, speaker.is_busy) == (
        False,
        None,
        False,
        False,
    )


def test_a_signature_is_standard_base64_where_googles_provider_keeps_it() -> None:
    assert provider_metadata(("a", None, ""), b"\xfb\xff")["google"] == {"thoughtSignature": "+/8="}


def test_a_signature_without_an_open_part_is_not_kept_for_the_next(speaker: AuthorStream, sink: ChunkSink) -> None:
    speaker.sign(b"s")
    speaker.open(PartKind.TEXT, "0")
    speaker.close()
    assert sink.take()[-1] == {"type": "text-end", "id": "0"}
