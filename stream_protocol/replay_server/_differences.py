"""Where a request differs from what was recorded, in words that fit on one line of a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from stream_protocol.convert.calls import REQUEST_CREDENTIAL, client_output, is_confirmed
from stream_protocol.replay_server._recorded_turns import LAST, Answer, Said
from stream_protocol.wire import ToolPart, UIMessage, is_tool_part, tool_name

SHOWN: Final = 60
"""Characters of a value that are shown."""

BEFORE: Final = 20
"""Characters that are shown of what two values have in common."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One place in a request, and what is there. A value that is missing is ``None``; others are JSON."""

    place: str
    recorded: str | None
    came: str | None

    def __str__(self) -> str:
        old, new = self.recorded or "", self.came or ""
        same = next((index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
        recorded, came = _shown(self.recorded, same), _shown(self.came, same)
        return f"{self.place}: {recorded} was recorded, {came} came"


@dataclass(frozen=True, kw_only=True)
class Given:
    """An answer in a part of an assistant's message, as a client sends it."""

    place: str
    """Where in the request: ``messages[-1].parts[1].output``."""
    id: str
    value: Any
    """``approved`` of an approval; else the output, or ``{"error": …}``."""
    tool: str
    is_approval: bool


def difference_in_words(recorded: tuple[Said, ...], came: tuple[Said, ...]) -> Difference | None:
    """The first difference between two messages of a user."""
    for old, new in zip_longest(recorded, came):
        place = new.place if new is not None else old.place
        old_value, new_value = (one.value if one is not None else None for one in (old, new))
        if old_value != new_value:
            return difference(place, old_value, new_value)
    return None


def difference(place: str, recorded: Any, came: Any) -> Difference:
    """A difference between two values; ``None`` for what is missing."""
    old, new = (None if value is None else json.dumps(value, ensure_ascii=False) for value in (recorded, came))
    return Difference(place=place, recorded=old, came=new)


def given_answers(message: UIMessage) -> list[Given]:
    """The answers among a message's parts; also outputs that came from the server and are only sent back."""
    return [given for index, part in enumerate(message["parts"]) if is_tool_part(part) for given in _given(index, part)]


def _given(index: int, part: ToolPart) -> Iterator[Given]:
    place, tool = f"{LAST}.parts[{index}]", tool_name(part)
    approval = part.get("approval")
    if approval is not None and "approved" in approval:
        approved, at = approval["approved"], f"{place}.approval.approved"
        yield Given(place=at, id=approval["id"], value=approved, tool=tool, is_approval=True)
    if part["state"] == "output-available":
        output, at = part.get("output"), f"{place}.output"
        yield Given(place=at, id=part["toolCallId"], value=output, tool=tool, is_approval=False)
    elif part["state"] == "output-error":
        error, at = {"error": part.get("errorText", "")}, f"{place}.errorText"
        yield Given(place=at, id=part["toolCallId"], value=error, tool=tool, is_approval=False)


def difference_in_answer(recorded: Answer, given: Given) -> Difference | None:
    """Whether the same was answered. What a credential holds was never recorded: any is as good."""
    if given.is_approval:
        value = is_confirmed(recorded.response)
        same = value is given.value
    else:
        value = client_output(recorded.response)
        same = given.value in (value, recorded.response) or recorded.name == REQUEST_CREDENTIAL
    return None if same else difference(given.place, value, given.value)


def _shown(value: str | None, same: int) -> str:
    if value is None:
        return "nothing"
    if len(value) <= SHOWN:
        return value
    begin = max(0, min(same - BEFORE, len(value) - SHOWN))
    end = begin + SHOWN
    return "…" * (begin > 0) + value[begin:end] + "…" * (end < len(value))
