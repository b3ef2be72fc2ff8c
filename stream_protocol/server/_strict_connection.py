"""h11's connection, with limits against small requests that take much time.

h11 parses each header and each chunk of a body in Python. A body of 4 KiB in chunks of one byte takes as long as 20 MiB
in large chunks.
"""

from __future__ import annotations

import re
from typing import Any, Final

import h11

MAX_HEADERS: Final = 100
"""Maximum number of header lines, and of trailer lines after a chunked body.

Apache has an equal limit (``LimitRequestFields``). Browsers send 20 to 30 headers, and each proxy adds a few.
"""

CHUNK_BYTES: Final = 32
"""The smallest average size of a chunk, in bytes. A client that streams JSON line by line sends larger chunks."""

CHUNKS_AT_ONCE: Final = 100
"""The number of chunks that may be smaller than ``CHUNK_BYTES``. Together they take h11 about two milliseconds."""

_BLANK_LINE: Final = re.compile(rb"\n\r?\n")

_LAST_CHUNK: Final = re.compile(rb"\r?\n?0+(?![0-9A-Fa-f])[^\r\n]*\r\n")
"""Pattern for the header of the last chunk of a body, after the line end of the previous chunk."""


class StrictConnection(h11.Connection):
    """h11 connection that also refuses three kinds of requests: a body in tiny chunks, too many headers, and two
    declared lengths.

    A request may have both a ``Content-Length`` and a chunked body. h11 then uses the chunks, but a proxy may use the
    length. h11 and the proxy would disagree on where the next request begins (request smuggling). nginx and Node also
    refuse such requests (RFC 9112, 6.3).
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER)
        self._is_chunked = False
        self._is_within_chunk = False
        self._is_in_trailers = False
        self._chunk_bytes = 0.0
        """The remaining credit for small chunks, in bytes. Each chunk takes ``CHUNK_BYTES``, and adds its own size."""

    def next_event(self) -> Any:
        """Return h11's next event. Raises ``h11.RemoteProtocolError`` for invalid HTTP and refused requests."""
        self._count_lines()
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._begin_body(event)
        elif isinstance(event, h11.Data) and self._is_chunked:
            self._count_chunk(event)
        return event

    def _begin_body(self, request: h11.Request) -> None:
        names = {name for name, _ in request.headers}
        if {b"content-length", b"transfer-encoding"} <= names:
            raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding")
        self._is_chunked = b"transfer-encoding" in names
        self._is_within_chunk = self._is_in_trailers = False
        self._chunk_bytes = CHUNKS_AT_ONCE * CHUNK_BYTES

    def _count_chunk(self, data: h11.Data) -> None:
        self._is_within_chunk = not data.chunk_end
        cost = CHUNK_BYTES if data.chunk_end else 0  # h11 sets no `chunk_start` if a chunk's header comes alone
        self._chunk_bytes = min(self._chunk_bytes + len(data.data) - cost, CHUNKS_AT_ONCE * CHUNK_BYTES)
        if self._chunk_bytes < 0:
            raise h11.RemoteProtocolError("too many chunks")

    def _count_lines(self) -> None:
        """Refuse headers or trailers with too many lines, before h11 parses these lines."""
        if self.their_state is h11.IDLE:
            unread = self.trailing_data[0]
        elif self.their_state is h11.SEND_BODY and self._is_chunked and not self._is_within_chunk:
            unread = self.trailing_data[0]
            if self._is_in_trailers:
                unread = b"\n" + unread
            elif last_chunk := _LAST_CHUNK.match(unread):
                self._is_in_trailers = True
                unread = unread[last_chunk.end() - 1 :]
            else:
                return
        else:
            return
        if unread.count(b"\n") > 1 + MAX_HEADERS:
            end = _BLANK_LINE.search(unread)
            if unread.count(b"\n", 0, end and end.start() + 1) > 1 + MAX_HEADERS:
                raise h11.RemoteProtocolError("too many headers")
