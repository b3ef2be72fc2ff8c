"""Finds the part of a stored assistant message that a client has received.

A client may lack the newest tool calls of the message, for example because another tab has continued the message.
Outputs for these calls would cause an error in this client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_protocol.adk import find_task_agents
from stream_protocol.stream import ConverterOptions, Settings, chunk_conversion, hide_task_agents
from stream_protocol.wire import is_tool_part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_protocol.session._request_plans import AnsweredCalls, NothingToRun
    from stream_protocol.wire import UIMessage

_BEGINS_CALL = ("tool-input-start", "tool-input-available", "tool-input-error")


def count_seen_events(
    message: UIMessage, request_plan: AnsweredCalls | NothingToRun, options: ConverterOptions
) -> int | None:
    """Return the number of events in ``request_plan.past`` that the client has received; ``None`` for all.

    ``message``: the assistant message from the client. ``options``: the converter options of the chat. If the client
    lacks a call but has a newer call, the client itself has removed parts of the message. The result is then ``None``.
    """
    tools = {part["toolCallId"] for part in message["parts"] if is_tool_part(part)}
    parts: list[Any] = [*message["parts"]]
    marks = {("text", part["text"]) for part in parts if part["type"] == "text"}
    marks |= {("approval", part["approval"]["id"]) for part in parts if is_tool_part(part) and "approval" in part}
    settings = Settings(**hide_task_agents(find_task_agents(request_plan.past), options))
    conversion = chunk_conversion((), request_plan.message_id, settings, request_plan.call_ids)
    stored: set[str] = set()
    seen, is_behind = 0, False
    with conversion.warn.silenced():
        for number, event in enumerate(request_plan.past, 1):
            conversion.feed(event)
            chunks: list[Any] = conversion.take()
            begun = {chunk["toolCallId"] for chunk in chunks if chunk["type"] in _BEGINS_CALL} - stored
            stored |= begun
            if begun & tools:
                if is_behind:
                    return None
                seen = number
            elif begun:
                is_behind = True
            elif not is_behind and marks & _marks(chunks):
                seen = number
    return seen if is_behind and seen and tools <= stored else None


def _marks(chunks: Iterable[Any]) -> set[tuple[str, str]]:
    """Return the texts and the approval ids in the chunks of a complete event. Each text is joined from its deltas."""
    texts: dict[str, str] = {}
    marks: set[tuple[str, str]] = set()
    for chunk in chunks:
        if chunk["type"] == "text-delta":
            texts[chunk["id"]] = texts.get(chunk["id"], "") + chunk["delta"]
        elif chunk["type"] == "tool-approval-request":
            marks.add(("approval", chunk["approvalId"]))
    return marks | {("text", text) for text in texts.values()}
