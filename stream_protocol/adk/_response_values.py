"""Read function responses by their shape: failures and outputs of client tools."""

from typing import Any

import orjson

from stream_protocol.wire import json_value, to_well_formed

RESULT = "result"
"""The key of an object that wraps a value of another type: ADK wraps tool results, this library wraps client outputs.
"""


def client_output(response: Any) -> Any:
    """Return the output of a client tool from the object that ADK stores."""
    match response:
        case {"result": output, **rest} if not rest:
            return output
    return response


def unrepresentable_text(tool: str, error: Exception) -> str:
    """Return the error text of a call whose result is not JSON. ``error``: the cause, and its location in the
    result."""
    return f"The result of the tool {tool} is not JSON. {error} Return plain values."


def failure_text(response: Any) -> str | None:
    """Return the error text of a failed call; ``None`` for a result.

    If ADK could not run a call, its response is ``{"error": …}``, with no other key. MCP marks a failed result with
    ``isError`` (or ``is_error``), and its text content is the cause.
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
