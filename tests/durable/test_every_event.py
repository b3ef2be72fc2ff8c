"""A server ends just before or after storing an event. The next server continues without a visible difference."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.auth.auth_credential import AuthCredential
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events import Event
from google.adk.models import LlmRequest, LlmResponse
from google.adk.sessions import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
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
from pydantic import BaseModel

from stream_protocol.adk import NESTED_EVENTS
from stream_protocol.agents import emit_data
from stream_protocol.serving import create_app
from stream_protocol.serving.engine import Engine
from stream_protocol.testing import Call, ScriptedLlm, Step, Turn
from tests.comparable_messages import comparable
from tests.durable.shared_state import USER, SharedState
from tests.serving.chat_client import Page
from tests.serving.support import HANG
from tests.serving.test_sign_in import Provider, oauth2

NEVER: Final = 1_000

ran: list[str] = []
"""The tools that have run."""


async def no_end() -> None:
    """Replacement for ending an engine."""


class EndingSessions(SqliteSessionService):
    """Store no event from this number on, counted from 1. ``after``: still store the event with this number."""

    def __init__(self, chats: str, number: int, *, after: bool) -> None:
        super().__init__(chats)
        self.stored = 0
        self.reached = asyncio.Event()
        self._number = number
        self._after = after

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return await super().append_event(session, event)
        self.stored += 1
        if self.stored >= self._number and not (self._after and self.stored == self._number):
            await self._end()
        appended = await super().append_event(session, event)
        if self.stored == self._number:
            await self._end()
        return appended

    async def _end(self) -> None:
        self.reached.set()
        await asyncio.Event().wait()


class Diary(BaseToolset):
    """A toolset that the user must sign in to."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return []

    def get_auth_config(self) -> AuthConfig:
        return oauth2(Provider(url="https://provider.example/token"))


def note(name: str, tool_context: ToolContext) -> str:
    """Notes it."""
    ran.append(name)
    tool_context.state[name] = "noted"
    return f"noted {name}"


def tell(name: str, tool_context: ToolContext) -> str:
    """Notes it, and tells the page."""
    emit_data(tool_context, "note", {"name": name})
    return note(name, tool_context)


def pay(amount: int) -> str:
    """Pays, if the user approves."""
    ran.append(f"pay {amount}")
    return "paid"


def where() -> None:
    """The location of the user, which the client answers."""


def read_diary(credential: AuthCredential) -> str:
    """Reads data that only its user may read."""
    return f"Dear diary, {credential}"


def noted_by_a_callback(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    """Answers in the model's place, with a call that has no id."""
    if answers_in(llm_request):
        return None
    call = types.FunctionCall(name="note", args={"name": "tea"})
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))


def welcome(callback_context: CallbackContext) -> None:
    emit_data(callback_context, "greeting", {"words": "Welcome."})
    callback_context.state["visits"] = callback_context.state.get("visits", 0) + 1


def farewell(callback_context: CallbackContext) -> types.Content:
    emit_data(callback_context, "greeting", {"words": "Farewell."})
    return types.Content(role="model", parts=[types.Part(text=f"Visit {callback_context.state['visits']}.")])


async def draw(tool_context: ToolContext) -> types.Part:
    """Draws, and saves the picture."""
    drawn = types.Part.from_bytes(data=f"drawing {len(ran)}".encode(), mime_type="image/png")
    ran.append("draw")
    await tool_context.save_artifact("drawing.png", drawn)
    return drawn


class Place(BaseModel):
    city: str


def streamed(name: str) -> list[Step]:
    """Return a call whose argument is streamed in fragments."""

    def fragment(text: str) -> types.Part:
        arg = types.PartialArg(json_path="$.name", string_value=text, will_continue=bool(text))
        return types.Part(function_call=types.FunctionCall(partial_args=[arg], will_continue=True))

    opening = types.Part(function_call=types.FunctionCall(name="note", will_continue=True))
    return [opening, *map(fragment, [*name, ""]), types.Part(function_call=types.FunctionCall())]


def answers_in(request: LlmRequest) -> int:
    """Return the number of tools that have responded."""
    return sum(part.function_response is not None for content in request.contents for part in content.parts or [])


