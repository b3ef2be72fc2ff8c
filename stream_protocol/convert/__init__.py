"""ADK events -> UI message chunks. Reads ADK objects by attribute and imports none of ADK."""

from stream_protocol.convert.converter import StreamProtocolConverter
from stream_protocol.convert.finish import AgentRunError
from stream_protocol.convert.options import ConverterOptions, ToolSelection
from stream_protocol.convert.streams import iter_chunks, iter_sse, stream_chunks, stream_sse

__all__ = [
    "AgentRunError",
    "ConverterOptions",
    "StreamProtocolConverter",
    "ToolSelection",
    "iter_chunks",
    "iter_sse",
    "stream_chunks",
    "stream_sse",
]
