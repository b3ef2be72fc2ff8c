"""Reads a function response by its shape alone: as a failure, or as a client's answer."""

from typing import Any

import orjson

from stream_protocol.wire import json_value, to_well_formed

RESULT = "result"
"""The only key of an object that holds another value: ADK wraps what tools return, we wrap what a client answers."""


def client_output(response: Any) -> Any:
    """Return the client's answer, taken out of the object that ADK stores."""
    match response:
        case {"result": output, **rest} if not rest:
            return output
    return response


def unrepresentable_text(tool: str, error: Exception) -> str:
    """The error of a call whose result is not JSON. ``error``: what is wrong with the result, and where in it."""
    return f"The result of the tool {tool} is not JSON. {error} Return plain values."


def failure_text(response: Any) -> str | None:
    """The text of a failure, or ``None`` for a result.

    ADK answers a call that it could not run with ``{"error": …}`` and no other key. MCP marks a failed result with
    ``isError`` (or ``is_error``) and gives the cause in its text content.
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