def agent(name: str, *turns: Turn, tools: Sequence[Any] = (note,), **more: Any) -> LlmAgent:
    """Return a model with these turns, one for each number of tool responses."""
    model = ScriptedLlm(respond=lambda request: turns[min(answers_in(request), len(turns) - 1)])
    return LlmAgent(name=name, model=model, tools=list(tools), **more)


def noting(name: str) -> LlmAgent:
    return agent(name, ["I am ", f"{name}. ", Call("note", {"name": name})], f"Done by {name}.")


def numbered(*calls: Call) -> list[Step]:
    """Return calls of a provider that numbers the calls of each response from 0, and of a provider that reuses
    one id."""
    return [replace(call, id="call_0") for call in calls]


PAY: Final = FunctionTool(pay, require_confirmation=True)

AGENTS: Final[Mapping[str, Callable[[], BaseAgent]]] = {
    "tools in turn": lambda: agent(
        "root", ["First. ", Call("note", {"name": "tea"})], Call("note", {"name": "tea"}), "Done."
    ),
    "tools at once": lambda: agent(
        "root",
        [Call("note", {"name": "tea"}), Call("note", {"name": "tea"}), Call("note", {"name": "milk"})],
        "",
        "",
        "Done.",
    ),
    "an approval": lambda: agent("root", ["Shall I? ", Call("pay", {"amount": 3})], "Done.", tools=[PAY]),
    "two approvals": lambda: agent(
        "root", [Call("pay", {"amount": 3}), Call("pay", {"amount": 3})], "", "Done.", tools=[PAY]
    ),
    "an answer of the page": lambda: agent(
        "root", ["Where? ", Call("where", {})], "There.", tools=[LongRunningFunctionTool(where)]
    ),
    "a tool to sign in to": lambda: agent(
        "root",
        Call("read_diary", {}),
        "Done.",
        tools=[AuthenticatedFunctionTool(func=read_diary, auth_config=Diary().get_auth_config())],
    ),
    "tools to sign in to": lambda: agent("root", "Done.", tools=[Diary()]),
    "another agent": lambda: agent(
        "root",
        ["Ask. ", Call("transfer_to_agent", {"agent_name": "expert"})],
        tools=[],
        sub_agents=[agent("expert", "", Call("note", {"name": "fact"}), "I know.")],
    ),
    "a loop": lambda: LoopAgent(
        name="loop",
        max_iterations=3,
        sub_agents=[
            agent("looped", Call("note", {"name": "one"}), "Round. ", Call("exit_loop", {}), tools=[note, exit_loop])
        ],
    ),
    "one agent after the other": lambda: SequentialAgent(name="line", sub_agents=[noting("first"), noting("second")]),
    "agents at once": lambda: ParallelAgent(name="both", sub_agents=[noting("left"), noting("right")]),
    "callbacks": lambda: agent(
        "root",
        Call("tell", {"name": "tea"}),
        "Done.",
        tools=[tell],
        before_agent_callback=welcome,
        after_agent_callback=farewell,
        after_tool_callback=lambda **_: {"result": "changed"},
        output_key="said",
    ),
    "a file": lambda: agent("root", Call("draw", {}), "Done.", tools=[draw]),
    "an agent as a tool": lambda: agent(
        "root", Call("expert", {"request": "?"}), "Done.", tools=[AgentTool(agent("expert", "I know."))]
    ),
    "a form": lambda: agent("root", Call("adk_request_input", {"message": "Who?"}), "Hello.", tools=[request_input]),
    "an answer of a given shape": lambda: agent(
        "root", Call("note", {"name": "tea"}), Call("set_model_response", {"city": "Oslo"}), output_schema=Place
    ),
    "an argument that is streamed": lambda: agent("root", streamed("tea"), "Done."),
    "an id that is used again": lambda: agent(
        "root",
        numbered(Call("note", {"name": "tea"})),
        numbered(Call("note", {"name": "milk"})),
        numbered(Call("tell", {"name": "tea"})),
        numbered(Call("note", {"name": "tea"})),
        "Done.",
        tools=[note, tell],
    ),
    "one id of calls at once": lambda: agent(
        "root",
        numbered(Call("note", {"name": "tea"}), Call("tell", {"name": "milk"}), Call("note", {"name": "cake"})),
        "",
        "",
        "Done.",
        tools=[note, tell],
    ),
    "approvals under one id": lambda: agent(
        "root",
        numbered(Call("pay", {"amount": 3}), Call("pay", {"amount": 3})),
        "",
        "Done.",
        tools=[PAY],
    ),
    "a callback that calls": lambda: agent("root", "", "Done.", before_model_callback=noted_by_a_callback),
}


