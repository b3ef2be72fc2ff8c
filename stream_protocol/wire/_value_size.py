"""Find values that are too large for a client, before they are converted to JSON."""

from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from typing import Any, Final

from stream_protocol.wire._json_values import MAX_DEPTH, is_instance

MAX_VALUE_LENGTH: Final = 8 * 2**20
"""The maximum number of characters and bytes in the texts of one value. Converting this length to JSON blocks the event
loop for about 50 ms.
"""

MAX_VALUE_ITEMS: Final = 200_000
"""The maximum number of array items, object values and object keys in one value, on all levels. Converting so many
items to JSON blocks the event loop for about 50 ms.
"""


_SCALARS: Final = frozenset({int, float, bool, type(None)})


def is_too_large(value: Any, *, max_length: int = MAX_VALUE_LENGTH, max_items: int = MAX_VALUE_ITEMS) -> bool:
    """Return True if a value has more than ``max_items`` members, counted on all levels. Also return True if its texts
    and bytes together are longer than ``max_length``.

    Never raises. Iterators, and values of types with a custom JSON form, count as one member. A value that contains
    itself may pass this check, but ``json_value`` refuses such a value.
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
    """Return the members of a container, including the keys of a mapping. Return the length of a text or bytes. Return
    1 for any other value.
    """
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
