"""Reads the error response of a model's provider from an exception of google-genai, openai, anthropic or litellm.

None of these libraries is imported.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stream_protocol.serving.errors._text import exception_text

_LITELLM_PREFIX: Final = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)\s*(?::|-)\s*)+")
"""Pattern for the class names that litellm puts before an error's text."""

_BODY: Final = re.compile(r"^b(['\"]).*\1$", re.DOTALL)
"""Pattern for a response body that litellm prints as a Python bytes literal."""


@dataclass(frozen=True)
class ProviderResponse:
    """An HTTP error response of a model's provider."""

    status: int
    codes: tuple[str, ...]
    """The machine-readable codes of the error, such as ``RESOURCE_EXHAUSTED``, the most general code first."""
    message: str
    """The message for people."""
    retry_after: str | None
    """The time to wait before a retry, in Google's format, such as ``22s``."""

    @property
    def name(self) -> str:
        """The HTTP status and the first of ``codes``, such as ``429 RESOURCE_EXHAUSTED``."""
        return " ".join([str(self.status), *self.codes[:1]])


def read_response(error: BaseException) -> ProviderResponse | None:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if not isinstance(status, int) or not 400 <= status < 600:
        return None
    details = getattr(error, "details", None) or getattr(error, "body", None)
    message = _LITELLM_PREFIX.sub("", str(getattr(error, "message", None) or exception_text(error)))
    if not isinstance(details, dict):
        details = _body_in(message)
    fields = [found for found in _objects(details) if found]
    text = next((field["message"] for field in reversed(fields) if isinstance(field.get("message"), str)), message)
    own = (getattr(error, key, None) for key in ("status", "code", "type"))
    names = (field.get(key) for key in ("status", "code", "type", "reason", "param") for field in reversed(fields))
    delays = (field["retryDelay"] for field in fields if isinstance(field.get("retryDelay"), str))
    return ProviderResponse(
        status,
        tuple(name for name in (*own, *names) if isinstance(name, str) and name != "error" and not name.isdigit()),
        "" if text.lstrip().startswith("<") else text,  # the HTML page of a proxy
        next(delays, None),
    )


def message_of(message: str) -> str:
    """If an error's text is a JSON object, return the ``message`` in it. Return any other text unchanged."""
    try:
        parsed = json.loads(message) if message.startswith("{") else None
    except (ValueError, RecursionError):
        return message
    texts = (field["message"] for field in _objects(parsed) if isinstance(field.get("message"), str))
    return next(texts, message)


def _body_in(message: str) -> Any:
    try:
        return json.loads(ast.literal_eval(message)) if _BODY.match(message) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two mean deep nesting
        return None


def _objects(value: Any, depth: int = 4) -> Iterator[dict[str, Any]]:
    """Yield all objects in a JSON value, down to ``depth`` levels of nesting. Inner objects come before outer
    objects.
    """
    if depth == 0:
        return
    if isinstance(value, dict):
        for item in value.values():
            yield from _objects(item, depth - 1)
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, depth - 1)