AT_ONCE: Final = {"agents at once"}
"""While one agent stores an event, the tool of another agent may be running. It is idempotent, so it runs a second
time."""

WHOLE: Final = RunConfig(streaming_mode=StreamingMode.NONE)
"""In a streamed response, ADK drops a call whose id another call of the response has."""

RUN_CONFIGS: Final = {"one id of calls at once": WHOLE, "approvals under one id": WHOLE}

ANSWERS: Final[Mapping[str, Any]] = {"where": "Oslo", "adk_request_input": {"name": "Ann"}}
"""The client's answers, by call."""


class Conversation(NamedTuple):
    """The result of a conversation. ``events``: without ids, in any order, like those of parallel agents. ``ran``: the
    tool runs."""

    events: list[str]
    ran: list[str]


async def conversation(
    shared: SharedState, engine: Engine, kind: str, number: int, *, after: bool = False
) -> tuple[Conversation, bool]:
    """Begin the conversation, and end the server at this event. The client repeats the request to the next server.

    Also returns True if the first server reached the event.
    """
    ran.clear()
    sessions = EndingSessions(shared.chats, number, after=after)
    chat_id = f"{number}{after}"
    async with shared.service(
        AGENTS[kind](), sessions=sessions, engine=engine, launched=False, run_config=RUN_CONFIGS.get(kind)
    ) as service:
        page = Page(create_app(service, identify=lambda _: USER), chat_id=chat_id)
        sending = asyncio.create_task(page.send("go"))
        reached = asyncio.create_task(sessions.reached.wait())
        async with asyncio.timeout(HANG):
            await asyncio.wait([sending, reached], return_when="FIRST_COMPLETED")
        reached.cancel()
    await asyncio.gather(sending, return_exceptions=True)  # the reader was disconnected
    async with shared.service(
        AGENTS[kind](), engine=engine, launched=False, run_config=RUN_CONFIGS.get(kind)
    ) as service:
        page.app = create_app(service, identify=lambda _: USER)
        async with asyncio.timeout(HANG):
            if sessions.reached.is_set():
                del page.messages[1:]
                await page.submit()
            assert_same(page.messages, await page.stored())
            if page.parts("approval-requested"):
                while page.parts("approval-requested"):
                    page.approve(approved=True)
                await page.submit()
            for part in page.parts("input-available"):
                if (tool := part["type"].removeprefix("tool-")) in ANSWERS:
                    page.answer(tool, ANSWERS[tool])
                    await page.submit()
            assert_same(page.messages, await page.stored())
            session = await service.runner.session_service.get_session(
                app_name=service.runner.app_name, user_id=USER, session_id=chat_id
            )
    assert session is not None
    said = [without_ids(event) for event in session.events if event.content and event.content.parts]
    return Conversation(sorted(said), sorted(ran)), sessions.reached.is_set()


def assert_same(shown: list[Any], stored: list[Any]) -> None:
    assert comparable(shown) == comparable(stored)


def without_ids(event: Event) -> str:
    """Return the event's content, without random ids."""
    text = event.model_dump_json(include={"author", "branch", "content", "actions"}, exclude_none=True)
    kept = (event.custom_metadata or {}).get(NESTED_EVENTS, {}).values()
    text += json.dumps([(one["author"], one["content"]) for nested in kept for one in nested["events"]])
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|state=[^&]*&|\"state\":\"[^\"]*\"", "…", text)


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("kind", AGENTS)
async def test_the_next_server_goes_on_as_if_nothing_had_been(
    kind: str, tmp_path: Path, engine_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = SharedState(tmp_path, engine_url)
    engine = shared.engine()
    leave = engine.aclose
    monkeypatch.setattr(engine, "aclose", no_end)  # starting an engine takes a second
    try:
        whole, _ = await conversation(shared, engine, kind, NEVER)
        for number in count(1):
            for after in (False, True):
                told, was_reached = await conversation(shared, engine, kind, number, after=after)
                assert told.events == whole.events, (number, after)
                most = whole.ran * 2 if kind in AT_ONCE else whole.ran
                assert Counter(whole.ran) <= Counter(told.ran) <= Counter(most), (number, after)
            if not was_reached:
                break
    finally:
        await leave()
