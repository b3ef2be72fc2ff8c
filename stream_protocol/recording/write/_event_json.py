"""The JSON of an ADK event: camelCase, without nulls, as ADK writes it and ``Event.model_validate`` reads it.

A tool may return any value. ADK's own serialisation refuses some of them (circular ones, objects without a JSON form),
and removes nulls from the others. The converter shows ``json_value`` of them. So ``json_value`` is written here, and a
replay gives the same stream as the live event.
"""

from base64 import b64encode
from functools import lru_cache
from typing import Any, get_args

from google.adk.events import Event
from pydantic import BaseModel

from stream_protocol.adk import NESTED_EVENT, nested_event
from stream_protocol.wire import json_value, to_well_formed


def event_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON, which is a deep copy. Never raises: values that JSON does not have become ``null``.

    A long text or file is not encoded and parsed again, as ``json_value`` does with a whole value. A user's message may
    have many megabytes.
    """
    written = _object(event)
    nested = nested_event(event.custom_metadata or {})
    if nested is not None and isinstance(nested.event, Event):  # in a field for any value, whose nulls are kept
        written["customMetadata"][NESTED_EVENT]["event"] = event_json(nested.event)
    return written


def _object(model: BaseModel) -> dict[str, Any]:
    values = model.__dict__
    return {
        key: _member(value, is_free=is_free)
        for name, key, is_free in _fields(type(model))
        if (value := values[name]) is not None
    }


def _member(value: Any, *, is_free: bool) -> Any:
    kind = type(value)  # nearly all values are of these; `isinstance` of a pydantic model is slow
    if kind is str:
        return to_well_formed(value)
    if kind is bytes:
        return b64encode(value).decode()
    if kind is bool:
        return value
    if not is_free and isinstance(value, BaseModel):
        return _object(value)
    if not is_free and kind is list:
        return [_member(item, is_free=False) for item in value]
    return json_value(value, lossy=True)


@lru_cache(maxsize=256)
def _fields(model: type[BaseModel]) -> list[tuple[str, str, bool]]:
    """Name and JSON key of each field, and whether it takes any value. Nulls inside such a value are kept."""
    return [
        (name, field.serialization_alias or name, Any in get_args(field.annotation) or field.annotation is Any)
        for name, field in model.model_fields.items()
    ]
