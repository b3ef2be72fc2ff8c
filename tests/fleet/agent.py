"""Agent of the fleet's workers. Its reply depends only on the user's message, ``KIND KEY``, on each worker.

Each tool records that it ran, for which key, and when.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from stream_protocol.testing import Call, ScriptedLlm, Turn, Wait
from tests.fleet.tool_log import DOORS, TOOL_LOG

FOLDER: Final = Path(os.environ["FLEET_FOLDER"])

POLL_SECONDS: Final = 0.02

STROLLS: Final = 3
"""Tools that a message of the kind ``stroll`` calls, one after the other."""


class Door(asyncio.Event):
    """Step of a model that waits until a test, in another process, lets it continue."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._path = FOLDER / DOORS / key

    async def wait(self) -> Literal[True]:
        while not self._path.exists():  # noqa: ASYNC110 - another process opens it
            await asyncio.sleep(POLL_SECONDS)
        return True


def respond(request: LlmRequest) -> Turn:
    """Return the reply to the user's newest message, which depends on the number of tool results after it."""
    answered = 0
    for content in reversed(request.contents):
        parts = content.parts or []
        answered += sum(part.function_response is not None for part in parts)
        text = "".join(part.text or "" for part in parts)
        if content.role == "user" and text:
            kind, _, key = text.partition(" ")
            return TURNS[kind](key, answered)
    raise ValueError("nobody has said anything")


def argument(key: str) -> Turn:
    """Return a call whose argument stops in the middle."""

    def fragment(text: str) -> types.Part:
        arg = types.PartialArg(json_path="$.key", string_value=text, will_continue=bool(text))
        return types.Part(function_call=types.FunctionCall(partial_args=[arg], will_continue=True))

    opening = types.Part(function_call=types.FunctionCall(name="note", will_continue=True))
    closing = types.Part(function_call=types.FunctionCall())
    return [opening, fragment(key[:2]), Wait(Door(key)), fragment(key[2:]), fragment(""), closing]


def stroll(key: str, answered: int) -> Turn:
    if answered >= STROLLS:
        return ["Home ", Wait(0.1), f"again {key}."]
    return ["Step ", Wait(0.1), f"{answered} ", Wait(0.1), "taken. ", Call("note", {"key": f"{key}.{answered}"})]


def calling(*opening: Any) -> Callable[[str, int], Turn]:
    """Return a reply with these steps, and a closing text after the tool's result."""
    return lambda key, answered: (
        f"Done {key}." if answered else [step(key) if callable(step) else step for step in opening]
    )


TURNS: Final[Mapping[str, Callable[[str, int], Turn]]] = {
    "say": lambda key, _: f"Said {key}.",
    "slow": lambda key, _: ["One ", Wait(Door(key)), f"two {key}."],
    "hush": lambda key, _: [Wait(Door(key)), f"Said {key}."],
    "argument": lambda key, answered: f"Done {key}." if answered else argument(key),
    "later": calling("Soon. ", lambda key: Wait(Door(key)), lambda key: Call("note", {"key": key})),
    "dig": calling("I dig. ", lambda key: Call("dig", {"key": key})),
    "delve": calling("I delve. ", lambda key: Call("delve", {"key": key})),
    "then": lambda key, answered: (
        ["Well, ", Wait(Door(key)), f"done {key}."] if answered else [Call("note", {"key": key})]
    ),
    "pay": calling("Shall I? ", lambda key: Call("pay", {"key": key})),
    "where": calling("Where? ", lambda key: Call("where", {"key": key})),
    "stroll": stroll,
    "fail": lambda key, _: [f"I try {key}, ", RuntimeError("the model has failed")],
}


def wrote(tool: str, key: str, context: ToolContext) -> None:
    """Record the run of a tool. One write per line: lines of several processes do not mix."""
    line = {"tool": tool, "chat": context.session.id, "key": key, "at": time.monotonic()}
    with (FOLDER / TOOL_LOG).open("ab", buffering=0) as tool_log:
        tool_log.write(json.dumps(line).encode() + b"\n")


async def note(key: str, tool_context: ToolContext) -> str:
    """Writes a note."""
    wrote("note", key, tool_context)
    await asyncio.sleep(0.05)
    return "noted"


async def dig(key: str, tool_context: ToolContext) -> str:
    """Digs until somebody opens the door."""
    wrote("dig", key, tool_context)
    await Door(key).wait()
    return "dug"


async def delve(key: str, tool_context: ToolContext) -> str:
    """Does the same as ``dig``, and must not run twice."""
    wrote("delve", key, tool_context)
    await Door(key).wait()
    return "delved"


async def pay(key: str, tool_context: ToolContext) -> str:
    """Pays, if the user approves."""
    wrote("pay", key, tool_context)
    await asyncio.sleep(0.05)
    return "paid"


def where(key: str) -> None:
    """Answered by the page."""


root_agent: Final = LlmAgent(
    name="root",
    model=ScriptedLlm(respond=respond),
    tools=[note, dig, delve, FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(where)],
)
