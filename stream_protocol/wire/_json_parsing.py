"""Parse JSON text as strictly as a browser does. Escaped lone surrogates are allowed."""

import re
from typing import Any, Final

import orjson

from stream_protocol.wire._forbidden_keys import has_forbidden_key
from stream_protocol.wire._json_values import to_well_formed

_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Pattern for one escape in JSON text. The group ``half`` matches a lone surrogate. All escapes match, so that no match
begins at the second backslash of an escaped backslash.
"""


def parse_json(text: bytes | str) -> Any:
    """Parse a JSON text. Lone surrogates become U+FFFD.

    Raises ``ValueError`` for text that ``JSON.parse`` refuses, such as ``NaN`` or trailing commas. Also raises for
    bytes that are not UTF-8, numbers outside the range of a double, and more than 1024 nesting levels.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raw = text if isinstance(text, str) else text.decode()
        repaired = to_well_formed(_ESCAPE.sub(lambda escape: r"\ufffd" if escape["half"] else escape[0], raw))
        if repaired == raw:
            raise
        return orjson.loads(repaired)


def parse_client_json(text: str) -> Any:
    """Parse a JSON text as ``parse_json`` does. Also raises ``ValueError`` for keys that clients refuse, such as
    ``__proto__``.
    """
    value = parse_json(text)
    if has_forbidden_key(value):
        raise ValueError("a key is forbidden")
    return value
