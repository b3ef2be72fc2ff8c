"""Encodes the lines of a recording. docs/recording.md describes the format.

A line is encoded completely before any of it is written.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import orjson
from google.adk import version as adk

from stream_protocol.recording.read import HEADER_KEY, VERSION
from stream_protocol.stream import ConverterOptions, options_to_json

FIRST_BYTES: Final = f'{{"{HEADER_KEY}":{VERSION},'.encode()
"""The beginning of a file to which this version can append turns."""

_DIGITS: Final = 4
"""Decimals of a time: a tenth of a millisecond."""


def header_line(*, chat: str | None, options: ConverterOptions) -> bytes:
    """Return the first line of a file. ``chat``: the client's id of the chat. The user is not named."""
    header = {HEADER_KEY: VERSION, "adk": adk.__version__, "ai_sdk": options.get("ai_sdk", 6)}
    return _line(header if chat is None else {**header, "chat": chat})


def turn_line(*, request: Mapping[str, Any] | None, message_id: str | None, options: ConverterOptions) -> bytes:
    """Return the first line of a turn. The turn's times count from this line."""
    turn = {"request": request, "message_id": message_id, "options": options_to_json(options)}
    return _line({"turn": turn, "at": 0})


def value_line(kind: Literal["event", "chunk"], value: Mapping[str, Any], at: float | None) -> bytes:
    """Return the line for an event or a chunk. ``at``: seconds since the turn's first line; ``None`` if it is not
    known."""
    return _line({kind: value, **_time(at)})


def end_line(outcome: str, at: float | None) -> bytes:
    """Return the last line of a turn. ``outcome``: the ending of the response, ``finish``, ``error``, ``timeout`` or
    ``abort``."""
    return _line({"end": outcome, **_time(at)})


def _time(at: float | None) -> dict[str, float]:
    return {} if at is None else {"at": round(at, _DIGITS)}


def _line(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
