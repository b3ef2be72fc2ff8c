"""Tool calls of a message: the registry, their states, and streamed arguments."""

from stream_protocol.stream.calls._registry import CallRegistry
from stream_protocol.stream.calls._tool_call import CallState, ToolCall
