"""Explain why the client's JSON parser or schema refuses data."""

import json
from collections.abc import Mapping
from typing import Any

from stream_protocol.check._captured_response import python_hint
from stream_protocol.check._rules import Problem, Rule
from stream_protocol.wire import SHORT_JSON_LENGTH, parse_json, short_json
from stream_protocol.wire.client import Refusal, refusal


def json_problem(data: str) -> Problem:
    """Return the reason why the client's JSON parser refuses the data."""
    if not data.strip():
        return Problem(Rule.EMPTY_DATA, "The data is empty.")
    if is_json(data):
        return Problem(Rule.FORBIDDEN_KEY, "A key is __proto__, or prototype in an object called constructor.")
    if "\n" in data and all(map(is_json, data.split("\n"))):
        return Problem(Rule.MISSING_BLANK_LINE, "Several chunks follow each other without a blank line between them.")
    if constants := _constants(data):
        return Problem(Rule.NOT_A_NUMBER, f"{constants[0]} is not JSON.")
    hint = python_hint(data)
    return Problem(Rule.INVALID_JSON, f"The data is not JSON: {hint}." if hint else "The data is not JSON.")


def is_json(text: str) -> bool:
    """Return True if the text is JSON. Keys that the client refuses are allowed."""
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def _constants(text: str) -> list[str]:
    """Return constants such as ``NaN`` in the text. Python's parser accepts them, but they are not JSON."""
    found: list[str] = []

    def note(constant: str) -> Any:
        found.append(constant)

    try:
        json.loads(text, parse_constant=note)
    except (ValueError, RecursionError):
        return []
    return found


def chunk_type(chunk: Any) -> str:
    """Return the chunk's type for an error text. If it is not a plain name, return it as JSON."""
    kind = chunk.get("type") if isinstance(chunk, Mapping) else None
    plain = (
        isinstance(kind, str) and kind.replace("-", "").isalnum() and kind.isascii() and len(kind) <= SHORT_JSON_LENGTH
    )
    return str(kind) if plain else short_json(kind)


def schema_problem(chunk: Any, refused: Refusal) -> Problem:
    """Return the reason why the client's schema refuses the chunk."""
    kind, key = chunk_type(chunk), short_json(refused.key)
    match refused.why:
        case "no chunk" if isinstance(chunk, str) and chunk.lstrip().startswith("{") and is_json(chunk):
            return Problem(Rule.NOT_A_CHUNK, "The data is JSON in a JSON string: it was encoded twice.")
        case "no chunk":
            return Problem(Rule.NOT_A_CHUNK, f"{short_json(chunk)} is not an object with a type.")
        case "unknown type" if (refused_by_v7 := refusal(chunk, ai_sdk=7)) and refused_by_v7.why == "unknown type":
            return Problem(Rule.UNKNOWN_TYPE, f"{kind} is not a chunk type of v6 or v7.")
        case "unknown type":
            return Problem(Rule.V7_ONLY_TYPE, f"{kind} is unknown to v6.")
        case "missing":
            return Problem(Rule.MISSING_KEY, f"{kind} has no {key}.")
        case "null":
            return Problem(Rule.NULL_KEY, f"{key} of {kind} is null, which is not the same as absent.")
        case "value" if refused.key == "finishReason":
            return Problem(
                Rule.FINISH_REASON, f"{short_json(chunk[refused.key])} is not a finish reason of the client."
            )
    return Problem(Rule.WRONG_VALUE, f"{key} of {kind} cannot be {short_json(chunk[refused.key])}.")
