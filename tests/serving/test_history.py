"""``GET /api/chat/{id}`` returns the page's messages, turn after turn."""

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import Workflow
from google.genai import types

from stream_protocol.serving import ChatService, ServiceLimits, create_app
from stream_protocol.testing import Call, ScriptedLlm, Thought, Wait, token_usage
from stream_protocol.wire import AiSdkVersion
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, chunks, client, soon

pytestmark = pytest.mark.usefixtures("patient_clock")

VERSIONS: tuple[AiSdkVersion, ...] = (6, 7)
each_version = pytest.mark.parametrize("ai_sdk", VERSIONS)


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def look(city: str) -> dict[str, str]:
    """Looks."""
    return {"city": city}


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


def where(question: str) -> None:
    """Only the page knows."""


async def pay_if_small(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Asks by itself."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Pay?")
        return {"status": "asked"}
    return {"confirmed": tool_context.tool_confirmation.confirmed}


def tools() -> list[Any]:
    return [
        FunctionTool(pay, require_confirmation=True),
        FunctionTool(look),
        FunctionTool(explode),
        FunctionTool(pay_if_small),
        LongRunningFunctionTool(where),
    ]


def agent(*turns: Any, name: str = "root", **more: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedLlm(turns=turns), tools=tools(), **more)


def page_for(target: Any, ai_sdk: AiSdkVersion = 6, **options: Any) -> Page:
    return Page(create_app(ChatService(target, ai_sdk=ai_sdk, **options)), ai_sdk=ai_sdk)


async def assert_stored_is_shown(page: Page) -> None:
    assert comparable(await page.stored()) == comparable(page.messages)


@each_version
async def test_texts_thoughts_tools_and_usage_over_several_turns(ai_sdk: AiSdkVersion) -> None:
    page = page_for(
        agent(
            [Thought("Hm.", signature=b"x"), "Let me look.", Call("look", {"city": "Oslo"}, streamed=True)],
            ["It rains.", token_usage(prompt=3, answer=2)],
            [Call("look", {"city": "Rome"}), Call("look", {"city": "Bonn"})],
            "Both dry.",
        ),
        ai_sdk,
    )
    await page.send("Oslo?")
    await assert_stored_is_shown(page)
    await page.send("And Rome and Bonn?")
    await assert_stored_is_shown(page)
    assert [message["role"] for message in page.messages] == ["user", "assistant"] * 2


@each_version
@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("tool", ["pay", "pay_if_small"])
async def test_an_approval_before_and_after_its_answer(ai_sdk: AiSdkVersion, tool: str, approved: bool) -> None:
    talk = ["I asked.", "Done."] if tool == "pay_if_small" else ["Done."]
    page = page_for(agent(["Let me pay.", Call(tool, {"amount": 5})], *talk, "You are welcome."), ai_sdk)
    await page.send("pay")
    await assert_stored_is_shown(page)
    assert len(page.parts("approval-requested")) == 1
    page.approve(approved, None if approved else "too much")
    await page.submit()
    await assert_stored_is_shown(page)
    await page.send("thanks")
    await assert_stored_is_shown(page)
    (part,) = [part for part in (await page.stored())[1]["parts"] if "approval" in part]
    assert part["approval"].get("reason") == (None if approved else "too much")


@each_version
async def test_several_approvals_answered_at_once_and_asked_for_anew(ai_sdk: AiSdkVersion) -> None:
    page = page_for(
        agent(
            [Call("pay", {"amount": 1}, id="a"), Call("pay", {"amount": 2}, id="b"), Call("look", {"city": "Oslo"})],
            ["And another.", Call("pay", {"amount": 3})],
            "All done.",
        ),
        ai_sdk,
    )
    await page.send("pay all")
    page.approve(True)
    await page.submit()  # a sibling is unanswered: nothing runs, and only the page knows of the first answer
    page.approve(False, "no")
    await page.submit()
    await assert_stored_is_shown(page)
    page.approve(True)
    await page.submit()
    await assert_stored_is_shown(page)
    assert page.parts("text")[-1:] == [] or page.messages[-1]["parts"][-1]["text"] == "All done."


