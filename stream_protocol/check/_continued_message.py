"""What a message is to the next response: its calls, as the page sends them back."""

from dataclasses import dataclass
from typing import Final, cast

from stream_protocol.wire import ToolPart, UIMessage, UIPart, is_tool_part
from stream_protocol.wire.client import step_start

MAX_PARTS: Final = 256
"""Parts that are kept of a message, the newest: some dozens of steps. A server that gives all its responses one id
would otherwise make one endless message."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A message that a response continues: whatever waited for the user has been answered."""

    message: UIMessage
    answered: frozenset[str]
    """The calls that the page answered itself. A framework may tell them again, with their outputs."""


def calls_only(message: UIMessage) -> UIMessage:
    """The message without what no rule asks for once its response has ended."""
    kept = [part for part in message["parts"] if is_tool_part(part) or part["type"] == "step-start"]
    return {**message, "parts": kept[-MAX_PARTS:]}


def holds_call(message: UIMessage, call_id: str | None) -> bool:
    """Whether the message has a call of this id."""
    return any(is_tool_part(part) and part["toolCallId"] == call_id for part in message["parts"])


def waits(message: UIMessage) -> bool:
    """Whether a call of the message has not come to its end, so that a response can continue the message."""
    return any(is_tool_part(part) and not has_ended(part) for part in message["parts"])


def has_ended(call: ToolPart) -> bool:
    """Whether nothing is to come of the call: it has a final output, has failed or was denied."""
    return call["state"] in ("output-available", "output-error", "output-denied") and not call.get("preliminary")


def answered(message: UIMessage) -> Carried:
    """The message as the page sends it: with all approvals, and an output of each call of the last step that waits."""
    begin = step_start(message["parts"])
    step = message["parts"][begin:]
    own = frozenset(part["toolCallId"] for part in step if is_tool_part(part) and _is_for_page(part))
    return Carried({**message, "parts": [_answered(part, own) for part in message["parts"]]}, own)


def _is_for_page(call: ToolPart) -> bool:
    return call["state"] == "input-available" and not call.get("providerExecuted")


def _answered(part: UIPart, own: frozenset[str]) -> UIPart:
    if not is_tool_part(part):
        return part
    if part["toolCallId"] in own and part["state"] == "input-available":
        return cast("ToolPart", {**part, "state": "output-available", "output": None})
    if part["state"] == "approval-requested":
        return cast(
            "ToolPart", {**part, "state": "approval-responded", "approval": {**part["approval"], "approved": True}}
        )
    return part
