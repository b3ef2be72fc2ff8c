"""Agents of the workers. Users send ``KIND KEY``: the kind of conversation, and a word that all its texts repeat.

There is an agent for each kind of ``tests/durable/test_every_event.py``. Most kinds share one agent with all their
tools.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.apps import App
from google.adk.artifacts import FileArtifactService
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.auth.auth_tool import AuthConfig
from google.adk.models import LlmRequest, LlmResponse
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from google.adk.runners import Runner
from google.adk.tools import request_input
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.authenticated_function_tool import AuthenticatedFunctionTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel, TypeAdapter

from stream_protocol.agents import emit_data
from stream_protocol.serving.adk_runner import load_session_service
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.kills.kinds import BEGUN, SAME_ID, SESSIONS
from tests.kills.steered_agent import steered

FOLDER: Final = Path(os.environ["FLEET_FOLDER"])

PACE: Final = 0.12
"""Seconds between two fragments of a reply, and of a quick tool."""

SLOW: Final = 0.5
"""Seconds of a slow tool."""

WORDS: Final = re.compile(r"([a-z]+) (\w+)")
"""Pattern of a user message."""

Turn = list[Any]


class Asked(NamedTuple):
    """A model's request.

    ``answered``: number of tool results since the user's message. ``of_tool``: True if the last content is a tool
    result.
    """

    kind: str
    key: str
    answered: int
    of_tool: bool


def asked(request: LlmRequest) -> Asked:
    """Return the model's request, read from the user's last message and the later events."""
    answered, last = 0, request.contents[-1].parts or []
    for content in reversed(request.contents):
        parts = content.parts or []
        answered += sum(part.function_response is not None for part in parts)
        for part in parts:
            if content.role == "user" and (said := WORDS.fullmatch((part.text or "").strip())) and said[1] in ALL:
                return Asked(said[1], said[2], answered, any(part.function_response is not None for part in last))
    raise ValueError("nobody has said anything")


def began(tool: str, key: str, context: ToolContext) -> None:
    """Record the start of a tool. One write per line: lines of several processes do not mix."""
    line = {
        "tool": tool,
        "key": key,
        "chat": context.session.id,
        "call": context.function_call_id,
        "at": time.monotonic(),
        "pid": os.getpid(),
    }
    with (FOLDER / BEGUN).open("ab", buffering=0) as file:
        file.write(json.dumps(line).encode() + b"\n")


async def note(key: str, tool_context: ToolContext) -> str:
    """Notes it, and may do so again."""
    began("note", key, tool_context)
    await asyncio.sleep(PACE)
    tool_context.state[f"noted {key}"] = "noted"
    return f"noted {key}"


async def book(key: str, tool_context: ToolContext) -> str:
    """Books it, and must not do so twice."""
    began("book", key, tool_context)
    await asyncio.sleep(SLOW)
    return f"booked {key}"


async def pay(key: str, tool_context: ToolContext) -> str:
    """Pays, if the user approves, and must not do so twice."""
    began("pay", key, tool_context)
    await asyncio.sleep(PACE)
    return f"paid {key}"


async def tell(key: str, tool_context: ToolContext) -> str:
    """Notes it, and tells the page."""
    emit_data(tool_context, "note", {"key": key})
    return await note(key, tool_context)


async def draw(key: str, tool_context: ToolContext) -> types.Part:
    """Draws something else each time, and saves the picture."""
    began("draw", key, tool_context)
    await asyncio.sleep(PACE)
    drawn = types.Part.from_bytes(data=f"drawing {key} {uuid4()}".encode(), mime_type="image/png")
    await tool_context.save_artifact("drawing.png", drawn)
    await asyncio.sleep(PACE)
    return drawn


def where(key: str) -> None:
    """The location of the user, which the client answers."""


def read_diary(credential: AuthCredential) -> str:
    """Reads data that only its user may read."""
    return f"Dear diary, {credential}"


def sign_in() -> AuthConfig:
    flow = {"authorizationUrl": "https://provider.example/auth", "tokenUrl": "https://provider.example/token"}
    scheme = {"type": "oauth2", "flows": {"authorizationCode": {**flow, "scopes": {"read": ""}}}}
    oauth = OAuth2Auth(client_id="app", client_secret="hush", redirect_uri="https://app.example/callback")
    return AuthConfig(
        auth_scheme=TypeAdapter(Any).validate_python(scheme),
        raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth),
        credential_key="k",
    )


class Diary(BaseToolset):
    """Toolset for which the user must sign in."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return []

    def get_auth_config(self) -> AuthConfig:
        return sign_in()


class Place(BaseModel):
    city: str


def words(text: str) -> Turn:
    """Return a text in two fragments, with a pause."""
    middle = len(text) // 2
    return [Wait(PACE), text[:middle], Wait(PACE), text[middle:]]