@each_version
async def test_an_approval_that_a_later_text_superseded(ai_sdk: AiSdkVersion) -> None:
    page = page_for(agent(Call("pay", {"amount": 5}), "Never mind."), ai_sdk)
    await page.send("pay")
    await page.send("wait")
    await assert_stored_is_shown(page)


@each_version
async def test_client_tools_with_outputs_and_errors_beside_server_tools(ai_sdk: AiSdkVersion) -> None:
    page = page_for(
        agent(
            [Call("where", {"question": "a"}), Call("look", {"city": "Oslo"})],
            "I wait.",
            "Thanks.",
            Call("where", {"question": "b"}),
            "Then not.",
        ),
        ai_sdk,
    )
    await page.send("go")
    await assert_stored_is_shown(page)
    page.answer("where", "Oslo")
    await page.submit()
    await assert_stored_is_shown(page)
    await page.send("again")
    page.refuse("where", "denied by the user")
    await page.submit()
    await assert_stored_is_shown(page)


@each_version
@pytest.mark.parametrize(
    "turn",
    [
        RuntimeError("at once"),
        ["Half a ", RuntimeError("hunter2")],
        [Thought("Well."), "Half a ", Thought("Or?"), "sentence", RuntimeError("x")],
        ["Let me.", Call("look", {"city": "Oslo, Norway"}, streamed=True), RuntimeError("x")],
        Call("explode"),
        ["So: ", Call("look", {"city": "Oslo"}), Call("explode")],
        [Call("where", {"question": "a"}), Call("explode")],
    ],
    ids=str,
)
async def test_a_turn_that_fails_and_the_next(ai_sdk: AiSdkVersion, turn: Any) -> None:
    page = page_for(agent("Hello.", turn, "Better."), ai_sdk)
    await page.send("hi")
    await page.send("go")
    await assert_stored_is_shown(page)
    await page.send("again")
    await assert_stored_is_shown(page)
    assert page.messages[-1]["parts"][-1]["text"] == "Better."


async def stop_at(page: Page, text: str, kind: str, ready: asyncio.Event | None = None) -> None:
    """Sends, and stops the run on the server as soon as this chunk has come."""
    app: Any = page.app
    page.messages.append({"id": "stopped", "role": "user", "parts": [{"type": "text", "text": text}]})
    async with begin(app, page.body()) as exchange:
        await exchange.status()
        received: list[Any] = []
        stopped = False
        while (event := await exchange.event()) and event != "data: [DONE]":
            received += chunks(f"{event}\n\ndata: [DONE]\n\n")
            if received[-1]["type"] == kind and not stopped:
                if ready is not None:
                    await soon(ready)
                app.state.service.runs.run.stop()
                stopped = True
    page.take(received)


def stoppable(target: Any, ai_sdk: AiSdkVersion) -> Page:
    service = InstrumentedService(target, ai_sdk=ai_sdk)
    app = create_app(service)
    app.state.service = service
    return Page(app, ai_sdk=ai_sdk)


@each_version
@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        ([Wait(asyncio.Event())], "start"),
        (["Half", Wait(asyncio.Event()), " a sentence."], "text-delta"),
        ([Thought("Well."), "Half", Wait(asyncio.Event()), " a sentence."], "text-delta"),
        (["Let me.", Call("look", {"city": "a b"}, streamed=True), Wait(asyncio.Event())], "tool-input-delta"),
    ],
    ids=["at once", "in a text", "in a text after a thought", "in an argument"],
)
async def test_a_turn_that_is_stopped_and_the_next(ai_sdk: AiSdkVersion, turn: Any, kind: str) -> None:
    page = stoppable(agent(turn, "Better."), ai_sdk)
    await stop_at(page, "go", kind)
    await assert_stored_is_shown(page)
    await page.send("again")
    await assert_stored_is_shown(page)


