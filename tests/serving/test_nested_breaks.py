"""A client leaves, or a worker dies, while the card of a sub-agent is open: what a history and the next message get."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import AgentTool
from typing_extensions import override

from stream_protocol.serving import ChatService, ServiceLimits, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.steering import rest
from tests.serving.support import HANG, begin, chat, client, said, soon

pytestmark = pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")

KINDS: dict[str, dict[str, Any]] = {"tool": {}, "single_turn": {"mode": "single_turn"}, "task": {"mode": "task"}}


def look(city: str) -> dict[str, str]:
    """Tells the weather."""
    return {"city": city}


def planner(kind: str, *answers: Any) -> LlmAgent:
    """Return an agent whose sub-agent calls a tool, says half a sentence, and never ends.

    ``answers``: what both agents say instead.
    """
    turns = answers or [["I look.", Call("look", {"city": "Oslo"})], ["Half of ", Wait(asyncio.Event()), "it."]]
    inner = LlmAgent(name="inner", description="inner", model=ScriptedLlm(turns=[*turns]), tools=[look], **KINDS[kind])
    calls: dict[str, Any] = {"tools": [AgentTool(inner)]} if kind == "tool" else {"sub_agents": [inner]}
    model = ScriptedLlm(turns=[*(answers or [["Let me.", Call("inner", {"request": "go"})]])])
    return LlmAgent(name="root", model=model, **calls)


def shown(message: Any) -> list[str]:
    return [one.get("text") or one["type"] for one in message["parts"] if one["type"] != "step-start"]


def card_of(message: Any) -> Any:
    [card] = [part for part in message["parts"] if part["type"] == "tool-inner"]
    assert not card.get("preliminary")
    return card


async def until_half(answer: Any) -> None:
    seen: Any = {"parts": []}
    while not shown(seen) or not shown(seen)[-1].startswith("Half"):
        seen = (await answer.until("tool-output-available"))["output"]


async def stored(app: Any) -> Any:
    async with client(app) as http:
        return (await http.get("/api/chat/c1")).json()["messages"][-1]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_ends_with_its_last_reader_keeps_what_its_sub_agent_has_done(kind: str) -> None:
    service = InstrumentedService(planner(kind), limits=ServiceLimits(disconnect_grace=0))
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as answer:
        assert await answer.status() == 200
        await until_half(answer)
    await asyncio.wait_for(service.runs.free(), HANG)
    message = await stored(app)
    assert shown(message) == ["Let me.", "tool-inner"]
    card = card_of(message)
    assert shown(card["output"]) == ["I look.", "tool-look", "Half of "]
    assert card["output"]["metadata"]["stopped"] is True


async def stopped(
    service: InstrumentedService, page: Page, reached: asyncio.Event, may_go_on: asyncio.Event | None = None
) -> None:
    """Stop the run at this moment. The history then has what the page has."""
    async with begin(page.app, page.body()) as answer:
        assert await answer.status() == 200
        await soon(reached)
        async with client(page.app) as http:
            assert (await http.post("/api/chat/c1/stop")).status_code == 202
        if may_go_on is not None:
            may_go_on.set()
        page.take(await rest(answer))
    await service.runs.free()
    assert await page.stored() == page.messages


@pytest.mark.parametrize(
    ("kind", "moment"),
    [
        *((kind, moment) for kind in KINDS for moment in ("in a callback", "before a word", "in a tool")),
        *((kind, "while its result is stored") for kind in ("tool", "single_turn")),
    ],
)
async def test_after_a_stop_a_card_has_in_a_history_what_the_page_had(kind: str, moment: str) -> None:
    """The agent inside goes on for a moment: a tool returns. Nobody sees that."""
    reached, may_go_on = asyncio.Event(), asyncio.Event()

    async def hold() -> str:
        """Waits."""
        reached.set()
        await may_go_on.wait()
        return "held"

    def wait(_request: Any) -> list[Any]:
        reached.set()
        return [Wait(may_go_on), "Late."]

    async def before_agent(callback_context: Any) -> None:
        await hold()

    class Store(InMemorySessionService):
        @override
        async def append_event(self, session: Session, event: Event) -> Event:
            if moment == "while its result is stored" and any(
                response.name == "inner" for response in event.get_function_responses()
            ):
                await hold()
            return await super().append_event(session, event)

    turns: list[Any] = [["I wait.", Call("hold")], "Late."]
    if moment in ("before a word", "while its result is stored"):
        turns = [wait] if moment == "before a word" else ["Done."]
    root = planner(kind, "Unused.")
    tool: Any = root.tools[0] if kind == "tool" else None
    inner: Any = root.sub_agents[0] if tool is None else tool.agent
    inner.tools, inner.model = [hold], ScriptedLlm(turns=turns)
    inner.before_agent_callback = before_agent if moment == "in a callback" else None
    root.model = ScriptedLlm(turns=[["Let me.", Call("inner", {"request": "go"})]])
    service = InstrumentedService(root, session_service=Store())
    page = Page(create_app(service))
    page.messages = [said("hi")]
    await stopped(service, page, reached, may_go_on)


async def test_after_a_stop_a_card_inside_a_card_has_in_a_history_what_the_page_had() -> None:
    reached = asyncio.Event()

    async def hold() -> str:
        """Waits."""
        reached.set()
        await asyncio.sleep(0.05)
        return "held"

    inner: Any = planner("tool", "Unused.")
    inner.name = "inner"
    deep = inner.tools[0].agent
    deep.name, deep.tools = "deep", [hold]
    deep.model = ScriptedLlm(turns=[["I wait.", Call("hold")], "Late."])
    inner.tools = [AgentTool(deep)]
    inner.model = ScriptedLlm(turns=[["I ask.", Call("deep", {"request": "go"})]])
    root = LlmAgent(
        name="root",
        model=ScriptedLlm(turns=[["Let me.", Call("inner", {"request": "go"})]]),
        tools=[AgentTool(inner)],
    )
    service = InstrumentedService(root)
    page = Page(create_app(service))
    page.messages = [said("hi")]
    await stopped(service, page, reached)
    inside = card_of(page.messages[-1])["output"]
    assert shown(inside) == ["I ask.", "tool-deep"]
    assert shown(inside["parts"][-1]["output"]) == ["I wait.", "tool-hold"]


@pytest.mark.parametrize("kind", KINDS)
async def test_after_the_death_of_a_worker_a_card_is_closed_and_the_chat_continues(kind: str, tmp_path: Path) -> None:
    """Without an engine, the work of an ``AgentTool`` is lost with its worker. The other agents' work is stored."""
    service = ChatService(planner(kind), session_service=SqliteSessionService(str(tmp_path / "a.db")))
    async with begin(create_app(service), chat(said("hi"))) as answer:
        assert await answer.status() == 200
        await until_half(answer)
        shutil.copy(tmp_path / "a.db", tmp_path / "b.db")  # the state that a killed worker leaves
    await service.aclose()
    other = create_app(
        ChatService(planner(kind, "Other."), session_service=SqliteSessionService(str(tmp_path / "b.db")))
    )
    message = await stored(other)
    card = card_of(message)
    if kind == "tool":
        assert (card["state"], card["errorText"]) == ("output-error", "The tool gave no result.")
    else:
        assert shown(card["output"]) == ["I look.", "tool-look"]
        assert card["output"]["metadata"]["stopped"] is True
    page = Page(other)
    page.messages = await page.stored()
    await page.send("and now?")
    assert await page.stored() == page.messages
    assert page.messages[1] == message
