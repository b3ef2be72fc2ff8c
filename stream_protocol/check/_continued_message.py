"""The message that a response continues. A file does not contain the user's answers to tool calls, so this module
assumes them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from stream_protocol.wire import ToolPart, UIMessage, UIPart, is_tool_part
from stream_protocol.wire.client import step_start

MAX_PARTS: Final = 256
"""Maximum number of parts of a message in memory. The newest parts stay.

A server that always sends the same message id creates one endless message.
"""


@dataclass(frozen=True, slots=True)
class ContinuedMessage:
    """The message that a response continues. If its calls wait for the user, it contains assumed answers to them."""

    message: UIMessage
    answered: frozenset[str]
    """The ids of calls with an output from the client. A server may send these calls and outputs again."""
    waited: Mapping[str, ToolPart]
    """Call id -> the call before the user approved or answered it."""

    def contains(self, chunk: Mapping[str, Any]) -> bool:
        """Return True if the chunk refers to a call of this message, or to the approval of such a call."""
        if "toolCallId" in chunk:
            return has_call(self.message, chunk["toolCallId"])
        return "approvalId" in chunk and call_of_approval(self.message, chunk["approvalId"]) is not None

    def with_used_answers(self, message: UIMessage, used: Collection[str]) -> UIMessage:
        """Return the message without the assumed answers to some calls, so that these calls wait again. These are the
        calls that the response does not mention.

        ``message``: the message after the response, with an assumed answer for each waiting call. ``used``: the ids of
        calls that the response mentions. If only one call waited, and the response mentions no call of this message,
        this call keeps its answer.
        """
        if len(self.waited) == 1 and not any(has_call(self.message, call_id) for call_id in used):
            return message
        still_open = {call_id: call for call_id, call in self.waited.items() if call_id not in used}
        parts = [still_open.get(part["toolCallId"], part) if is_tool_part(part) else part for part in message["parts"]]
        return {**message, "parts": parts}


def calls_only(message: UIMessage) -> UIMessage:
    """Return the message with only its calls and ``step-start`` parts."""
    kept = [part for part in message["parts"] if is_tool_part(part) or part["type"] == "step-start"]
    return {**message, "parts": kept[-MAX_PARTS:]}


def has_call(message: UIMessage, call_id: str | None) -> bool:
    return any(is_tool_part(part) and part["toolCallId"] == call_id for part in message["parts"])


def call_of_approval(message: UIMessage, approval_id: str) -> str | None:
    """Return the id of the call to which an approval request belongs; ``None`` if the message has no such request."""
    calls = (part for part in message["parts"] if is_tool_part(part))
    return next((call["toolCallId"] for call in calls if call.get("approval", {}).get("id") == approval_id), None)


def is_waiting(message: UIMessage) -> bool:
    return any(is_tool_part(part) and not has_ended(part) for part in message["parts"])


def has_ended(call: ToolPart) -> bool:
    """Return True if the call has a final output, has failed or was denied."""
    return call["state"] in ("output-available", "output-error", "output-denied") and not call.get("preliminary")


def answer_calls(message: UIMessage) -> ContinuedMessage:
    """Return the message with assumed answers: the user approves all calls, and the client adds outputs to the calls in
    the last step.
    """
    begin = step_start(message["parts"])
    step = message["parts"][begin:]
    answered = frozenset(part["toolCallId"] for part in step if is_tool_part(part) and _is_for_page(part))
    parts = [_answer(part, answered) for part in message["parts"]]
    waited = {
        before["toolCallId"]: before
        for before, after in zip(message["parts"], parts, strict=True)
        if before is not after and is_tool_part(before)
    }
    return ContinuedMessage({**message, "parts": parts}, answered, waited)


def _is_for_page(call: ToolPart) -> bool:
    return call["state"] == "input-available" and not call.get("providerExecuted")


def _answer(part: UIPart, answered: frozenset[str]) -> UIPart:
    if not is_tool_part(part):
        return part
    if part["toolCallId"] in answered and part["state"] == "input-available":
        return cast("ToolPart", {**part, "state": "output-available", "output": None})
    if part["state"] == "approval-requested":
        return cast(
            "ToolPart", {**part, "state": "approval-responded", "approval": {**part["approval"], "approved": True}}
        )
    return part
