"""Rename the JSON keys on which the client fails: ``__proto__``, and ``prototype`` in an object under ``constructor``.

The client's parser (``secure-json-parse.ts`` of ``@ai-sdk/provider-utils``) throws on these keys at any depth. If a
tool returned such a key, the client would fail. So such keys are put in brackets, for example ``[__proto__]``.
"""

from collections.abc import Collection
from typing import Any

FORBIDDEN = "__proto__"
CONSTRUCTOR = "constructor"
FORBIDDEN_IN_CONSTRUCTOR = "prototype"


def may_hold_forbidden_key(encoded: bytes) -> bool:
    """Return True if a JSON text from ``orjson`` may contain a key that clients refuse. This check is fast, but can
    return True for harmless texts. ``has_forbidden_key`` is exact.
    """
    return b'"__proto__":' in encoded or b'"constructor":' in encoded


def has_forbidden_key(value: Any) -> bool:
    """Return True if the plain JSON value has a key that the client's parser refuses."""
    todo = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, dict):
            inner = node.get(CONSTRUCTOR)
            if FORBIDDEN in node or (isinstance(inner, dict) and FORBIDDEN_IN_CONSTRUCTOR in inner):
                return True
            todo.extend(node.values())
    return False


def rename_forbidden_keys(value: Any, *, in_constructor: bool = False) -> Any:
    """Return a copy of a plain JSON value. Keys that clients refuse are put in brackets, such as ``[__proto__]``."""
    if isinstance(value, list):
        return [rename_forbidden_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed: dict[str, Any] = {}
    for key, item in value.items():
        safe = safe_key(key, in_constructor=in_constructor)
        renamed[free_key(safe, renamed)] = rename_forbidden_keys(item, in_constructor=key == CONSTRUCTOR)
    return renamed


def safe_key(key: str, *, in_constructor: bool) -> str:
    """Return the key. A key that clients refuse is put in brackets. ``in_constructor``: True for a key of an object
    under ``constructor``.
    """
    return f"[{key}]" if key == FORBIDDEN or (in_constructor and key == FORBIDDEN_IN_CONSTRUCTOR) else key


def free_key(key: str, taken: Collection[str]) -> str:
    """Return the key. If ``taken`` already contains the key, a number is appended."""
    if key not in taken:
        return key
    number = 2
    while f"{key} ({number})" in taken:
        number += 1
    return f"{key} ({number})"
