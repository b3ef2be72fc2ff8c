"""One event's JSON -> ``Event``, also if another version of ADK or google-genai wrote it.

ADK's and google-genai's models refuse keys and values that they do not know. Such a key is left out, and so is a value
that the installed models refuse; the rest of the event counts.
"""

import warnings
from typing import Any, Final

from google.adk.events import Event
from pydantic import ValidationError

from stream_protocol.convert import WarnOnce
from stream_protocol.wire import SHORT_JSON_LENGTH, short_json

MISSING: Final = "missing"
"""pydantic's name for the error that a value lacks a field; then the value itself is what cannot be read."""

_FIELDS: Final = frozenset(Event.model_fields) | {field.alias for field in Event.model_fields.values()}
_ARGUMENTS: Final = frozenset({"message", "state", "route", "node_path"}) - _FIELDS
"""What ADK's constructor takes besides fields, as another way to set some of them. No recording has them; a key of
such a name is of another version and means something else."""

Path = tuple[int | str, ...]


class LenientReader:
    """Reads events, and says once of each field that it could not be read."""

    def __init__(self, warn: WarnOnce | None = None) -> None:
        self._warn = warn or WarnOnce()

    def read(self, value: dict[str, Any]) -> Event:
        """The event. ``value`` loses what the installed ADK cannot read."""
        for key in value.keys() - _FIELDS:
            self._warn(f"Ignored the field {_named(key)}, which the installed ADK does not know.")
            if key in _ARGUMENTS:
                del value[key]
        while True:
            try:
                return self._validated(value)
            except ValidationError as error:
                if not self._leave_out(value, error):
                    raise

    def _validated(self, value: dict[str, Any]) -> Event:
        # google-genai keeps a value that its enums do not have, and warns of it.
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            event = Event.model_validate(value)
        for warning in given:
            self._warn(str(warning.message))
        return event

    def _leave_out(self, value: dict[str, Any], error: ValidationError) -> bool:
        """Removes everything that the error is about; ``False`` if nothing of it is there."""
        found: dict[tuple[int, int | str], tuple[Any, int | str]] = {}
        for item in error.errors(include_url=False, include_context=False):
            path = item["loc"][:-1] if item["type"] == MISSING else item["loc"]
            known = item["type"] != "extra_forbidden"
            if (place := _place(value, path)) is not None:
                container, key, names = place
                found[id(container), key] = (container, key)
                reason = (
                    "whose value the installed ADK cannot read" if known else "which the installed ADK does not know"
                )
                self._warn(f"Ignored the field {'.'.join(map(_named, names))}, {reason}.")
        for container, key in sorted(found.values(), key=_index, reverse=True):
            del container[key]  # in a list the last first, so that the others keep their places
        return bool(found)


def _place(value: Any, path: Path) -> tuple[Any, int | str, list[str]] | None:
    """The container and the key of the innermost value on an error's path, and the names on the way.

    The path says camelCase or snake_case, whatever the file says, and names the members of a union, which are no keys.
    """
    place: tuple[Any, int | str, list[str]] | None = None
    names: list[str] = []
    for step in path:
        key = _key(value, step)
        if key is not None:
            names = [*names, key] if isinstance(key, str) else names
            place = (value, key, names)
            value = value[key]
    return place


def _key(value: Any, step: int | str) -> int | str | None:
    if isinstance(value, list):
        return step if isinstance(step, int) and step < len(value) else None
    if not isinstance(value, dict) or not isinstance(step, str):
        return None
    return next((key for key in value if _plain(key) == _plain(step)), None)


def _named(key: str) -> str:
    """The key, or, if it could do more to a terminal than to be read, as JSON."""
    return key if key.isascii() and key.isprintable() and len(key) <= SHORT_JSON_LENGTH else short_json(key)


def _index(place: tuple[Any, int | str]) -> int:
    return place[1] if isinstance(place[1], int) else -1


def _plain(key: str) -> str:
    return key.replace("_", "").lower()
