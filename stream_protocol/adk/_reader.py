"""Reads events: the one place where the fields of an event become facts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stream_protocol.adk import _facts as facts
from stream_protocol.adk._adk_requests import CallKind, external_kind
from stream_protocol.adk._authors import USER
from stream_protocol.adk._facts import EventFacts
from stream_protocol.adk._provider_tools import provider_part

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai import types


def read(event: "Event") -> EventFacts:
    """Return what a stored event says. ``readable_event`` has made speech and relayed answers plain before."""
    content, author, path = event.content, event.author, event.node_info.path
    return EventFacts(
        event=event,
        id=event.id,
        invocation_id=event.invocation_id,
        speaker=(author, event.branch, path),
        scope=event.isolation_scope,
        by_user=author == USER and not path,
        in_users_name=author == USER,
        is_fragment=bool(event.partial),
        parts=tuple([_part(event, part) for part in content.parts or ()]) if content is not None else (),
        reports=tuple(_reports(event)),
    )


def is_user_message(event: "Event") -> bool:
    """Whether the event is what the user said, which begins an exchange: see ``EventFacts``."""
    return read(event).is_user_message


def _part(event: "Event", part: "types.Part") -> facts.Part:
    if (response := part.function_response) is not None:
        return facts.Result(response.id, response.name or "", response.response, _waits_for(event, response.id))
    if part.text:
        return facts.Text(part.text, bool(part.thought))
    if (call := part.function_call) is not None:
        return facts.Call(call.id, call.name or "", call.args or {}, external_kind(event, call))
    if part.inline_data is not None or part.file_data is not None:
        return facts.File()
    if part.text is not None:
        return facts.Text("", bool(part.thought))
    return provider_part(part) or facts.OtherPart()


def _waits_for(event: "Event", call_id: str | None) -> CallKind | None:
    if call_id in event.actions.requested_tool_confirmations:
        return CallKind.APPROVAL
    return CallKind.CREDENTIAL if call_id in event.actions.requested_auth_configs else None


def _reports(event: "Event") -> Iterator[facts.Report]:
    actions = event.actions
    if event.error_code or event.error_message:
        yield facts.Failure(event.error_code, event.error_message)
    if event.output is not None:
        yield facts.Output()
    if event.output_transcription is not None:
        yield facts.AgentSpeech()
    if event.input_transcription is not None and event.input_transcription.finished:
        yield facts.UserSpeechEnd()
    if event.turn_complete or event.interrupted:
        yield facts.LiveTurnEnd()
    if actions.requested_tool_confirmations or actions.requested_auth_configs:
        yield facts.Waiting()
    if actions.compaction is not None:
        yield facts.Compaction()
    if actions.rewind_before_invocation_id:
        yield facts.Rewind(actions.rewind_before_invocation_id)
