"""The response of a model's provider to a request that it refused, read from the exception of any client library.

The fields are those that google-genai (``APIError``), openai and anthropic (``APIStatusError``) and litellm give their
exceptions. None of these libraries is imported.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stream_protocol.serving.errors._text import said

_LITELLM_PREFIX: Final = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)\s*(?::|-)\s*)+")
"""litellm tells the names of all classes that an error has gone through."""

_BODY: Final = re.compile(r"^b(['\"]).*\1$", re.DOTALL)
"""litellm tells the body of some answers as Python writes bytes."""


@dataclass(frozen=True)
class ProviderAnswer:
    """A provider's answer."""

    status: int
    """The HTTP status."""
    codes: tuple[str, ...]
    """All machine-readable names that it gives the error: ``RESOURCE_EXHAUSTED``, ``insufficient_quota``, … The most
    general one comes first."""
    message: str
    """The message, in words."""
    retry_after: str | None
    """The time to wait, as Google says it: ``22s``."""

    @property
    def name(self) -> str:
        """The status and the first code."""
        return " ".join([str(self.status), *self.codes[:1]])


def read_answer(error: BaseException) -> ProviderAnswer | None:
    """The answer that the exception tells of; ``None`` if it tells of none."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if not isinstance(status, int) or not 400 <= status < 600:
        return None
    details = getattr(error, "details", None) or getattr(error, "body", None)
    message = _LITELLM_PREFIX.sub("", str(getattr(error, "message", None) or said(error)))
    if not isinstance(details, dict):
        details = _body_in(message)
    fields = [found for found in _objects(details) if found]
    told = next((field["message"] for field in reversed(fields) if isinstance(field.get("message"), str)), message)
    own = (getattr(error, key, None) for key in ("status", "code", "type"))
    names = (field.get(key) for key in ("status", "code", "type", "reason", "param") for field in reversed(fields))
    delays = (field["retryDelay"] for field in fields if isinstance(field.get("retryDelay"), str))
    return ProviderAnswer(
        status,
        tuple(name for name in (*own, *names) if isinstance(name, str) and name != "error" and not name.isdigit()),
        "" if told.lstrip().startswith("<") else told,  # the HTML page of a proxy
        next(delays, None),
    )


def words_of(message: str) -> str:
    """Return the words of an error that a provider's adapter gives as JSON; any other text as it is."""
    try:
        told = json.loads(message) if message.startswith("{") else None
    except (ValueError, RecursionError):
        return message
    words = (field["message"] for field in _objects(told) if isinstance(field.get("message"), str))
    return next(words, message)


def _body_in(message: str) -> Any:
    try:
        return json.loads(ast.literal_eval(message)) if _BODY.match(message) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: it is nested too deeply
        return None


def _objects(value: Any, depth: int = 4) -> Iterator[dict[str, Any]]:
    """The objects in plain JSON, inner ones first."""
    if depth == 0:
        return
    if isinstance(value, dict):
        for item in value.values():
            yield from _objects(item, depth - 1)
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, depth - 1)
