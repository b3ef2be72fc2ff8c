"""The bytes of a response -> chunks, by the client's framing rules.

Source: ``parse-json-event-stream.ts`` of ``@ai-sdk/provider-utils`` over ``eventsource-parser@3.1.1``. Comments and
other fields are skipped, lines end in LF, CR or both, several ``data`` lines are joined, ``[DONE]`` is skipped
wherever it stands, bad UTF-8 becomes U+FFFD. An event without a blank line behind it is dropped, and so is one that
ends in a bare CR at the very end: the client waits for the LF.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final, cast

from stream_protocol.wire.chunks import AnyChunk
from stream_protocol.wire.errors import ClientStreamError
from stream_protocol.wire.strict_json import parse_client_json

_LINE_END: Final = re.compile(r"\r\n|\n|\r(?!\Z)")


def parse_sse(body: bytes | Iterable[bytes]) -> Iterator[AnyChunk]:
    """Yields the chunks of a response body, whole or in pieces split anywhere. They are JSON, not checked any further.

    Raises ``ClientStreamError`` (``AI_JSONParseError``) at the event that the client would die of.
    """
    for data in _events(_lines([body] if isinstance(body, bytes) else body)):
        if data == "[DONE]":
            continue
        try:
            chunk = parse_client_json(data)
        except ValueError as error:
            text = f"JSON parsing failed: Text: {data}."
            raise ClientStreamError(text, error_class="AI_JSONParseError") from error
        yield cast("AnyChunk", chunk)


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yields complete lines. A line that comes in many pieces is joined once, so the work is linear."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    pending: list[str] = []
    for piece in pieces:
        text = decoder.decode(piece)
        pending.append(text)
        if "\n" in text or "\r" in text:
            *lines, rest = _LINE_END.split("".join(pending))
            pending = [rest]
            yield from lines


def _events(lines: Iterable[str]) -> Iterator[str]:
    """Yields the data of each event."""
    data: list[str] = []
    for line in lines:
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
