"""Read the sources of an event, the citations in its text, and Google's suggested searches.

Google counts positions in UTF-8 bytes, from the beginning of a part. A ``Citation`` counts them in characters, from the
beginning of the event's text. If a callback has changed the text, a range may not fit it. Such ranges are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk import _facts as facts

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai import types

MAX_QUOTE: Final = 1_000
"""Maximum number of characters of a source's quotation, which all citations of the source repeat."""

_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The values of bytes that continue a character in UTF-8."""

_COUNTED: Final = 4096
"""The size of a text block, in bytes. The characters of a block are counted only once."""


def read_grounding(event: "Event", parts: Sequence[facts.Part]) -> Iterator[facts.Report]:
    """Yield the sources, citations and search suggestions of an event."""
    places = _Places(parts)
    if (grounding := event.grounding_metadata) is not None:
        sources = [list(_of_chunk(chunk)) for chunk in grounding.grounding_chunks or ()]
        for found in sources:
            yield from found
        yield from _citations(grounding, sources, places)
        yield from _suggestions(grounding)
    if (citations := event.citation_metadata) is not None:
        for citation in citations.citations or ():
            if citation.uri:
                source = facts.Source(citation.uri, citation.title)
                yield source
                if (place := places.find(None, citation.start_index, citation.end_index, None)) is not None:
                    yield facts.Citation(source, *place)


def _of_chunk(chunk: "types.GroundingChunk") -> Iterator[facts.Source]:
    if (web := chunk.web) and web.uri:
        yield facts.Source(web.uri, web.title or web.domain)
    if (place := chunk.maps) and place.uri:
        yield facts.Source(place.uri, place.title, is_map=True)
    if (image := chunk.image) and (uri := image.source_uri or image.image_uri):
        yield facts.Source(uri, image.title)
    document = chunk.retrieved_context
    if document and (name := document.uri or document.document_name or document.title):
        yield facts.Source(name, document.title, document.document_name)


def _quote(chunk: "types.GroundingChunk") -> str | None:
    """Return the text of a retrieved document; ``None`` for a web page, because Google does not send its text."""
    document = chunk.retrieved_context
    text = document.text or (document.rag_chunk.text if document.rag_chunk else None) if document else None
    return text[:MAX_QUOTE] if text else None


def _citations(
    grounding: "types.GroundingMetadata", sources: Sequence[Iterable[facts.Source]], places: "_Places"
) -> Iterator[facts.Citation]:
    chunks = grounding.grounding_chunks or ()
    for support in grounding.grounding_supports or ():
        segment = support.segment
        if segment is None:
            continue
        place = places.find(segment.part_index, segment.start_index, segment.end_index, segment.text)
        if place is None:
            continue
        for index in support.grounding_chunk_indices or ():
            if 0 <= index < len(chunks):
                quote = _quote(chunks[index])
                yield from (facts.Citation(source, *place, quote) for source in sources[index])


def _suggestions(grounding: "types.GroundingMetadata") -> Iterator[facts.SearchSuggestions]:
    rendered = grounding.search_entry_point.rendered_content if grounding.search_entry_point else None
    queries = tuple(query for query in grounding.web_search_queries or () if query)
    if rendered or queries:
        yield facts.SearchSuggestions(rendered or None, queries)


class _Places:
    """Converts byte ranges to character ranges in the text of an event."""

    def __init__(self, parts: Sequence[facts.Part]) -> None:
        self._texts = [part.text if isinstance(part, facts.Text) and not part.is_thought else "" for part in parts]
        self._begins = [0, *accumulate(map(len, self._texts))]
        self._counted: dict[str, _Utf8] = {}

    def find(self, part: int | None, start: Any, end: Any, text: str | None) -> tuple[int, int] | None:
        """Return the start and the end of a range in the event's text, in characters; ``None`` if the range does not
        match the text.

        ``start``, ``end``: positions in bytes, in the part with the index ``part``. Protobuf omits 0, so ``part`` and
        ``start`` may be ``None``. ``text``: the text in the range, if known.

        ADK joins streamed parts, so ``part`` may be wrong. If the range does not match that part, the whole text is
        searched. If ``text`` is ``None``, the whole text is searched only if the event has exactly one text part.
        """
        if not isinstance(end, int) or not isinstance(start, int | None):
            return None
        if part and not 0 <= part < len(self._texts):
            return None
        own = self._texts[part or 0] if self._texts else ""
        if own and (place := self._in(own, start or 0, end, text)) is not None:
            begin = self._begins[part or 0]
            return begin + place[0], begin + place[1]
        if part or (text is None and sum(map(bool, self._texts)) != 1):
            return None
        return self._in("".join(self._texts), start or 0, end, text)

    def _in(self, base: str, start: int, end: int, text: str | None) -> tuple[int, int] | None:
        if (counted := self._counted.get(base)) is None:
            counted = self._counted[base] = _Utf8(base)
        first, last = counted.characters_before(start), counted.characters_before(end)
        if first is None or last is None or first >= last or (text is not None and base[first:last] != text):
            return None
        return first, last


class _Utf8:
    """Converts positions in a text from bytes (UTF-8) to characters."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8", "surrogatepass")
        blocks = range(0, len(self._bytes), _COUNTED)
        self._before = [0, *accumulate(_characters(self._bytes[begin : begin + _COUNTED]) for begin in blocks)]

    def characters_before(self, place: int) -> int | None:
        """Return the number of characters before a byte. ``None`` if the byte is inside a character or outside the
        text."""
        if not 0 <= place <= len(self._bytes):
            return None
        if place < len(self._bytes) and self._bytes[place] in _CONTINUATION:
            return None
        block = place // _COUNTED
        return self._before[block] + _characters(self._bytes[block * _COUNTED : place])


def _characters(encoded: bytes) -> int:
    return len(encoded.translate(None, _CONTINUATION))
