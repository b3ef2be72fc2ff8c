"""How the client folds several ``messageMetadata`` into one (``util/merge-objects.ts`` of ``vercel/ai``)."""

from collections.abc import Mapping
from typing import Any, Final

from stream_protocol.wire._errors import ClientStreamError

_SKIPPED: Final = frozenset({"__proto__", "constructor", "prototype"})


def merge_metadata(base: Any, overrides: Any) -> Any:
    """Returns ``base`` with the keys of ``overrides`` set: objects merge, all else replaces. Neither is changed.

    ``None`` on one side gives the other. Metadata that is no object gets the client's treatment of such a value: its
    items, by index; or, where ``base`` has none, the ``TypeError`` that the client would throw.
    """
    if base is None or overrides is None:
        return base if overrides is None else overrides
    merged = _items(base)
    for key, value in _items(overrides).items():
        if key in _SKIPPED:
            continue
        if not isinstance(base, Mapping | list):
            text = f"Cannot use 'in' operator to search for '{key}' in {_as_js_text(base)}"
            raise ClientStreamError(text, error_class="TypeError")
        inner = merged.get(key)
        both = isinstance(inner, Mapping) and isinstance(value, Mapping)
        merged[key] = merge_metadata(inner, value) if both else value
    return merged


def _items(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | str):
        return {str(index): item for index, item in enumerate(value)}
    return {}


def _as_js_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
