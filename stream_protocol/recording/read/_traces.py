"""Reads the agent traces that ``agents-cli eval generate`` creates for evaluation.

The format comes from google-agents-cli, and from ``EvalCase`` and ``AgentData`` of google-cloud-aiplatform 2.7. An eval
case has the user's message in ``prompt``, or in the events of ``agent_data``. An event has an author and a content, but
no id and no invocation, and partial events are not marked. Hand-written cases may have texts instead of contents, or
only the fields ``prompt`` and ``response``.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

from stream_protocol.adk import USER
from stream_protocol.recording.read._eval_turns import EvalTurn, as_content
from stream_protocol.recording.read._parsing import field, list_field
from stream_protocol.recording.read._restored_marks import mark_fragments

_OWN_FIELDS: Final = frozenset(
    {"event_time", "eventTime", "state_delta", "stateDelta", "active_tools", "activeTools", "creation_timestamp"}
    | {"creationTimestamp", "event_id", "eventId", "turn_id", "turnId"}
)
"""Fields of an event in a trace that an ADK event does not have."""


def graded_cases(document: Any) -> list[Any]:
    """Return the eval cases in the result of a grading (``artifacts/grade_results``); empty for any other document."""
    return [
        case for dataset in list_field(document, "evaluation_dataset") for case in list_field(dataset, "eval_cases")
    ]


def is_trace(case: Any) -> bool:
    """Return True if the eval case is a trace: it has ``agent_data``, a prompt or a response, but no
    ``conversation``."""
    if not isinstance(case, dict) or field(case, "conversation") is not None:
        return False
    return isinstance(field(case, "agent_data"), dict) or any(
        isinstance(case.get(name), dict | str) for name in ("prompt", "response")
    )


def trace_turns(case: Any) -> Iterator[EvalTurn]:
    turns = [list(map(_event, list_field(turn, "events"))) for turn in list_field(field(case, "agent_data"), "turns")]
    if not any(turns):
        turns = list(_turns_without_data(case))
    prompt = _user_event(field(case, "prompt"))
    if prompt is not None and not (turns and turns[0] and turns[0][0]["author"] == USER):
        turns[:1] = [[prompt, *chain.from_iterable(turns[:1])]]
    response = next(filter(None, map(as_content, _responses(case))), None)
    if response is not None and not _is_contained(response, list(chain.from_iterable(turns))):
        turns[-1:] = [[*chain.from_iterable(turns[-1:]), {"author": "", "content": response}]]
    for events in filter(None, turns):
        mark_fragments(events)
        yield EvalTurn(events)


def _turns_without_data(case: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the turns of an old case without ``agent_data``. Each message of the history is a turn. The last turn has
    the prompt and the events after it."""
    for message in map(_event, list_field(case, "conversation_history")):
        yield [message]
    prompt = _user_event(field(case, "prompt"))
    events = list(map(_event, list_field(case, "intermediate_events")))
    yield [*([prompt] if prompt is not None else []), *events]


def _user_event(prompt: Any) -> dict[str, Any] | None:
    content = as_content(prompt, role=USER)
    return None if content is None else {"author": USER, "content": content}


def _responses(case: Any) -> Iterator[Any]:
    """Yield the final responses of an eval case. A case may list several possible responses."""
    for candidate in list_field(case, "responses"):
        yield field(candidate, "response") if isinstance(candidate, dict) and "response" in candidate else candidate
    yield field(case, "response")


def _is_contained(response: Any, events: list[dict[str, Any]]) -> bool:
    """Return True if the events after the user's last message contain this response."""
    answers: list[Any] = []
    for event in events:
        if event["author"] != USER:
            answers.append(event["content"])
        elif any(field(part, "function_response") is None for part in list_field(event["content"], "parts")):
            answers.clear()  # a user message, not only an answer to a call
    text = _text(response)
    return text in "".join(map(_text, answers)) if text else any(answers)


def _text(content: Any) -> str:
    texts = (part.get("text") for part in list_field(content, "parts") if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _event(traced: Any) -> dict[str, Any]:
    """Convert an event of a trace to the JSON of an ADK event."""
    if not isinstance(traced, dict):
        return {"author": "", "content": as_content(traced)}
    event = {key: value for key, value in traced.items() if key not in _OWN_FIELDS and value is not None}
    content = traced.get("content", traced if "parts" in traced else None)
    role = field(content, "role")
    author = traced.get("author") or (role if role == USER else "")
    event |= {"author": author, "content": as_content(content, role=role or ("user" if author == USER else "model"))}
    event.pop("parts", None)
    event.pop("role", None)
    if isinstance(delta := field(traced, "state_delta"), dict) and "actions" not in event:
        event["actions"] = {"state_delta": delta}
    if (at := _time(field(traced, "event_time") or field(traced, "creation_timestamp"))) is not None:
        event["timestamp"] = at
    return event


def _time(text: Any) -> float | None:
    """Convert a time as text to seconds since 1970; ``None`` for any other text. A time without a zone is in UTC."""
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
