"""Makes the values in an event plain JSON before it is stored: every store keeps what the client is shown.

ADK's stores differ. Memory keeps any object. The others drop the ``None`` fields and the aliases of models, refuse some
values, and write others as their ``repr``. SQLite cannot read back values that are nested too deeply. A value that is
plain JSON is the same in all of them, live and after a reload.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import orjson
from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from stream_protocol.adk import REQUEST_CONFIRMATION, REQUEST_INPUT, unrepresentable_text
from stream_protocol.wire import StreamProtocolError, UnrepresentableValueError, json_value, short_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from google.adk.events import Event

MAX_STORED_DEPTH: Final = 180
"""Levels of one value. The parser of ADK's SQLite store reads 200; the rest is left for the event around a value."""

_ORJSON_DEPTH: Final = 254
"""Levels that ``orjson`` writes."""

_NUL: Final = re.compile(rb"((?<!\\)(?:\\\\)*)\\u0000")
"""U+0000 in JSON text, behind backslashes that stand for themselves. PostgreSQL cannot store it."""


def make_storable(event: Event, state_writers: Mapping[str, Collection[str]]) -> list[str]:
    """Replace the event's values by plain JSON, in place. Return one sentence for each value that has no JSON form.

    A tool's result that has none becomes that call's error. So does the result of a tool that wrote such a value into
    the state. Such values of other authors are left out. ``state_writers``: state key -> the ids of the calls that
    wrote it, as far as that is known.
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
        writers = state_writers.get(key, ())
        blamed = [response for response in responses if response.id in writers] or responses
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
            # A question waits also if its schema is too deep.
            call.args = {key: _kept(value) for key, value in (call.args or {}).items()} if args is None else args
    for confirmation in event.actions.requested_tool_confirmations.values():
        if confirmation.payload is not None:
            confirmation.payload = _lossy(confirmation.payload, "The payload of a confirmation", problems)
    return problems


def storable_json(value: Any) -> Any:
    """Return the value as plain JSON that every store can keep, without what has no JSON form; ``None`` if it is too
    deep."""
    return _kept(value)


def storable_state(delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state delta as every store can keep it. Raises ``StreamProtocolError`` for a value that has no JSON
    form, unless its key is temporary (``temp:``)."""
    stored = dict(delta)
    for key, refusal in _take_unstorable(stored).items():
        raise StreamProtocolError(f"The state key {short_json(key)} has a value that cannot be stored. {refusal}")
    return stored


def _stored(value: Any) -> Any:
    """The value as plain JSON that each store can keep. Raises ``UnrepresentableValueError``."""
    plain = json_value(value)
    encoded = _encoded(plain)
    if encoded is None:
        raise UnrepresentableValueError(f"It is nested deeper than {MAX_STORED_DEPTH} levels.")
    if b"\\u0000" not in encoded:
        return plain
    return orjson.loads(_NUL.sub(rb"\1\\ufffd", orjson.dumps(plain)))


def _encoded(plain: Any) -> bytes | None:
    """Plain JSON as text, in some more arrays; ``None`` if it is deeper than a store can keep."""
    for _ in range(_ORJSON_DEPTH - MAX_STORED_DEPTH):
        plain = [plain]
    try:
        return orjson.dumps(plain)
    except orjson.JSONEncodeError:
        return None


def is_too_deep(plain: Any) -> bool:
    """Return True for plain JSON that is nested deeper than every store can keep."""
    return _encoded(plain) is None


def _lossy(value: Any, what: str, problems: list[str]) -> Any:
    """Return the value as it can be stored. A part without a JSON form becomes ``None``, and so does the whole value if
    it is too deep."""
    try:
        return _stored(value)
    except UnrepresentableValueError as error:
        problems.append(f"{what} cannot be stored in whole. {error}")
    return _kept(value)


def _kept(value: Any) -> Any:
    """The value as plain JSON, with ``None`` for what has no JSON form; ``None`` if it is too deep."""
    try:
        return _stored(json_value(value, lossy=True))
    except UnrepresentableValueError:
        return None


def _take_unstorable(delta: dict[str, Any]) -> dict[str, UnrepresentableValueError]:
    """Remove the keys whose values no store can keep, and return why."""
    refusals: dict[str, UnrepresentableValueError] = {}
    for key, value in delta.items():
        if key.startswith(State.TEMP_PREFIX) or _is_kept_by_adk(value):  # a temporary value is not stored
            continue
        try:
            delta[key] = _stored(value)
        except UnrepresentableValueError as error:
            refusals[key] = error
    for key in refusals:
        del delta[key]
    return refusals


def _is_kept_by_adk(value: Any) -> bool:
    """Return True if ADK's stores keep the value without a loss. Agents of the run have the object itself then."""
    try:
        _stored(plain := to_jsonable_python(value))
        return _NUL.search(json.dumps(plain, allow_nan=False).encode()) is None
    except Exception:  # noqa: BLE001 - foreign code ran
        return False
