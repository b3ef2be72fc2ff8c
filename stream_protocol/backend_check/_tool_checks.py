"""Checks of the profile ``tools``: tool outputs, approvals, and tools that run in the browser."""

from collections.abc import Collection
from typing import Final

from stream_protocol.backend_check._chat_response import ChatResponse, calls_of, client_calls
from stream_protocol.backend_check._results import BrokenError, Check
from stream_protocol.backend_check._steps import (
    CHAT,
    TOOLS,
    TRANSPORT,
    ask_for,
    first_prompt,
    require_stream_or_refusal,
    require_text,
)
from stream_protocol.backend_check._stock_client import Backend, Chat
from stream_protocol.wire import ToolPart

REDUCER: Final = "ai: ui/process-ui-message-stream.ts"
ENDED: Final = ("output-available", "output-error", "output-denied")


async def _with_result(backend: Backend) -> Chat:
    return await ask_for(
        backend, "tool", lambda response: response.calls("output-available", "output-error"), "tool result"
    )


async def with_approval(backend: Backend) -> Chat:
    """Return a new chat in which a tool call waits for approval."""
    return await ask_for(backend, "approval", lambda response: response.calls("approval-requested"), "approval request")


async def _with_client_tool(backend: Backend) -> Chat:
    return await ask_for(
        backend, "client_tool", lambda response: client_calls(response.message), "call that waits for the page"
    )


async def _tool_result(backend: Backend) -> None:
    await _with_result(backend)


async def _turn_after_tools(backend: Backend) -> None:
    chat = await _with_result(backend)
    require_text(await chat.send(first_prompt(backend)))


async def _answered(backend: Backend, *, approved: bool) -> tuple[list[ToolPart], ChatResponse]:
    """Approve or deny the tool calls that wait for approval, and read the response. Return these calls with their new
    states, and the response.
    """
    chat = await with_approval(backend)
    pending = pending_approvals(chat)
    chat.answer_approvals(approved=approved, reason=None if approved else "Not today.")
    message_id = chat.messages[-1]["id"]
    response = await chat.send_answers()
    if response.message["id"] != message_id:
        raise BrokenError("After an approval, the response begins a new message.", chunk=response.chunks[0])
    return require_ends(response, pending), response


def pending_approvals(chat: Chat) -> set[str]:
    return {call["toolCallId"] for call in calls_of(chat.messages[-1], "approval-requested")}


def require_ends(response: ChatResponse, pending: Collection[str]) -> list[ToolPart]:
    """Return the tool calls whose ids are in ``pending``. Raise ``BrokenError`` if one of them has not ended."""
    calls = [part for part in calls_of(response.message, *ENDED) if part["toolCallId"] in pending]
    if len(calls) < len(pending):
        raise BrokenError("A call does not end after its approval was given or denied.", chunk=response.last_chunk)
    return calls


async def _approval(backend: Backend) -> None:
    calls, response = await _answered(backend, approved=True)
    if all(call["state"] == "output-denied" for call in calls):
        raise BrokenError("The approved call is denied.", chunk=response.last_chunk)


async def _denial(backend: Backend) -> None:
    denied, response = await _answered(backend, approved=False)
    if all(call["state"] != "output-available" for call in denied):
        return
    approved, _ = await _answered(backend, approved=True)
    outputs = [call.get("output") for call in approved if call["state"] == "output-available"]
    if any(call["state"] == "output-available" and call["output"] in outputs for call in denied):
        raise BrokenError("The denied call has the output of an approved call.", chunk=response.last_chunk)


async def _send_message_instead(chat: Chat) -> None:
    require_text(await chat.send(first_prompt(chat.backend)))


async def _unanswered_approval(backend: Backend) -> None:
    await _send_message_instead(await with_approval(backend))


async def _repeated_approval(backend: Backend) -> None:
    chat = await with_approval(backend)
    chat.answer_approvals(approved=True)
    again = chat.copy()
    await chat.send_answers()
    async with again.open(message_id=again.messages[-1]["id"]) as response:
        await require_stream_or_refusal(response)


async def _client_tool(backend: Backend) -> None:
    output = backend.settings.client_tool_output
    await _send_result(backend, {"state": "output-available", "output": output})


async def _client_tool_error(backend: Backend) -> None:
    await _send_result(backend, {"state": "output-error", "errorText": "The user has closed the dialog."})


async def _send_result(backend: Backend, result: dict[str, object]) -> None:
    chat = await _with_client_tool(backend)
    chat.answer_client_tools(result)
    before = chat.messages[-1]
    response = await chat.send_answers()
    if response.message["id"] != before["id"]:
        raise BrokenError("After an output of the page, the response begins a new message.", chunk=response.chunks[0])
    if len(response.message["parts"]) <= len(before["parts"]):
        raise BrokenError("The response adds nothing to the message.", chunk=response.last_chunk)


async def _unanswered_client_tool(backend: Backend) -> None:
    await _send_message_instead(await _with_client_tool(backend))


TOOL_CHECKS: Final = (
    Check("tool result", "tools", "A tool call gets its output.", REDUCER, ("tool",), _tool_result),
    Check("turn after tools", "tools", "The chat continues after a tool.", CHAT, ("tool", "text"), _turn_after_tools),
    Check(
        "approval",
        "tools",
        "The message with an approved call gets the call's result.",
        TOOLS,
        ("approval",),
        _approval,
    ),
    Check("denial", "tools", "A denied call ends without the tool's output.", TOOLS, ("approval",), _denial),
    Check(
        "unanswered approval",
        "tools",
        "A new message instead of an approval gets a reply.",
        CHAT,
        ("approval", "text"),
        _unanswered_approval,
    ),
    Check(
        "repeated approval",
        "tools",
        "A repeated approval gets a 4xx or a stream.",
        TRANSPORT,
        ("approval",),
        _repeated_approval,
    ),
    Check(
        "client tool",
        "tools",
        "After the browser tool's output, the same message continues.",
        TOOLS,
        ("client_tool",),
        _client_tool,
    ),
    Check(
        "client tool error",
        "tools",
        "After the browser tool's error, the same message continues.",
        TOOLS,
        ("client_tool",),
        _client_tool_error,
    ),
    Check(
        "unanswered client tool",
        "tools",
        "A new message instead of an output gets a reply.",
        CHAT,
        ("client_tool", "text"),
        _unanswered_client_tool,
    ),
)
