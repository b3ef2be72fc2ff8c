"""The JSON of an ADK event: camelCase, without nulls, as ADK writes it and ``Event.model_validate`` reads it.

A tool may return any value. ADK's own serialisation refuses some of them (circular ones, objects without a JSON form),
and removes nulls from the others. The converter shows ``json_value`` of them. So ``json_value`` is written here, and a
replay gives the same stream as the live event.
"""

from functools import lru_cache
from typing import Any, get_args

from google.adk.events import Event
from pydantic import BaseModel

from stream_protocol.wire import json_value


def event_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON, which is a deep copy. Never raises: values that JSON does not have become ``null``."""
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
        case str() | dict() | bool() | float():  # nearly all values; `isinstance` of a pydantic model is slow
            return value
        case BaseModel():
            return _object(value)
        case list():
            return [_member(item) for item in value]
    return value


@lru_cache(maxsize=256)
def _fields(model: type[BaseModel]) -> list[tuple[str, str, bool]]:
    """Name and JSON key of each field, and whether it takes any value. Nulls inside such a value are kept."""
    return [
        (name, field.serialization_alias or name, Any in get_args(field.annotation) or field.annotation is Any)
        for name, field in model.model_fields.items()
    ]
