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
from tests.serving.instrumented import InstrumentedService, let_time_out
from tests.serving.steering import rest
from tests.serving.support import HANG, begin, chat, client, said, soon
from tests.tools import OLD_ADK

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


ENDS = ("stop", "time limit", "size limit", "shutdown", "model")
"""The ways in which a run ends before its agent: the user, the server, or an error of a model ends it."""


class Ending:
    """The end of a run at one moment. The agent goes on for a moment: a tool returns, or a model answers.

    ``hold``: called at this moment.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._reached = asyncio.Event()
        self._may_go_on = asyncio.Event()
        self._model_fails = False

    async def hold(self) -> str:
        """Waits."""
        self._reached.set()
        await self._may_go_on.wait()
        return "held"

    async def hold_agent(self) -> None:
        """Hold in a callback of an agent."""
        await self.hold()

    def answer_late(self, _request: Any) -> list[Any]:
        """Return the turn of a model that holds."""
        self._reached.set()
        return [Wait(self._may_go_on), "Late."]

    def before_model(self, callback_context: Any, llm_request: Any) -> None:
        """Fail after the end, if it is the error of a model."""
        if self._model_fails:
            raise RuntimeError("broken")

    async def happen(self, service: InstrumentedService, page: Page) -> None:
        """Send the page's messages, and end the run at the moment. The page takes the response."""
        async with begin(page.app, page.body()) as answer, asyncio.TaskGroup() as tasks:
            assert await answer.status() == 200
            await soon(self._reached)
            run: Any = service.runs.run
            match self.kind:
                case "stop":
                    run.stop()
                case "time limit":
                    let_time_out()
                case "size limit":
                    run.stop_at_limit("Too long.", "Its response is too large.")
                case "shutdown":
                    tasks.create_task(service.aclose())
                case "model":
                    self._model_fails = True
            while not (run.log.closed or self._model_fails):  # noqa: ASYNC110 - a log has no event for its end
                await asyncio.sleep(0)
            self._may_go_on.set()
            page.take(await rest(answer))
        await service.runs.free()


def agents(kind: str, ending: Ending, turns: list[Any], *, deep: str | None = None, **callbacks: Any) -> LlmAgent:
    """Return an agent that calls an agent with these turns. With ``deep``, an agent of this kind stands between."""

    def agent(name: str, kind: str | None, turns: list[Any], **more: Any) -> LlmAgent:
        mode = KINDS[kind] if kind else {}
        fails = ending.before_model
        return LlmAgent(
            name=name, description=name, model=ScriptedLlm(turns=turns), before_model_callback=fails, **mode, **more
        )

    called = agent("inner", kind, turns, tools=[ending.hold], **callbacks)
    for name, caller in (("middle", deep), ("root", None)) if deep else (("root", None),):
        calls: dict[str, Any] = {"tools": [AgentTool(called)]} if kind == "tool" else {"sub_agents": [called]}
        called = agent(name, caller, [["Let me.", Call(called.name, {"request": "go"})], "Unseen."], **calls)
        kind = caller or kind
    return called


class HeldStore(InMemorySessionService):
    """Store that holds while it stores a result of an agent."""

    held_at: Ending | None = None

    @override
    async def append_event(self, session: Session, event: Event) -> Event:
        if self.held_at is not None and any(response.name == "inner" for response in event.get_function_responses()):
            await self.held_at.hold()
        return await super().append_event(session, event)


def seen_at(moment: str, kind: str, ending: Ending, deep: str | None = None) -> tuple[LlmAgent, HeldStore]:
    """Return the agent for a run that ends at this moment of its innermost agent, and its store."""
    store = HeldStore()
    says: list[Any] = ["Done.", *([Call("finish_task", {"result": "Done."})] if kind == "task" else [])]
    turns: list[Any] = [says]
    callbacks: dict[str, Any] = {}
    match moment:
        case "in a callback":
            callbacks = {"before_agent_callback": lambda callback_context: ending.hold_agent()}
        case "before a word":
            turns = [ending.answer_late]
        case "in a tool":
            turns = [["I wait.", Call("hold")], "Late."]
        case "after its last word":
            callbacks = {"after_agent_callback": lambda callback_context: ending.hold_agent()}
        case "while its result is stored":
            store.held_at = ending
    return agents(kind, ending, turns, deep=deep, **callbacks), store


MOMENTS = ("in a callback", "before a word", "in a tool", "after its last word", "while its result is stored")

each_end = pytest.mark.parametrize("end", ENDS)


async def check_end(end: Ending, root: LlmAgent, store: HeldStore, ai_sdk: Any) -> Any:
    """Send a message, and end its run. The history has what the page had. Returns the page's last message."""
    service = InstrumentedService(root, session_service=store, ai_sdk=ai_sdk)
    page = Page(create_app(service), ai_sdk=ai_sdk)
    page.messages = [said("hi")]
    await end.happen(service, page)
    if end.kind == "shutdown":
        page.app = create_app(ChatService(root, session_service=store, ai_sdk=ai_sdk))
    assert await page.stored() == page.messages
    return page.messages[-1]


@pytest.mark.parametrize("ai_sdk", [6, 7])
@each_end
@pytest.mark.parametrize(
    ("kind", "moment"),
    [
        (kind, moment)
        for kind in KINDS
        for moment in MOMENTS
        if (kind, moment) != ("task", "after its last word")  # ADK does not call this callback after `finish_task`
    ],
)
async def test_after_each_end_of_a_run_a_card_has_in_a_history_what_the_page_had(
    kind: str, moment: str, end: str, ai_sdk: Any
) -> None:
    ending = Ending(end)
    await check_end(ending, *seen_at(moment, kind, ending), ai_sdk)


@pytest.mark.parametrize("end", ["stop", "time limit", "size limit", "shutdown"])
@pytest.mark.parametrize("kind", ["tool", "single_turn"])
async def test_a_card_whose_result_is_stored_after_the_end_keeps_the_work_of_its_agent(kind: str, end: str) -> None:
    ending = Ending(end)
    message = await check_end(ending, *seen_at("while its result is stored", kind, ending), 7)
    output = card_of(message)["output"]
    assert shown(output) == ["Done."]
    assert output["metadata"]["stopped"] is True


@each_end
@pytest.mark.parametrize(
    ("kind", "outer", "moment"),
    [
        (kind, outer, moment)
        for kind in KINDS
        for outer in KINDS
        for moment in ("in a tool", "after its last word")
        # ADK runs no task agent below a single-turn agent.
        if kind != "task" or (outer, moment) in (("tool", "in a tool"), ("task", "in a tool"))
    ],
)
async def test_after_each_end_of_a_run_a_card_inside_a_card_has_in_a_history_what_the_page_had(
    kind: str, outer: str, moment: str, end: str
) -> None:
    if OLD_ADK and kind == outer == "task":
        pytest.skip("In ADK 2.11 a task agent below a task agent does not reach its tool")
    ending = Ending(end)
    message = await check_end(ending, *seen_at(moment, kind, ending, deep=outer), 7)
    if end != "model":
        [card] = [part for part in message["parts"] if part["type"] == "tool-middle"]
        assert shown(card["output"]) == ["Let me.", "tool-inner"]
        inside = card["output"]["parts"][-1]["output"]
        assert shown(inside) == (["I wait.", "tool-hold"] if moment == "in a tool" else ["Done."])


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
