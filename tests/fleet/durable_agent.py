"""Agents whose worker dies at a boundary of their steps. Their users send ``KIND KEY BOUNDARY``, or ``KIND KEY 3,4``.

Each model call and each tool passes boundaries, which are counted in a file for each key. So a run that is executed
again continues to count. At each boundary in the user's message the worker kills itself.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.adk.agents import LlmAgent, LoopAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from stream_protocol.testing import Call, ScriptedLlm, Turn, Wait

FOLDER: Final = Path(os.environ["FLEET_FOLDER"])

Steps = list[Any]
"""Steps of a model's reply. ``None`` is a boundary."""

ROUNDS: Final = 2
"""Number of rounds of the loop agent."""


Deaths = frozenset[int]
"""Boundaries at which a worker kills itself."""


def deaths_in(word: str) -> Deaths:
    return frozenset(map(int, word.split(",")))


def pass_boundary(key: str, deaths: Deaths) -> None:
    """Count a boundary. Kills the process if it is in ``deaths``."""
    with (FOLDER / f"{key}.boundaries").open("ab", buffering=0) as file:
        file.write(b".")
        passed = file.tell()
    if passed in deaths:
        os.kill(os.getpid(), signal.SIGKILL)


class Boundary(asyncio.Event):
    """Boundary in the middle of a model's reply."""

    def __init__(self, key: str, deaths: Deaths) -> None:
        super().__init__()
        self._at = key, deaths

    async def wait(self) -> Any:
        await asyncio.sleep(0.1)  # what was said before has reached the page
        pass_boundary(*self._at)
        return True


@dataclass(frozen=True)
class Asked:
    """A model's request.

    ``answered``: number of tool results since the user's message. ``follows_tool``: True if the last content is a tool
    result.
    """

    kind: str
    key: str
    deaths: Deaths
    answered: int
    follows_tool: bool


def asked(request: LlmRequest) -> Asked:
    """Return the model's request, read from the user's last message and the later events."""
    answered, last = 0, request.contents[-1].parts or []
    for content in reversed(request.contents):
        parts = content.parts or []
        answered += sum(part.function_response is not None for part in parts)
        for part in parts:
            match (part.text or "").split():
                case [kind, key, deaths] if content.role == "user" and kind in TURNS:
                    follows_tool = any(part.function_response is not None for part in last)
                    return Asked(kind, key, deaths_in(deaths), answered, follows_tool)
    raise ValueError("nobody has said anything")


def respond(request: LlmRequest, turn: Callable[[Asked], Steps] | None = None) -> Turn:
    """Return the reply, with a boundary before it, and boundaries in its middle."""
    told = asked(request)
    pass_boundary(told.key, told.deaths)
    steps = (turn or TURNS[told.kind])(told)
    return [step if step is not None else Wait(Boundary(told.key, told.deaths)) for step in steps]


def plain(told: Asked) -> Steps:
    return ["Once ", None, f"and for all {told.key}."]


def two(told: Asked) -> Steps:
    turns: list[Steps] = [
        ["I begin. ", None, Call("note", {"name": "one"})],
        ["I go on. ", Call("note", {"name": "two"})],
        [f"Done {told.key}."],
    ]
    return turns[told.answered]


def parallel(told: Asked) -> Steps:
    if told.answered:
        return [f"Done {told.key}."]
    return ["Both. ", None, Call("note", {"name": "fast"}), Call("slow_note", {"name": "slow"})]


def pay(told: Asked) -> Steps:
    return [f"Done {told.key}."] if told.answered else ["Shall I? ", Call("pay", {"name": "bill"})]


def transfer(_told: Asked) -> Steps:
    return ["Another knows. ", None, Call("transfer_to_agent", {"agent_name": "expert"})]


def expert(told: Asked) -> Steps:
    return [None, f"Done {told.key}."] if told.follows_tool else ["I know. ", Call("note", {"name": "fact"})]


def loop(told: Asked) -> Steps:
    if told.follows_tool:
        return [f"Round {told.answered}. "]
    if told.answered < ROUNDS:
        return [Call("note", {"name": str(told.answered)})]
    return [f"Done {told.key}.", Call("exit_loop", {})]


TURNS: Final[Mapping[str, Callable[[Asked], Steps]]] = {
    "plain": plain,
    "two": two,
    "parallel": parallel,
    "pay": pay,
    "transfer": transfer,
    "loop": loop,
}


def run(tool: str, name: str, context: ToolContext) -> tuple[str, Deaths]:
    """Record the start of a tool. Returns its name and the boundaries at which it may die."""
    texts = [
        part.text
        for event in context.session.events
        if event.author == "user" and event.content
        for part in event.content.parts or []
        if part.text
    ]
    _, key, word = texts[-1].split()
    deaths = deaths_in(word)
    pass_boundary(key, deaths)
    with (FOLDER / f"{key}.ran").open("ab", buffering=0) as ran:
        ran.write(f"{tool} {name}\n".encode())
    return key, deaths


async def note(name: str, tool_context: ToolContext) -> str:
    """Writes a note, and may do so again."""
    at = run("note", name, tool_context)
    pass_boundary(*at)
    return f"noted {name}"


async def slow_note(name: str, tool_context: ToolContext) -> str:
    """Takes its time, and must not be done twice."""
    at = run("slow_note", name, tool_context)
    await asyncio.sleep(0.5)
    pass_boundary(*at)
    return f"noted {name}"


async def pay_bill(name: str, tool_context: ToolContext) -> str:
    """Pays, if the user approves, and must not do so twice."""
    at = run("pay", name, tool_context)
    pass_boundary(*at)
    return f"paid {name}"


def agent(name: str, say: Callable[[LlmRequest], Turn] = respond, **more: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedLlm(respond=say), **more)


pay_bill.__name__ = "pay"

root_agent: Final = agent(
    "root",
    tools=[note, slow_note, FunctionTool(pay_bill, require_confirmation=True)],
    sub_agents=[agent("expert", lambda request: respond(request, expert), tools=[note])],
)

loop_agent: Final = LoopAgent(name="loop", max_iterations=5, sub_agents=[agent("looped", tools=[note, exit_loop])])
