"""What a file is, by its first bytes and never by its name. Knows nothing of ADK."""

import re
from enum import Enum, auto
from typing import Final

PIECE: Final = 64 * 2**10
"""Bytes that are read at once, as much as a pipe holds; what a file is, must show in the first of them."""

_SQLITE: Final = b"SQLite format 3\0"
_SSE_LINE: Final = re.compile(r"(?:data|event|id|retry)(?::|\r?\n|\Z)|:|HTTP/\d")
"""How an event stream begins; ``curl --include`` writes the response's head above it."""
_YAML_KEY: Final = re.compile(r"^(?:app_name|events|recordings) *:", re.MULTILINE)


class Form(Enum):
    """How a file is read."""

    STORE = auto()
    """A session service's SQLite file."""
    CAPTURE = auto()
    """Server-sent events."""
    JSON = auto()
    """One JSON document, or one on each line."""
    YAML = auto()


def form_of(head: bytes) -> Form | None:
    """The form of a file that begins with these bytes, the first ``PIECE`` of them; ``None`` for none that is known."""
    text = text_of(head)
    if head.startswith(_SQLITE):
        return Form.STORE
    if "\0" in text:
        return None
    if _YAML_KEY.search(text) and text[:1] not in "{[":
        return Form.YAML
    if _SSE_LINE.match(text):
        return Form.CAPTURE
    return Form.JSON if text[:1] in ("{", "[") else None


def text_of(head: bytes) -> str:
    """The bytes as text, without what is blank in front of it."""
    return head.decode("utf-8-sig", "replace").lstrip()


def nothing_known(head: bytes) -> str:
    """Why a file that begins with these bytes is no recording."""
    text = text_of(head)
    if not text:
        return "no events in it"
    return "not a text file" if "\0" in text or "\ufffd" in text[:-1] else "neither events nor a session"
