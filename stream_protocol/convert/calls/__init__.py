"""Tool calls of a message: the registry, streamed arguments, and what ADK's own calls and responses mean."""

from stream_protocol.convert.calls._adk_requests import (
    PERSON_ASKED,
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    credential_input,
    gated_call,
    is_confirmed,
)
from stream_protocol.convert.calls._nameless_calls import fitting_tools
from stream_protocol.convert.calls._registry import CallRegistry, CallState, Known, ToolCall
from stream_protocol.convert.calls._response_values import RESULT, client_output, failure_text
from stream_protocol.convert.calls._streamed_arguments import GrowingText, PathText, RawText, integral

__all__ = [
    "PERSON_ASKED",
    "REQUEST_CONFIRMATION",
    "REQUEST_CREDENTIAL",
    "REQUEST_INPUT",
    "RESULT",
    "CallRegistry",
    "CallState",
    "GrowingText",
    "Known",
    "PathText",
    "RawText",
    "ToolCall",
    "client_output",
    "credential_input",
    "failure_text",
    "fitting_tools",
    "gated_call",
    "integral",
    "is_confirmed",
]
