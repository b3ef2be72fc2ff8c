"""Citations: a client that cuts its text at their indexes has the words that the model cited."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import pytest
from google.adk.events import Event
from google.genai.types import (
    Citation,
    CitationMetadata,
    GroundingChunk,
    GroundingChunkMaps,
    GroundingChunkRetrievedContext,
    GroundingChunkWeb,
    GroundingMetadata,
    GroundingSupport,
    Part,
    RagChunk,
    Segment,
)
from hypothesis import given, strategies as st

from stream_protocol.session import session_to_messages
from stream_protocol.stream import _sources
from stream_protocol.wire.client import MessageReducer
from tests.stream.building import call, event, fragment, picture, response, results, text, thought, user
from tests.stream.running import only, run

NEWEST = "7.0.173"
PAGE = GroundingChunk(web=GroundingChunkWeb(uri="https://a.example/", title="A"))
OTHER = GroundingChunk(web=GroundingChunkWeb(uri="https://b.example/"))
FILE = GroundingChunk(
    retrieved_context=GroundingChunkRetrievedContext(uri="gs://b/d.pdf", title="D", document_name="d.pdf", text="Read.")
)


def place(base: str, cited: str, part: int | None = None, *, says: bool = True, after: str = "") -> Segment:
    """The place of these words in a text, as Google gives it."""
    start = len(base[: base.index(cited, base.index(after))].encode())
    end = start + len(cited.encode())
    # Protobuf leaves a 0 out.
    return Segment(start_index=start or None, end_index=end, part_index=part or None, text=cited if says else None)


def grounded(*segments: Segment, chunks: Sequence[GroundingChunk] = (PAGE,), indices: Sequence[int] = (0,)) -> Any:
    supports = [GroundingSupport(segment=segment, grounding_chunk_indices=list(indices)) for segment in segments]
    return GroundingMetadata(grounding_chunks=list(chunks), grounding_supports=supports)


def cut(value: str, start: int, end: int) -> str:
    """JavaScript's ``value.slice(start, end)``."""
    return value.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def cited(events: Iterable[Event], **options: Any) -> list[tuple[int, str, str]]:
    """The number of each text, the words that are cited in it and the id of the source, as the client has them."""
    chunks = cast("Any", run(events, **options))
    reducer = MessageReducer(ai_sdk=7)
    for chunk in chunks:
        reducer.apply(chunk)
    parts: list[Any] = [*reducer.message["parts"]]
    texts = [part for part in parts if part["type"] == "text"]
    sources = {part["sourceId"]: part for part in parts if part["type"].startswith("source-")}
    of_texts = [(number, part["citations"]) for number, part in enumerate(texts) if "citations" in part]
    of_data = [
        (part["data"]["textIndex"], part["data"]["citations"]) for part in parts if part["type"] == "data-adk-citations"
    ]
    found = []
    for number, citations in sorted(of_texts + of_data, key=lambda one: one[0]):
        for citation in citations:
            source = citation["source"]
            assert {key: source[key] for key in source.keys() - {"type", "sourceType", "id"}} == {
                key: value for key, value in sources[source["id"]].items() if key not in ("type", "sourceId")
            }
            words = cut(texts[number]["text"], citation["startIndex"], citation["endIndex"])
            found.append((number, words, source["id"]))
    return found


TEXTS = {
    "emoji": "A 👩‍👩‍👧‍👦 family 🇯🇵 lives in 🏯 Himeji.",
    "Chinese and Japanese": "京都は千年の都です。𠮷野家は牛丼屋。",
    "combining marks": "Cafe\u0301 ge\u0308o\u0308ffnet, Việt Nam, हिन्दी",
    "right to left": "שלום עולם. مرحبا بالعالم.",
    "mixed": "Paris 巴黎 \u202bمدينة\u202c 🗼 Παρίσι.",
}


@pytest.mark.parametrize("options", [{}, {"ai_sdk": 7}, {"ai_sdk": NEWEST}], ids=["v6", "v7", "newest"])
@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS.keys())
def test_each_word_of_any_script_is_cited_where_it_stands(value: str, options: dict[str, Any]) -> None:
    words = value.split(" ")
    places: list[Segment] = []
    begin = 0
    for word in words:
        size = len(word.encode())
        places.append(Segment(start_index=begin, end_index=begin + size, text=word))
        begin += size + 1
    stream = [fragment(text(character)) for character in value]
    aggregate = event(text(value), grounding_metadata=grounded(*places))
    assert cited([*stream, aggregate], **options) == [(0, word, "source-0") for word in words]


