"""A response's ``start``, with its id, is sent before the model's first output: for any agent, in every turn."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from google.adk.agents import BaseAgent, InvocationContext, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import BaseNode, Workflow
from google.genai import types
from starlette.types import ASGIApp
from typing_extensions import override

from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Step, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import begin, chat, post, said, stream

pytestmark = [
    pytest.mark.filterwarnings("ignore:(Sequential|Parallel|Loop)Agent is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),
]


class OneByOne(BaseAgent):
    """An agent of an app's own class."""

    @override
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event]:
        for agent in self.sub_agents:
            async for event in agent.run_async(ctx):
                yield event


ROOTS: dict[str, Callable[[LlmAgent], BaseNode]] = {
    "llm": lambda agent: agent,
    "sequential": lambda agent: SequentialAgent(name="root", sub_agents=[agent]),
    "parallel": lambda agent: ParallelAgent(name="root", sub_agents=[agent]),
    "loop": lambda agent: LoopAgent(name="root", sub_agents=[agent], max_iterations=1),
    "custom": lambda agent: OneByOne(name="root", sub_agents=[agent]),
    "workflow": lambda agent: Workflow(name="root", edges=[("START", agent)]),
}


def app_of(root: BaseNode, *, resumable: bool, plugin: BasePlugin | None = None) -> App:
    config = ResumabilityConfig(is_resumable=True) if resumable else None
    return App(name="chats", root_agent=root, resumability_config=config, plugins=[plugin] if plugin else [])


async def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


async def begun(app: ASGIApp, page: Page, speak: asyncio.Event) -> None:
    """Posts the page's chat, and lets the model speak when the response has begun."""
    speak.clear()
    async with begin(app, page.body()) as exchange:
        assert await exchange.status() == 200
        received = [await exchange.chunk()]
        assert received[0]["type"] == "start"
        assert not speak.is_set()
        speak.set()
        while received[-1]["type"] != "finish":
            received.append(await exchange.chunk())
    last = page.messages[-1]
    assert received[0]["messageId"]
    assert last["role"] == "user" or last["id"] == received[0]["messageId"]
    page.take(received)


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("kind", ROOTS)
async def test_start_goes_out_before_the_model_says_a_word(kind: str, resumable: bool) -> None:
    speak = asyncio.Event()
    turns: list[Step] = ["Hello.", Call("pay", {"amount": 5}), "Paid.", "Bye."]
    agent = LlmAgent(
        name="teller",
        model=ScriptedLlm(turns=[[Wait(speak), turn] for turn in turns]),
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    sessions = InMemorySessionService()
    app = create_app(ChatService(app_of(ROOTS[kind](agent), resumable=resumable), session_service=sessions))
    page = Page(app)
    for words in ("hi", "pay", None, "bye"):
        if words is None:
            page.approve(True)
        else:
            page.messages.append(said(words, f"u-{words}"))
        await begun(app, page, speak)
    assert [part["text"] for message in page.messages for part in message["parts"] if part["type"] == "text"] == [
        *("hi", "Hello.", "pay", "Paid.", "bye", "Bye."),
    ]
    assert comparable(await page.stored()) == comparable(page.messages)
    session = await stored(sessions)
    answers = [message["id"] for message in page.messages if message["role"] == "assistant"]
    assert list(dict.fromkeys(event.invocation_id for event in session.events)) == answers


async def stored(sessions: Any) -> Session:
    session: Session | None = await sessions.get_session(app_name="chats", user_id="local", session_id="c1")
    assert session is not None
    return session


async def test_a_resumable_app_finds_each_message_once_in_any_store(sessions: BaseSessionService) -> None:
    asked: list[list[str]] = []

    def answer(request: LlmRequest) -> str:
        asked.append([part.text for content in request.contents for part in content.parts or () if part.text])
        return f"Answer {len(asked)}."

    root = SequentialAgent(name="root", sub_agents=[LlmAgent(name="teller", model=ScriptedLlm(respond=answer))])
    app = create_app(ChatService(app_of(root, resumable=True), session_service=sessions))
    await stream(app, chat(said("one")))
    await stream(app, chat(said("two", "u2")))
    session = await stored(sessions)
    assert asked == [["one"], ["one", "Answer 1.", "two"]]
    said_by_user = [event for event in session.events if event.author == "user" and event.content]
    assert len(said_by_user) == 2


async def test_a_first_message_that_a_plugin_refuses_is_no_message(caplog: pytest.LogCaptureFixture) -> None:
    class Guard(BasePlugin):
        @override
        async def on_user_message_callback(
            self, *, invocation_context: InvocationContext, user_message: types.Content
        ) -> types.Content | None:
            raise ValueError("not today")

    root = SequentialAgent(name="root", sub_agents=[LlmAgent(name="teller", model=ScriptedLlm(turns=["Hi."]))])
    app = create_app(app_of(root, resumable=True, plugin=Guard("guard")))
    refused = await post(app, chat(said("hi")))
    assert (refused.status_code, refused.text) == (500, "An error occurred.")
    assert await Page(app).stored() == []
    assert not [record for record in caplog.records if "could not be stored" in record.message]
