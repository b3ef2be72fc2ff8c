"""Explain why a captured HTTP response is not a stream: an error, a redirect, an HTML page, or an empty body."""

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
"""Pattern for the beginning of a JSON error that a server sends instead of a stream."""

_PYTHON: Final = re.compile(r"\s*(?:\[\s*)?(?:\{\s*'|b['\"])")
"""Pattern for the beginning of a Python ``dict`` or ``bytes`` that was converted with ``str()``."""


NOT_A_STREAM: Final = (
    "not a stream: pass an SSE capture, JSON chunks (one per line), or ADK events (JSON, JSON lines, YAML or SQLite)"
)


@dataclass(frozen=True)
class _Response:
    status: int
    fields: Mapping[str, str]
    body: str
    """The beginning of the body."""

    @property
    def kind(self) -> str:
        """The content type as the end of a phrase, such as `` with text/html``. Empty if the content type is
        unknown.
        """
        kind = self.fields.get("content-type", "").partition(";")[0].strip()
        return f" with {short_json(kind)[1:-1]}" if kind else ""


def non_stream_reason(text: str) -> str | None:
    """Return the reason why an HTTP response is not a stream, such as its status; ``None`` if it may be a stream.

    ``text``: the beginning of the output of ``curl --include``.
    """
    response = _last_response(text)
    if response is None:
        return None
    status, body = response.status, response.body
    if status in (204, 205):
        return f"the response is HTTP {status}, which has no body: nothing was streamed"
    if 300 <= status < 400 and (target := response.fields.get("location")):
        url = short_json(target)
        return f"the response is HTTP {status}, a redirect to {url}: capture that URL, or use curl --location"
    if 200 <= status < 300 and (not body.strip() or _SSE_FIELD.search(body) or not response.kind):
        return None
    if 200 <= status < 300 and "event-stream" in response.kind:
        return None
    return f"the response is HTTP {status}{response.kind}, not a stream{_quoted(body)}"


def later_error(line: str) -> str | None:
    """Return an error text if the line is the status line of an HTTP error response; otherwise ``None``."""
    found = _STATUS_LINE.match(line)
    if found is None or int(found[1]) // 100 in (1, 2, 3):
        return None
    return f"the response is HTTP {found[1]}, not a stream"


def unknown_text_reason(text: str) -> str:
    if _PAGE.match(text):
        return "this is an HTML page, not a stream: check the URL that was captured"
    if _ERROR_BODY.match(text):
        return f"this is an error response of a server, not a stream{_quoted(text)}"
    if (hint := python_hint(text)) is not None:
        return f"not a stream: {hint}"
    return NOT_A_STREAM


def python_hint(data: str) -> str | None:
    """Return advice if the data looks like the ``str()`` of a Python object; otherwise ``None``."""
    if (found := _PYTHON.match(data)) is None:
        return None
    if found[0].endswith("{'"):
        return "the data is str() of a Python dict, with single quotes: use json.dumps"
    return "the data is str() of Python bytes: decode the bytes"


def _last_response(text: str) -> _Response | None:
    """Return the last HTTP response in the text. Earlier responses are those of proxies and redirects."""
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
    """Return ``: `` and the beginning of the body in printable form. Returns an empty text for an empty body or an HTML
    page.
    """
    body = body.strip()
    if not body or _PAGE.match(body):
        return ""
    try:
        return f": {short_json(parse_json(body))}"
    except ValueError:
        return f": {short_json(body)}"