@given(st.data())
def test_any_place_in_any_text_is_cited_exactly(data: st.DataObject) -> None:
    alphabet = st.sampled_from("aé京👩‍🇯🇵\u0301שم\u202b \n𠮷")
    value = data.draw(st.text(alphabet, min_size=1, max_size=60))
    start = data.draw(st.integers(0, len(value) - 1))
    end = data.draw(st.integers(start + 1, len(value)))
    begins = len(value[:start].encode())
    segment = Segment(start_index=begins, end_index=begins + len(value[start:end].encode()))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(value)))))
    pieces = [value[a:b] for a, b in zip([0, *cuts], [*cuts, len(value)], strict=True) if a < b]
    events = [*(fragment(text(piece)) for piece in pieces), event(text(value), grounding_metadata=grounded(segment))]
    assert cited(events, ai_sdk=NEWEST) == [(0, value[start:end], "source-0")]


@pytest.mark.parametrize("begin", [0, 4095, 4096, 4097, 9000])
def test_a_long_text_is_cited_after_any_number_of_bytes(begin: int) -> None:
    value = "é" * begin + "here" + "京" * 9000
    aggregate = event(text(value), grounding_metadata=grounded(place(value, "here", says=False)))
    assert cited([aggregate]) == [(0, "here", "source-0")]


def test_a_new_client_gets_citations_at_the_end_of_the_text_and_an_old_one_as_data() -> None:
    value = "Berlin is big."
    said = event(text(value), grounding_metadata=grounded(place(value, "Berlin"), chunks=(PAGE, FILE), indices=(0, 1)))
    page = {"type": "source", "sourceType": "url", "id": "source-0", "url": "https://a.example/", "title": "A"}
    document = {
        "type": "source",
        "sourceType": "document",
        "id": "source-1",
        "mediaType": "application/pdf",
        "title": "D",
        "filename": "d.pdf",
    }
    citations = [
        {"source": page, "startIndex": 0, "endIndex": 6},
        {"source": document, "startIndex": 0, "endIndex": 6, "citedText": "Read."},
    ]
    new = run([said], ai_sdk="7.0.138")
    assert only(new, "text-end") == [{"type": "text-end", "id": "0", "citations": citations}]
    assert only(new, "data-") == []
    for older in (6, 7, "7.0.137"):
        old = run([said], ai_sdk=older)
        data = {"textIndex": 0, "citations": citations}
        assert only(old, "data-") == [{"type": "data-adk-citations", "id": "text-0", "data": data}]
        assert only(old, "text-end") == [{"type": "text-end", "id": "0"}]


def test_a_text_that_has_ended_before_its_citations_gets_them_as_data() -> None:
    first, last = "One 🐕.", "Two 🐈."
    metadata = grounded(place(first, "🐕"), place(last, "🐈", 2))
    parts = text(first), thought("hm"), text(last)
    for events in (
        [event(*parts, grounding_metadata=metadata)],
        [*(fragment(part) for part in parts), event(*parts, grounding_metadata=metadata)],
    ):
        chunks = run(events, ai_sdk=NEWEST)
        assert [chunk["data"]["textIndex"] for chunk in only(chunks, "data-")] == [0]
        assert ["citations" in chunk for chunk in only(chunks, "text-end")] == [False, True]
        assert cited(events, ai_sdk=NEWEST) == cited(events) == [(0, "🐕", "source-0"), (1, "🐈", "source-0")]


def test_a_place_in_two_texts_is_cut() -> None:
    """LiteLLM streams a thought within a text; the aggregate has the thought first, and the text in one piece."""
    events = [fragment(text("Ber👩")), fragment(thought("hm")), fragment(text("lin is 👩 big."))]
    whole = "Ber👩lin is 👩 big."
    segments = place(whole, "Ber👩lin", 1), place(whole, "👩 big", 1)
    aggregate = event(thought("hm"), text(whole), grounding_metadata=grounded(*segments))
    expected = [(0, "Ber👩", "source-0"), (1, "lin", "source-0"), (1, "👩 big", "source-0")]
    assert cited([*events, aggregate]) == cited([*events, aggregate], ai_sdk=NEWEST) == expected


def test_the_text_numbers_go_on_in_later_answers_of_a_message() -> None:
    first = event(text("Let me look."), call("look", {}, "A"))
    value = "I saw 🐕."
    last = event(text(value), grounding_metadata=grounded(place(value, "🐕")))
    assert cited([first, results(response("look", {}, "A")), last]) == [(1, "🐕", "source-0")]


