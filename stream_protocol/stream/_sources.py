"""Sources, each once in a message."""

from typing import Any

from stream_protocol.adk import EventFacts, Source
from stream_protocol.stream._media import document_type, is_web_url
from stream_protocol.wire import Sink


class Sources:
    """Writes the sources that the message does not have yet. Ids are ordinals in the message."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self._seen: set[str] = set()

    def add(self, said: EventFacts) -> None:
        """Writes the new sources of an event."""
        for source in said.reports:
            if isinstance(source, Source) and source.uri not in self._seen:
                self._write(source)

    def _write(self, source: Source) -> None:
        source_id = f"source-{len(self._seen)}"
        self._seen.add(source.uri)
        if is_web_url(source.uri):
            self._sink.source_url(source_id, source.uri, source.title)
        else:
            title = source.title or source.filename or source.uri
            self._sink.source_document(source_id, document_type(source.filename or source.uri), title, source.filename)
