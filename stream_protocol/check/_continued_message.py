"""The message that a response continues, as the page sends it back: with the answers to its calls."""

from dataclasses import dataclass
from typing import Final, cast

from stream_protocol.wire import ToolPart, UIMessage, UIPart, is_tool_part
from stream_protocol.wire.client import step_start

MAX_PARTS: Final = 256
"""The most parts of a message that are kept, the newest: some dozens of steps. A server may give all its responses the
same id, which makes one endless message."""


@dataclass(frozen=True, slots=True)
class ContinuedMessage:
    """A message that a response continues. Every call that waited for the user has its answer."""

    message: UIMessage
    answered: frozenset[str]
    """The ids of the calls that the page has given an output. A server may send these calls again, with the outputs."""


def calls_only(message: UIMessage) -> UIMessage:
    """The message with its calls and steps only: no rule needs more after the response has ended."""
    kept = [part for part in message["parts"] if is_tool_part(part) or part["type"] == "step-start"]
    return {**message, "parts": kept[-MAX_PARTS:]}


def holds_call(message: UIMessage, call_id: str | None) -> bool:
    """Whether the message has a call with this id."""
    return any(is_tool_part(part) and part["toolCallId"] == call_id for part in message["parts"])


def is_waiting(message: UIMessage) -> bool:
    """Whether a call of the message has not ended, so that a response can continue the message."""
    return any(is_tool_part(part) and not has_ended(part) for part in message["parts"])


def has_ended(call: ToolPart) -> bool:
    """Whether the call has a final output, has failed or was denied."""
    return call["state"] in ("output-available", "output-error", "output-denied") and not call.get("preliminary")


def answer_calls(message: UIMessage) -> ContinuedMessage:
    """The message as the page sends it back: all approvals are given, and each waiting call of the last step has an
    output."""
    begin = step_start(message["parts"])
    step = message["parts"][begin:]
    answered = frozenset(part["toolCallId"] for part in step if is_tool_part(part) and _is_for_page(part))
    return ContinuedMessage({**message, "parts": [_answer(part, answered) for part in message["parts"]]}, answered)


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
