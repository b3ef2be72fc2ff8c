"""Read the JSON of an event that a different version of ADK or google-genai may have written.

The pydantic models of ADK and google-genai refuse unknown keys and values, so this module removes them first. Importing
this module loads ADK.
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
"""pydantic's error type for a missing field. An object without a required field is omitted."""

_FIELDS: Final = frozenset(Event.model_fields) | {field.alias for field in Event.model_fields.values()}
_ARGUMENTS: Final = frozenset({"message", "state", "route", "node_path"}) - _FIELDS
"""Arguments of the constructor of ``Event`` that are not fields of the installed ADK.

In JSON, such a key is a field of a different ADK version, because ADK never writes these arguments.
"""

_TYPE_ERRORS: Final = (AttributeError, TypeError)
"""Validation errors that name no location: google-genai's for an enum that is a number, pydantic's for a key that is
not a text."""

_ANY_EVENT: Final = {"author": "agent"}

_UNREADABLE: Final = "whose value the installed ADK cannot read"


def read_leniently(value: dict[str, Any], warn: WarnOnce) -> Event:
    """Convert JSON to an event. Omits fields that the installed ADK cannot read, and logs a warning for each.

    Raises ``NotAnEventError`` if the rest is not an event.
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
    """Convert JSON to an event. Removes from ``value`` the fields that ADK refuses."""
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
    """Return the path of a field as text, such as ``content.parts[0].text``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _of_wrong_types(
    value: dict[Any, Any] | list[Any], within: Callable[[Any], dict[str, Any]], names: list[str]
) -> Iterator["_Location"]:
    """ADK's validation raises an error of ``_TYPE_ERRORS`` for some values. Yield the locations of these values.

    These errors name no location. So each value is validated alone, in an event that ``within`` creates for it. If a
    list or object is refused because of a value inside it, only the inner value is yielded. The caller may delete each
    value immediately, because lists are searched from the end.
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
    """Remove the values that the validation error names. Return False if there is nothing to remove."""
    locations: dict[tuple[int, int | str], _Location] = {}
    for item in error.errors(include_url=False, include_context=False):
        path = item["loc"][:-1] if item["type"] == MISSING else item["loc"]
        if (location := _locate(value, path)) is not None:
            locations[id(location.container), location.key] = location
            is_unknown = item["type"] == "extra_forbidden"
            reason = "which the installed ADK does not know" if is_unknown else _UNREADABLE
            warn(f"Ignored the field {location}, {reason}.")
    # Delete from the end of a list, so that the remaining indexes stay valid.
    for location in sorted(locations.values(), key=lambda each: each.index, reverse=True):
        del location.container[location.key]
    return bool(locations)


@dataclass(frozen=True)
class _Location:
    """The location of a value in the JSON of an event: the list or object that contains the value, and its index or
    key.
    """

    container: Any
    key: int | str
    names: list[str]
    """The keys on the path from the event to the value, without list indexes."""

    @property
    def index(self) -> int:
        """The position of the value in its list; -1 in a dictionary."""
        return self.key if isinstance(self.key, int) else -1

    @override
    def __str__(self) -> str:
        return ".".join(map(_printable, self.names))


def _locate(value: Any, path: tuple[int | str, ...]) -> _Location | None:
    """Return the location of the value that a pydantic error names; ``None`` if there is none. ``path``: the path in
    the error.

    The keys in the path and in the JSON may differ in case (camelCase, snake_case). Steps of the path that only name a
    type of a union are skipped.
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
    """Return the key for an error message. A long key, or a key with unusual characters, is returned as JSON."""
    return key if key.isascii() and key.isprintable() and len(key) <= SHORT_JSON_LENGTH else short_json(key)
