"""Reads a chat whose client sends the whole history with each request.

The server cannot verify this history: the client may have changed it. So the server never executes the calls in the
history. Only the model reads the history. The server refuses approvals, because only the client knows the arguments of
the approved call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from stream_protocol.adk import CallIds
from stream_protocol.session._importing import messages_to_events
from stream_protocol.session._planning import plan
from stream_protocol.session._request_plans import AnsweredCalls, CallAnswer, Decision, NewUserTurn
from stream_protocol.session.transcript import Transcript
from stream_protocol.wire import ChatRequest, ChatRequestError, is_tool_part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from google.adk.events import Event

    from stream_protocol.wire import ToolPart, UIMessage

HistoryMode = Literal["server", "client", "text"]
"""The source of the history that the model reads.

``"server"``: the stored session. ``"client"``: the messages in the request. ``"text"``: only the texts in these
messages.
"""


@dataclass(frozen=True, kw_only=True)
class RestoredHistory:
    """Result of ``restore_client_history``: the history as events, and the decision about what to run."""

    events: list[Event]
    """The events before the last message, for an empty session."""
    request_plan: NewUserTurn | AnsweredCalls
    """The plan for the last message. ``AnsweredCalls.past`` is empty, because the client has the message."""


def restore_client_history(
    request: ChatRequest, *, agent: str, agents: Collection[str] = (), mode: Literal["client", "text"] = "client"
) -> RestoredHistory:
    """Convert the history in a request to events, and decide what to run for the last message.

    The history consists of all messages before the last one. The last message is a user message, or an assistant
    message with outputs of client tools.

    ``agent``: the root agent's name. ``agents``: the names of other agents that may have written messages. ``mode``:
    see ``HistoryMode``. Raises ``ChatRequestError`` for messages that are invalid or contain approvals.
    """
    *earlier, last = request.messages_to_target
    if last["role"] == "assistant":
        return _continuation([*earlier, last] if mode == "client" else [], last, agent, agents)
    request_plan = plan(ChatRequest(id=request.id, messages=(last,)), Transcript(call_ids=_call_ids(earlier)))
    assert isinstance(request_plan, NewUserTurn)
    history = earlier if mode == "client" else [_text_only(message) for message in earlier]
    return RestoredHistory(events=messages_to_events(history, agent=agent, agents=agents), request_plan=request_plan)


def _continuation(messages: list[UIMessage], last: UIMessage, agent: str, agents: Collection[str]) -> RestoredHistory:
    for part in _last_calls(last):
        if part["state"] == "approval-responded" and part.get("approval", {}).get("approved"):
            raise ChatRequestError("This chat takes no approvals: its history is not the server's.", status=409)
        if part["state"] in ("input-streaming", "input-available", "approval-requested"):
            raise ChatRequestError("Some calls of the last message are not answered yet.", status=409)
    events = messages_to_events(messages, agent=agent, agents=agents)
    results = events.pop().get_function_responses() if events else []
    if not results:
        raise ChatRequestError("There is nothing to answer: the last message is the assistant's.", status=409)
    answers = [
        CallAnswer(
            id=result.id or "",
            name=result.name or "",
            response=dict(result.response or {}),
            decision=Decision(kind="answer", call_id=result.id, tool=result.name),
        )
        for result in results
    ]
    request_plan = AnsweredCalls(answers=tuple(answers), message_id=last["id"], past=(), call_ids=_call_ids(messages))
    return RestoredHistory(events=events, request_plan=request_plan)


def _call_ids(messages: Iterable[UIMessage]) -> CallIds:
    """Return the ``toolCallId`` of each tool call in the messages."""
    return CallIds(part["toolCallId"] for message in messages for part in message["parts"] if is_tool_part(part))


def _last_calls(message: UIMessage) -> list[ToolPart]:
    """Return the tool calls in the last step of the message. Calls that the model's provider executed are left out."""
    calls: list[ToolPart] = []
    for part in message["parts"]:
        if part["type"] == "step-start":
            calls.clear()
        elif is_tool_part(part) and not part.get("providerExecuted"):
            calls.append(part)
    return calls


def _text_only(message: UIMessage) -> UIMessage:
    kept = [part for part in message["parts"] if part["type"] in ("text", "step-start")]
    return cast("UIMessage", {**message, "parts": kept})
