"""The keys that make the client fail: ``__proto__`` anywhere, and ``prototype`` in an object called ``constructor``.

The client parses every chunk with ``secure-json-parse.ts`` of ``@ai-sdk/provider-utils``, which throws on both keys at
any depth. A tool that returns such a key must not end the conversation, so the key is put in brackets.
"""

from collections.abc import Collection
from typing import Any

FORBIDDEN = "__proto__"
CONSTRUCTOR = "constructor"
FORBIDDEN_IN_CONSTRUCTOR = "prototype"


def may_hold_forbidden_key(encoded: bytes) -> bool:
    """Returns False only if this JSON, written by ``orjson``, certainly has no such key. Cheap."""
    return b'"__proto__":' in encoded or b'"constructor":' in encoded


def has_forbidden_key(value: Any) -> bool:
    """Returns True if the client's parser refuses this plain JSON value."""
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
    """The same plain JSON with ``[__proto__]`` for ``__proto__``, likewise ``prototype``. Values are never touched."""
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
    """The key itself, or in brackets where it is forbidden."""
    return f"[{key}]" if key == FORBIDDEN or (in_constructor and key == FORBIDDEN_IN_CONSTRUCTOR) else key


def free_key(key: str, taken: Collection[str]) -> str:
    """Returns the key, or the key with a number after it if it is taken: no value of a tool's result is lost."""
    if key not in taken:
        return key
    number = 2
    while f"{key} ({number})" in taken:
        number += 1
    return f"{key} ({number})"