def streamed(key: str) -> Turn:
    """Return a call whose argument comes in pieces."""

    def fragment(text: str) -> types.Part:
        arg = types.PartialArg(json_path="$.key", string_value=text, will_continue=bool(text))
        return types.Part(function_call=types.FunctionCall(partial_args=[arg], will_continue=True))

    opening = types.Part(function_call=types.FunctionCall(name="note", will_continue=True))
    closing = types.Part(function_call=types.FunctionCall())
    return [opening, fragment(key[:3]), Wait(PACE), fragment(key[3:]), fragment(""), closing]


def picture(key: str) -> types.Part:
    """Return a generated file with different content each time."""
    return types.Part.from_bytes(data=f"picture {key} {uuid4()}".encode(), mime_type="image/png")


def call(name: str, key: str, *, id: str | None = None) -> Call:  # noqa: A002 - as the argument of `Call`
    return Call(name, {"key": key}, id=id)


def same_id(name: str, end: str) -> Callable[[str], Call]:
    """Return a function that makes a call with a repeated id: counted in each reply, or constant."""
    return lambda key: call(name, f"{key}.{end}", id=SAME_ID)


def done(told: Asked) -> Turn:
    return words(f"Done {told.key}.")


def after_answer(*steps: Any) -> Callable[[Asked], Turn]:
    """Return a reply with these steps, and a closing text after the tool's result. A function makes a step from the
    key.
    """

    def turn(told: Asked) -> Turn:
        if told.answered:
            return done(told)
        made = [step(told.key) if callable(step) else step.format(key=told.key) for step in steps]
        return [each for step in made for each in (words(step) if isinstance(step, str) else [step])]

    return turn


def in_turn(told: Asked) -> Turn:
    opening = (["First", "note", "a"], ["Then", "book", "b"])
    if told.answered >= len(opening):
        return done(told)
    text, tool, end = opening[told.answered]
    return [*words(f"{text} {told.key}. "), call(tool, f"{told.key}.{end}")]


def numbered(told: Asked) -> Turn:
    opening = (("note", "a"), ("book", "b"), ("book", "c"), ("note", "a"))
    if told.answered >= len(opening):
        return done(told)
    return [Wait(PACE), same_id(*opening[told.answered])(told.key)]


def expert(told: Asked) -> Turn:
    return done(told) if told.of_tool else [*words(f"I know {told.key}. "), call("note", f"{told.key}.a")]


def loop(told: Asked) -> Turn:
    if told.of_tool:
        return words(f"Round {told.answered} {told.key}. ")
    if told.answered < ROUNDS:
        return [Wait(PACE), call("note", f"{told.key}.{told.answered}")]
    return [*done(told), Call("exit_loop", {})]


def introducing(name: str) -> Callable[[Asked], Turn]:
    def turn(told: Asked) -> Turn:
        if told.answered:
            return words(f"Done by {name} {told.key}.")
        return [*words(f"I am {name} {told.key}. "), call("note", f"{told.key}.{name}")]

    return turn


ROUNDS: Final = 2
"""Number of rounds of the loop agent."""

TURNS: Final[Mapping[str, Callable[[Asked], Turn]]] = {
    "turns": in_turn,
    "once": after_answer(
        lambda key: call("book", f"{key}.a"), lambda key: call("book", f"{key}.b"), lambda key: call("note", f"{key}.c")
    ),
    "pay": after_answer("Shall I {key}? ", lambda key: call("pay", f"{key}.a")),
    "both": after_answer(lambda key: call("pay", f"{key}.a"), lambda key: call("pay", f"{key}.b")),
    "where": after_answer("Where {key}? ", lambda key: call("where", f"{key}.a")),
    "diary": after_answer("Dear {key}. ", lambda _: Call("read_diary", {})),
    "ask": after_answer("Ask {key}. ", lambda _: Call("transfer_to_agent", {"agent_name": "expert"})),
    "draw": after_answer("Look {key}. ", lambda key: call("draw", f"{key}.a")),
    "picture": after_answer("Look {key}. ", picture, "Done {key}."),
    "sage": after_answer("Ask {key}. ", lambda key: Call("sage", {"request": key})),
    "form": after_answer("Well {key}. ", lambda key: Call("adk_request_input", {"message": f"Who {key}?"})),
    "args": after_answer("So {key}. ", lambda key: streamed(f"{key}.a")),
    "loop": loop,
    "numbered": numbered,
    "alike": after_answer(same_id("note", "a"), same_id("book", "b"), same_id("note", "c")),
    "grants": after_answer(same_id("pay", "a"), same_id("pay", "a")),
    "calls": after_answer("Hear {key}. ", lambda key: call("tell", f"{key}.a")),
    "shape": lambda told: (
        [Call("set_model_response", {"city": f"Oslo {told.key}"})]
        if told.answered
        else [*words(f"Well {told.key}. "), call("note", f"{told.key}.a")]
    ),
    "given": done,
    "toolset": done,
    "line": introducing("?"),
    "side": introducing("?"),
}
"""Kind of conversation -> the models' replies."""

