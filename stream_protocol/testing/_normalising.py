"""Remove differences between two runs of one conversation. The runs differ in ids, in times, and in how model responses
are split.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

Json = dict[str, Any]

_ID_NAMES: Final = {"messageId": "message", "toolCallId": "call", "approvalId": "approval"}
_DELTAS: Final = ("text-delta", "reasoning-delta")
_INPUTS: Final = ("tool-input-available", "tool-input-error")
_MODEL_KEYS: Final = frozenset({"usage", "modelId", "thoughtSignature"})
"""Keys of metadata whose values differ between responses of a model."""

_ID: Final = re.compile(r"(?:\b(?:e|adk)-)?\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
"""Pattern for a UUID, with or without ADK's prefix for invocations (``e-``) or calls (``adk-``)."""
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\b")
_TIME_KEY: Final = re.compile(r"(?:time|timestamp|_at|At)$", re.IGNORECASE)
_FIRST_TIME: Final = 10**9
"""The smallest number that counts as a time in seconds since 1970."""


class Normaliser:
    """Replaces ids with numbered names such as ``call-1``, and times with ``<time>``.

    The same id always gets the same name. So a comparison can still detect that the outputs of two calls are swapped.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def chunk(self, chunk: Mapping[str, Any]) -> Json:
        """Return the chunk with names in place of ids, and ``<time>`` in place of times. Pass the chunks in order."""
        return {key: self._value(key, value) for key, value in chunk.items()}

    def _value(self, key: str, value: Any) -> Any:
        match value:
            case str():
                return self._name(value, _ID_NAMES[key]) if key in _ID_NAMES else self._text(value)
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
        if "-" not in text:  # skips long base64 texts quickly
            return text
        return _TIME.sub("<time>", _ID.sub(lambda match: self._name(match[0], "id"), text))

    def _name(self, value: str, kind: str) -> str:
        if value not in self._names:
            self._counts[kind] += 1
            self._names[value] = f"{kind}-{self._counts[kind]}"
        return self._names[value]


def without_model_details(chunks: Iterable[Mapping[str, Any]]) -> Iterator[Json]:
    """Yield the chunks without details that differ between two responses of a model.

    Consecutive text deltas become one delta. Input deltas, usage, the model's name and signatures are removed. The
    chunk with a call's complete input is moved: it comes directly after the call's ``tool-input-start``.
    """
    kept = [_without_model_metadata(chunk) for chunk in _inputs_at_starts([*chunks])]
    for _, group in groupby(enumerate(kept), key=_delta_key):
        same = [chunk for _, chunk in group]
        yield _join(same) if same[0]["type"] in _DELTAS else same[0]


def _inputs_at_starts(chunks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the chunks without input deltas, and with the complete input of each call directly after the call's
    ``tool-input-start``.
    """
    started = {chunk["toolCallId"] for chunk in chunks if chunk["type"] == "tool-input-start"}
    inputs = {chunk["toolCallId"]: chunk for chunk in chunks if chunk["type"] in _INPUTS}
    for chunk in chunks:
        if chunk["type"] == "tool-input-delta" or (chunk["type"] in _INPUTS and chunk["toolCallId"] in started):
            continue
        yield chunk
        if chunk["type"] == "tool-input-start" and chunk["toolCallId"] in inputs:
            yield inputs[chunk["toolCallId"]]


def _delta_key(numbered: tuple[int, Json]) -> tuple[Any, ...]:
    """Return a key for grouping. All deltas of one message part have the same key. Every other chunk has a key of its
    own.
    """
    number, chunk = numbered
    return (chunk["type"], chunk["id"]) if chunk["type"] in _DELTAS else (number,)


def _join(deltas: Sequence[Json]) -> Json:
    return {**deltas[-1], "delta": "".join(delta["delta"] for delta in deltas)}


def _without_model_metadata(chunk: Mapping[str, Any]) -> Json:
    cleaned = {key: _without_model_keys(value) if key.endswith("Metadata") else value for key, value in chunk.items()}
    return {key: value for key, value in cleaned.items() if value != {} or not key.endswith("Metadata")}


def _without_model_keys(metadata: Any) -> Any:
    if not isinstance(metadata, dict):
        return metadata
    inner = {key: _without_model_keys(value) for key, value in metadata.items() if key not in _MODEL_KEYS}
    return {key: value for key, value in inner.items() if value != {}}
