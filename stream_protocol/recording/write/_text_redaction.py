"""Redaction of names and other known texts.

A known text is found in all spellings. The spellings may differ in case, in composed or decomposed letters, in white
space, and in URL or JSON escapes.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, groupby
from typing import Any, Final
from unicodedata import combining, normalize
from urllib.parse import quote

from stream_protocol._secret_texts import REDACTED
from stream_protocol.recording.write._redaction import RecordedKind, Redact
from stream_protocol.wire import StreamProtocolError, argument_error, check_text

_ESCAPES: Final = r"\\{1,64}"
"""Pattern for a limited number of backslashes of a JSON escape. Without the limit, the search would take quadratic
time."""

_SPACE: Final = rf"(?:\s|%20|\+|{_ESCAPES}(?:[nrt]|u00a0))+"
_NO_MARK: Final = "(?![\u0300-\u036f])"
"""Pattern that prevents a match before a combining mark, which makes a different letter."""

_FREE: Final = frozenset(
    {
        *("args", "response", "input", "rawInput", "output", "data", "payload", "metadata", "messageMetadata"),
        *("stateDelta", "agentState", "artifactDelta", "customMetadata", "requestedToolConfirmations"),
        *("requestedAuthConfigs", "providerMetadata", "callProviderMetadata"),
    }
)
"""Keys whose value is a free object: its keys are the app's own, ids, or file names."""

_PROTOCOL_WORDS: Final = frozenset({"type", "role", "state", "trigger", "finishReason", "mimeType", "mediaType"})
"""Keys of values that are fixed words of the protocol."""

_REQUEST_KEYS: Final = frozenset({"id", "messages", "trigger", "messageId"})
"""The keys of a request's body that do not belong to the app."""

_SCHEMA_KEY: Final = re.compile(r"[a-z][A-Za-z0-9]*")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_=-]{64,}")
"""Pattern for files and signatures in Base64, which may contain a short name by accident."""


def redact_texts(*texts: str) -> Redact:
    """Return a ``redact`` function that replaces these texts, such as names, with ``[redacted]``.

    Every occurrence is replaced, in values and in keys, even inside a word. All spellings are found, even with another
    case or other white space. Files and signatures are not changed.

    Partial events are not recorded, because a name may be split across two of them. So a replay shows each text in one
    piece. If a text has no complete event, such as the last text of a stopped run, the replay does not show it.

    Raises ``StreamProtocolError`` for an empty text, and for a value that is not text.
    """
    return _TextRedaction(re.compile("|".join(map(_pattern, _longest_first(texts))), re.IGNORECASE))


def _longest_first(texts: tuple[str, ...]) -> list[str]:
    if not texts:
        raise StreamProtocolError("`texts` must be one or more texts, not nothing.")
    for text in texts:
        check_text("texts", text, empty=False)
        if not text.strip():
            raise argument_error("texts", "texts that are more than white space", text)
    return sorted(texts, key=len, reverse=True)


