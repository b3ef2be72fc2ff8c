"""Write sources, citations and Google's search suggestions.

Clients with ``ai`` 7.0.138 or later get citations in ``text-end``. Older clients get citations in
``data-adk-citations``. If the text part has already ended, all clients get ``data-adk-citations``.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.adk import Citation, EventFacts, SearchSuggestions, Source
from stream_protocol.stream._media import document_type, is_web_url
from stream_protocol.wire import ClientVersion, DocumentSource, ProviderMetadata, Sink, TextCitation, UrlSource

if TYPE_CHECKING:
    from stream_protocol.stream._speakers import AuthorStream

MAX_LENGTH: Final = 1_000_000
"""The maximum number of characters in the citations of one event. Each citation repeats its source."""

_OF_MAP: Final[ProviderMetadata] = {"adk": {"grounding": "maps"}}
"""Metadata of a source on Google Maps, with which apps must show the name Google Maps."""


class Sources:
    """Writes each source and each search suggestion once per message. The sources of a message have numbers as ids."""

    __slots__ = ("_client", "_searches", "_sink", "_sources")

    def __init__(self, sink: Sink[Any], client: ClientVersion) -> None:
        self._sink = sink
        self._client = client
        self._sources: dict[str, UrlSource | DocumentSource] = {}
        """URI -> the source in the format for citations."""
        self._searches: set[SearchSuggestions] = set()

    def add(self, facts: EventFacts, speaker: "AuthorStream", *, as_streamed: bool) -> None:
        """Write the new sources, citations and search suggestions of an event.

        ``as_streamed``: False if the client's text differs from the event's text. Then no citations are written,
        because their positions would be wrong.
        """
        for report in facts.reports:
            if isinstance(report, Source) and report.uri not in self._sources:
                self._write(report)
        citations = [report for report in facts.reports if isinstance(report, Citation)]
        if citations and as_streamed:
            self._cite(citations, facts.text, speaker)
        for report in facts.reports:
            if isinstance(report, SearchSuggestions) and report not in self._searches:
                self._searches.add(report)
                self._write_search(report)

    def _write(self, source: Source) -> None:
        source_id = f"source-{len(self._sources)}"
        provider = _OF_MAP if source.is_map else None
        known: UrlSource | DocumentSource
        if is_web_url(source.uri):
            known = {"type": "source", "sourceType": "url", "id": source_id, "url": source.uri}
            if source.title is not None:
                known["title"] = source.title
            self._sink.source_url(source_id, source.uri, source.title, provider)
        else:
            media_type = document_type(source.filename or source.uri)
            title = source.title or source.filename or source.uri
            known = {
                "type": "source",
                "sourceType": "document",
                "id": source_id,
                "mediaType": media_type,
                "title": title,
            }
            if source.filename is not None:
                known["filename"] = source.filename
            self._sink.source_document(source_id, media_type, title, source.filename, provider)
        if provider is not None:
            known["providerMetadata"] = provider
        self._sources[source.uri] = known

    def _write_search(self, search: SearchSuggestions) -> None:
        value: dict[str, Any] = {"webSearchQueries": [*search.queries]}
        if search.rendered_content is not None:
            value["renderedContent"] = search.rendered_content
        self._sink.data("adk-search-suggestions", value)

    def _cite(self, citations: Iterable[Citation], text: str, speaker: "AuthorStream") -> None:
        blocks = speaker.text_blocks
        if sum(length for _, length in blocks) != len(text):
            return
        for block, cited in _by_block(citations, [length for _, length in blocks], text).items():
            part_id = blocks[block][0]
            written = self._written(cited)
            if speaker.open_text == part_id and self._client.knows("text-end", "citations"):
                speaker.citations = written
            else:
                value = {"textIndex": int(part_id), "citations": written}
                self._sink.data("adk-citations", value, data_id=f"text-{part_id}")

    def _written(self, cited: Iterable[Citation]) -> list[TextCitation]:
        written: list[TextCitation] = []
        for citation in cited:
            item: TextCitation = {
                "source": self._sources[citation.source.uri],
                "startIndex": citation.start,
                "endIndex": citation.end,
            }
            if citation.quote is not None:
                item["citedText"] = citation.quote
            written.append(item)
        return written


def _by_block(citations: Iterable[Citation], lengths: Sequence[int], text: str) -> Mapping[int, list[Citation]]:
    """Return the citations of each text part. The keys of the result are the indexes of the parts. The citations'
    positions are UTF-16 units from the beginning of the part.

    ``lengths``: the lengths of the text parts that together form ``text``. A citation across two parts is split.
    Citations with the same source and range are merged.
    """
    begins = [0, *accumulate(lengths)]
    cut: dict[int, dict[tuple[str, int, int], Citation]] = defaultdict(dict)
    length = 0
    for citation in citations:
        length += 100 + len(citation.source.uri) + len(citation.source.title or "") + len(citation.quote or "")
        if length > MAX_LENGTH:
            break
        block = bisect_right(begins, citation.start) - 1
        while block < len(lengths) and begins[block] < citation.end:
            start = max(citation.start, begins[block]) - begins[block]
            end = min(citation.end, begins[block + 1]) - begins[block]
            if start < end:
                cut[block].setdefault((citation.source.uri, start, end), citation._replace(start=start, end=end))
            block += 1
    found: dict[int, list[Citation]] = {}
    for block, cited in sorted(cut.items()):
        units = _utf16_units(text[begins[block] : begins[block + 1]], {place for _, *ends in cited for place in ends})
        found[block] = [each._replace(start=units[each.start], end=units[each.end]) for each in cited.values()]
    return found


def _utf16_units(text: str, places: Iterable[int]) -> dict[int, int]:
    """Return a dictionary from each position in ``places`` (in characters) to the same position in UTF-16 units."""
    units: dict[int, int] = {}
    counted = before = 0
    for place in sorted(places):
        counted += len(text[before:place].encode("utf-16-le", "surrogatepass")) // 2
        units[place], before = counted, place
    return units
