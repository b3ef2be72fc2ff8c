"""Detects the form of a recording by the first bytes of the file. The file's name does not count."""

import re
from codecs import getincrementaldecoder
from enum import Enum, auto
from typing import Final

from stream_protocol.recording.read._parsing import parse_yaml_text, place_of_byte
from stream_protocol.recording.read._records import RecordingError

PIECE: Final = 64 * 2**10
"""Bytes that are read at once: the size of a pipe's buffer on Linux. The first piece must show the form of the file."""

_SQLITE: Final = b"SQLite format 3\0"
_SSE_LINE: Final = re.compile(r"(?:data|event|id|retry)(?::|\r?\n|\Z)|:|HTTP/\d")
"""The beginning of an SSE stream, or of the HTTP head that ``curl --include`` writes before it."""
_YAML_KEY: Final = re.compile(
    r"^ {0,8}(?:- +)?\{?(?:app_?name|events|recordings|sessions?|conversation|author|eval_?cases"
    r"|eval_?(?:set_?|case_?)?id|agent_?data|query) *:",
    re.MULTILINE | re.IGNORECASE,
)
_COMPRESSED: Final = (b"\x1f\x8b", b"PK\3\4", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""The beginnings of files of gzip, zip, bzip2, xz and zstd."""


_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
"""The beginnings of texts as some programs for Windows save them."""

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
        return "nothing in it but white space" if head else "the file is empty"
    if head.startswith(_COMPRESSED):
        return "it is compressed; unpack it first"
    if head.startswith(_UTF16):
        return "it is UTF-16; save it as UTF-8"
    if "\0" in text:
        return "not a text file"
    try:
        getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut off
        if len(head) < PIECE:
            parse_yaml_text(head)
    except UnicodeDecodeError as error:
        return f"{place_of_byte(head, error.start)} is not UTF-8"
    except RecordingError as error:
        return str(error)
    return "neither events nor a session"
