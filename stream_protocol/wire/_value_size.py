"""Find values that are too large for a client, before they are converted to JSON."""

from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from typing import Any, Final

from stream_protocol.wire._json_values import MAX_DEPTH, is_instance

MAX_VALUE_LENGTH: Final = 8 * 2**20
"""The maximum number of characters and bytes in the texts of one value: twice the largest context of a model, a million
tokens.

A conversion of that size to JSON blocks the event loop for about 50 ms.
"""

MAX_VALUE_ITEMS: Final = 200_000
"""The maximum number of members of arrays and objects in one value, plus keys, on all levels: 10,000 rows of 9 named
columns.

A conversion of that size takes as long as one of ``MAX_VALUE_LENGTH``.
"""


_SCALARS: Final = frozenset({int, float, bool, type(None)})


def is_too_large(value: Any, *, max_length: int = MAX_VALUE_LENGTH, max_items: int = MAX_VALUE_ITEMS) -> bool:
    """Return True if a value has too many members, or too many characters and bytes in its texts.

    The limits are ``max_items`` and ``max_length``.

    Stops at the limit and never raises. Iterators, and values of types with a custom JSON form, count as one member
    each, because only code of their types can read them. A value that contains itself may pass this check.
    ``json_value`` then refuses it as too deep.
    """
    length = items = 0
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:  # most values are texts
                length += len(item)
                continue
            if kind in _SCALARS:
                length += 1
                continue
            try:
                members = _members(item)
            except Exception:  # noqa: BLE001, S112 - foreign code ran: `json_value` reports its error
                continue
            if isinstance(members, int):
                length += members
                continue
            items += len(members)
            if items > max_items:
                return True
            deeper += members
        if length > max_length:
            return True
        if not deeper:
            return False
        level = deeper
    return False  # too deep: `json_value` refuses it


def _members(item: Any) -> Collection[Any] | int:
    """Return the members of a container, or the length of a scalar. The keys of an object count as members."""
    if isinstance(item, str | bytes | bytearray | memoryview):
        return len(item)
    if isinstance(item, dict):
        return [*item, *item.values()]
    if isinstance(item, list | tuple | set | frozenset):
        return item
    if item is None or isinstance(item, int | float | type):
        return 1
    if isinstance(item, Mapping):
        return [*item.keys(), *item.values()]
    if isinstance(item, Collection):
        return item if len(item) > MAX_VALUE_ITEMS else [*item]
    if is_dataclass(item) or is_instance(item, "pydantic", "BaseModel"):
        return [*vars(item).values()]
    return 1
