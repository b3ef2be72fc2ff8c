"""How a finding names things, and what it says of a chunk that the schema refuses."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from stream_protocol.recording.rules import Problem, Rule
from stream_protocol.wire.client_schema import Refusal, refusal

SHOWN_LENGTH: Final = 60
"""How many characters of an id or a value a sentence shows; the ids that frameworks make are shorter."""


def shown(value: object) -> str:
    """The JSON value as text that is safe to print, in ASCII, and short."""
    text = orjson.dumps(value).decode().encode("ascii", "backslashreplace").decode()
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."


def kind_of(chunk: Any) -> str:
    """The chunk's type as a sentence names it."""
    kind = chunk.get("type") if isinstance(chunk, Mapping) else None
    plain = isinstance(kind, str) and kind.replace("-", "").isalnum() and kind.isascii() and len(kind) <= SHOWN_LENGTH
    return str(kind) if plain else shown(kind)


def schema_problem(chunk: Any, refused: Refusal) -> Problem:
    """Why the client's schema refuses the chunk."""
    kind, key = kind_of(chunk), shown(refused.key)
    match refused.why:
        case "no chunk":
            return Problem(Rule.NOT_A_CHUNK, f"{shown(chunk)} is no object with a type.")
        case "unknown type" if (refused_by_v7 := refusal(chunk, ai_sdk=7)) and refused_by_v7.why == "unknown type":
            return Problem(Rule.UNKNOWN_TYPE, f"No client knows chunks of type {kind}.")
        case "unknown type":
            return Problem(Rule.V7_ONLY_TYPE, f"{kind} is unknown to v6.")
        case "missing":
            return Problem(Rule.MISSING_KEY, f"{kind} has no {key}.")
        case "null":
            return Problem(Rule.NULL_KEY, f"{key} of {kind} is null, which is not the same as absent.")
        case "value" if refused.key == "finishReason":
            return Problem(Rule.FINISH_REASON, f"{shown(chunk[refused.key])} is no finish reason of the client.")
    return Problem(Rule.WRONG_VALUE, f"{key} of {kind} cannot be {shown(chunk[refused.key])}.")
