"""The checks of the profile ``tools``: results, approvals, and tools that run in the browser."""

from collections.abc import Awaitable, Callable
from typing import Final

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
from stream_protocol.backend_check._stock_client import Answer, Backend, Chat, calls_of, client_calls
from stream_protocol.wire import ToolPart

REDUCER: Final = "ai: ui/process-ui-message-stream.ts"
ENDED: Final = ("output-available", "output-error", "output-denied")


async def _with_result(backend: Backend) -> Chat:
    return await ask_for(
        backend, "tool", lambda answer: answer.calls("output-available", "output-error"), "tool result"
    )


async def _with_approval(backend: Backend) -> Chat:
    return await ask_for(backend, "approval", lambda answer: answer.calls("approval-requested"), "approval request")


async def _with_client_tool(backend: Backend) -> Chat:
    return await ask_for(
        backend, "client_tool", lambda answer: client_calls(answer.message), "call that waits for the page"
    )


async def _tool_result(backend: Backend) -> None:
    await _with_result(backend)


async def _turn_after_tools(backend: Backend) -> None:
    chat = await _with_result(backend)
    require_text(await chat.send(first_prompt(backend)))


async def _answered(backend: Backend, *, approved: bool) -> tuple[list[ToolPart], Answer]:
    """The calls that got the user's answer, as they are after it."""
    chat = await _with_approval(backend)
    asked = {call["toolCallId"] for call in calls_of(chat.messages[-1], "approval-requested")}
    chat.answer_approvals(approved=approved, reason=None if approved else "Not today.")
    message_id = chat.messages[-1]["id"]
    answer = await chat.send_answers()
    if answer.message["id"] != message_id:
        raise BrokenError("The answer to an approval is a new message.", chunk=answer.chunks[0])
    calls = [part for part in calls_of(answer.message, *ENDED) if part["toolCallId"] in asked]
    if len(calls) < len(asked):
        raise BrokenError("A call with an answer to its approval does not end.", chunk=answer.last_chunk)
    return calls, answer


async def _approval(backend: Backend) -> None:
    calls, answer = await _answered(backend, approved=True)
    if all(call["state"] == "output-denied" for call in calls):
        raise BrokenError("The approved call is denied.", chunk=answer.last_chunk)


async def _denial(backend: Backend) -> None:
    denied, answer = await _answered(backend, approved=False)
    if all(call["state"] != "output-available" for call in denied):
        return
    approved, _ = await _answered(backend, approved=True)
    outputs = [call.get("output") for call in approved if call["state"] == "output-available"]
    if any(call["state"] == "output-available" and call["output"] in outputs for call in denied):
        raise BrokenError("The denied call has the output of an approved one.", chunk=answer.last_chunk)


async def _message_instead(chat: Chat) -> None:
    require_text(await chat.send(first_prompt(chat.backend)))


async def _unanswered_approval(backend: Backend) -> None:
    await _message_instead(await _with_approval(backend))


async def _repeated_approval(backend: Backend) -> None:
    chat = await _with_approval(backend)
    chat.answer_approvals(approved=True)
    again = chat.copy()
    await chat.send_answers()
    async with again.open(message_id=again.messages[-1]["id"]) as answer:
        await require_stream_or_refusal(answer)


async def _client_tool(backend: Backend) -> None:
    output = backend.settings.client_tool_output
    await _give(backend, {"state": "output-available", "output": output})


async def _client_tool_error(backend: Backend) -> None:
    await _give(backend, {"state": "output-error", "errorText": "The user has closed the dialog."})


async def _give(backend: Backend, result: dict[str, object]) -> None:
    chat = await _with_client_tool(backend)
    chat.answer_client_tools(result)
    before = chat.messages[-1]
    answer = await chat.send_answers()
    if answer.message["id"] != before["id"]:
        raise BrokenError("The answer to an output of the page is a new message.", chunk=answer.chunks[0])
    if len(answer.message["parts"]) <= len(before["parts"]):
        raise BrokenError("The answer adds nothing to the message.", chunk=answer.last_chunk)


async def _unanswered_client_tool(backend: Backend) -> None:
    await _message_instead(await _with_client_tool(backend))


Steps = Callable[[Backend], Awaitable[None]]


def _check(name: str, rule: str, source: str, needs: tuple[str, ...], steps: Steps) -> Check:
    return Check(name, "tools", rule, source, needs, steps)


TOOL_CHECKS: Final = (
    _check("tool result", "A tool call gets its output in the answer.", REDUCER, ("tool",), _tool_result),
    _check("turn after tools", "After a tool result the chat goes on.", CHAT, ("tool", "text"), _turn_after_tools),
    _check("approval", "An approved call ends, in the same message.", TOOLS, ("approval",), _approval),
    _check("denial", "A denied call ends without the output.", TOOLS, ("approval",), _denial),
    _check(
        "unanswered approval",
        "A message instead of an answer is answered.",
        CHAT,
        ("approval", "text"),
        _unanswered_approval,
    ),
    _check(
        "repeated approval", "A repeated approval is a 4xx or a stream.", TRANSPORT, ("approval",), _repeated_approval
    ),
    _check("client tool", "The page's output continues the message.", TOOLS, ("client_tool",), _client_tool),
    _check("client tool error", "So does an error of the page.", TOOLS, ("client_tool",), _client_tool_error),
    _check(
        "unanswered client tool",
        "A message instead of an output is answered.",
        CHAT,
        ("client_tool", "text"),
        _unanswered_client_tool,
    ),
)
