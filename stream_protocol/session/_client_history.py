"""A request that brings its own history -> the events before it, and what to do about its last message.

The client says what has happened, and nothing of it is checked against anything: an app chooses this for chats in which
that harms nobody but the client. So the history only ever becomes what the model reads. Nothing runs because of it: an
approval would run a call with arguments that only the client has seen, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from stream_protocol.session._importing import messages_to_events
from stream_protocol.session._planning import CONFLICT, AnsweredCalls, CallAnswer, NewUserTurn, plan
from stream_protocol.wire import ChatRequest, ChatRequestError, is_tool_part

if TYPE_CHECKING:
    from collections.abc import Collection

    from google.adk.events import Event

    from stream_protocol.wire import ToolPart, UIMessage

HistoryMode = Literal["server", "client", "text"]
"""Whose history the model reads: that of the stored session; what the client sends; of that, only the texts."""


@dataclass(frozen=True, kw_only=True)
class RestoredHistory:
    """What a request says has happened, and what it asks for."""

    events: list[Event]
    turn: NewUserTurn | AnsweredCalls
    """``Answers`` have no past: their message is the client's, and so are the ids in it."""


def restore_client_history(
    request: ChatRequest, *, agent: str, agents: Collection[str] = (), mode: Literal["client", "text"] = "client"
) -> RestoredHistory:
    """The chat before the last message, and that message's turn: the user's words, or what the page's tools gave.

    ``agent`` and ``agents`` as in ``messages_to_events``. Raises ``ChatRequestError`` for what is refused.
    """
    *earlier, last = request.messages
    if last["role"] == "assistant":
        return _continuation([*earlier, last] if mode == "client" else [], last, agent, agents)
    turn = plan(ChatRequest(id=request.id, messages=(last,)), ())
    assert isinstance(turn, NewUserTurn)
    told = earlier if mode == "client" else [_text_only(message) for message in earlier]
    return RestoredHistory(events=messages_to_events(told, agent=agent, agents=agents), turn=turn)


def _continuation(messages: list[UIMessage], last: UIMessage, agent: str, agents: Collection[str]) -> RestoredHistory:
    for part in _last_calls(last):
        if part["state"] == "approval-responded" and part.get("approval", {}).get("approved"):
            raise ChatRequestError("This chat takes no approvals: its history is not the server's.", status=CONFLICT)
        if part["state"] in ("input-streaming", "input-available", "approval-requested"):
            raise ChatRequestError("Some calls of the last message are not answered yet.", status=CONFLICT)
    events = messages_to_events(messages, agent=agent, agents=agents)
    results = events.pop().get_function_responses() if events else []
    if not results:
        raise ChatRequestError("There is nothing to answer: the last message is the assistant's.", status=CONFLICT)
    answers = [
        CallAnswer(id=result.id or "", name=result.name or "", response=dict(result.response or {}))
        for result in results
    ]
    return RestoredHistory(events=events, turn=AnsweredCalls(answers=tuple(answers), message_id=last["id"], past=()))


def _last_calls(message: UIMessage) -> list[ToolPart]:
    """The calls behind the last step's start, those that a provider ran aside."""
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
