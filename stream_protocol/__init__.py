"""Google ADK events in, AI SDK UI message streams out.

Importing this package loads neither ADK nor Starlette; ``stream_protocol.serving`` loads both.
"""

from stream_protocol.convert import (
    ConverterOptions,
    StreamProtocolConverter,
    iter_chunks,
    iter_sse,
    stream_chunks,
    stream_sse,
)
from stream_protocol.wire.chunks import AnyChunk, Chunk
from stream_protocol.wire.errors import StreamProtocolError
from stream_protocol.wire.sse import SSE_DONE, SSE_HEADERS, encode_sse

__all__ = [
    "SSE_DONE",
    "SSE_HEADERS",
    "AnyChunk",
    "Chunk",
    "ConverterOptions",
    "StreamProtocolConverter",
    "StreamProtocolError",
    "encode_sse",
    "iter_chunks",
    "iter_sse",
    "stream_chunks",
    "stream_sse",
]