@each_version
async def test_a_tool_that_is_stopped_and_an_approval_that_waited_beside_it(ai_sdk: AiSdkVersion) -> None:
    started = asyncio.Event()

    async def dig() -> str:
        """Never ends by itself."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    model = ScriptedLlm(turns=[Call("pay_if_small", {"amount": 1}), ["Now I dig.", Call("dig")], "Better."])
    page = stoppable(LlmAgent(name="root", model=model, tools=[*tools(), dig]), ai_sdk)
    page.messages.append({"id": "u", "role": "user", "parts": [{"type": "text", "text": "go"}]})
    app: Any = page.app
    async with begin(app, page.body()) as exchange:
        await exchange.status()
        received = [await exchange.until("start")]
        await soon(started)
        app.state.service.runs.run.stop()
        while (event := await exchange.event()) and event != "data: [DONE]":
            received += chunks(f"{event}\n\ndata: [DONE]\n\n")
    page.take(received)
    await assert_stored_is_shown(page)
    assert page.parts("approval-requested") == []
    assert len(page.parts("output-error")) == 2
    await page.send("again")
    await assert_stored_is_shown(page)


def in_parallel() -> BaseAgent:
    return ParallelAgent(
        name="root",
        sub_agents=[
            agent([f"I {n} say ", "this."], Call("look", {"city": n}), f"{n} done.", name=f"a{n}") for n in "123"
        ],
    )


def in_a_row() -> BaseAgent:
    return SequentialAgent(
        name="root",
        sub_agents=[agent([f"I am {n}.", Call("look", {"city": n})], "Done.", name=f"s{n}") for n in "12"],
    )


def transferring() -> BaseAgent:
    other = agent("I take over.", "Again me.", name="other")
    return agent(Call("transfer_to_agent", {"agent_name": "other"}), sub_agents=[other])


@pytest.mark.filterwarnings("ignore:(Parallel|Sequential)Agent is deprecated:DeprecationWarning")
@each_version
@pytest.mark.parametrize("tree", [in_parallel, in_a_row, transferring])
async def test_several_agents(ai_sdk: AiSdkVersion, tree: Callable[[], BaseAgent]) -> None:
    page = page_for(tree(), ai_sdk)
    await page.send("go")
    assert page.parts("done")
    await assert_stored_is_shown(page)


async def test_files_and_ids_of_the_users_messages_come_back() -> None:
    page = page_for(agent("Nice.", "Nicer."))
    image = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw==", "filename": "a.png"}
    link = {"type": "file", "mediaType": "image/jpeg", "url": "https://example.com/b.jpg"}
    await page.send("look", image, link)
    await page.send("and now")
    assert await page.stored() == page.messages


async def test_a_chat_that_is_not_there_or_not_ones_own_is_404_alike() -> None:
    users = iter(["ann", "ann", "bob", "ann"])
    app = create_app(agent("Hello."), identify=lambda request: next(users))
    page = Page(app)
    await page.send("hi")
    answers = []
    async with client(app) as http:
        answers = [await http.get(f"/api/chat/{chat_id}") for chat_id in ("c1", "c1", "c2")]
    assert [answer.status_code for answer in answers] == [200, 404, 404]
    assert answers[1].json() == {"messages": [], "error": "There is no such chat."}
    assert answers[1].content == answers[2].content
    assert {**answers[1].headers} == {**answers[2].headers}


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning")
@pytest.mark.parametrize("kind", ["agent", "sequence", "workflow", "resumable app"])
async def test_a_chat_that_answers_has_what_is_stored_so_far_and_its_call_open(kind: str) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def dig() -> str:
        """Waits."""
        started.set()
        await release.wait()
        return "dug"

    model = ScriptedLlm(turns=[["Now I dig.", Call("dig")], "Done."])
    digger = LlmAgent(name="digger", model=model, tools=[dig])
    target: Any = digger
    match kind:
        case "sequence":
            target = SequentialAgent(name="root", sub_agents=[digger])
        case "workflow":
            target = Workflow(name="root", edges=[("START", digger)])
        case "resumable app":
            config = ResumabilityConfig(is_resumable=True)
            target = App(name="digging", root_agent=digger, resumability_config=config)
    page = page_for(target)
    sending = asyncio.create_task(page.send("go"))
    await soon(started)
    meanwhile = (await page.stored())[-1]["parts"]
    release.set()
    await sending
    assert [part.get("state") for part in meanwhile] == [None, "done", "input-available"]
    await assert_stored_is_shown(page)


async def test_what_a_finished_image_and_sources_look_like_comes_back() -> None:
    image = types.Part.from_bytes(data=b"png", mime_type="image/png")
    page = page_for(agent(["Look: ", image, " nice?"]))
    await page.send("draw")
    await assert_stored_is_shown(page)


class HeldService(InMemorySessionService):
    """Stores no events of the user while the test blocks it."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.asked = asyncio.Event(), asyncio.Event()
        self.free.set()

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.author == "user":
            self.asked.set()
            await self.free.wait()
        return await super().append_event(session, event)

    def hold(self) -> None:
        self.free.clear()
        self.asked.clear()


