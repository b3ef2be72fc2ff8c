"""Whether the client sends the message again by itself: the two helpers that apps give to ``sendAutomaticallyWhen``.

Mirrors ``last-assistant-message-is-complete-with-tool-calls.ts`` and ``…-with-approval-responses.ts`` of ``vercel/ai``,
read at ``ai@6.0.326`` and ``ai@7.0.173``. Both look only at the parts after the last ``step-start``.
"""

from collections.abc import Sequence

from stream_protocol.wire._messages import ToolPart, UIPart, is_tool_part
from stream_protocol.wire.client._tool_parts import step_start

TOOLS = "lastAssistantMessageIsCompleteWithToolCalls"
APPROVALS = "lastAssistantMessageIsCompleteWithApprovalResponses"


def auto_send_helper(parts: Sequence[UIPart]) -> str | None:
    """Returns the helper that sends a message with these parts when its response has ended, if one does."""
    step = parts[step_start(parts) :]
    if _calls_are_settled(step):
        return TOOLS
    calls = [part for part in step if is_tool_part(part)]
    is_answered = any(call["state"] == "approval-responded" for call in calls)
    settled = all(_is_settled(call) or call["state"] in ("approval-responded", "output-denied") for call in calls)
    return APPROVALS if is_answered and settled else None


def _is_settled(call: ToolPart) -> bool:
    """Whether the call has a final output or an error. To the client, a denied call has neither."""
    return call["state"] == "output-error" or (call["state"] == "output-available" and not call.get("preliminary"))


def _calls_are_settled(step: Sequence[UIPart]) -> bool:
    seen = False
    text_done = True
    for part in step:
        if is_tool_part(part) and not part.get("providerExecuted"):
            if not _is_settled(part):
                return False
            seen = text_done = True
        elif part["type"] == "text":
            text_done = text_done and part.get("state") == "done"
    return seen and text_done
