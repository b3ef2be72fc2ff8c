"""JSON text as browsers write and read it: strict, but lone surrogates may stand in it as escapes."""

import re
from typing import Any, Final

import orjson

from stream_protocol.wire._forbidden_keys import has_forbidden_key
from stream_protocol.wire._json_values import to_well_formed

_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""One escape: a surrogate pair, a half alone, any other. All are matched, so that an escaped backslash hides
nothing."""


def parse_json(text: bytes | str) -> Any:
    """Returns the value; a lone surrogate in it is U+FFFD, as the page would show it.

    Raises ``ValueError`` for anything that ``JSON.parse`` refuses (``NaN``, trailing commas, …), for bytes that are not
    UTF-8, for numbers beyond a double, and beyond orjson's 1024 levels.
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
    """The same, and the keys that the client's parser forbids raise ``ValueError``, too."""
    value = parse_json(text)
    if has_forbidden_key(value):
        raise ValueError("a key is forbidden")
    return value


SHORT_JSON_LENGTH: Final = 60
"""How many characters of an id or a value a sentence shows; the ids that frameworks make are shorter."""


def short_json(value: object) -> str:
    """The JSON value as text for an error message: safe to print, in ASCII, and short."""
    text = orjson.dumps(value).decode().encode("ascii", "backslashreplace").decode()
    return text if len(text) <= SHORT_JSON_LENGTH else f"{text[:SHORT_JSON_LENGTH]}..."
