"""The fields of JSON that ADK wrote, in either spelling."""

from typing import Any


def field(value: Any, name: str) -> Any:
    """The field under its snake_case name or in camelCase; ``None`` if there is none."""
    if not isinstance(value, dict):
        return None
    head, *words = name.split("_")
    return value.get(name, value.get(head + "".join(map(str.capitalize, words))))


def time_of(event: Any) -> float | None:
    """When the event came, in seconds since 1970, if it says so."""
    at = field(event, "timestamp")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
