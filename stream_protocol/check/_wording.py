"""How a finding names things, and what it says of a chunk that the schema refuses."""

from collections.abc import Mapping
from typing import Any

from stream_protocol.check._rules import Problem, Rule
from stream_protocol.wire import SHORT_JSON_LENGTH, short_json
from stream_protocol.wire.client import Refusal, refusal


def kind_of(chunk: Any) -> str:
    """The chunk's type as a sentence names it."""
    kind = chunk.get("type") if isinstance(chunk, Mapping) else None
    plain = (
        isinstance(kind, str) and kind.replace("-", "").isalnum() and kind.isascii() and len(kind) <= SHORT_JSON_LENGTH
    )
    return str(kind) if plain else short_json(kind)


def schema_problem(chunk: Any, refused: Refusal) -> Problem:
    """Why the client's schema refuses the chunk."""
    kind, key = kind_of(chunk), short_json(refused.key)
    match refused.why:
        case "no chunk":
            return Problem(Rule.NOT_A_CHUNK, f"{short_json(chunk)} is no object with a type.")
        case "unknown type" if (refused_by_v7 := refusal(chunk, ai_sdk=7)) and refused_by_v7.why == "unknown type":
            return Problem(Rule.UNKNOWN_TYPE, f"No client knows chunks of type {kind}.")
        case "unknown type":
            return Problem(Rule.V7_ONLY_TYPE, f"{kind} is unknown to v6.")
        case "missing":
            return Problem(Rule.MISSING_KEY, f"{kind} has no {key}.")
        case "null":
            return Problem(Rule.NULL_KEY, f"{key} of {kind} is null, which is not the same as absent.")
        case "value" if refused.key == "finishReason":
            return Problem(Rule.FINISH_REASON, f"{short_json(chunk[refused.key])} is no finish reason of the client.")
    return Problem(Rule.WRONG_VALUE, f"{key} of {kind} cannot be {short_json(chunk[refused.key])}.")
