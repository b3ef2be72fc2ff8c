"""What differs from one run of a conversation to the next and says nothing: ids, times, how a model cut its answer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

Json = dict[str, Any]

_KINDS: Final = {"messageId": "message", "toolCallId": "call", "approvalId": "approval"}
_DELTAS: Final = {"text-delta": "delta", "reasoning-delta": "delta"}
_OF_THE_MODEL: Final = frozenset({"usage", "modelId", "thoughtSignature"})
"""Keys of metadata that another model, or the same one asked again, fills in anew."""

_ID: Final = re.compile(r"(?:\b(?:e|adk)-)?\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
"""A UUID, with the prefix that ADK gives it for invocations (``e-``) and calls (``adk-``)."""
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\b")
_TIME_KEY: Final = re.compile(r"(?:time|timestamp|_at|At)$", re.IGNORECASE)
_FIRST_TIME: Final = 10**9
"""Seconds since 1970: the least number under such a key that is taken for a time."""


class Normaliser:
    """Puts a counted name in place of each id, the same for the same id, and ``<time>`` in place of each time.

    The first call is ``call-1`` wherever its id stands, the second ``call-2``: a stream whose outputs changed places is
    another stream still.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def chunk(self, chunk: Mapping[str, Any]) -> Json:
        """The chunk as it would be in any run."""
        return {key: self._value(key, value) for key, value in chunk.items()}

    def _value(self, key: str, value: Any) -> Any:
        match value:
            case str():
                return self._named(value, _KINDS[key]) if key in _KINDS else self._text(value)
            case int() | float() if value >= _FIRST_TIME and _TIME_KEY.search(key):
                return "<time>"
            case dict():
                return self.chunk(value)
            case list():
                return [self._value(key, item) for item in value]
        return value

    def _text(self, text: str) -> str:
        if text in self._names:
            return self._names[text]
        if "-" not in text:  # as in megabytes of base64
            return text
        return _TIME.sub("<time>", _ID.sub(lambda found: self._named(found[0], "id"), text))

    def _named(self, value: str, kind: str) -> str:
        if value not in self._names:
            self._counts[kind] += 1
            self._names[value] = f"{kind}-{self._counts[kind]}"
        return self._names[value]


def essence(chunks: Iterable[Mapping[str, Any]]) -> Iterator[Json]:
    """The stream without what is the model's own: where its text was cut, whether arguments came bit by bit, usage,
    its name, its signatures."""
    kept = [_without_metadata(chunk) for chunk in chunks if chunk["type"] != "tool-input-delta"]
    for _, group in groupby(enumerate(kept), key=_part):
        same = [chunk for _, chunk in group]
        yield _joined(same) if same[0]["type"] in _DELTAS else same[0]


def _part(numbered: tuple[int, Json]) -> tuple[Any, ...]:
    """The part that a delta belongs to; something of its own for any other chunk."""
    number, chunk = numbered
    return (chunk["type"], chunk["id"]) if chunk["type"] in _DELTAS else (number,)


def _joined(deltas: Sequence[Json]) -> Json:
    key = _DELTAS[deltas[0]["type"]]
    return {**deltas[-1], key: "".join(delta[key] for delta in deltas)}


def _without_metadata(chunk: Mapping[str, Any]) -> Json:
    cleaned = {key: _cleaned(value) if key.endswith("Metadata") else value for key, value in chunk.items()}
    return {key: value for key, value in cleaned.items() if value != {}}


def _cleaned(metadata: Any) -> Any:
    if not isinstance(metadata, dict):
        return metadata
    inner = {key: _cleaned(value) for key, value in metadata.items() if key not in _OF_THE_MODEL}
    return {key: value for key, value in inner.items() if value != {}}
