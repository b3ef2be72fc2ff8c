from typing import Any

import pytest
from google.genai.types import (
    Citation,
    CitationMetadata,
    GroundingChunk,
    GroundingChunkImage,
    GroundingChunkMaps,
    GroundingChunkRetrievedContext,
    GroundingChunkWeb,
    GroundingMetadata,
    SearchEntryPoint,
)

from tests.stream.building import event, fragment, text
from tests.stream.running import kinds, only, run


def found(*chunks: GroundingChunk) -> list[dict[str, Any]]:
    metadata = GroundingMetadata(grounding_chunks=list(chunks))
    return only(run([event(text("a"), grounding_metadata=metadata)]), "source")


@pytest.mark.parametrize(
    ("chunk", "source"),
    [
        (GroundingChunk(web=GroundingChunkWeb(uri="https://a/", title="A")), {"url": "https://a/", "title": "A"}),
        (
            GroundingChunk(web=GroundingChunkWeb(uri="https://a/", domain="a.org")),
            {"url": "https://a/", "title": "a.org"},
        ),
        (GroundingChunk(web=GroundingChunkWeb(uri="HTTP://a/")), {"url": "HTTP://a/"}),
        (
            GroundingChunk(maps=GroundingChunkMaps(uri="https://m/", title="Place")),
            {"url": "https://m/", "title": "Place"},
        ),
        (
            GroundingChunk(image=GroundingChunkImage(source_uri="https://s/", image_uri="https://i/")),
            {"url": "https://s/"},
        ),
        (
            GroundingChunk(image=GroundingChunkImage(image_uri="https://i/", title="I")),
            {"url": "https://i/", "title": "I"},
        ),
        (
            GroundingChunk(retrieved_context=GroundingChunkRetrievedContext(uri="https://d/", title="D")),
            {"url": "https://d/", "title": "D"},
        ),
    ],
)
def test_what_is_on_the_web_is_a_source_url(chunk: GroundingChunk, source: dict[str, str]) -> None:
    assert found(chunk) == [{"type": "source-url", "sourceId": "source-0", **source}]


@pytest.mark.parametrize(
    ("document", "title", "filename"),
    [
        (GroundingChunkRetrievedContext(uri="gs://b/d", title="D", document_name="docs/1"), "D", "docs/1"),
        (GroundingChunkRetrievedContext(document_name="docs/1"), "docs/1", "docs/1"),
        (GroundingChunkRetrievedContext(title="D"), "D", None),
        (GroundingChunkRetrievedContext(uri="gs://b/d"), "gs://b/d", None),
    ],
)
def test_what_no_browser_loads_is_a_document(
    document: GroundingChunkRetrievedContext, title: str, filename: str | None
) -> None:
    (source,) = found(GroundingChunk(retrieved_context=document))
    assert (source["type"], source["title"], source.get("filename")) == ("source-document", title, filename)
    assert source["mediaType"]


@pytest.mark.parametrize(
    "chunk",
    [
        GroundingChunk(),
        GroundingChunk(web=GroundingChunkWeb(title="no address")),
        GroundingChunk(maps=GroundingChunkMaps()),
        GroundingChunk(image=GroundingChunkImage(title="no address")),
        GroundingChunk(retrieved_context=GroundingChunkRetrievedContext(text="no name")),
    ],
)
def test_what_has_no_address_is_no_source(chunk: GroundingChunk) -> None:
    assert found(chunk) == []


def cited(*uris: str | None) -> CitationMetadata:
    return CitationMetadata(citations=[Citation(uri=uri, title="T") for uri in uris])


def test_citations_are_sources() -> None:
    chunks = run([event(text("a"), citation_metadata=cited("https://a/", None, "gs://b/c.PDF"))])
    assert only(chunks, "source") == [
        {"type": "source-url", "sourceId": "source-0", "url": "https://a/", "title": "T"},
        {"type": "source-document", "sourceId": "source-1", "mediaType": "application/pdf", "title": "T"},
    ]


def test_each_source_is_shown_once_and_from_complete_events_alone() -> None:
    web = GroundingMetadata(grounding_chunks=[GroundingChunk(web=GroundingChunkWeb(uri="https://a/"))] * 2)
    said: dict[str, Any] = {"grounding_metadata": web, "citation_metadata": cited("https://a/")}
    chunks = run([fragment(text("a"), **said), event(text("a"), **said), event(text("b"), **said)])
    assert kinds(only(chunks, "source")) == ["source-url"]
    assert only(run([fragment(text("a"), **said)]), "source") == []


def test_metadata_without_sources_adds_nothing() -> None:
    said: dict[str, Any] = {"grounding_metadata": GroundingMetadata(), "citation_metadata": CitationMetadata()}
    assert only(run([event(text("a"), **said)]), "source") == []


def search(rendered: str | None, *queries: str) -> GroundingMetadata:
    entry = SearchEntryPoint(rendered_content=rendered) if rendered is not None else None
    return GroundingMetadata(search_entry_point=entry, web_search_queries=list(queries))


@pytest.mark.parametrize(
    ("metadata", "data"),
    [
        (search("<p>", "a", "b"), {"webSearchQueries": ["a", "b"], "renderedContent": "<p>"}),
        (search("<p>"), {"webSearchQueries": [], "renderedContent": "<p>"}),
        (search(None, "a", ""), {"webSearchQueries": ["a"]}),
        (search("", "a"), {"webSearchQueries": ["a"]}),
    ],
)
def test_search_suggestions_are_data(metadata: GroundingMetadata, data: dict[str, Any]) -> None:
    chunks = run([event(text("a"), grounding_metadata=metadata)])
    assert only(chunks, "data-") == [{"type": "data-adk-search-suggestions", "data": data}]


@pytest.mark.parametrize(
    "metadata", [search(None), search(""), GroundingMetadata(search_entry_point=SearchEntryPoint())]
)
def test_an_answer_without_a_search_suggests_none(metadata: GroundingMetadata) -> None:
    assert only(run([event(text("a"), grounding_metadata=metadata)]), "data-") == []


def test_each_search_is_suggested_once_though_its_answer_comes_twice() -> None:
    one, other = search("<p>", "a"), search("<p>", "b")
    events = [
        fragment(text("a"), grounding_metadata=one),
        event(text("a"), grounding_metadata=one),
        event(text(""), grounding_metadata=one),
        event(text("b"), grounding_metadata=other),
    ]
    assert [each["data"]["webSearchQueries"] for each in only(run(events), "data-")] == [["a"], ["b"]]
    assert only(run(events, send_sources=False), "data-") == []


def test_sources_can_be_turned_off() -> None:
    assert only(run([event(text("a"), citation_metadata=cited("https://a/"))], send_sources=False), "source") == []