@pytest.mark.parametrize("says", [True, False])
def test_bytes_may_be_counted_without_the_thoughts_that_adk_puts_first(says: bool) -> None:
    value = "Berlin is."
    aggregate = event(thought("**Plan**"), text(value), grounding_metadata=grounded(place(value, "is", says=says)))
    assert cited([aggregate]) == [(0, "is", "source-0")]


def test_bytes_may_be_counted_over_all_texts_if_the_words_are_the_same() -> None:
    whole = "One. Two."
    parts = text("One."), picture(), text(" Two.")
    assert cited([event(*parts, grounding_metadata=grounded(place(whole, "Two")))]) == [(1, "Two", "source-0")]
    assert cited([event(*parts, grounding_metadata=grounded(place(whole, "Two", says=False)))]) == []


def segment(start: int | None, end: int | None, part: int | None = None, words: str | None = None) -> Segment:
    return Segment(start_index=start, end_index=end, part_index=part, text=words)


@pytest.mark.parametrize(
    "wrong",
    [
        segment(0, None),
        segment(0, 0),
        segment(6, 2),
        segment(-1, 2),
        segment(0, -1),
        segment(0, 13),
        segment(13, 14),
        segment(0, 2),  # within 京
        segment(1, 3),
        segment(4, 7),  # within 👩
        segment(0, 3, 1),  # a thought
        segment(0, 3, 2),  # a call
        segment(0, 3, 9),
        segment(0, 3, -1),
        segment(0, 3, words="都"),  # a callback has changed the text
        segment(0, 3, words=""),
    ],
)
def test_a_place_that_does_not_fit_is_not_cited(wrong: Segment) -> None:
    parts = text("京👩 abcd"), thought("京"), call("look", {}, "A")
    said = event(*parts, grounding_metadata=grounded(wrong))
    assert cited([said]) == []
    assert only(run([said]), "source-url")


@pytest.mark.parametrize(
    "metadata",
    [
        grounded(segment(0, 1), indices=()),
        grounded(segment(0, 1), indices=(1, -1, 99)),
        grounded(segment(0, 1), chunks=()),
        grounded(segment(0, 1), chunks=[GroundingChunk()]),
        GroundingMetadata(grounding_chunks=[PAGE], grounding_supports=[GroundingSupport(grounding_chunk_indices=[0])]),
        GroundingMetadata(grounding_chunks=[PAGE], grounding_supports=[GroundingSupport(segment=segment(0, 1))]),
    ],
)
def test_a_support_without_a_source_cites_nothing(metadata: GroundingMetadata) -> None:
    assert cited([event(text("a"), grounding_metadata=metadata)]) == []


@pytest.mark.parametrize("parts", [(), (thought("a"),), (call("look", {}, "A"),)])
def test_an_answer_without_text_cites_nothing(parts: tuple[Part, ...]) -> None:
    said = event(*parts, grounding_metadata=grounded(segment(0, 1)))
    assert cited([said]) == []


@pytest.mark.parametrize(
    ("streamed", "stored"),
    [
        ("Berlin is big.", "Paris is big."),
        ("Berlin is big.", "Berlin is"),
        ("/*PLAN*/ Berlin is big.", "Berlin is big."),
        ("Berlin  is big.", "Berlin is  big."),
    ],
)
def test_a_text_that_a_callback_changed_is_not_cited_at_wrong_places(streamed: str, stored: str) -> None:
    aggregate = event(
        text(stored), grounding_metadata=grounded(place(stored, "is")), partial=False, finish_reason="STOP"
    )
    events = [fragment(text(streamed)), aggregate]
    assert cited(events) == cited(events, ai_sdk=NEWEST) == []
    assert cited([aggregate]) == [(0, "is", "source-0")]


def test_what_an_aggregate_adds_is_cited_too() -> None:
    value = "Berlin is big."
    aggregate = event(text(value), grounding_metadata=grounded(place(value, "big"), place(value, "Berlin")))
    assert cited([fragment(text("Berlin ")), aggregate]) == [(0, "big", "source-0"), (0, "Berlin", "source-0")]


def test_an_answer_that_is_not_of_the_stream_before_it_is_cited() -> None:
    value = "Sorry, Paris is down."
    events = [
        fragment(text("Berl"), model_version="m"),
        event(text(value), grounding_metadata=grounded(place(value, "Paris"))),
    ]
    assert cited(events) == [(1, "Paris", "source-0")]


