"""Converts the values in an event to plain JSON before the event is stored.

ADK's memory store keeps any object. The other stores refuse some values and change others: for example, they write the
``repr`` of a value. All stores return plain JSON unchanged, so a chat is the same before and after a reload.
"""

from __future__ import annotations

import json
import operator
import re
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

import orjson
from google.adk.sessions.state import State
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from stream_protocol.adk import REQUEST_CONFIRMATION, REQUEST_INPUT, unrepresentable_text
from stream_protocol.wire import (
    StreamProtocolError,
    UnrepresentableValueError,
    json_value,
    short_json,
    storable_text,
    to_well_formed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.adk.events import Event

MAX_STORED_DEPTH: Final = 180
"""The maximum number of nesting levels of a value. ADK's SQLite store can read 200 levels, including those of the
event."""

_ORJSON_DEPTH: Final = 254
"""The maximum number of nesting levels that ``orjson`` can write."""

_NUL: Final = re.compile(rb"((?<!\\)(?:\\\\)*)\\u0000")
"""Pattern for U+0000, which PostgreSQL cannot store, as an escape in JSON text. Group 1 has the escaped backslashes
before it."""


_CLEAN: Final[Any] = {
    "actions": {"state_delta"},
    "content": {"parts": {"__all__": {"function_response": {"response"}, "inline_data": {"data"}}}},
    "custom_metadata": True,
    "output": True,
}
"""The fields of an event without refused characters in their strings, after all values are plain JSON."""


def make_storable(event: Event, state_writers: Mapping[str, Sequence[bool]]) -> list[str]:
    """Replace the event's values with plain JSON, in place. Return a text about each value that has no JSON form.

    If the result of a call has no JSON form, an error replaces the result. A call also gets an error if it wrote a
    state value without a JSON form. If the writer of a state value is unknown, all calls of the event get the error.
    Other values without a JSON form are left out. In all strings, lone surrogates and U+0000 become U+FFFD.

    ``state_writers``: maps a state key to a list with one bool for each function response in the event. The bool is
    True if this response's call wrote the key.
    """
    problems: list[str] = []
    responses = event.get_function_responses()
    for response in responses:
        if response.response is not None:
            try:
                response.response = _stored(response.response)
            except UnrepresentableValueError as error:
                problems.append(unrepresentable_text(response.name or "", error))
                response.response = {"error": problems[-1]}
    for key, refusal in _take_unstorable(event.actions.state_delta).items():
        value = f"the state key {short_json(key)} to a value that cannot be stored. {refusal}"
        blamed = [*compress(responses, state_writers.get(key, ()))] or responses
        for response in blamed:
            problems.append(f"The tool {response.name} set {value}")
            response.response = {"error": problems[-1]}
        if not blamed:
            problems.append(f"{event.author} set {value} It is left out.")
    if event.output is not None:
        event.output = _lossy(event.output, f"The output of {event.author}", problems)
    if event.custom_metadata is not None:
        event.custom_metadata = _lossy(event.custom_metadata, f"Metadata of {event.author}", problems)
    for call in event.get_function_calls():
        if call.name in (REQUEST_CONFIRMATION, REQUEST_INPUT):
            args = _lossy(call.args, f"The arguments of {call.name}", problems)
            # Keep the arguments that can be stored, so that the user can answer the call.
            call.args = (
                {key: storable_json(value) for key, value in (call.args or {}).items()} if args is None else args
            )
    for confirmation in event.actions.requested_tool_confirmations.values():
        if confirmation.payload is not None:
            confirmation.payload = _lossy(confirmation.payload, "The payload of a confirmation", problems)
    _clean_characters(event)
    return problems


def _clean_characters(event: Event) -> None:
    """Replace lone surrogates and U+0000 in all strings of the event, in place, because stores refuse these characters.
    State values are not changed, because the caller has already converted them.
    """
    try:
        text = event.model_dump_json(exclude=_CLEAN, exclude_none=True, warnings=False)
    except Exception:  # noqa: BLE001 - pydantic's error for a lone surrogate; serializers of the app may raise anything
        text = None
    if text is None or r"\u0000" in text:
        _cleaned(event)


def _cleaned(value: Any) -> Any:
    """Return the value with U+FFFD in place of lone surrogates and U+0000. Pydantic models are changed in place."""
    if type(value) is str:
        return storable_text(value)
    if isinstance(value, BaseModel):
        for name, field in [*value.__dict__.items()]:
            if name != "state_delta" and (clean := _cleaned(field)) is not field:
                setattr(value, name, clean)
    elif isinstance(value, list | set):
        clean_items = [_cleaned(item) for item in value]
        return value if all(map(operator.is_, value, clean_items)) else type(value)(clean_items)
    elif isinstance(value, dict):
        if any(isinstance(item, BaseModel) for item in value.values()):
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
        return storable_json(value) if _has_refused_character(value) else value
    return value


def _has_refused_character(value: Any) -> bool:
    try:
        return _NUL.search(orjson.dumps(value)) is not None
    except orjson.JSONEncodeError as error:
        return "surrogates" in str(error)


def storable_state(delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of a session's state as plain JSON. Values of temporary keys (``temp:``) are returned unchanged.
    Raises ``StreamProtocolError`` for a value without a JSON form."""
    stored = dict(delta)
    for key, refusal in _take_unstorable(stored).items():
        raise StreamProtocolError(f"The state key {short_json(key)} has a value that cannot be stored. {refusal}")
    return stored


def _stored(value: Any) -> Any:
    """Return the value as plain JSON that all stores can keep. Raises ``UnrepresentableValueError`` if this is not
    possible."""
    plain = json_value(value)
    encoded = _encoded(plain)
    if encoded is None:
        raise UnrepresentableValueError(f"It is nested deeper than {MAX_STORED_DEPTH} levels.")
    if b"\\u0000" not in encoded:
        return plain
    return orjson.loads(_NUL.sub(rb"\1\\ufffd", orjson.dumps(plain)))


def _encoded(plain: Any) -> bytes | None:
    """Return JSON text that contains the value inside some arrays. Return ``None`` for a value with more than
    ``MAX_STORED_DEPTH`` levels. With the arrays, such a value exceeds the nesting limit of ``orjson``.
    """
    for _ in range(_ORJSON_DEPTH - MAX_STORED_DEPTH):
        plain = [plain]
    try:
        return orjson.dumps(plain)
    except orjson.JSONEncodeError:
        return None


def is_too_deep(plain: Any) -> bool:
    return _encoded(plain) is None


def _lossy(value: Any, what: str, problems: list[str]) -> Any:
    """Return the value as plain JSON that all stores can keep. If a part cannot be stored, a text about the loss is
    added to ``problems``. ``what``: the name of the value in this text."""
    try:
        return _stored(value)
    except UnrepresentableValueError as error:
        problems.append(f"{what} cannot be stored in whole. {error}")
    return storable_json(value)


def storable_json(value: Any) -> Any:
    """Return the value as plain JSON that all stores can keep. Parts without a JSON form become ``None``. If the value
    is nested too deeply, the result is ``None``."""
    try:
        return _stored(json_value(value, lossy=True))
    except UnrepresentableValueError:
        return None


def _take_unstorable(delta: dict[str, Any]) -> dict[str, UnrepresentableValueError]:
    """Change ``delta``: remove the state keys whose values cannot be stored, and convert the other values to plain
    JSON. Return a dictionary from each removed key to its error.
    """
    refusals: dict[str, UnrepresentableValueError] = {}
    for key, value in delta.items():
        if key.startswith(State.TEMP_PREFIX):  # temporary values are not stored
            continue
        if "\0" in key or to_well_formed(key) != key:
            refusals[key] = UnrepresentableValueError("The key has a character that stores refuse.")
            continue
        if _is_kept_by_adk(value):
            continue
        try:
            delta[key] = _stored(value)
        except UnrepresentableValueError as error:
            refusals[key] = error
    for key in refusals:
        del delta[key]
    return refusals


def _is_kept_by_adk(value: Any) -> bool:
    """Return True if ADK's stores keep the value without loss."""
    try:
        _stored(plain := to_jsonable_python(value))
        # Without `ensure_ascii=False`, lone surrogates would pass, which most stores refuse.
        return _NUL.search(json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()) is None
    except Exception:  # noqa: BLE001 - serializers of the app may raise anything
        return False
