"""Reads ADK's conformance tests (``generated-recordings.yaml``): recorded model responses and tool results.

The format comes from ``recordings_plugin.py`` of google-adk 1.18 and 2.13. Up to ADK 1.25, an entry with a model
request has one ``llm_response``. Later versions have a list ``llm_responses``. Calls in model responses have no ids,
but each tool result has the id of its call. The tool results are in the order in which the tools started. The user's
content is in the model requests.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any, Final, NamedTuple

from stream_protocol.recording.read._parsing import ItemLines, field
from stream_protocol.recording.read._records import EventRecord, RecordingError

_TURNS: Final = range(2**31)
"""The accepted turn numbers. A much larger number cannot be converted to text."""

_CallIds = dict[str, deque[str]]
"""Name of a tool -> ids of its calls, in order."""


class _EntrySource(NamedTuple):
    """The turn and the author of an entry in the file. Consecutive tool results of one turn and author become one
    event."""

    turn: int
    """The index of the user's message to which the entry belongs."""
    author: str
    is_tool: bool


def is_conformance(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("recordings"), list)


def read_conformance(document: dict[str, Any], lines: ItemLines) -> Iterator[EventRecord]:
    """Yield the events of a conformance test. ``lines``: the line numbers of the file's entries, if known.

    Raises ``RecordingError`` if there are only user messages, or if the format of an entry is unknown.
    """
    entries = document["recordings"]
    for index, entry in enumerate(entries):
        if (path := _misplaced(entry)) is not None:
            line = lines.get(("recordings", index))
            place = f"recordings[{index}]" + (f" (line {line})" if line is not None else "")
            raise RecordingError(f"{place} cannot be read: {path or 'it'} is no object")
    if entries and not any(_is_tool(entry) or _responses(field(entry, "llm_recording")) for entry in entries):
        raise RecordingError("no response of a model and no result of a tool in its recordings")
    for number, event in enumerate(_events(entries), 1):
        yield EventRecord(number, {**event, "id": f"event-{number}", "timestamp": 0.0}, unit="event")


def _misplaced(entry: Any) -> str | None:
    """Some fields of an entry must be objects. Return the path of the first field that is not an object; ``None`` if
    all are.
    """
    paths = {"": entry, "tool_recording": _tool_recording(entry), "llm_recording": field(entry, "llm_recording")}
    for name in ("tool_call", "tool_response"):
        paths[f"tool_recording.{name}"] = field(_tool_recording(entry), name)
    recorded = paths["llm_recording"]
    paths["llm_recording.llm_request"] = field(recorded, "llm_request")
    paths["llm_recording.llm_response"] = field(recorded, "llm_response")
    several = field(recorded, "llm_responses")
    for index, response in enumerate(several if isinstance(several, list) else [several]):
        paths[f"llm_recording.llm_responses[{index}]"] = response
    return next((path for path, value in paths.items() if value is not None and not isinstance(value, dict)), None)


def _events(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    ids = _call_ids(entries)
    begun: set[int] = set()
    for source, group in groupby(entries, key=_source):
        base = {"author": source.author, "invocation_id": f"invocation-{source.turn + 1}"}
        same_source = list(group)
        if source.turn not in begun and (content := _user_content(same_source[0])) is not None:
            yield {**base, "author": "user", "content": content}
        begun.add(source.turn)
        if source.is_tool:
            results = [field(_tool_recording(entry), "tool_response") for entry in same_source]
            parts = [{"function_response": result} for result in results if isinstance(result, dict)]
            yield {**base, "content": {"role": "user", "parts": parts}}
        else:
            for entry in same_source:
                yield from _model_events(entry, base, ids[source.turn])


def _model_events(entry: dict[str, Any], base: dict[str, Any], ids: _CallIds) -> Iterator[dict[str, Any]]:
    for response in _responses(field(entry, "llm_recording")):
        yield {**response, **base, "content": _content_with_ids(response, ids)}


def _responses(recorded: Any) -> list[dict[str, Any]]:
    several = field(recorded, "llm_responses")
    responses = several if isinstance(several, list) else [field(recorded, "llm_response")]
    return [response for response in responses if isinstance(response, dict)]


def _source(entry: dict[str, Any]) -> _EntrySource:
    turn = field(entry, "user_message_index")
    author = field(entry, "agent_name")
    return _EntrySource(
        turn if isinstance(turn, int) and turn in _TURNS else 0, str(author or "agent"), _is_tool(entry)
    )


def _is_tool(entry: dict[str, Any]) -> bool:
    return _tool_recording(entry) is not None


def _tool_recording(entry: dict[str, Any]) -> Any:
    return field(entry, "tool_recording")


def _call_ids(entries: list[dict[str, Any]]) -> dict[int, _CallIds]:
    """Return the ids of all tool calls. The result has a dictionary for each turn, and the index of the turn is the
    key. This dictionary maps a tool's name to the ids of its calls.
    """
    ids: dict[int, _CallIds] = defaultdict(lambda: defaultdict(deque))
    for entry in entries:
        call = field(_tool_recording(entry), "tool_call")
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            ids[_source(entry).turn][str(call.get("name"))].append(call["id"])
    return ids


def _content_with_ids(response: dict[str, Any], ids: _CallIds) -> Any:
    """Return the content of a model response, with ids from ``ids`` for its calls. If the response is complete, the
    used ids are removed from ``ids``."""
    content = response.get("content")
    if not isinstance(content, dict) or not isinstance(content.get("parts"), list):
        return content
    unused = {name: deque(own) for name, own in ids.items()} if response.get("partial") else ids
    return {**content, "parts": [_part_with_id(part, unused) for part in content["parts"]]}


def _part_with_id(part: Any, ids: _CallIds) -> Any:
    call = field(part, "function_call")
    if not isinstance(call, dict):
        return part
    tool_ids = ids.get(str(call.get("name")), deque())
    call_id = call.get("id")
    if isinstance(call_id, str):
        with suppress(ValueError):  # a tool that never ran has no result
            tool_ids.remove(call_id)
    elif tool_ids:
        call_id = tool_ids.popleft()
    return {**part, "function_call": {**call, "id": call_id}}


def _user_content(entry: dict[str, Any]) -> Any:
    """Return the user's newest message in a model request. Ignores contents with function responses."""
    contents = field(field(field(entry, "llm_recording"), "llm_request"), "contents")
    known = contents if isinstance(contents, list) else []
    users = [content for content in known if isinstance(content, dict) and content.get("role") == "user"]
    return next((content for content in reversed(users) if _has_no_responses(content)), None)


def _has_no_responses(content: dict[str, Any]) -> bool:
    parts = content.get("parts")
    return isinstance(parts, list) and not any(field(part, "function_response") for part in parts)
