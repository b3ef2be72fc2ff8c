"""Google ADK events in, AI SDK UI message streams out.

Importing this package loads neither ADK nor Starlette; ``stream_protocol.serving`` loads both.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from stream_protocol.wire.sse import SSE_DONE, SSE_HEADERS, encode_sse

if TYPE_CHECKING:
    from stream_protocol.wire.inverse import message_to_chunks
    from stream_protocol.wire.messages import ChatRequest, UIMessage, parse_chat_request
    from stream_protocol.wire.reducer import reduce_chunks

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

# What a converter does not need is imported when it is asked for.
_HOMES = {
    "ChatRequest": "messages",
    "UIMessage": "messages",
    "message_to_chunks": "inverse",
    "parse_chat_request": "messages",
    "reduce_chunks": "reducer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.wire.{_HOMES[name]}"), name)
