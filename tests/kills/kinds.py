"""Kinds of conversations: the agent of each, and the expected messages on the page at its end."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stream_protocol.durable._durable_tool import UNFINISHED_TEXT

BEGUN: Final = "begun.jsonl"
"""File in which each tool records its start."""

SESSIONS: Final = "sessions.txt"
"""File with the URI of the session service."""

SAME_ID: Final = "call_0"
"""Id of several calls of some models."""


SIGN_IN: Final = "tool-adk_request_credential"
"""Part that asks the user to sign in."""


@dataclass(frozen=True)
class Kind:
    """Kind of conversation.

    ``root``: its agent. ``is_like``: its name in ``tests/durable/test_every_event.py``, empty if it is only here.
    ``shows``: the texts, with ``{key}``, and the types of the other parts of its whole reply. ``asks``: the page's
    answers. ``any_order``: its agents run in parallel.
    """

    root: str
    is_like: str
    shows: Sequence[str]
    asks: Mapping[str, Any] = field(default_factory=dict)
    any_order: bool = False

    def shown(self, key: str) -> list[str]:
        return [part.format(key=key) for part in self.shows]


def introductions(*names: str) -> tuple[str, ...]:
    parts = ("I am {} {{key}}. ", "tool-note", "Done by {} {{key}}.")
    return tuple(part.format(name) for name in names for part in parts)


KINDS: Final[Mapping[str, Kind]] = {
    "turns": Kind("desk", "tools in turn", ("First {key}. ", "tool-note", "Then {key}. ", "tool-book", "Done {key}.")),
    "once": Kind("desk", "tools at once", ("tool-book", "tool-book", "tool-note", "Done {key}.")),
    "pay": Kind("desk", "an approval", ("Shall I {key}? ", "tool-pay", "Done {key}."), {"pay": True}),
    "both": Kind("desk", "two approvals", ("tool-pay", "tool-pay", "Done {key}."), {"pay": True}),
    "numbered": Kind(
        "desk", "an id that is used again", ("tool-note", "tool-book", "tool-book", "tool-note", "Done {key}.")
    ),
    "alike": Kind("desk", "one id of calls at once", ("tool-note", "tool-book", "tool-note", "Done {key}.")),
    "grants": Kind("desk", "approvals under one id", ("tool-pay", "tool-pay", "Done {key}."), {"pay": True}),
    "where": Kind(
        "desk", "an answer of the page", ("Where {key}? ", "tool-where", "Done {key}."), {"where": {"output": "Oslo"}}
    ),
    "diary": Kind("desk", "a tool to sign in to", ("Dear {key}. ", "tool-read_diary", SIGN_IN)),
    "ask": Kind("desk", "another agent", ("Ask {key}. ", "I know {key}. ", "tool-note", "Done {key}.")),
    "draw": Kind("desk", "a file", ("Look {key}. ", "tool-draw", "file", "Done {key}.")),
    "picture": Kind("desk", "", ("Look {key}. ", "file", "Done {key}.")),
    "sage": Kind("desk", "an agent as a tool", ("Ask {key}. ", "tool-sage", "Done {key}.")),
    "form": Kind(
        "desk",
        "a form",
        ("Well {key}. ", "tool-adk_request_input", "Done {key}."),
        {"adk_request_input": {"output": {"name": "Ann"}}},
    ),
    "args": Kind("desk", "an argument that is streamed", ("So {key}. ", "tool-note", "Done {key}.")),
    "loop": Kind("loop", "a loop", ("tool-note", "Round 1 {key}. ", "tool-note", "Round 2 {key}. ", "Done {key}.")),
    "line": Kind("line", "one agent after the other", introductions("first", "second")),
    "side": Kind("side", "agents at once", introductions("left", "right"), any_order=True),
    "calls": Kind(
        "calls",
        "callbacks",
        ("data-greeting", "Hear {key}. ", "tool-tell", "data-note", "Done {key}.", "Visit", "data-greeting"),
    ),
    "shape": Kind("shape", "an answer of a given shape", ("Well {key}. ", "tool-note", '{{"city": "Oslo {key}"}}')),
    "given": Kind("given", "a callback that calls", ("tool-note", "Done {key}.")),
    "toolset": Kind("toolset", "tools to sign in to", (SIGN_IN,)),
}

OF_TOOLS: Final = ("data-note", "file")
"""Parts of tools, besides their results."""

_VISIT: Final = re.compile(r"Visit \d+\.")


def outline(message: Any) -> list[str]:
    """Return the texts of a message, and the types of its other parts, except parts that the server adds."""
    told = [
        _VISIT.sub("Visit", part["text"]) if part["type"] == "text" else part["type"]
        for part in message["parts"]
        if part["type"] != "step-start" and not part["type"].startswith("data-adk-")
    ]
    return [each for each in told if each]


def unlike(kind: Kind, key: str, message: Any, *, whole: bool) -> str | None:
    """Return the problem of the reply to this message; ``None`` if it is right.

    Partial texts of dead workers are allowed. ``whole``: the reply must be complete. A tool that did not end is not run
    again, so its output is missing.
    """
    expected, found = kind.shown(key), outline(message)
    unfinished = (UNFINISHED_TEXT, {"error": UNFINISHED_TEXT})
    did_not_end = any(part.get("errorText", part.get("output")) in unfinished for part in message["parts"])
    if did_not_end and SIGN_IN in expected:  # the tool has not asked for it, so the model goes on
        expected[expected.index(SIGN_IN)] = f"Done {key}."
    left = [*expected]
    failed = Counter(part["type"] for part in message["parts"] if part.get("state") == "output-error")
    for part in found:
        if part in left:
            left.remove(part)
        elif part.startswith("tool-") and failed[part]:
            failed[part] -= 1  # a model that was asked again has called it once more
        elif part.startswith("tool-") or not any(text.startswith(part) for text in expected):
            return f"{part!r} is too much: {found}, expected {expected}"
    if not kind.any_order:
        rest = iter(found)
        done = [part for part in expected if part not in left]
        if not all(part in rest for part in done):
            return f"out of order: {found}, expected {expected}"
    if did_not_end:
        left = [part for part in left if part not in OF_TOOLS]
    return f"not whole: {found}, expected {expected}" if whole and left else None
