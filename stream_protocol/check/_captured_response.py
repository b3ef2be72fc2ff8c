"""Describes a captured HTTP response that is not a stream: an error, a redirect, an HTML page, nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stream_protocol.wire import parse_json, short_json

_STATUS_LINE: Final = re.compile(r"HTTP/\d(?:\.\d)? +(\d{3})\b[^\n]*(?:\n|\Z)")
_FIELD: Final = re.compile(r"([\w-]+):[ \t]*([^\n]*?)\r?(?:\n|\Z)")
_SSE_FIELD: Final = re.compile(r"^(?:data|event|id|retry)?:", re.MULTILINE)
_PAGE: Final = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_ERROR_BODY: Final = re.compile(r'\s*\{\s*"(?:error|errors|detail|message)"\s*:')
"""The beginning of a JSON error that servers send instead of a stream, captured without its head."""

_PYTHON: Final = re.compile(r"\s*(?:\[\s*)?(?:\{\s*'|b['\"])")
"""The beginning of ``str()`` of a Python dictionary, or of bytes. JSON cannot begin so."""


@dataclass(frozen=True)
class _Response:
    status: int
    fields: Mapping[str, str]
    body: str
    """Its beginning."""

    @property
    def kind(self) -> str:
        """The content type, without parameters, for a sentence."""
        kind = self.fields.get("content-type", "").partition(";")[0].strip()
        return f" with {short_json(kind)[1:-1]}" if kind else ""


def non_stream_reason(text: str) -> str | None:
    """Return a sentence for a response that is not a stream; ``None`` for one that may be, and for other texts.

    ``text``: the beginning of the output of ``curl --include``.
    """
    response = _last_response(text)
    if response is None:
        return None
    status, body = response.status, response.body
    if status in (204, 205):
        return f"the response is HTTP {status}, which has no body: nothing was streamed"
    if 300 <= status < 400 and (place := response.fields.get("location")):
        return f"the response is HTTP {status}, a redirect to {short_json(place)}: capture that, or use curl --location"
    if 200 <= status < 300 and (not body.strip() or _SSE_FIELD.search(body) or not response.kind):
        return None
    if 200 <= status < 300 and "event-stream" in response.kind:
        return None
    return f"the response is HTTP {status}{response.kind}, not a stream{_quoted(body)}"


def later_error(line: str) -> str | None:
    """Return a sentence for a line that begins an error response after a stream; ``None`` for any other line."""
    found = _STATUS_LINE.match(line)
    if found is None or int(found[1]) // 100 in (1, 2, 3):
        return None
    return f"the response is HTTP {found[1]}, not a stream"


def unknown_text_reason(text: str) -> str:
    """Return a sentence for a text that is neither a stream nor a recording."""
    if _PAGE.match(text):
        return "this is an HTML page, not a stream: check the URL that was captured"
    if _ERROR_BODY.match(text):
        return f"this is an error response of a server, not a stream{_quoted(text)}"
    if (hint := python_hint(text)) is not None:
        return f"neither chunks nor ADK events: {hint}"
    known = "neither an event stream, nor chunks, nor ADK events"
    return known if "\0" in text or "\ufffd" in text else f"{known}{_quoted(text)}"


def python_hint(data: str) -> str | None:
    """Return what to do about the text of a Python object in the place of JSON; ``None`` for any other text."""
    if (found := _PYTHON.match(data)) is None:
        return None
    if found[0].endswith("{'"):
        return "it has single quotes, as str() of a Python dict: use json.dumps"
    return "it is str() of Python bytes: decode them"


def _last_response(text: str) -> _Response | None:
    """The response after those that only lead to it: 100, a proxy's, followed redirects."""
    found = None
    while (line := _STATUS_LINE.match(text)) is not None:
        position = line.end()
        fields = {}
        while (field := _FIELD.match(text, position)) is not None:
            fields[field[1].lower()] = field[2]
            position = field.end()
        text = text[position:].removeprefix("\r").removeprefix("\n")
        found = _Response(int(line[1]), fields, text)
    return found


def _quoted(body: str) -> str:
    """The beginning of the body, safe to print: JSON unchanged, text in quotes. The beginning of an HTML page is not
    informative.
    """
    body = body.strip()
    if not body or _PAGE.match(body):
        return ""
    try:
        return f": {short_json(parse_json(body))}"
    except ValueError:
        return f": {short_json(body)}"
