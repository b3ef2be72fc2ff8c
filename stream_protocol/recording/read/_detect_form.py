"""Detects the form of a recording by the first bytes of the file. The file's name does not count."""

import re
from enum import Enum, auto
from typing import Final

PIECE: Final = 64 * 2**10
"""Bytes that are read at once: the size of a pipe's buffer on Linux. The first piece must show the form of the file."""

_SQLITE: Final = b"SQLite format 3\0"
_SSE_LINE: Final = re.compile(r"(?:data|event|id|retry)(?::|\r?\n|\Z)|:|HTTP/\d")
"""The beginning of an SSE stream, or of the HTTP head that ``curl --include`` writes before it."""
_YAML_KEY: Final = re.compile(
    r"^(?:- +|  )?\{?(?:app_?name|events|recordings|sessions?|eval_?cases|eval_?(?:set_?)?id|conversation|author) *:",
    re.MULTILINE | re.IGNORECASE,
)
_COMPRESSED: Final = (b"\x1f\x8b", b"PK\3\4", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""The beginnings of files of gzip, zip, bzip2, xz and zstd."""


_JSON_BEGINNINGS: Final = ("{", "[", '"{')
"""The last one is JSON in a JSON string, which ADK 1 wrote."""


class Form(Enum):
    """How a file is read."""

    STORE = auto()
    """An SQLite file of an ADK session service."""
    CAPTURE = auto()
    """Server-sent events."""
    JSON = auto()
    """One JSON document, or one on each line."""
    YAML = auto()


def detect_form(head: bytes) -> Form | None:
    """The form of a file by its first ``PIECE`` bytes; ``None`` if it is none of these."""
    text = text_of(head)
    if head.startswith(_SQLITE):
        return Form.STORE
    if "\0" in text:
        return None
    if _YAML_KEY.search(text) and text[:1] not in "{[":
        return Form.YAML
    if _SSE_LINE.match(text):
        return Form.CAPTURE
    return Form.JSON if text.startswith(_JSON_BEGINNINGS) else None


def text_of(head: bytes) -> str:
    """The bytes as text, without leading white space."""
    return head.decode("utf-8-sig", "replace").lstrip()


def why_unknown(head: bytes) -> str:
    """Returns an error text: why a file that begins with these bytes has none of the forms."""
    text = text_of(head)
    if not text:
        return "no events in it"
    if head.startswith(_COMPRESSED):
        return "it is compressed; unpack it first"
    return "not a text file" if "\0" in text or "\ufffd" in text[:-1] else "neither events nor a session"