async def test_the_finished_answer_keeps_its_metadata_until_the_next_messages_are_stored() -> None:
    store = HeldService()
    turns = (["It rains.", token_usage(prompt=3, answer=2)], ["Dry.", token_usage(prompt=5, answer=1)])
    page = page_for(agent(*turns), session_service=store, limits=ServiceLimits(stop_timeout=0.2))
    await page.send("Oslo?")
    finished = copy.deepcopy(page.messages)
    assert finished[-1]["metadata"]["usage"]["totalTokens"] == 5
    store.hold()
    async with asyncio.TaskGroup() as group:
        group.create_task(page.send("And Rome?"))
        await soon(store.asked)
        before = await page.stored()
        store.free.set()
    assert comparable(before) == comparable(finished)
    await assert_stored_is_shown(page)


async def test_a_message_keeps_its_metadata_until_the_answer_to_its_call_is_stored() -> None:
    store = HeldService()
    turns = ([Call("pay", {"amount": 5}), token_usage(prompt=3, answer=2)], "Paid.")
    page = page_for(agent(*turns), session_service=store, limits=ServiceLimits(stop_timeout=0.2))
    await page.send("pay")
    asked = copy.deepcopy(page.messages)
    store.hold()
    page.approve(True)
    async with asyncio.TaskGroup() as group:
        group.create_task(page.submit())
        await soon(store.asked)
        before = await page.stored()
        store.free.set()
    assert comparable(before) == comparable(asked)
    await assert_stored_is_shown(page)


SEARCH = types.Part(tool_call=types.ToolCall(id="s", tool_type=types.ToolType.GOOGLE_SEARCH_WEB, args={"q": "sea"}))
FOUND = types.Part(tool_response=types.ToolResponse(id="s", response={"found": 3}))


@pytest.mark.parametrize("streamed", [[SEARCH], ["Hm.", SEARCH], [SEARCH, FOUND, "Three"]], ids=len)
async def test_a_tool_of_the_provider_that_a_failed_model_had_streamed_stays(streamed: list[Any]) -> None:
    page = Page(create_app(LlmAgent(name="root", model=ScriptedLlm(turns=[[*streamed, RuntimeError("gone")], "Yes."]))))
    await page.send("go")
    assert [part["toolName"] for part in page.messages[-1]["parts"] if "toolCallId" in part] == ["google_search_web"]
    assert comparable(await page.stored()) == comparable(page.messages)
    await page.send("again")
    assert comparable(await page.stored()) == comparable(page.messages)
