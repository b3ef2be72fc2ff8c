"""The AI SDK's language: chunks, messages, server-sent events, JSON values. Knows nothing of ADK."""

from stream_protocol.wire._chunks import AiSdkVersion, AnyChunk, Chunk, FinishReason, ProviderMetadata
from stream_protocol.wire._errors import ChatRequestError, ClientStreamError, StreamProtocolError
from stream_protocol.wire._forbidden_keys import CONSTRUCTOR, safe_key
from stream_protocol.wire._joined_stream import JoinedStream
from stream_protocol.wire._json_parsing import parse_client_json, parse_json
from stream_protocol.wire._json_values import (
    MAX_DEPTH,
    SHORT_JSON_LENGTH,
    UnrepresentableValueError,
    is_instance,
    json_value,
    short_json,
    to_well_formed,
)
from stream_protocol.wire._messages import (
    WAY_OUT,
    ChatRequest,
    FilePart,
    TextPart,
    ToolPart,
    UIMessage,
    UIPart,
    is_tool_part,
    parse_chat_id,
    parse_chat_request,
    parse_chat_request_in_slices,
    parse_message,
    tool_name,
)
from stream_protocol.wire._printable import printable
from stream_protocol.wire._sinks import ChunkSink, MakeDelta, Sink, SseSink, Transform, TransformedSink, WriteDelta
from stream_protocol.wire._sse import SSE_DONE, SSE_HEADERS, SSE_KEEP_ALIVE, encode_sse
from stream_protocol.wire._value_size import is_too_large

__all__ = [
    "CONSTRUCTOR",
    "MAX_DEPTH",
    "SHORT_JSON_LENGTH",
    "SSE_DONE",
    "SSE_HEADERS",
    "SSE_KEEP_ALIVE",
    "WAY_OUT",
    "AiSdkVersion",
    "AnyChunk",
    "ChatRequest",
    "ChatRequestError",
    "Chunk",
    "ChunkSink",
    "ClientStreamError",
    "FilePart",
    "FinishReason",
    "JoinedStream",
    "MakeDelta",
    "ProviderMetadata",
    "Sink",
    "SseSink",
    "StreamProtocolError",
    "TextPart",
    "ToolPart",
    "Transform",
    "TransformedSink",
    "UIMessage",
    "UIPart",
    "UnrepresentableValueError",
    "WriteDelta",
    "encode_sse",
    "is_instance",
    "is_too_large",
    "is_tool_part",
    "json_value",
    "parse_chat_id",
    "parse_chat_request",
    "parse_chat_request_in_slices",
    "parse_client_json",
    "parse_json",
    "parse_message",
    "printable",
    "safe_key",
    "short_json",
    "to_well_formed",
    "tool_name",
]
