"""Agent of the workers that are killed while users steer. It records the user's texts in each prompt.

Users send ``walk KEY`` (several tools), ``pay KEY`` (a tool that asks for approval) or ``say KEY``. Other texts steer.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.models import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.kills.kinds import BEGUN

PROMPTS: Final = "prompts.jsonl"
"""File in which each model call records its prompt's texts of the user."""

PACE: Final = 0.15
"""Seconds between two fragments of a text, and of a tool."""

ROUNDS: Final = 3
"""Number of tools that ``walk`` calls, one after the other."""

Steps = list[Any]


def _append(file: str, **line: Any) -> None:
    """Append a line. One write per line: lines of several processes do not mix."""
    path = Path(os.environ["FLEET_FOLDER"]) / file
    with path.open("ab", buffering=0) as lines:
        lines.write(json.dumps({**line, "at": time.monotonic()}).encode() + b"\n")


async def note(key: str, tool_context: ToolContext) -> str:
    """Notes it, and may do so again."""
    _append(BEGUN, tool="note", key=key, chat=tool_context.session.id, call=tool_context.function_call_id)
    await asyncio.sleep(PACE)
    return f"noted {key}"


async def book(key: str, tool_context: ToolContext) -> str:
    """Books it, and must not do so twice."""
    _append(BEGUN, tool="book", key=key, chat=tool_context.session.id, call=tool_context.function_call_id)
    await asyncio.sleep(3 * PACE)
    return f"booked {key}"


async def pay(key: str, tool_context: ToolContext) -> str:
    """Pays, if the user approves, and must not do so twice."""
    _append(BEGUN, tool="pay", key=key, chat=tool_context.session.id, call=tool_context.function_call_id)
    await asyncio.sleep(PACE)
    return f"paid {key}"


def walk(key: str, answered: int) -> Steps:
    text = [Wait(PACE), f"Step {answered} ", Wait(PACE), f"of {key}. "]
    if answered == ROUNDS:
        return [*text, f"Done {key}."]
    return [*text, Call("book" if answered == 1 else "note", {"key": f"{key}.{answered}"})]


def ask(key: str, answered: int) -> Steps:
    if answered:
        return [Wait(PACE), f"Done {key}."]
    return [f"Shall I {key}? ", Wait(PACE), Call("pay", {"key": f"{key}.0"})]


def say(key: str, _answered: int) -> Steps:
    return [Wait(PACE), f"Said {key}."]


REPLIES: Final[Mapping[str, Callable[[str, int], Steps]]] = {
    "walk": walk,
    "pay": ask,
    "say": say,
}
"""Kind of a message -> the model's reply to it, from its key and the number of tool results after it."""


def respond(request: LlmRequest) -> Steps:
    """Return the reply to the newest message that has a kind."""
    texts, kind, key, answered = [], "", "", 0
    for content in request.contents:
        for part in content.parts or ():
            answered += part.function_response is not None
            if content.role != "user" or not part.text:
                continue
            texts.append(part.text)
            first, _, rest = part.text.partition(" ")
            if first in REPLIES or not kind:
                kind, key, answered = first, rest, 0
    _append(PROMPTS, chat=key.partition(".")[0], texts=texts)
    return REPLIES.get(kind, say)(key, answered)


def steered() -> BaseAgent:
    return LlmAgent(
        name="steered",
        model=ScriptedLlm(respond=respond),
        tools=[note, book, FunctionTool(pay, require_confirmation=True)],
    )
