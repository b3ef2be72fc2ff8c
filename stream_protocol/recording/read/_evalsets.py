"""Finds the eval cases in evaluation files of ADK and agents-cli, and reads their turns.

The formats come from ``eval_case.py``, ``evaluation_generator.py`` and ``local_eval_sets_manager.py`` of google-adk
1.18 and 2.13. An evalset has no event ids, no partial events and no actions. A turn has one of three formats:

- The user's content, the events of the run (``invocation_events``), and the agent's final response.
- The user's content, the agent's final response, and three lists: calls, results, and intermediate texts. Hand-written
  evalsets and ADK up to 1.17 have these lists instead of events.
- ``query``, ``expected_tool_use`` and ``reference``, in the oldest evalsets. This module converts such a turn to the
  second format.

The module ``_traces`` reads traces of agents-cli.
"""

from collections.abc import Iterator
from typing import Any, Final

from stream_protocol.adk import USER
from stream_protocol.recording.read._choose_session import choose_session, distinct_names
from stream_protocol.recording.read._eval_turns import AGENT, EvalTurn, as_content, eval_records
from stream_protocol.recording.read._parsing import field, list_field
from stream_protocol.recording.read._records import EventRecord, RecordingError
from stream_protocol.recording.read._traces import graded_cases, is_trace, trace_turns

_EVENT_FIELDS: Final = ("author", "content", "grounding_metadata", "usage_metadata", "model_version")
_RESPONSE_KEYS: Final = ("content", "error_code", "errorCode", "error_message", "errorMessage")
"""Keys that only an event of an agent has."""

_NO_ANSWER: Final = "no answer of an agent in its turns"
_NAME_FIELDS: Final = ("eval_id", "eval_case_id", "id", "name")


def eval_cases(document: Any) -> list[Any] | None:
    """Return the eval cases in a document (evalset, traces or a single case); ``None`` for any other document."""
    if isinstance(document, list):
        return _cases_of_list(document)
    cases = field(document, "eval_cases")
    if isinstance(cases, list):
        return cases
    is_case = isinstance(field(document, "conversation"), list) or isinstance(field(document, "agent_data"), dict)
    return [document] if is_case else graded_cases(document) or None


def _cases_of_list(document: list[Any]) -> list[Any] | None:
    """Return the cases of an old evalset, or the only case of an old test file."""
    if _are_old_turns(document):
        return [{"conversation": document}]
    if document and all(isinstance(case, dict) and _are_old_turns(case.get("data")) for case in document):
        return [{"name": case.get("name"), "conversation": case["data"]} for case in document]
    return None


def _are_old_turns(turns: Any) -> bool:
    return isinstance(turns, list) and bool(turns) and all(isinstance(turn, dict) and "query" in turn for turn in turns)


def is_eval_result(document: Any) -> bool:
    """Return True if the document has the results of an evaluation (``*.evalset_result.json``)."""
    return field(document, "eval_set_result_id") is not None or field(document, "eval_case_results") is not None


def read_eval_cases(cases: list[Any], session: str | None) -> Iterator[EventRecord]:
    """Return the events of an eval case. ``session``: the name of the case. It may be ``None`` if there is only one
    case.

    Raises ``RecordingError`` if there is no such case, or if the case contains no answer of the agent.
    """
    names = distinct_names(cases, *_NAME_FIELDS, kind="case")
    conversations = {name: turns for name, case in zip(names, cases, strict=True) if (turns := _turns(case))}
    if cases and not conversations:
        raise RecordingError("no conversation in its eval cases")
    if cases and not any(map(_is_answered, conversations.values())):
        raise RecordingError(_NO_ANSWER)
    chosen = choose_session([*conversations], session, kind="eval case")
    turns = [*conversations.values()][chosen]
    if not _is_answered(turns):
        raise RecordingError(_NO_ANSWER)
    return eval_records(turns)


def _turns(case: Any) -> list[EvalTurn]:
    if is_trace(case):
        return list(trace_turns(case))
    return [
        EvalTurn(list(_events(turn)), field(turn, "invocation_id"), field(turn, "creation_timestamp"))
        for turn in map(_as_new_turn, list_field(case, "conversation"))
    ]


def _is_answered(turns: list[EvalTurn]) -> bool:
    answers = (event for turn in turns for event in turn.events if event["author"] != USER)
    return any(event.get(key) for event in answers for key in _RESPONSE_KEYS)


def _as_new_turn(turn: Any) -> Any:
    """Convert a turn of an old evalset to the newer format. Any other turn is returned unchanged."""
    if not isinstance(turn, dict) or "query" not in turn:
        return turn
    uses = [use for use in list_field(turn, "expected_tool_use") if isinstance(use, dict)]
    texts = [item for item in list_field(turn, "expected_intermediate_agent_responses") if isinstance(item, dict)]
    return {
        "user_content": as_content(turn["query"], role=USER),
        "intermediate_data": {
            "tool_uses": [{"name": use.get("tool_name"), "args": use.get("tool_input")} for use in uses],
            "tool_responses": [
                {"name": use.get("tool_name"), "response": {"result": use["mock_tool_output"]}}
                for use in uses
                if "mock_tool_output" in use
            ],
            "intermediate_responses": [[item.get("author", AGENT), [{"text": item.get("text")}]] for item in texts],
        },
        "final_response": as_content(turn.get("reference")),
    }


def _events(turn: Any) -> Iterator[dict[str, Any]]:
    yield {"author": USER, "content": as_content(field(turn, "user_content"), role=USER)}
    final = as_content(field(turn, "final_response"))
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
    for event in list_field(intermediate, "invocation_events") or _unordered(intermediate):
        values = {name: field(event, name) for name in _EVENT_FIELDS}
        yield {"author": AGENT} | {name: value for name, value in values.items() if value is not None}


def _unordered(intermediate: Any) -> Iterator[dict[str, Any]]:
    """Yield events for a turn that is stored as three lists. The order of the events is assumed: calls, then results,
    then intermediate texts."""
    if calls := list_field(intermediate, "tool_uses"):
        yield {"content": {"role": "model", "parts": [{"function_call": call} for call in calls]}}
    if results := list_field(intermediate, "tool_responses"):
        yield {"content": {"role": "user", "parts": [{"function_response": result} for result in results]}}
    for item in list_field(intermediate, "intermediate_responses"):
        match item:
            case [str(author), list(parts)]:
                yield {"author": author, "content": {"role": "model", "parts": parts}}
