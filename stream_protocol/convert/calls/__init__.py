"""Tool calls of a message: the registry, streamed arguments, and what ADK's own calls and responses mean."""

from stream_protocol.convert.calls._adk_requests import (
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    credential_input,
    gated_call,
    is_confirmed,
)
from stream_protocol.convert.calls._registry import CallRegistry, CallsById
from stream_protocol.convert.calls._response_values import RESULT, client_output, failure_text
from stream_protocol.convert.calls._tool_call import CallState, ToolCall

__all__ = [
    "REQUEST_CONFIRMATION",
    "REQUEST_CREDENTIAL",
    "REQUEST_INPUT",
    "RESULT",
    "CallRegistry",
    "CallState",
    "CallsById",
    "ToolCall",
    "client_output",
    "credential_input",
    "failure_text",
    "gated_call",
    "is_confirmed",
]
