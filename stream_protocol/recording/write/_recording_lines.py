"""Encodes the lines of a recording and the events in them. docs/recording.md describes the format.

Events are JSON that ``Event.model_validate`` reads: camelCase, without nulls. For the arguments and results of tools,
recordings use the converter's function ``json_value``, so that a replay gives the same stream. ADK's own serialization
refuses some of these values, and removes nulls from others.
"""

from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, get_args

import orjson
from google.adk import version as adk
from google.adk.events import Event
from pydantic import BaseModel

from stream_protocol.adk import NESTED_EVENT, carried_event
from stream_protocol.recording.read import HEADER_KEY, VERSION
from stream_protocol.stream import ConverterOptions, options_to_json
from stream_protocol.wire import json_value, to_well_formed

FIRST_BYTES: Final = f'{{"{HEADER_KEY}":{VERSION},'.encode()
"""The first bytes of a recording file to which this version can append turns."""

_DIGITS: Final = 4


def header_line(*, chat: str | None, options: ConverterOptions) -> bytes:
    """Return the header, the first line of a recording file. ``chat``: the id that the chat has in the client. A
    recording file does not name the user."""
    header = {HEADER_KEY: VERSION, "adk": adk.__version__, "ai_sdk": options.get("ai_sdk", 6)}
    return _line(header if chat is None else {**header, "chat": chat})


def turn_line(*, request: Mapping[str, Any] | None, message_id: str | None, options: ConverterOptions) -> bytes:
    """Return the first line of a turn. The times in the turn's other lines are in seconds since the first line."""
    turn = {"request": request, "message_id": message_id, "options": options_to_json(options)}
    return _line({"turn": turn, "at": 0})


def value_line(kind: Literal["event", "chunk"], value: Mapping[str, Any], at: float | None) -> bytes:
    """Return the line for an event or a chunk. ``at``: seconds since the turn's first line."""
    return _line({kind: value, **_time(at)})


def end_line(outcome: str, at: float | None) -> bytes:
    """Return the last line of a turn. ``outcome``: ``finish``, ``error``, ``timeout`` or ``abort``."""
    return _line({"end": outcome, **_time(at)})


def _time(at: float | None) -> dict[str, float]:
    return {} if at is None else {"at": round(at, _DIGITS)}


def _line(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def event_json(event: Event) -> dict[str, Any]:
    """Return a deep copy of the event as plain JSON. Never raises: values without a JSON form become ``null``."""
    written = _object(event)
    nested = carried_event(event)
    if nested is not None and isinstance(nested.event, Event):  # other values are written with their nulls
        written["customMetadata"][NESTED_EVENT]["event"] = event_json(nested.event)
    return written


def model_json(model: BaseModel) -> dict[str, Any]:
    """Return a pydantic model of ADK as plain JSON, like ``event_json``."""
    return _object(model)


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
    """Return a tuple for each field of the model: the name, the JSON key, and a bool. The bool is True if the value may
    be any JSON; then nulls inside the value are kept.
    """
    return [
        (name, field.serialization_alias or name, Any in get_args(field.annotation) or field.annotation is Any)
        for name, field in model.model_fields.items()
    ]
