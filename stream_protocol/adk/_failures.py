"""Recognize errors in events and function responses."""

from typing import TYPE_CHECKING, Any

import orjson

from stream_protocol.wire import FinishReason, json_value, to_well_formed

if TYPE_CHECKING:
    from google.adk.events import Event

ABORTED = "INVOCATION_ABORTED"
"""The ``error_code`` of the event that ADK writes when a run is aborted."""

NO_CONTENT = "MODEL_RETURNED_NO_CONTENT"
"""The ``error_code`` of a model response without content."""

FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content-filter",
    "RECITATION": "content-filter",
    "BLOCKLIST": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "SPII": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "IMAGE_PROHIBITED_CONTENT": "content-filter",
    "IMAGE_RECITATION": "content-filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "LANGUAGE": "other",
    "OTHER": "other",
    "IMAGE_OTHER": "other",
    "NO_IMAGE": "other",
    "CONTINUATION": "other",
    "FINISH_REASON_UNSPECIFIED": "other",
}
"""google-genai's ``FinishReason`` -> the AI SDK's finish reason. All other reasons become ``other``."""

UNEXPLAINED = frozenset({"OTHER", "FINISH_REASON_UNSPECIFIED", "STOP"})
"""Finish reasons that name no cause. With an error message, they mean that the model's response was interrupted."""

RESULT = "result"
"""The key of an object that wraps a single value. ADK wraps tool results, and this library wraps client outputs."""


def reports_error(event: "Event") -> bool:
    """Return True if the event has an error message or an error code. ADK also stores some finish reasons as error
    codes."""
    return bool(event.error_code or event.error_message)


def is_aborted(event: "Event") -> bool:
    """Return True for the event that ADK writes at the end of an aborted run."""
    return event.error_code == ABORTED


def is_failure(event: "Event") -> bool:
    """Return True if the event reports an error. A finish reason and the end of an aborted run are not errors."""
    return reports_error(event) and not is_aborted(event) and told_reason(event) is None


def told_reason(event: "Event") -> str | None:
    """Return the finish reason if the event's error code is only a finish reason; otherwise ``None``.

    ADK sets an error code for each finish reason except ``STOP``. An example is ``MAX_TOKENS``.
    """
    code = event.error_code or (event.finish_reason and event.finish_reason.value)
    if code in UNEXPLAINED and event.error_message:
        return None
    return code if code in FINISH_REASONS or code == NO_CONTENT else None


def client_output(response: Any) -> Any:
    """Return the output of a client tool. ``response``: the object that ADK stores for the output."""
    match response:
        case {"result": output, **rest} if not rest:
            return output
    return response


def unrepresentable_text(tool: str, error: Exception) -> str:
    """Return the error text for a call whose result cannot be converted to JSON. ``error``: the exception of the
    conversion, which names the invalid value.
    """
    return f"The result of the tool {tool} is not JSON. {error} Return plain values."


def failure_text(response: Any) -> str | None:
    """Return the error text in the response of a failed call; ``None`` if the call succeeded.

    If ADK could not run the call, the response has only the key ``error``. MCP marks a failed call with ``isError`` or
    ``is_error``.
    """
    match response:
        case {"error": error, **rest} if not rest and error is not None:
            return _text(error)
        case {"isError": True} | {"is_error": True}:
            return _mcp_text(response)
    return None


def _mcp_text(response: dict[str, Any]) -> str:
    content = response.get("content")
    texts = (
        [item["text"] for item in content if isinstance(item, dict) and isinstance(item.get("text"), str)]
        if isinstance(content, list)
        else []
    )
    return _text("\n".join(texts) or response)


def _text(value: Any) -> str:
    return to_well_formed(value) if isinstance(value, str) else orjson.dumps(json_value(value, lossy=True)).decode()
