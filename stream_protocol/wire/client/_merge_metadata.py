"""Merges several ``messageMetadata`` into one, as the client does: mirrors ``util/merge-objects.ts`` of
``vercel/ai``.
"""

from collections.abc import Mapping
from typing import Any, Final

from stream_protocol.wire._errors import ClientStreamError

_SKIPPED: Final = frozenset({"__proto__", "constructor", "prototype"})


def merge_metadata(base: Any, overrides: Any) -> Any:
    """Returns ``base`` with the keys of ``overrides`` set: objects merge, all else replaces. Neither is changed.

    If one side is ``None``, the result is the other. Metadata that is not an object is merged as JavaScript does it: by
    the indices of its items. Raises ``ClientStreamError`` with the client's ``TypeError`` where ``base`` has none.
    """
    if base is None or overrides is None:
        return base if overrides is None else overrides
    whole: dict[str, Any] = {}
    todo = [(whole, base, overrides)]  # not by recursion: a stream may nest as deep as Python's stack
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
