"""Parsing JSON text as browsers do: strict, but escapes of lone surrogates are allowed."""

import re
from typing import Any, Final

import orjson

from stream_protocol.wire._forbidden_keys import has_forbidden_key
from stream_protocol.wire._json_values import to_well_formed

_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""One escape: a surrogate pair, a lone surrogate (``half``), or any other. Others are matched, too, so that an escaped
backslash is never taken for the beginning of an escape."""


def parse_json(text: bytes | str) -> Any:
    """Returns the value. Lone surrogates become U+FFFD, as browsers show them.

    Raises ``ValueError`` for text that ``JSON.parse`` refuses (``NaN``, trailing commas, …) and for bytes that are not
    UTF-8. It also raises for numbers beyond a double, and beyond orjson's 1024 levels.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raw = text if isinstance(text, str) else text.decode()
        mended = to_well_formed(_ESCAPE.sub(lambda escape: r"\ufffd" if escape["half"] else escape[0], raw))
        if mended == raw:
            raise
        return orjson.loads(mended)


def parse_client_json(text: str) -> Any:
    """``parse_json`` with the client's rules: also raises ``ValueError`` for forbidden keys such as ``__proto__``."""
    value = parse_json(text)
    if has_forbidden_key(value):
        raise ValueError("a key is forbidden")
    return value
