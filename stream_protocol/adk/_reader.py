"""Convert ADK's events to ``EventFacts``."""

from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from stream_protocol.adk import _facts as facts
from stream_protocol.adk._adk_requests import CallKind, external_kind
from stream_protocol.adk._event_dicts import EventOrDict, WarnOnce, read_event
from stream_protocol.adk._facts import EventFacts
from stream_protocol.adk._failures import reports_error, told_reason
from stream_protocol.adk._grounding import read_grounding
from stream_protocol.adk._known_call import USER
from stream_protocol.adk._marks import (
    POSTED_KEY,
    answered_number,
    carried_event,
    nested_events,
    posted_kind,
    steering_id,
    steering_mark_id,
)
from stream_protocol.adk._readable_events import DATA_TAGS, is_live_sound, unwrap_a2a, without_sound

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai import types

    from stream_protocol.adk._known_call import SpeakerKey

CODE_EXECUTION: Final = "code_execution"
"""The tool name in chunks for code that the model's provider or ADK runs."""

_NO_AGENTS: Final[frozenset[str]] = frozenset()
"""An empty set that is shared to save memory."""

_NO_CONTENT = frozenset({"thought", "thought_signature", "part_metadata"})
"""Fields of a part that only describe its content."""


def read(event: "Event") -> EventFacts:
    """Convert an ADK event to ``EventFacts``."""
    fields = event.__dict__  # pydantic's dictionary of fields: a fourth of the cost of attribute access
    content, author, path, partial = fields["content"], fields["author"], fields["node_info"].path, fields["partial"]
    reason, usage = fields["finish_reason"], fields["usage_metadata"]
    parts: tuple[facts.Part, ...] = ()
    if content is not None and content.parts:
        parts = tuple([read_part(part, None if partial else event) for part in content.parts])
        if partial and facts.File in map(type, parts):
            parts = tuple([read_part(part) for part in content.parts if not is_live_sound(part)])
    return EventFacts(
        event,
        fields["id"],
        fields["invocation_id"],
        (author, fields["branch"], path),
        fields["isolation_scope"],
        author == USER and not path and steering_mark_id(fields["custom_metadata"]) is None,
        author == USER,
        bool(partial),
        None if content is None else content.role or "",
        fields["model_version"],
        reason.value if reason is not None else None,
        partial is False and (reason or usage) is not None,
        parts,
        _fragment_reports(event, fields) if partial else _reports(event, fields, parts),
    )


def read_next(event: EventOrDict, warn: WarnOnce) -> EventFacts:
    """Convert the next event of a run to ``EventFacts``. The event may be a dictionary."""
    return read(read_event(event, warn) if isinstance(event, dict) or not hasattr(event, "node_info") else event)


_HEADER: Final = itemgetter("author", "branch", "partial", "finish_reason", "error_code", "error_message")


class OpenText(NamedTuple):
    """The values that are equal in all partial events of one streamed text or thought."""

    header: tuple[object, ...]
    """The values of the fields ``_HEADER``."""
    path: str
    is_thought: bool


def open_text(speaker: "SpeakerKey", *, is_thought: bool) -> OpenText:
    """Return the values that identify a streamed text or thought of an agent."""
    author, branch, path = speaker
    return OpenText((author, branch, True, None, None, None), path, is_thought)


def continued_text(event: EventOrDict, opened: OpenText) -> str | None:
    """Return the text of a partial event that only continues the text or thought ``opened``; ``None`` for any other
    event.

    Most events of a run only continue a text. For such events, this function is faster than ``read``.
    """
    header, path, is_thought = opened
    try:
        fields = event.__dict__
        if _HEADER(fields) != header or fields["node_info"].path != path:
            return None
        [part] = fields["content"].parts
    except (AttributeError, KeyError, TypeError, ValueError):
        # The event is a dictionary, or does not have exactly one part.
        return None
    values = part.__dict__
    if is_thought:
        text: str | None = values["text"] if values["thought"] and not values["thought_signature"] else None
        return text
    return None if values["thought"] else values["text"]


