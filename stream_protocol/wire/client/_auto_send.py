"""Predict if the client automatically sends its last message again (``sendAutomaticallyWhen``).

``sendAutomaticallyWhen`` is a predicate: a function of the app that returns true if the client must send. The client
calls it after a response (see ``may_resend``), and after the user or the app answers a call. There are three common
predicates:

- ``last-assistant-message-is-complete-with-tool-calls.ts`` of ``vercel/ai`` checks the parts after the last
  ``step-start``.
- ``…-with-approval-responses.ts`` also checks these parts. Both helpers were read at ``ai@6.0.326`` and ``ai@7.0.173``.
- Vercel's chatbot template (``hooks/use-active-chat.tsx``) sends as soon as any part has an approval response.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import orjson

from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._ui_messages import ToolPart, UIMessage, UIPart, is_tool_part
from stream_protocol.wire.client._chunk_schema import refusal
from stream_protocol.wire.client._tool_parts import TOOL_HANDLERS, ToolParts, step_start

TOOLS = "lastAssistantMessageIsCompleteWithToolCalls"
APPROVALS = "lastAssistantMessageIsCompleteWithApprovalResponses"

_DELTAS: Final = tuple(f'data: {{"type":"{kind}-delta"'.encode() for kind in ("text", "reasoning", "tool-input"))
_FINISH: Final = b'data: {"type":"finish"'
_CHANGES_NOTHING: Final = (b'data: {"type":"start-step"', b'data: {"type":"finish-step"', b'data: {"type":"abort"')
_MARKS: Final = (b'"type":"tool-', b'"type":"start-step"', b'"type":"error"', b'"finishReason":"interrupted"')
"""Each event that can change the prediction contains at least one of these byte strings."""


def may_resend(ending: str | None, finish_reason: str | None = None) -> bool:
    """Return True if the client calls ``sendAutomaticallyWhen`` after a response with this ending. Source:
    ``makeRequest`` in ``chat.ts``.

    ``ending``: the type of the chunk that ended the response; ``None`` if no chunk ended it. The client calls the
    predicate after an ``abort`` chunk, but not after its own ``stop()``. After the finish reason ``interrupted``,
    ``ai@7`` does not call the predicate. ``ai@6`` fails on this finish reason.
    """
    return ending != "error" and finish_reason != "interrupted"


def auto_send_helper(parts: Sequence[UIPart]) -> str | None:
    """Return the name of the AI SDK helper that would send a message with these parts again; ``None`` if there is
    none.
    """
    if calls_are_complete(parts):
        return TOOLS
    return APPROVALS if approvals_are_complete(parts) else None


def calls_are_complete(parts: Sequence[UIPart]) -> bool:
    """Return the result of the AI SDK's ``lastAssistantMessageIsCompleteWithToolCalls`` for a message with these
    parts.
    """
    seen = False
    text_done = True
    for part in parts[step_start(parts) :]:
        if is_tool_part(part) and not part.get("providerExecuted"):
            if not _is_settled(part):
                return False
            seen = text_done = True
        elif part["type"] == "text":
            text_done = text_done and part.get("state") == "done"
    return seen and text_done


def approvals_are_complete(parts: Sequence[UIPart]) -> bool:
    """Return the result of the AI SDK's ``lastAssistantMessageIsCompleteWithApprovalResponses`` for a message with
    these parts.
    """
    calls = [part for part in parts[step_start(parts) :] if is_tool_part(part)]
    return any_approval_is_answered(calls) and all(
        _is_settled(call) or call["state"] in ("approval-responded", "output-denied") for call in calls
    )


def any_approval_is_answered(parts: Sequence[UIPart]) -> bool:
    """Return True if a part has an approval response. Vercel's chatbot template then sends the message again. Other
    apps do the same, so that the server also gets denials.
    """
    return any(is_tool_part(part) and part["state"] == "approval-responded" for part in parts)


def is_sent_again(response: Iterable[bytes], continued: UIMessage | None = None) -> bool:
    """Return True if a client with a common predicate would send its message again after this response, in an endless
    loop.

    ``response``: SSE events with one chunk each. ``continued``: the message that the response continues, as the client
    sent it.
    """
    chunks: list[dict[str, Any]] = []
    step_is_stored = True
    for event in response:
        step_is_stored = step_is_stored or _changes_message(event)
        if event.startswith(_DELTAS) or not any(mark in event for mark in _MARKS):
            continue
        chunk = orjson.loads(event.removeprefix(b"data: "))
        if not may_resend(chunk["type"], chunk.get("finishReason")) or refusal(chunk, ai_sdk=7) is not None:
            return False
        chunks.append(_without_values(chunk))
        step_is_stored = step_is_stored and chunk["type"] != "start-step"
    parts = list(_parts_that_count(continued, chunks)) if continued is not None else []
    try:
        _fold(parts, chunks if step_is_stored else chunks[:-1])
    except ClientStreamError:
        return False
    folded = cast("list[UIPart]", parts)
    return calls_are_complete(folded) or any_approval_is_answered(folded)


def _changes_message(event: bytes) -> bool:
    return not event.startswith(_CHANGES_NOTHING) and (not event.startswith(_FINISH) or b'"messageMetadata":' in event)


def _fold(parts: list[dict[str, Any]], chunks: Iterable[Mapping[str, Any]]) -> None:
    calls = ToolParts(parts, ai_sdk=7)
    for chunk in chunks:
        if chunk["type"] == "start-step":
            parts.append({"type": "step-start"})
        elif (handle := TOOL_HANDLERS.get(chunk["type"])) is not None:
            handle(calls, chunk)


def _parts_that_count(message: UIMessage, chunks: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a message that ``is_sent_again`` needs: the last ``step-start``, and some of the calls.

    Yields each call that ``chunks`` change. From the other calls, yields only one of each kind, to save time. Two calls
    are of one kind if their states and flags are equal, and both are before or both are after the last ``step-start``.
    """
    changed = {chunk.get(key) for chunk in chunks for key in ("toolCallId", "approvalId")}
    begin = step_start(message["parts"])
    seen: set[object] = set()
    for index, part in enumerate(message["parts"]):
        if index == begin - 1:
            yield {"type": "step-start"}
        elif is_tool_part(part):
            call_id, approval_id = part["toolCallId"], part.get("approval", {}).get("id")
            kind = (index < begin, part["state"], bool(part.get("preliminary")), bool(part.get("providerExecuted")))
            key = call_id if call_id in changed or approval_id in changed else kind
            if key not in seen:
                seen.add(key)
                yield _without_values(part)


def _without_values(part: Mapping[str, Any]) -> dict[str, Any]:
    return {**part, "input": None, "output": None}


def _is_settled(call: ToolPart) -> bool:
    """Return True for a call with a final output or an error. Return False for a denied call, like the client."""
    return call["state"] == "output-error" or (call["state"] == "output-available" and not call.get("preliminary"))
