"""Finds the first difference between a request and a recorded turn, and describes this difference in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from stream_protocol.adk import REQUEST_CREDENTIAL, client_output, is_confirmed
from stream_protocol.replay_server._turn_summaries import LAST_MESSAGE, RecordedAnswer, UserPart
from stream_protocol.wire import ToolPart, UIMessage, is_tool_part, tool_name, whole_words

VALUE_LENGTH: Final = 60
"""Maximum number of characters of a shown value."""

CONTEXT_LENGTH: Final = 20
"""The number of characters that are shown before the first different character."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A difference between a request and a recorded turn: a path in the request, and the two values as JSON text.

    If the recording has no value at this path, ``recorded`` is ``None``. If the request has none, ``received`` is
    ``None``.
    """

    path: str
    recorded: str | None
    received: str | None

    def __str__(self) -> str:
        old, new = self.recorded or "", self.received or ""
        equal = next((index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
        return f"{self.path}: recorded {_cut(self.recorded, equal)}, received {_cut(self.received, equal)}"


@dataclass(frozen=True, kw_only=True)
class ReceivedAnswer:
    """The user's answer to a tool call in the assistant message of a request."""

    path: str
    """The path of the answer in the request, such as ``messages[-1].parts[1].output``."""
    id: str
    """The id of the approval or of the call."""
    value: Any
    """The value of ``approved`` for an approval, otherwise the output of the call, or ``{"error": …}``."""
    tool: str
    is_approval: bool


def difference(path: str, recorded: Any, received: Any) -> Difference:
    """Return the difference between a recorded and a received value. Pass ``None`` for a value that is missing."""
    old, new = (None if value is None else json.dumps(value, ensure_ascii=False) for value in (recorded, received))
    return Difference(path=path, recorded=old, received=new)


def difference_in_parts(recorded: tuple[UserPart, ...], received: tuple[UserPart, ...]) -> Difference | None:
    """Return the first difference between the parts of two user messages; ``None`` if the parts are equal."""
    for old, new in zip_longest(recorded, received):
        path = new.path if new is not None else old.path
        old_value, new_value = (part.value if part is not None else None for part in (old, new))
        if old_value != new_value:
            return difference(path, old_value, new_value)
    return None


def difference_in_answer(recorded: RecordedAnswer, received: ReceivedAnswer) -> Difference | None:
    """Return the difference between two answers; ``None`` if they are equal. Credentials always count as equal, because
    they are not recorded.
    """
    if received.is_approval:
        value = is_confirmed(recorded.response)
        is_equal = value is received.value
    else:
        value = client_output(recorded.response)
        is_equal = received.value in (value, recorded.response) or recorded.tool == REQUEST_CREDENTIAL
    return None if is_equal else difference(received.path, value, received.value)


def received_answers(message: UIMessage) -> list[ReceivedAnswer]:
    """Return all approvals and tool outputs in a message, including outputs that the server has sent."""
    parts = enumerate(message["parts"])
    return [answer for index, part in parts if is_tool_part(part) for answer in _part_answers(index, part)]


def _part_answers(index: int, part: ToolPart) -> Iterator[ReceivedAnswer]:
    path, tool, call_id = f"{LAST_MESSAGE}.parts[{index}]", tool_name(part), part["toolCallId"]
    approval = part.get("approval")
    if approval is not None and "approved" in approval:
        approved, at = approval["approved"], f"{path}.approval.approved"
        yield ReceivedAnswer(path=at, id=approval["id"], value=approved, tool=tool, is_approval=True)
    if part["state"] == "output-available":
        output, at = part.get("output"), f"{path}.output"
        yield ReceivedAnswer(path=at, id=call_id, value=output, tool=tool, is_approval=False)
    elif part["state"] == "output-error":
        error, at = {"error": part.get("errorText", "")}, f"{path}.errorText"
        yield ReceivedAnswer(path=at, id=call_id, value=error, tool=tool, is_approval=False)


def _cut(value: str | None, equal: int) -> str:
    """Return an excerpt of a long value, in whole words. ``equal``: how many characters at the beginning of the two
    compared values are equal.
    """
    if value is None:
        return "nothing"
    if len(value) <= VALUE_LENGTH:
        return value
    begin = max(0, min(equal - CONTEXT_LENGTH, len(value) - VALUE_LENGTH))
    if begin > 0:
        begin = max(begin, value.find(" ", begin, equal) + 1)
    shown = whole_words(value[begin:], VALUE_LENGTH)
    return "…" * (begin > 0) + shown + "…" * (begin + len(shown) < len(value))