class _TextRedaction:
    """A ``Redact`` function: replaces everything that matches a pattern."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def __call__(self, kind: RecordedKind, value: dict[str, Any]) -> dict[str, Any] | None:
        if kind == "chunk" or (kind == "event" and value.get("partial")):
            return None
        own = [key for key in value if kind == "request" and key not in _REQUEST_KEYS]
        of_the_app = {key: value.pop(key) for key in own}
        return {**self._object(value, is_free=False), **self._object(of_the_app, is_free=True)}

    def _value(self, value: Any, *, is_free: bool) -> Any:
        match value:
            case str():
                before, base64, payload = value.rpartition(";base64,")
                is_file = base64 and value.startswith("data:") and _BASE64.fullmatch(payload)
                return self._text(before) + base64 + payload if is_file else self._text(value)
            case list():
                return [self._value(item, is_free=is_free) for item in self._with_joined_texts(value)]
            case dict():
                return self._object(value, is_free=is_free)
        return value

    def _with_joined_texts(self, items: list[Any]) -> Iterator[Any]:
        """Yield the items of a list. In consecutive text parts, replace the texts that match the pattern. A match may
        begin in one part and end in a later part. Then the placeholder is in the first of them.
        """
        for is_text, group in groupby(items, _kind_of_text):
            parts = list(group)
            if not is_text or len(parts) == 1:
                yield from parts
                continue
            texts = self._redact_joined([part["text"] for part in parts])
            yield from ({**part, "text": text} for part, text in zip(parts, texts, strict=True))

    def _redact_joined(self, texts: list[str]) -> list[str]:
        ends = list(accumulate(map(len, texts)))
        pieces: list[list[str]] = [[] for _ in texts]
        joined, begin = "".join(texts), 0
        for found in [*self._pattern.finditer(joined), None]:
            end = len(joined) if found is None else found.start()
            while begin < end:
                index = bisect_right(ends, begin)
                pieces[index].append(joined[begin : min(end, ends[index])])
                begin = min(end, ends[index])
            if found is not None:
                pieces[bisect_right(ends, found.start())].append(REDACTED)
                begin = found.end()
        return ["".join(own) for own in pieces]

    def _object(self, value: dict[str, Any], *, is_free: bool) -> dict[str, Any]:
        encoded = {"thoughtSignature"} | ({"data"} if value.keys() & {"mimeType", "mediaType"} else set())
        cleaned: dict[str, Any] = {}
        numbers = Counter[str]()
        for key, item in value.items():
            is_schema = not is_free and _SCHEMA_KEY.fullmatch(key) is not None
            is_file = key in encoded and isinstance(item, str) and _BASE64.fullmatch(item)
            stays = is_file or (is_schema and key in _PROTOCOL_WORDS)
            written = key if is_schema else _free_key(self._text(key), cleaned, numbers)
            cleaned[written] = item if stays else self._value(item, is_free=is_free or key in _FREE)
        return cleaned

    def _text(self, text: str) -> str:
        return self._pattern.sub(REDACTED, text)


def _kind_of_text(item: Any) -> tuple[Any, Any] | None:
    """If the item is a message part with a text, return a pair: the part's type, and True if the text is a thought.
    Otherwise, return ``None``.
    """
    is_text = isinstance(item, dict) and isinstance(item.get("text"), str)
    return (item.get("type"), bool(item.get("thought"))) if is_text else None


def _free_key(key: str, taken: dict[str, Any], numbers: Counter[str]) -> str:
    """Return the key. If ``taken`` already contains the key, a number is added. ``numbers``: for each key, the last
    number that was added.
    """
    free = key
    while free in taken:
        numbers[key] += 1
        free = f"{key}.{numbers[key] + 1}"
    return free


def _pattern(text: str) -> str:
    """Return a regular expression that matches all spellings of a text."""
    parts = (_SPACE if letter.isspace() else _spellings(letter) for letter in _letters(normalize("NFD", text.strip())))
    return re.sub(f"(?:{re.escape(_SPACE)})+", lambda _: _SPACE, "".join(parts)) + _NO_MARK


def _letters(text: str) -> Iterator[str]:
    """Yield the letters of a decomposed text, each with its combining marks."""
    letter = ""
    for character in text:
        if letter and not combining(character):
            yield letter
            letter = ""
        letter += character
    yield letter


def _spellings(letter: str) -> str:
    cases = {letter, letter.lower(), letter.upper(), letter.casefold()}
    plain = {normalize(form, case) for case in cases for form in ("NFC", "NFD")}
    spellings = {re.escape(text) for text in plain}
    for text in plain:
        if not text.isascii():
            spellings.add(re.escape(json.dumps(text)[1:-1]).replace(r"\\", _ESCAPES))
        spellings.add(re.escape(quote(text, safe="", errors="surrogatepass")))
    return "(?:" + "|".join(sorted(spellings, key=lambda text: (-len(text), text))) + ")"