ALL: Final = frozenset(TURNS)

WHOLE: Final = frozenset({"alike", "grants"})
"""Kinds whose models do not stream."""


def respond(request: LlmRequest) -> Turn:
    told = asked(request)
    return [each for step in TURNS[told.kind](told) for each in (step if isinstance(step, list) else [step])]


class KillsLlm(ScriptedLlm):
    """Model that does not stream some replies.

    In a streamed reply, ADK drops a call that has the id of another call.
    """

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        is_streamed = stream and asked(llm_request).kind not in WHOLE
        async for response in super().generate_content_async(llm_request, stream=is_streamed):
            yield response


def saying(turn: Callable[[Asked], Turn]) -> ScriptedLlm:
    return ScriptedLlm(respond=lambda request: turn(asked(request)))


def agent(name: str, model: ScriptedLlm | None = None, tools: Sequence[Any] = (note,), **more: Any) -> LlmAgent:
    return LlmAgent(name=name, model=model or KillsLlm(respond=respond), tools=list(tools), **more)


async def linger(callback_context: CallbackContext) -> None:
    """Delay the end of the run after its last output."""
    await asyncio.sleep(SLOW)


def welcome(callback_context: CallbackContext) -> None:
    emit_data(callback_context, "greeting", {"words": "Welcome."})
    # A rewind sets what was not there to None.
    callback_context.state["visits"] = (callback_context.state.get("visits") or 0) + 1


async def farewell(callback_context: CallbackContext) -> types.Content:
    await asyncio.sleep(PACE)
    emit_data(callback_context, "greeting", {"words": "Farewell."})
    return types.Content(role="model", parts=[types.Part(text=f"Visit {callback_context.state['visits']}.")])


def changed(tool_response: Any, **_: Any) -> dict[str, str] | None:
    """Replace the result of a tool, except for a tool that did not end."""
    return None if isinstance(tool_response, dict) else {"result": "changed"}


async def noted_by_a_callback(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    """Reply instead of the model, with a call that has no id."""
    told = asked(llm_request)
    if told.answered:
        return None
    await asyncio.sleep(PACE)
    made = types.FunctionCall(name="note", args={"key": f"{told.key}.a"})
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=made)]))


def desk() -> BaseAgent:
    return agent(
        "desk",
        tools=[
            note,
            book,
            draw,
            FunctionTool(pay, require_confirmation=True),
            LongRunningFunctionTool(where),
            AuthenticatedFunctionTool(func=read_diary, auth_config=sign_in()),
            AgentTool(agent("sage", ScriptedLlm(respond=lambda _: ["I ", Wait(PACE), "know."]), tools=())),
            request_input,
        ],
        sub_agents=[agent("expert", saying(expert), disallow_transfer_to_parent=True, disallow_transfer_to_peers=True)],
        after_agent_callback=linger,
    )


def pair(kind: type[BaseAgent], name: str, *names: str) -> BaseAgent:
    return kind(name=name, sub_agents=[agent(each, saying(introducing(each))) for each in names])


ROOTS: Final[Mapping[str, Callable[[], BaseAgent]]] = {
    "desk": desk,
    "loop": lambda: LoopAgent(name="loop", max_iterations=9, sub_agents=[agent("looped", tools=[note, exit_loop])]),
    "line": lambda: pair(SequentialAgent, "line", "first", "second"),
    "side": lambda: pair(ParallelAgent, "side", "left", "right"),
    "calls": lambda: agent(
        "calls",
        tools=[tell],
        before_agent_callback=welcome,
        after_agent_callback=farewell,
        after_tool_callback=changed,
        output_key="said",
    ),
    "shape": lambda: agent("shape", output_schema=Place),
    "given": lambda: agent("given", before_model_callback=noted_by_a_callback),
    "toolset": lambda: agent("toolset", tools=[Diary()]),
    "steered": steered,
}
"""Name -> served agent."""


def runner(root: str) -> Runner:
    """Return a runner with files and sessions that all workers share. The user's files are saved as artifacts."""
    app = App(name="kills", root_agent=ROOTS[root](), plugins=[SaveFilesAsArtifactsPlugin()])
    return Runner(
        app=app,
        session_service=load_session_service((FOLDER / SESSIONS).read_text()),
        artifact_service=FileArtifactService(str(FOLDER / "artifacts")),
    )


def __getattr__(name: str) -> Callable[[], Runner]:
    """Return the runner for ``serve tests.kills.agents:serve_ROOT``."""
    if name.startswith("serve_"):
        return lambda: runner(name.removeprefix("serve_"))
    raise AttributeError(name)
