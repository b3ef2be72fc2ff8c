"""Read the JSON of one event. A different version of ADK or google-genai may have written it.

The models of ADK and google-genai refuse unknown keys and values. These keys and values are omitted, and the rest of
the event is read.

This module imports ADK.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from google.adk.events import Event
from pydantic import ValidationError
from typing_extensions import override

from stream_protocol.adk._event_dicts import NotAnEventError, WarnOnce
from stream_protocol.wire import SHORT_JSON_LENGTH, short_json

MISSING: Final = "missing"
"""pydantic's error type for a missing field. An object that lacks a required field is omitted as a whole."""

_FIELDS: Final = frozenset(Event.model_fields) | {field.alias for field in Event.model_fields.values()}
_ARGUMENTS: Final = frozenset({"message", "state", "route", "node_path"}) - _FIELDS
"""Arguments of the constructor of ``Event`` that are not fields.

ADK never writes them to an event's JSON. So such a key is a field of a different version.
"""

_TYPE_ERRORS: Final = (AttributeError, TypeError)
"""Errors without a location: those of google-genai's enums for a number, and pydantic's for a key that is not text.
"""

_ANY_EVENT: Final = {"author": "agent"}
"""The fields that every event must have."""

_UNREADABLE: Final = "whose value the installed ADK cannot read"


def read_leniently(value: dict[str, Any], warn: WarnOnce) -> Event:
    """Convert JSON to an event without the fields that the installed ADK cannot read. Warns of each such field.

    google-genai keeps a value that is not in its enum, and emits a Python warning. Raises ``NotAnEventError`` if the
    rest of the event is also unreadable.
    """
    for key in value.keys() - _FIELDS:
        warn(f"Ignored the field {_printable(str(key))}, which the installed ADK does not know.")
    readable = {key: item for key, item in value.items() if key not in _ARGUMENTS}
    try:
        try:
            return Event.model_validate(readable)
        except (ValidationError, *_TYPE_ERRORS):
            return _read_rest(deepcopy(readable), warn)
    except RecursionError:
        raise NotAnEventError("it is nested too deeply") from None


def _read_rest(value: dict[str, Any], warn: WarnOnce) -> Event:
    """Convert JSON to an event, and remove the fields that the installed ADK refuses from ``value``."""
    for location in [*_of_wrong_types(value, lambda part: {**_ANY_EVENT, **part}, [])]:
        warn(f"Ignored the field {location}, {_UNREADABLE}.")
        del location.container[location.key]
    while True:
        try:
            return Event.model_validate(value)
        except ValidationError as error:
            if not _remove_refused(value, error, warn):
                first = error.errors()[0]
                where = _path(first["loc"])
                raise NotAnEventError(f"{where}: {first['msg']}" if where else first["msg"]) from None


def _path(steps: tuple[int | str, ...]) -> str:
    """Return the path of a field in the usual notation: ``content.parts[0].text``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _of_wrong_types(
    value: dict[Any, Any] | list[Any], within: Callable[[Any], dict[str, Any]], names: list[str]
) -> Iterator["_Location"]:
    """Yield the locations of the innermost values on which ADK's validation raises one of ``_TYPE_ERRORS``.

    These errors name no location. So this function validates an event for each value, without the other values.
    ``within``: a function that takes a value for the searched object or list, and returns an event with it. In a list,
    the last value comes first, so that a caller can delete the values in this order.
    """
    items = [*value.items()] if isinstance(value, dict) else [*reversed([*enumerate(value)])]
    for key, item in items:

        def alone(inner: Any, key: Any = key) -> dict[str, Any]:
            return within({key: inner} if isinstance(value, dict) else [inner])

        if not _is_of_wrong_type(alone(item)):
            continue
        inner_names = [*names, str(key)] if isinstance(value, dict) else names
        # An empty object or list is refused only where no object or list is allowed.
        may_hold = isinstance(item, dict | list) and not _is_of_wrong_type(alone(type(item)()))
        inside = [*_of_wrong_types(item, alone, inner_names)] if may_hold else []
        yield from inside or [_Location(value, key, inner_names)]


def _is_of_wrong_type(value: dict[str, Any]) -> bool:
    try:
        Event.model_validate(value)
    except _TYPE_ERRORS:
        return True
    except ValidationError:
        pass
    return False


def _remove_refused(value: dict[str, Any], error: ValidationError, warn: WarnOnce) -> bool:
    """Remove all values that the error reports. Return False if there are none."""
    locations: dict[tuple[int, int | str], _Location] = {}
    for item in error.errors(include_url=False, include_context=False):
        path = item["loc"][:-1] if item["type"] == MISSING else item["loc"]
        if (location := _locate(value, path)) is not None:
            locations[id(location.container), location.key] = location
            is_unknown = item["type"] == "extra_forbidden"
            reason = "which the installed ADK does not know" if is_unknown else _UNREADABLE
            warn(f"Ignored the field {location}, {reason}.")
    # From the end of a list to its beginning, so that the remaining indexes stay valid.
    for location in sorted(locations.values(), key=lambda each: each.index, reverse=True):
        del location.container[location.key]
    return bool(locations)


@dataclass(frozen=True)
class _Location:
    """The location of a value in an event's JSON."""

    container: Any
    """The dict or list that holds the value."""
    key: int | str
    """The value's key or index in it."""
    names: list[str]
    """The keys from the event to the value, without indexes."""

    @property
    def index(self) -> int:
        """The position of this value in its list; -1 if its parent is a dictionary."""
        return self.key if isinstance(self.key, int) else -1

    @override
    def __str__(self) -> str:
        return ".".join(map(_printable, self.names))


def _locate(value: Any, path: tuple[int | str, ...]) -> _Location | None:
    """Find the innermost value on the path of a pydantic error.

    The path may be in camelCase and the file's keys in snake_case, or the reverse. The path also contains the members
    of unions, which are not keys.
    """
    location: _Location | None = None
    names: list[str] = []
    for step in path:
        key = _find_key(value, step)
        if key is not None:
            names = [*names, key] if isinstance(key, str) else names
            location = _Location(value, key, names)
            value = value[key]
    return location


def _find_key(value: Any, step: int | str) -> int | str | None:
    if isinstance(value, list):
        return step if isinstance(step, int) and step < len(value) else None
    if not isinstance(value, dict) or not isinstance(step, str):
        return None
    return next((key for key in value if isinstance(key, str) and _without_case(key) == _without_case(step)), None)


def _without_case(key: str) -> str:
    return key.replace("_", "").lower()


def _printable(key: str) -> str:
    """Return the key for an error message: as JSON if it is long, or has characters that could control a terminal."""
    return key if key.isascii() and key.isprintable() and len(key) <= SHORT_JSON_LENGTH else short_json(key)
