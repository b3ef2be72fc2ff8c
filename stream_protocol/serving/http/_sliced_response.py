"""A response whose body may be large: it is made and sent slice by slice, and all of it is dropped at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import Response

from stream_protocol.serving.http._client_connection import SLICE_BYTES, ClientConnection, send_while_connected
from stream_protocol.stream import DataUrl

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from stream_protocol.serving.base import ByteShare

JSON_HEADERS: Final = {"content-type": "application/json"}

LEVELS_OF_PARTS: Final = 4
"""The levels of a history that are not encoded at once: the messages and their parts."""


class SlicedResponse(Response):
    """Sends a body that fills the memory until the client has read it.

    ``pieces``: of the body, which are put together to slices. Each slice is sent when the client has taken the last.
    ``memory``: counts the content of the pieces. It is released when the response ends, also if the client leaves or
    takes nothing for a minute. A request for the headers alone (``HEAD``) releases it at once.
    """

    def __init__(self, pieces: Generator[bytes], *, memory: ByteShare, headers: Mapping[str, str]) -> None:
        self._pieces = pieces
        self._memory = memory
        self.status_code = 200
        self.background = None
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "HEAD":
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await send_while_connected(self._send, receive, send)
        finally:
            # The frames of a request that was cancelled may live until the next garbage collection, with this object.
            self._pieces.close()
            self._memory.release()

    async def _send(self, connection: ClientConnection) -> None:
        await connection.start(self.status_code, self.raw_headers)
        waiting = bytearray()
        for piece in self._pieces:
            waiting += piece
            while len(waiting) >= SLICE_BYTES:
                await connection.send(bytes(waiting[:SLICE_BYTES]))
                del waiting[:SLICE_BYTES]
        await connection.send(bytes(waiting))
        await connection.end()


def whole_response(content: bytes, memory: ByteShare, headers: Mapping[str, str]) -> SlicedResponse:
    """Return a response with this body. Raises ``ChatRequestError`` (429, 503) if there is no room for it in memory."""
    memory.take(len(content))
    return SlicedResponse(_slices_of(content), memory=memory, headers={**headers, "content-length": str(len(content))})


def history_json(messages: Iterable[Any], **others: Any) -> Generator[bytes]:
    """``{"messages": […]}`` and the other values, in pieces of at most ``SLICE_BYTES``, but for the members of a part.

    A chat may have hundreds of megabytes, and between two pieces others go on. A file (``DataUrl``) is encoded when its
    turn comes.
    """
    return _json_texts({"messages": messages, **others}, levels=LEVELS_OF_PARTS)


def _slices_of(content: bytes) -> Generator[bytes]:
    for begin in range(0, len(content), SLICE_BYTES):
        yield content[begin : begin + SLICE_BYTES]


def _json_texts(value: Any, levels: int) -> Generator[bytes]:
    """The JSON of a value, member by member so many levels down, and a long text in pieces."""
    match value:
        case dict() if (value and levels > 0) or any(_is_long(member) for member in value.values()):
            for number, (key, member) in enumerate(value.items()):
                yield (b"," if number else b"{") + orjson.dumps(key) + b":"
                yield from _json_texts(member, levels - 1)
            yield b"}"
        case [_, *_] if levels > 0:
            for number, member in enumerate(value):
                yield b"," if number else b"["
                yield from _json_texts(member, levels - 1)
            yield b"]"
        case DataUrl():
            yield b'"' + orjson.dumps(value.head)[1:-1]
            yield from value.pieces()
            yield b'"'
        case str() if _is_long(value):
            yield b'"'
            for begin in range(0, len(value), SLICE_BYTES):
                yield orjson.dumps(value[begin : begin + SLICE_BYTES])[1:-1]
            yield b'"'
        case _:
            yield orjson.dumps(value)


def _is_long(value: object) -> bool:
    return isinstance(value, DataUrl) or (isinstance(value, str) and len(value) > SLICE_BYTES)
