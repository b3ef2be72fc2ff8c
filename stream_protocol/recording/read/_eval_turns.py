"""Converts the turns of an eval case to records of ADK events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from stream_protocol.recording.read._parsing import event_time, field
from stream_protocol.recording.read._records import EventRecord
from stream_protocol.recording.read._restored_marks import mark_questions

AGENT: Final = "agent"
"""The author of events that have no author in the file."""


@dataclass(frozen=True)
class EvalTurn:
    """One turn of an eval case (a conversation in an evaluation file)."""

    events: list[dict[str, Any]]
    """The events of the turn, each with an author and a content. An empty author means the agent."""
    invocation_id: str | None = None
    at: Any = None
    """The time when the turn began, in seconds since 1970, for events without a time."""


def as_content(value: Any, *, role: str = "model") -> Any:
    """Convert a value to ADK content: a content, a text, or a list of texts and parts. Return ``None`` for an empty
    value."""
    if isinstance(value, dict):
        if isinstance(parts := value.get("parts"), list):
            return {"role": role, **value, "parts": list(map(_as_part, parts))}
        return (
            {"role": role, "parts": [_as_part(value["text"])]} if isinstance(value.get("text"), str) else value or None
        )
    if isinstance(value, str | list) and value:
        return {"role": role, "parts": list(map(_as_part, value if isinstance(value, list) else [value]))}
    return None


def _as_part(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def eval_records(turns: Iterable[EvalTurn]) -> Iterator[EventRecord]:
    """Yield the records of an eval case's turns. An event without an id gets the id ``<invocation id>-<number>``."""
    complete = list(turns)
    mark_questions([event for turn in complete for event in turn.events])
    numbers = count(1)
    for index, turn in enumerate(complete, 1):
        for event in turn.events:
            number = next(numbers)
            invocation_id = field(event, "invocation_id") or turn.invocation_id or f"invocation-{index}"
            event.pop("invocationId", None)
            made = {"id": f"{invocation_id}-{number}", "timestamp": turn.at or 0.0}
            value = {**made, **event, "invocation_id": invocation_id, "author": event.get("author") or AGENT}
            yield EventRecord(number, value, event_time(event), unit="event")
