"""Merge ``messageMetadata`` as the client does. Mirrors ``util/merge-objects.ts`` of ``vercel/ai``."""

from collections.abc import Mapping
from typing import Any, Final

from stream_protocol.wire._errors import ClientStreamError

_SKIPPED: Final = frozenset({"__proto__", "constructor", "prototype"})


def merge_metadata(base: Any, overrides: Any) -> Any:
    """Return ``base`` with the keys of ``overrides`` set: objects merge, other values replace. Neither argument is
    changed.

    If one argument is ``None``, the result is the other argument. Metadata that is not an object merges as in
    JavaScript, by the indices of its items. Raises ``ClientStreamError`` with the client's ``TypeError`` if ``base``
    has no indices.
    """
    if base is None or overrides is None:
        return base if overrides is None else overrides
    whole: dict[str, Any] = {}
    todo = [(whole, base, overrides)]  # a loop, because metadata may be nested deeper than Python's stack
    while todo:
        merged, old, new = todo.pop()
        merged |= _items(old)
        for key, value in _items(new).items():
            if key in _SKIPPED:
                continue
            if not isinstance(old, Mapping | list):
                text = f"Cannot use 'in' operator to search for '{key}' in {_as_js_text(old)}"
                raise ClientStreamError(text, error_class="TypeError")
            inner = merged.get(key)
            merged[key] = value
            if isinstance(inner, Mapping) and isinstance(value, Mapping):
                merged[key] = {}
                todo.append((merged[key], inner, value))
    return whole


def _items(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | str):
        return {str(index): item for index, item in enumerate(value)}
    return {}


def _as_js_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
