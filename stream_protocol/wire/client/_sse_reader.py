"""Read chunks from the bytes of a response, with the client's rules for server-sent events. Lines are numbered for
error messages.

Mirrors ``parse-json-event-stream.ts`` of ``@ai-sdk/provider-utils`` with ``eventsource-parser@3.1.1``:

- Lines end in LF, CR or both. Invalid UTF-8 becomes U+FFFD.
- Several ``data`` lines of an event are joined. Comments and other fields are skipped.
- ``[DONE]`` is skipped at any position.
- The last event is dropped if no blank line follows it, or if the stream ends in a single CR.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from stream_protocol.wire._arguments import check_iterable, shown
from stream_protocol.wire._chunks import AnyChunk
from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._json_parsing import parse_client_json

_LINE_END: Final = re.compile(r"(\r\n|\n|\r(?!\Z))")


class Line(NamedTuple):
    number: int
    """From 1."""
    text: str
    end: str
    """The line end; empty for an unfinished last line, which the client ignores."""


class SseEvent(NamedTuple):
    """A server-sent event with at least one ``data`` line."""

    line: int
    """The number of the first line with data."""
    data: str
    complete: bool
    """True if a blank line follows the event. The client ignores other events."""


class OverlongLineError(ValueError):
    """Raised for a line that is longer than ``max_length`` characters. ``number``: the number of the line, from 1."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number} is too long")
        self.number = number


def parse_sse(body: bytes | bytearray | Iterable[bytes]) -> Iterator[AnyChunk]:
    """Return the chunks in a response body, without validation. ``body``: the bytes of the body, or an iterable of byte
    pieces.

    Raises ``ClientStreamError`` (``AI_JSONParseError``) for an event that is not JSON. Raises ``TypeError`` for a body
    that is not bytes.
    """
    pieces = [bytes(body)] if isinstance(body, bytes | bytearray) else body
    _check_pieces(pieces)
    return _chunks(pieces)


def _check_pieces(pieces: object) -> None:
    if isinstance(pieces, str):
        raise TypeError("`parse_sse` takes the bytes of a response, not text: encode it as UTF-8 first.")
    check_iterable("parse_sse", pieces, "bytes", otherwise="collect the pieces in a list first")


def _checked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise TypeError(f"`parse_sse` takes an iterable of bytes, and {shown(piece)} in it is not bytes.")
        yield piece


def _chunks(pieces: Iterable[bytes]) -> Iterator[AnyChunk]:
    for event in sse_events(split_lines(_checked(pieces))):
        if event.data == "[DONE]" or not event.complete:
            continue
        try:
            chunk = parse_client_json(event.data)
        except ValueError as error:
            text = f"JSON parsing failed: Text: {event.data}."
            raise ClientStreamError(text, error_class="AI_JSONParseError") from error
        yield cast("AnyChunk", chunk)


def split_lines(pieces: Iterable[bytes], *, max_length: int | None = None) -> Iterator[Line]:
    """Yield the lines of a UTF-8 text in linear time. ``pieces``: the bytes of the text, cut at any positions. Raises
    ``OverlongLineError`` for a line of more than ``max_length`` characters.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    number = 1
    pending: list[str] = []
    length = 0
    for piece in pieces:
        text = decoder.decode(piece)
        pending.append(text)
        length += len(text)
        if "\n" in text or "\r" in text:
            *split, rest = _LINE_END.split("".join(pending))
            pending, length = [rest], len(rest)
            for line, end in zip(split[::2], split[1::2], strict=True):
                yield Line(number, line, end)
                number += 1
        if max_length is not None and length > max_length:
            raise OverlongLineError(number)
    if length:
        yield Line(number, "".join(pending), "")


def sse_events(lines: Iterable[Line]) -> Iterator[SseEvent]:
    """Yield the server-sent events that have a ``data`` line. As in the client, the data may be empty."""
    data: list[str] = []
    first = 0
    for number, text, _ in lines:
        field, _, value = text.partition(":")
        if field == "data":
            first = first if data else number
            data.append(value.removeprefix(" "))
        elif not text and data:
            yield SseEvent(first, "\n".join(data), complete=True)
            data = []
    if data:
        yield SseEvent(first, "\n".join(data), complete=False)
