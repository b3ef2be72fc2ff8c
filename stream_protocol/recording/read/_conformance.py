"""The model responses and tool results that ADK's conformance tests record (``generated-recordings.yaml``) -> events.

Source: ``recordings_plugin.py`` of google-adk 2.13. The responses are recorded before ADK gives their calls ids; the
tools' results have them, in the order in which the tools started. What the user said stands in the model's requests.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

from stream_protocol.recording.read._fields import field
from stream_protocol.recording.read._records import EventRecord

Json = dict[str, Any]


class _Source(NamedTuple):
    """What follows each other in a turn and becomes one event if it is results, or else an event for each response."""

    turn: int
    author: str
    is_tool: bool


def is_conformance(document: Any) -> bool:
    """Whether the document is such a file."""
    return isinstance(document, dict) and isinstance(document.get("recordings"), list)


def read_conformance(document: Json) -> Iterator[EventRecord]:
    """The events of all turns."""
    recordings = [recording for recording in document["recordings"] if isinstance(recording, dict)]
    for number, event in enumerate(_events(recordings), 1):
        yield EventRecord(number, {**event, "id": f"event-{number}", "timestamp": 0.0}, unit="event")


def _events(recordings: list[Json]) -> Iterator[Json]:
    ids = _call_ids(recordings)
    begun: set[int] = set()
    for source, run in groupby(recordings, key=_source):
        stamped = {"author": source.author, "invocation_id": f"invocation-{source.turn + 1}"}
        own = list(run)
        if source.turn not in begun and (said := _user_content(own[0])) is not None:
            yield {**stamped, "author": "user", "content": said}
        begun.add(source.turn)
        if source.is_tool:
            parts = [{"function_response": field(tool, "tool_response")} for tool in map(_tool, own)]
            yield {**stamped, "content": {"role": "user", "parts": parts}}
        for recording in () if source.is_tool else own:
            for response in field(field(recording, "llm_recording"), "llm_responses") or ():
                yield {**response, **stamped, "content": _with_ids(response, ids[source.turn])}


def _source(recording: Json) -> _Source:
    turn = field(recording, "user_message_index")
    author = field(recording, "agent_name")
    return _Source(turn if isinstance(turn, int) else 0, str(author or "agent"), _tool(recording) is not None)


def _tool(recording: Json) -> Any:
    return field(recording, "tool_recording")


def _call_ids(recordings: list[Json]) -> dict[int, dict[str, deque[str]]]:
    """RecordedTurn -> tool -> the ids of its calls, in order."""
    ids: dict[int, dict[str, deque[str]]] = defaultdict(lambda: defaultdict(deque))
    for recording in recordings:
        call = field(_tool(recording), "tool_call")
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            ids[_source(recording).turn][str(call.get("name"))].append(call["id"])
    return ids


def _with_ids(response: Json, ids: dict[str, deque[str]]) -> Any:
    """The response's content; its calls have the ids of their results, fragments only a look at them."""
    content = response.get("content")
    if not isinstance(content, dict) or not isinstance(content.get("parts"), list):
        return content
    ahead = {name: deque(own) for name, own in ids.items()} if response.get("partial") else ids
    return {**content, "parts": [_part_with_id(part, ahead) for part in content["parts"]]}


def _part_with_id(part: Any, ids: dict[str, deque[str]]) -> Any:
    call = field(part, "function_call")
    if not isinstance(call, dict):
        return part
    own = ids.get(str(call.get("name")), deque())
    call_id = call.get("id")
    if isinstance(call_id, str):
        with suppress(ValueError):  # the tool never ran
            own.remove(call_id)
    elif own:
        call_id = own.popleft()
    return {**part, "function_call": {**call, "id": call_id}}


def _user_content(recording: Json) -> Any:
    """The last words of the user in a model's request."""
    contents = field(field(field(recording, "llm_recording"), "llm_request"), "contents")
    said = [content for content in contents or () if isinstance(content, dict) and content.get("role") == "user"]
    return next((content for content in reversed(said) if _is_text(content)), None)


def _is_text(content: Json) -> bool:
    parts = content.get("parts")
    return isinstance(parts, list) and not any(field(part, "function_response") for part in parts)
