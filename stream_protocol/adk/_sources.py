"""Grounding and citations of an event -> sources."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stream_protocol.adk._facts import Source

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import GroundingChunk


def sources_of(event: "Event") -> Iterator[Source]:
    """The sources of an event, in their order."""
    if (grounding := event.grounding_metadata) is not None:
        for chunk in grounding.grounding_chunks or ():
            yield from _of_chunk(chunk)
    if (citations := event.citation_metadata) is not None:
        for citation in citations.citations or ():
            if citation.uri:
                yield Source(citation.uri, citation.title)


def _of_chunk(chunk: "GroundingChunk") -> Iterator[Source]:
    if (web := chunk.web) and web.uri:
        yield Source(web.uri, web.title or web.domain)
    if (place := chunk.maps) and place.uri:
        yield Source(place.uri, place.title)
    if (image := chunk.image) and (uri := image.source_uri or image.image_uri):
        yield Source(uri, image.title)
    document = chunk.retrieved_context
    if document and (name := document.uri or document.document_name or document.title):
        yield Source(name, document.title, document.document_name)
