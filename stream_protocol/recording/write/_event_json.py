"""Converts an ADK event to JSON in ADK's own form: camelCase, without nulls, readable by ``Event.model_validate``.

A tool may return any value. ADK's own serialisation refuses some values (circular values, objects without a JSON form),
and removes nulls from others. The converter shows ``json_value`` of such values, so this module also writes
``json_value``. A replay then gives the same stream as the live event.
"""

from base64 import b64encode
from functools import lru_cache
from typing import Any, get_args

from google.adk.events import Event
from pydantic import BaseModel

from stream_protocol.adk import NESTED_EVENT, nested_event
from stream_protocol.wire import json_value, to_well_formed


def event_json(event: Event) -> dict[str, Any]:
    """Return the event as plain JSON, a deep copy. Never raises: values without a JSON form become ``null``.

    A long text or file is not encoded and parsed again, as ``json_value`` would do. A user's message may have many
    megabytes.
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
    kind = type(value)  # fast checks first: `isinstance` with a pydantic model is slow
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
    """Return the name and JSON key of each field, and True if the field accepts any value. Nulls in such a value are
    kept."""
    return [
        (name, field.serialization_alias or name, Any in get_args(field.annotation) or field.annotation is Any)
        for name, field in model.model_fields.items()
    ]