def read_complete(complete: EventFacts) -> EventFacts:
    """Return a complete event without the sound of a live run. An event of a remote agent (A2A) gets the content that
    the agent sent.

    Returns ``complete`` itself if nothing changes.
    """
    event = complete.event
    if event.custom_metadata is None and facts.File not in map(type, complete.parts):
        return complete
    plain = unwrap_a2a(without_sound(event))
    return complete if plain is event else read(plain)


def with_results(complete: EventFacts, results: Iterable[facts.Result]) -> "Event":
    """Return a copy of the complete event with only the function responses ``results`` as parts."""
    event, kept = complete.event, {*map(id, results)}
    content = event.content
    parts = [
        part for part, known in zip((content and content.parts) or (), complete.parts, strict=True) if id(known) in kept
    ]
    changed = content.model_copy(update={"parts": parts}) if content is not None else None
    return event.model_copy(update={"content": changed})


def is_fragment(event: "Event") -> bool:
    """Return True for a fragment: a streamed partial event, which ADK does not store."""
    return bool(event.partial)


def is_user_message(event: "Event") -> bool:
    """Return True for a message of the user, which begins a turn of the chat."""
    return read(event).is_user_message


def is_user_event(event: "Event") -> bool:
    """Return True for an event of the user. ADK also stores the results of task-mode agents with the author ``user``.
    For these events, which have a node path, returns False.
    """
    return event.author == USER and not event.node_info.path


def is_compaction(event: "Event") -> bool:
    """Return True for a summary of older events, which ADK stores with the user as author."""
    return event.actions.compaction is not None


def find_task_agents(events: "Iterable[Event]") -> frozenset[str]:
    """Return the names of the task-mode agents in these events. The history of the chat hides the tool calls that start
    such an agent.

    A tool with the name of the agent starts a task-mode agent. The agent's events have the id of the tool call. The
    function checks name and id, because a model may reuse an id.
    """
    called: set[tuple[str | None, str | None]] = set()
    spoken: set[tuple[str, str]] = set()
    for event in events:
        fields = event.__dict__  # fast access, because this loop visits every event
        if fields["isolation_scope"] is not None:
            spoken.add((fields["isolation_scope"], fields["author"]))
        if not fields["partial"]:  # a complete event repeats the calls of its fragments
            called.update((call.id, call.name) for call in event.get_function_calls())
    return frozenset(name for _, name in called & spoken if name) if spoken else _NO_AGENTS


def acting_for(event: "Event") -> tuple[str, str | None, str | None]:
    """Return three values: the agent of an event, and the ids of two calls. A missing id is ``None``.

    The first id is that of the call that started the agent in task mode. The second id is that of the call in the
    event's branch: the agent runs inside this call.
    """
    branch, content = event.branch, event.content
    acts = branch is not None and content is not None and content.role == "model"
    return event.author, event.isolation_scope, branch.rpartition("@")[2] if acts and branch is not None else None


def asks_somebody(event: "Event") -> bool:
    """Return True if the event has a call that waits for a user or a client."""
    return any(external_kind(event, call) is not None for call in event.get_function_calls())


def read_part(part: "types.Part", event: "Event | None" = None) -> facts.Part:
    """Convert a part of an event to this library's type. ``event``: the event with the part; ``None`` if the event is
    partial."""
    fields = part.__dict__
    signature, text = fields["thought_signature"], fields["text"]
    if event is not None and fields["function_response"] is not None:
        return _read_response(fields["function_response"], event, signature)
    if text:
        return facts.Text(text, bool(fields["thought"]), signature)
    if (call := fields["function_call"]) is not None:
        if event is None:
            piece = call.__dict__
            pieces = piece["partial_args"] or ()
            return facts.CallPiece(
                piece["id"], piece["name"], piece["args"], pieces, bool(piece["will_continue"]), signature
            )
        return facts.Call(call.id, call.name or "", call.args or {}, external_kind(event, call), signature)
    if fields["inline_data"] is not None or fields["file_data"] is not None:
        file = _read_file(part, event, signature)
        is_empty = file.content is None and file.reference is None
        return facts.OtherPart(file.fields, signature) if is_empty else file
    if text is not None:
        return facts.Text("", bool(fields["thought"]), signature)
    provided = _provided(part)
    if provided is not None:
        return facts.ProviderPart(provided, _fields(part), signature, part)
    return facts.OtherPart(_fields(part), signature)


