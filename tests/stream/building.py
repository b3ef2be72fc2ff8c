"""Builds ADK events in the form of the Runner and its adapters."""

from collections.abc import Mapping
from typing import Any

from google.adk.events import Event, EventActions
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai.types import (
    Blob,
    CodeExecutionResult,
    Content,
    ExecutableCode,
    FunctionCall,
    FunctionResponse,
    Language,
    Outcome,
    Part,
    PartialArg,
)

AGENT = "agent"
RUN = "run-1"

WAIT_FOR_APPROVAL = {"error": "This tool call requires confirmation, please approve or reject."}
REJECTED = {"error": "This tool call is rejected."}


def event(*parts: Part, author: str = AGENT, role: str = "model", **fields: Any) -> Event:
    """Return a complete event. Without parts it has no content."""
    fields.setdefault("invocation_id", RUN)
    content = Content(role=role, parts=list(parts)) if parts else None
    return Event(author=author, content=content, **fields)


def fragment(*parts: Part, **fields: Any) -> Event:
    return event(*parts, partial=True, **fields)


def results(*parts: Part, **fields: Any) -> Event:
    """Return an event with results of tools."""
    return event(*parts, role="user", **fields)


def user(*parts: Part, **fields: Any) -> Event:
    return event(*parts, author="user", role="user", **fields)


def text(value: str, signature: bytes | None = None) -> Part:
    return Part(text=value, thought_signature=signature)


def thought(value: str, signature: bytes | None = None) -> Part:
    return Part(text=value, thought=True, thought_signature=signature)


def call(
    name: str | None,
    args: dict[str, Any] | None = None,
    call_id: str | None = None,
    *,
    more: bool | None = None,
    signature: bytes | None = None,
) -> Part:
    function_call = FunctionCall(id=call_id, name=name, args=args, will_continue=more)
    return Part(function_call=function_call, thought_signature=signature)


def piece(
    name: str | None, call_id: str | None, *args: PartialArg, more: bool | None = True, signature: bytes | None = None
) -> Part:
    """Return a streamed piece of a call."""
    function_call = FunctionCall(id=call_id, name=name, partial_args=list(args) or None, will_continue=more)
    return Part(function_call=function_call, thought_signature=signature)


def arg(path: str | None, value: str | float | bool | None = None, *, more: bool | None = None) -> PartialArg:
    """Return a streamed piece of an argument. ``None`` is an argument without a value."""
    match value:
        case bool():
            return PartialArg(json_path=path, bool_value=value, will_continue=more)
        case str():
            return PartialArg(json_path=path, string_value=value, will_continue=more)
    return PartialArg(json_path=path, number_value=value, will_continue=more)


def response(name: str, value: Any, call_id: str | None = None, **fields: Any) -> Part:
    function_response = FunctionResponse(id=call_id, name=name, response=value, **fields)
    return Part(function_response=function_response)


def picture(data: bytes = b"\xfb\xff\xfe", mime_type: str | None = "image/png") -> Part:
    return Part(inline_data=Blob(data=data, mime_type=mime_type))


def code(source: str = "1+1", code_id: str | None = None) -> Part:
    return Part(executable_code=ExecutableCode(id=code_id, code=source, language=Language.PYTHON))


def ran(output: str, code_id: str | None = None) -> Part:
    return Part(code_execution_result=CodeExecutionResult(id=code_id, outcome=Outcome.OUTCOME_OK, output=output))


def confirmation(approval_id: str | None, call_id: str | None, name: str, args: Mapping[str, Any]) -> Event:
    """Return ADK's generated call that asks for permission to run a tool."""
    original = {"id": call_id, "name": name, "args": dict(args)}
    asked = {"originalFunctionCall": original, "toolConfirmation": {"hint": "?", "confirmed": False}}
    part = call("adk_request_confirmation", asked, approval_id)
    return event(part, long_running_tool_ids={approval_id} if approval_id else None)


def placeholders(*parts: Part, asking: tuple[str, ...], **fields: Any) -> Event:
    """Return responses. Those to the calls ``asking`` are only placeholders until the confirmation."""
    actions = EventActions(requested_tool_confirmations={call_id: ToolConfirmation() for call_id in asking})
    return results(*parts, actions=actions, **fields)


def waiting(name: str, call_id: str, approval_id: str, args: Mapping[str, Any] | None = None) -> list[Event]:
    """Return the events of a call that needs confirmation, until the user is asked."""
    return [
        event(call(name, dict(args or {}), call_id)),
        confirmation(approval_id, call_id, name, args or {}),
        placeholders(response(name, WAIT_FOR_APPROVAL, call_id), asking=(call_id,)),
    ]


def decision(*answers: tuple[str, bool]) -> Event:
    """Return the user event with answers to approval requests."""
    return user(*(response("adk_request_confirmation", {"confirmed": yes}, approval) for approval, yes in answers))
