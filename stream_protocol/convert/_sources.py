"""Grounding and citations -> sources, each once in a message."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_protocol.convert._media import document_type, is_web_url
from stream_protocol.wire import Sink

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import CitationMetadata, GroundingChunk, GroundingMetadata


@dataclass(frozen=True, slots=True)
class _Source:
    uri: str
    title: str | None
    filename: str | None = None


class Sources:
    """Writes the sources that the message does not have yet. Ids are ordinals in the message."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self._seen: set[str] = set()

    def add(self, event: "Event") -> None:
        """Writes the new sources of an event."""
        if event.grounding_metadata is not None:
            self._add_grounding(event.grounding_metadata)
        if event.citation_metadata is not None:
            self._add_citations(event.citation_metadata)

    def _add_grounding(self, metadata: "GroundingMetadata") -> None:
        for chunk in metadata.grounding_chunks or ():
            for source in _of_chunk(chunk):
                self._add(source)

    def _add_citations(self, metadata: "CitationMetadata") -> None:
        for citation in metadata.citations or ():
            if citation.uri:
                self._add(_Source(citation.uri, citation.title))

    def _add(self, source: _Source) -> None:
        if source.uri in self._seen:
            return
        source_id = f"source-{len(self._seen)}"
        self._seen.add(source.uri)
        if is_web_url(source.uri):
            self._sink.source_url(source_id, source.uri, source.title)
        else:
            title = source.title or source.filename or source.uri
            self._sink.source_document(source_id, document_type(source.filename or source.uri), title, source.filename)


def _of_chunk(chunk: "GroundingChunk") -> Iterator[_Source]:
    if (web := chunk.web) and web.uri:
        yield _Source(web.uri, web.title or web.domain)
    if (place := chunk.maps) and place.uri:
        yield _Source(place.uri, place.title)
    if (image := chunk.image) and (uri := image.source_uri or image.image_uri):
        yield _Source(uri, image.title)
    document = chunk.retrieved_context
    if document and (name := document.uri or document.document_name or document.title):
        yield _Source(name, document.title, document.document_name)
