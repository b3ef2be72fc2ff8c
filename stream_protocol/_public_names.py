"""The public names of ``stream_protocol``."""

from stream_protocol.stream import (
    AgentRunError,
    ConverterOptions,
    StreamProtocolConverter,
    iter_chunks,
    iter_sse,
    stream_chunks,
    stream_sse,
)
from stream_protocol.wire import (
    SSE_DONE,
    SSE_HEADERS,
    AiSdkVersion,
    AnyChunk,
    ChatRequest,
    ChatRequestError,
    Chunk,
    ClientStreamError,
    StreamProtocolError,
    UIMessage,
    encode_sse,
    parse_chat_request,
)
from stream_protocol.wire.client import message_to_chunks, parse_sse, reduce_chunks

__all__ = [
    "SSE_DONE",
    "SSE_HEADERS",
    "AgentRunError",
    "AiSdkVersion",
    "AnyChunk",
    "ChatRequest",
    "ChatRequestError",
    "Chunk",
    "ClientStreamError",
    "ConverterOptions",
    "StreamProtocolConverter",
    "StreamProtocolError",
    "UIMessage",
    "encode_sse",
    "iter_chunks",
    "iter_sse",
    "message_to_chunks",
    "parse_chat_request",
    "parse_sse",
    "reduce_chunks",
    "stream_chunks",
    "stream_sse",
]