def _fields(part: "types.Part | types.FunctionResponsePart") -> str:
    """Return the names of all fields with content in this part, separated by commas."""
    return ", ".join(name for name, value in part if value is not None and name not in _NO_CONTENT)


def _read_response(response: "types.FunctionResponse", event: "Event", signature: bytes | None) -> facts.Result:
    actions, call_id, waits_for, hint, payload = event.actions, response.id, None, None, None
    if call_id in actions.requested_tool_confirmations:
        asked = actions.requested_tool_confirmations[call_id or ""]
        waits_for, hint, payload = CallKind.APPROVAL, asked.hint, asked.payload
    elif call_id in actions.requested_auth_configs:
        waits_for = CallKind.CREDENTIAL
    return facts.Result(
        call_id,
        response.name or "",
        response.response,
        waits_for,
        hint,
        payload,
        tuple([_read_file(part, event, None) for part in response.parts or ()]),
        bool(response.will_continue),
        signature,
        nested_events(event, response),
        answered_number(event, response),
    )


def _read_file(
    part: "types.Part | types.FunctionResponsePart", event: "Event | None", signature: bytes | None
) -> facts.File:
    blob, link = part.inline_data, part.file_data
    content: facts.Blob | facts.RelayedData | None = None
    if blob is not None and (relayed := _relayed_data(blob.data or b"")) is not None:
        content = facts.RelayedData(relayed)
    elif blob is not None and blob.data is not None:
        artifact = _artifact(blob, event) if event is not None and event.actions.artifact_delta else None
        content = facts.Blob(blob.data, blob.mime_type, artifact, blob.display_name)
    reference = facts.Reference(link.file_uri, link.mime_type, link.display_name) if link and link.file_uri else None
    return facts.File(content, reference, _fields(part), signature, part)


def _relayed_data(data: bytes) -> Any:
    """Return the value of an A2A data part, which ADK has converted to a text file; ``None`` for any other file."""
    begin, end = DATA_TAGS
    if not (data.startswith(begin) and data.endswith(end)):
        return None
    try:
        value = orjson.loads(data[len(begin) : -len(end)])
    except orjson.JSONDecodeError:
        return None
    match value:
        case {"kind": "data", "data": inner}:  # a2a-sdk 0.3 stores the whole part
            return inner
    return value


def _artifact(blob: "types.Blob | types.FunctionResponseBlob", event: "Event") -> tuple[str, int] | None:
    """Return the name and the version of the artifact in which ``blob`` is saved; ``None`` if unknown.

    The display name of the blob is the artifact's name. But ADK removes the display name from tool results. For a blob
    without a display name, an artifact is returned only if three conditions are true:

    1. The event has the result of at most one tool, and has saved one artifact.
    2. The event has one file.
    3. The artifact's name has the file extension of the blob's image type.
    """
    saved = event.actions.artifact_delta
    if blob.display_name in saved:
        return blob.display_name or "", saved[blob.display_name or ""]
    parts = (event.content.parts if event.content is not None else None) or []
    responses = [part.function_response for part in parts if part.function_response is not None]
    media = [part for part in parts if part.inline_data] + [part for each in responses for part in each.parts or ()]
    if len(saved) == len(media) == 1 and len(responses) <= 1:
        [(name, version)] = saved.items()
        extension = name.lower().rpartition(".")[2]
        if blob.mime_type == f"image/{'jpeg' if extension == 'jpg' else extension}":
            return name, version
    return None


def read_failure(event: "Event") -> facts.Failure | None:
    """Return the event's error, which may be only a finish reason; ``None`` without an error."""
    if not reports_error(event):
        return None
    code = event.error_code or (event.finish_reason and event.finish_reason.value)
    return facts.Failure(code or None, event.error_message, told_reason(event))


