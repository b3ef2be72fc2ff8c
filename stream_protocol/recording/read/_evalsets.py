"""ADK's evalsets: the turns of a case, told in a handful of fields -> events.

Source: ``eval_case.py`` of google-adk 2.13. A case has no event ids, fragments or actions. Its intermediate data are
events without their text where that was the answer (the answer has a field of its own), or, as older releases wrote
them, calls, results and texts apart.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from stream_protocol.recording.read._fields import field
from stream_protocol.recording.read._records import EventRecord

AGENT = "agent"
"""Who speaks where a case does not say so."""

_EVENT_FIELDS = ("author", "content", "grounding_metadata", "usage_metadata", "model_version")


def cases_of(document: Any) -> list[dict[str, Any]] | None:
    """The cases that have turns, of an evalset or of a case on its own; ``None`` for any other document."""
    if not isinstance(document, dict):
        return None
    cases = field(document, "eval_cases")
    if not isinstance(cases, list):
        cases = [document] if isinstance(document.get("conversation"), list) else None
    return None if cases is None else [case for case in cases if isinstance(case, dict) and _turns(case)]


def read_case(case: dict[str, Any]) -> Iterator[EventRecord]:
    """The events of a case's turns."""
    number = 0
    for index, turn in enumerate(_turns(case), 1):
        invocation_id = field(turn, "invocation_id") or f"invocation-{index}"
        at = field(turn, "creation_timestamp") or 0.0
        for event in _events(turn):
            number += 1
            yield EventRecord(
                number,
                {**event, "invocation_id": invocation_id, "id": f"{invocation_id}-{number}", "timestamp": at},
                unit="event",
            )


def _turns(case: dict[str, Any]) -> list[Any]:
    turns = case.get("conversation")
    return turns if isinstance(turns, list) else []


def _events(turn: Any) -> Iterator[dict[str, Any]]:
    yield {"author": "user", "content": field(turn, "user_content")}
    final = field(turn, "final_response")
    told = list(_intermediate(field(turn, "intermediate_data")))
    if final is not None and final not in [event.get("content") for event in told]:
        without = [event for event in told if not event.get("content")]
        if without:
            without[-1]["content"] = final
        else:
            told.append({"author": told[-1]["author"] if told else AGENT, "content": final})
    yield from told


def _intermediate(data: Any) -> Iterator[dict[str, Any]]:
    for event in _listed(data, "invocation_events"):
        values = {name: field(event, name) for name in _EVENT_FIELDS}
        yield {"author": AGENT} | {name: value for name, value in values.items() if value is not None}
    if calls := _listed(data, "tool_uses"):
        yield _event("model", ({"function_call": call} for call in calls))
    if responses := _listed(data, "tool_responses"):
        yield _event("user", ({"function_response": response} for response in responses))
    for response in _listed(data, "intermediate_responses"):
        if isinstance(response, list) and len(response) == 2 and isinstance(response[1], list):
            yield _event("model", response[1], author=str(response[0]))


def _listed(data: Any, name: str) -> list[Any]:
    values = field(data, name)
    return values if isinstance(values, list) else []


def _event(role: str, parts: Iterable[Any], author: str = AGENT) -> dict[str, Any]:
    return {"author": author, "content": {"role": role, "parts": list(parts)}}
