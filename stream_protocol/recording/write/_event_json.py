"""An ADK event -> its JSON: camelCase, nulls omitted, as ADK writes it and ``Event.model_validate`` reads it.

ADK's own serialisation refuses values that a tool may return (a circular one, an object without a JSON form), and
leaves nulls out of them. What the converter shows of such a value is ``json_value`` of it, so that is what is written
here: a recording then gives the stream that the live event gave.
"""

from functools import lru_cache
from typing import Any, get_args

from google.adk.events import Event
from pydantic import BaseModel

from stream_protocol.wire import json_value


def event_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON that shares nothing with it. Never raises: what JSON cannot say is ``null``."""
    plain: dict[str, Any] = json_value(_object(event), lossy=True)
    return plain


def _object(model: BaseModel) -> dict[str, Any]:
    values = model.__dict__
    return {
        key: value if is_free else _member(value)
        for name, key, is_free in _fields(type(model))
        if (value := values[name]) is not None
    }


def _member(value: Any) -> Any:
    match value:
        case str() | dict() | bool() | float():  # nearly all; it takes pydantic long to say that they are no models
            return value
        case BaseModel():
            return _object(value)
        case list():
            return [_member(item) for item in value]
    return value


@lru_cache(maxsize=256)
def _fields(model: type[BaseModel]) -> list[tuple[str, str, bool]]:
    """Name and key of each field, and whether it takes just any value: of those, the nulls count."""
    return [
        (name, field.serialization_alias or name, Any in get_args(field.annotation) or field.annotation is Any)
        for name, field in model.model_fields.items()
    ]