def _fragment_reports(event: "Event", fields: dict[str, Any]) -> tuple[facts.Report, ...]:
    """Return the reports of a partial event: its speech and its error. The error is included because the complete event
    may not repeat it.

    If a running tool sent the event, the event's ``actions`` are also read. Otherwise, they are not read, because they
    come again in the complete event.
    """
    if (metadata := fields["custom_metadata"]) and POSTED_KEY in metadata and (kind := posted_kind(event)) is not None:
        nested = carried_event(event)
        return facts.Posted(kind), *(() if nested is None else [nested]), *_actions(fields["actions"].__dict__)
    speech = fields["output_transcription"]
    if speech is None and not fields["error_code"] and not fields["error_message"]:
        return ()
    failure = read_failure(event)
    agent_speech = None if speech is None else facts.AgentSpeech(speech.text or "", bool(speech.finished))
    return tuple(report for report in (failure, agent_speech) if report is not None)


def _reports(event: "Event", fields: dict[str, Any], parts: tuple[facts.Part, ...]) -> tuple[facts.Report, ...]:
    reports: list[facts.Report] = []
    if (fields["error_code"] or fields["error_message"]) and (failure := read_failure(event)) is not None:
        reports.append(failure)
    if fields["author"] == USER and (message_id := steering_id(event)) is not None:
        reports.append(facts.Steering(message_id))
    if fields["output"] is not None:
        reports.append(facts.Output(fields["output"]))
    if (speech := fields["output_transcription"]) is not None:
        reports.append(facts.AgentSpeech(speech.text or "", bool(speech.finished)))
    if (speech := fields["input_transcription"]) is not None and speech.finished:
        reports.append(facts.UserSpeechEnd())
    if fields["turn_complete"] or fields["interrupted"]:
        reports.append(facts.LiveTurnEnd(bool(fields["interrupted"])))
    reports += _actions(fields["actions"].__dict__)
    if fields["grounding_metadata"] is not None or fields["citation_metadata"] is not None:
        reports += read_grounding(event, parts)
    if fields["usage_metadata"] is not None:
        reports.append(_usage(fields["usage_metadata"]))
    return tuple(reports)


def _actions(actions: dict[str, Any]) -> list[facts.Report]:
    reports: list[facts.Report] = []
    if actions["requested_tool_confirmations"] or actions["requested_auth_configs"]:
        reports.append(facts.Waiting())
    if (compaction := actions["compaction"]) is not None:
        reports.append(facts.Compaction(compaction.start_timestamp, compaction.end_timestamp))
    if actions["rewind_before_invocation_id"]:
        reports.append(facts.Rewind(actions["rewind_before_invocation_id"]))
    if actions["artifact_delta"]:
        reports.append(facts.Artifacts(actions["artifact_delta"]))
    if actions["transfer_to_agent"]:
        reports.append(facts.Transfer(actions["transfer_to_agent"]))
    if actions["render_ui_widgets"]:
        reports += [facts.Widget(widget.id, widget.provider, widget.payload) for widget in actions["render_ui_widgets"]]
    if actions["state_delta"]:
        reports.append(facts.StateChange(actions["state_delta"]))
    return reports


def _usage(usage: "types.GenerateContentResponseUsageMetadata") -> facts.TokenUsage:
    reasoning = usage.thoughts_token_count or 0
    prompt = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    output = (usage.candidates_token_count or 0) + reasoning
    total = usage.total_token_count or prompt + output
    return facts.TokenUsage(prompt, output, total, reasoning, usage.cached_content_token_count or 0)


def _provided(part: "types.Part") -> facts.ProviderCall | facts.ProviderResult | None:
    """Return the tool call or tool result of the model's provider in a part; ``None`` if there is none."""
    if (code := part.executable_code) is not None:
        value = {"language": code.language.value if code.language else None, "code": code.code}
        return facts.ProviderCall(code.id, CODE_EXECUTION, value)
    if (result := part.code_execution_result) is not None:
        output = {"outcome": result.outcome.value if result.outcome else None, "output": result.output}
        return facts.ProviderResult(result.id, CODE_EXECUTION, output)
    if (call := part.tool_call) is not None:
        return facts.ProviderCall(call.id, _server_tool(call.tool_type), call.args or {})
    if (response := part.tool_response) is not None:
        return facts.ProviderResult(response.id, _server_tool(response.tool_type), response.response)
    return None


def _server_tool(tool_type: Any) -> str:
    return str(tool_type.value).lower() if tool_type is not None else "server_tool"
