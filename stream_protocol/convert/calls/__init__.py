"""Tool calls of a message: the registry, streamed arguments, and what ADK's own calls and responses mean."""

from stream_protocol.convert.calls._adk_requests import (
    REQUEST_CONFIRMATION,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    CallKind,
    credential_input,
    external_kind,
    gated_call,
    is_confirmed,
    is_placeholder,
)
from stream_protocol.convert.calls._call_ids import NO_IDS, CallIds
from stream_protocol.convert.calls._known_calls import KnownCall, KnownCalls, SpeakerKey
from stream_protocol.convert.calls._raising_calls import raising_calls
from stream_protocol.convert.calls._registry import CallRegistry
from stream_protocol.convert.calls._response_values import RESULT, client_output, failure_text, unrepresentable_text
from stream_protocol.convert.calls._tool_call import CallState, ToolCall

__all__ = [
    "NO_IDS",
    "REQUEST_CONFIRMATION",
    "REQUEST_CREDENTIAL",
    "REQUEST_INPUT",
    "RESULT",
    "CallIds",
    "CallKind",
    "CallRegistry",
    "CallState",
    "KnownCall",
    "KnownCalls",
    "SpeakerKey",
    "ToolCall",
    "client_output",
    "credential_input",
    "external_kind",
    "failure_text",
    "gated_call",
    "is_confirmed",
    "is_placeholder",
    "raising_calls",
    "unrepresentable_text",
]