def test_a_text_with_a_lone_surrogate_keeps_its_places() -> None:
    value = "a\ud800b 👩 c"
    at = len(value[: value.index("c")].encode("utf-8", "surrogatepass"))
    aggregate = event(text("x"), grounding_metadata=grounded(segment(at, at + 1)))
    assert aggregate.content is not None
    assert aggregate.content.parts is not None
    aggregate.content.parts[0].text = value
    assert cited([aggregate]) == [(0, "c", "source-0")]


def test_a_source_is_cited_once_at_a_place() -> None:
    value = "Berlin."
    metadata = grounded(place(value, "Berlin"), place(value, "Berlin"), chunks=(PAGE, PAGE, OTHER), indices=(0, 1, 2))
    said = event(text(value), grounding_metadata=metadata)
    assert cited([said]) == [(0, "Berlin", "source-0"), (0, "Berlin", "source-1")]


def test_recited_words_are_cited() -> None:
    value = "Über allen 🏔 Gipfeln"
    at = len("Über allen ".encode())
    citation = Citation(uri="https://poem.example/", start_index=at, end_index=at + len("🏔".encode()))
    said = event(text(value), citation_metadata=CitationMetadata(citations=[citation, Citation(start_index=0)]))
    assert cited([said]) == [(0, "🏔", "source-0")]


def test_a_place_on_a_map_is_marked() -> None:
    value = "The Louvre."
    place_on_map = GroundingChunk(maps=GroundingChunkMaps(uri="https://maps.example/louvre", title="Louvre"))
    said = event(text(value), grounding_metadata=grounded(place(value, "Louvre"), chunks=[place_on_map]))
    chunks = run([said], ai_sdk=NEWEST)
    [source] = [chunk for chunk in chunks if chunk["type"] == "source-url"]
    [citation] = next(chunk["citations"] for chunk in chunks if chunk["type"] == "text-end")
    assert source["providerMetadata"] == citation["source"]["providerMetadata"] == {"adk": {"grounding": "maps"}}


@pytest.mark.parametrize(
    ("document", "quote"),
    [
        (GroundingChunkRetrievedContext(uri="gs://b/d", text="Words."), "Words."),
        (GroundingChunkRetrievedContext(uri="gs://b/d", rag_chunk=RagChunk(text="Words.")), "Words."),
        (GroundingChunkRetrievedContext(uri="gs://b/d", text="w" * 5000), "w" * 1000),
        (GroundingChunkRetrievedContext(uri="gs://b/d"), None),
    ],
)
def test_the_words_of_a_document_are_quoted(document: GroundingChunkRetrievedContext, quote: str | None) -> None:
    chunk = GroundingChunk(retrieved_context=document)
    [data] = only(run([event(text("a"), grounding_metadata=grounded(segment(0, 1), chunks=[chunk]))]), "data-")
    assert data["data"]["citations"][0].get("citedText") == quote


def test_many_citations_of_a_long_title_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sources, "MAX_LENGTH", 1000)
    chunk = GroundingChunk(web=GroundingChunkWeb(uri="https://a.example/", title="T" * 200))
    said = event(text("abcdefgh"), grounding_metadata=grounded(*(segment(i, i + 1) for i in range(8)), chunks=[chunk]))
    assert [words for _, words, _ in cited([said])] == ["a", "b", "c"]


def test_without_sources_nothing_is_cited() -> None:
    said = event(text("a"), grounding_metadata=grounded(segment(0, 1)))
    assert "citations" not in str(run([said], send_sources=False, ai_sdk=NEWEST))


@pytest.mark.parametrize("ai_sdk", [6, 7, NEWEST])
def test_a_reload_shows_the_same_citations(ai_sdk: Any) -> None:
    first, last = "One 🐕.", "Two 🐈."
    metadata = grounded(place(first, "🐕"), place(last, "🐈", 2), chunks=(PAGE, FILE), indices=(0, 1))
    parts = text(first), thought("hm"), text(last)
    asked = user(text("?"))
    aggregate = event(*parts, grounding_metadata=metadata)
    reducer = MessageReducer(ai_sdk=6 if ai_sdk == 6 else 7)
    for chunk in cast("Any", run([asked, *(fragment(part) for part in parts), aggregate], ai_sdk=ai_sdk)):
        reducer.apply(chunk)
    stored = session_to_messages({"events": [asked, aggregate]}, ai_sdk=ai_sdk)
    assert stored[-1]["parts"] == reducer.message["parts"]
