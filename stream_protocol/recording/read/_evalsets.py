"""Reads the evalsets that ADK makes of sessions.

Source: ``eval_case.py`` and ``evaluation_generator.py`` of google-adk 1.18 and 2.13. An evalset has no event ids, no
fragments and no actions. Its turns have the user's content, the agent's final response, and the events before it
(``invocation_events``). Up to 1.17, and in those that people write, they have in place of these events the calls, the
results and what was said meanwhile, each in an order of its own: they are shown in this sequence.
"""

from collections.abc import Iterator
from typing import Any

from stream_protocol.recording.read._parsing import field
from stream_protocol.recording.read._records import EventRecord, RecordingError

AGENT = "agent"
"""The author of events that have none in the evalset."""

_EVENT_FIELDS = ("author", "content", "grounding_metadata", "usage_metadata", "model_version")


def eval_cases(document: Any) -> list[dict[str, Any]] | None:
    """The cases of an evalset that have turns, or the one case of an eval case; ``None`` for another document."""
    if not isinstance(document, dict):
        return None
    cases = field(document, "eval_cases")
    if not isinstance(cases, list):
        cases = [document] if isinstance(document.get("conversation"), list) else None
    return None if cases is None else [case for case in cases if isinstance(case, dict) and _turns(case)]


def is_eval_result(document: Any) -> bool:
    """Whether the document says how evaluations of an evalset went (``*.evalset_result.json``)."""
    return field(document, "eval_set_result_id") is not None or field(document, "eval_case_results") is not None


def read_eval_case(case: dict[str, Any]) -> Iterator[EventRecord]:
    """The events of a case's turns. Raises ``RecordingError`` if none of them has an answer."""
    number = 0
    if all(len(list(_events(turn))) < 2 for turn in _turns(case)):
        raise RecordingError("no answer of an agent in its turns")
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
    return _list(case, "conversation")


def _events(turn: Any) -> Iterator[dict[str, Any]]:
    yield {"author": "user", "content": field(turn, "user_content")}
    final = field(turn, "final_response")
    events = list(_invocation_events(turn))
    if final is not None and final not in [event.get("content") for event in events]:
        without_content = [event for event in events if not event.get("content")]
        if without_content:
            without_content[-1]["content"] = final
        else:
            events.append({"author": events[-1]["author"] if events else AGENT, "content": final})
    yield from events


def _invocation_events(turn: Any) -> Iterator[dict[str, Any]]:
    intermediate = field(turn, "intermediate_data")
    for event in _list(intermediate, "invocation_events") or _unordered(intermediate):
        values = {name: field(event, name) for name in _EVENT_FIELDS}
        yield {"author": AGENT} | {name: value for name, value in values.items() if value is not None}


def _unordered(intermediate: Any) -> Iterator[dict[str, Any]]:
    """The events of a turn that has lists of calls, results, and pairs of an author and what it said."""
    if calls := _list(intermediate, "tool_uses"):
        yield {"content": {"role": "model", "parts": [{"function_call": call} for call in calls]}}
    if results := _list(intermediate, "tool_responses"):
        yield {"content": {"role": "user", "parts": [{"function_response": result} for result in results]}}
    for said in _list(intermediate, "intermediate_responses"):
        match said:
            case [str(author), list(parts)]:
                yield {"author": author, "content": {"role": "model", "parts": parts}}


def _list(value: Any, name: str) -> list[Any]:
    found = field(value, name)
    return found if isinstance(found, list) else []
