"""A response with a large body, which is created and sent in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import Response

from stream_protocol.serving.http._client_connection import (
    SLICE_BYTES,
    ClientConnection,
    send_head,
    send_while_connected,
)
from stream_protocol.stream import DataUrl
from stream_protocol.wire import json_value

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from stream_protocol.serving.base import ByteShare

JSON_HEADERS: Final = {"content-type": "application/json"}

LEVELS_OF_PARTS: Final = 4
"""The number of nesting levels that are encoded member by member: those of the messages and their parts."""


class SlicedResponse(Response):
    """Sends a large body in slices. The next slice is sent when the client has read most of the previous slice.

    ``pieces``: the parts of the body. Small parts are combined into one slice. ``memory``: the counted memory of the
    body. It is released when the response ends or the client disconnects.
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
                await send_head(self, send)
            else:
                await send_while_connected(self._send, receive, send)
        finally:
            # Free the body here: the frames of a cancelled request may keep this object until the next garbage
            # collection.
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
    """Return a response with ``content`` as its body. Its size counts toward the memory limit of ``memory``.

    Raises ``ChatRequestError`` (429, 503) if the body exceeds the limit.
    """
    memory.take(len(content))
    return SlicedResponse(_slices_of(content), memory=memory, headers={**headers, "content-length": str(len(content))})


def history_json(messages: Iterable[Any], **others: Any) -> Generator[bytes]:
    """Yield the JSON of ``{"messages": […]}`` in small pieces, with ``others`` as additional keys.

    A chat may have hundreds of megabytes, and other tasks can only run between two pieces. A piece has at most
    ``SLICE_BYTES``, unless one member of a message part is larger. A file (``DataUrl``) is encoded only when its piece
    is taken.
    """
    return _json_texts({"messages": messages, **others}, levels=LEVELS_OF_PARTS)


def _slices_of(content: bytes) -> Generator[bytes]:
    for begin in range(0, len(content), SLICE_BYTES):
        yield content[begin : begin + SLICE_BYTES]


def _json_texts(value: Any, levels: int) -> Generator[bytes]:
    """Yield the JSON of a value in small pieces.

    ``levels``: how many levels of objects and lists are split into pieces. A long text is always split.
    """
    match value:
        case dict() if (value and levels > 0) or any(_is_long(member) for member in value.values()):
            for number, (key, member) in enumerate(value.items()):
                yield (b"," if number else b"{") + _json(key) + b":"
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
                yield _json(value[begin : begin + SLICE_BYTES])[1:-1]
            yield b'"'
        case _:
            yield _json(value)


def _json(value: Any) -> bytes:
    """Return the JSON of a value. Replaces lone surrogates (invalid Unicode, such as in a name of an event) with
    U+FFFD.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return orjson.dumps(json_value(value, lossy=True))


def _is_long(value: object) -> bool:
    return isinstance(value, DataUrl) or (isinstance(value, str) and len(value) > SLICE_BYTES)
