"""Google ADK events in, AI SDK UI message streams out.

Importing this package costs next to nothing: each name is loaded from its home when it is first asked for. None of them
loads ADK or Starlette; ``stream_protocol.serving`` loads both.
"""

from typing import TYPE_CHECKING

from stream_protocol.lazy import names_at_home

if TYPE_CHECKING:
    from stream_protocol.convert import (
        ConverterOptions,
        StreamProtocolConverter,
        iter_chunks,
        iter_sse,
        stream_chunks,
        stream_sse,
    )
    from stream_protocol.wire.chunks import AnyChunk, Chunk
    from stream_protocol.wire.errors import ChatRequestError, StreamProtocolError
    from stream_protocol.wire.inverse import message_to_chunks
    from stream_protocol.wire.messages import ChatRequest, UIMessage, parse_chat_request
    from stream_protocol.wire.reducer import reduce_chunks
    from stream_protocol.wire.sse import SSE_DONE, SSE_HEADERS, encode_sse

__all__ = [
    "SSE_DONE",
    "SSE_HEADERS",
    "AnyChunk",
    "ChatRequest",
    "ChatRequestError",
    "Chunk",
    "ConverterOptions",
    "StreamProtocolConverter",
    "StreamProtocolError",
    "UIMessage",
    "encode_sse",
    "iter_chunks",
    "iter_sse",
    "message_to_chunks",
    "parse_chat_request",
    "reduce_chunks",
    "stream_chunks",
    "stream_sse",
]

_HOMES = {
    "SSE_DONE": "wire.sse",
    "SSE_HEADERS": "wire.sse",
    "AnyChunk": "wire.chunks",
    "ChatRequest": "wire.messages",
    "ChatRequestError": "wire.errors",
    "Chunk": "wire.chunks",
    "ConverterOptions": "convert",
    "StreamProtocolConverter": "convert",
    "StreamProtocolError": "wire.errors",
    "UIMessage": "wire.messages",
    "encode_sse": "wire.sse",
    "iter_chunks": "convert",
    "iter_sse": "convert",
    "message_to_chunks": "wire.inverse",
    "parse_chat_request": "wire.messages",
    "reduce_chunks": "wire.reducer",
    "stream_chunks": "convert",
    "stream_sse": "convert",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_at_home(__name__, _HOMES)
