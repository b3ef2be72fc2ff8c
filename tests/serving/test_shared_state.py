"""State that the page and the agent share: what the page gets, and what it writes between turns and within one."""

import asyncio
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel

from stream_protocol import ChatRequestError, StreamProtocolError
from stream_protocol.serving import AuditRecord, ChatService, SharedState, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.comparable_messages import comparable
from tests.documents import block
from tests.serving.chat_client import Page
from tests.serving.support import begin, chat, chunks, client, only, post, said, soon, why


class Filters(BaseModel):
    city: str
    nights: int = 1


SHARED = SharedState(read=["cart"], write={"filters": Filters, "theme": {"enum": ["light", "dark"]}, "weight": float})


def buy(item: str, tool_context: ToolContext) -> dict[str, Any]:
    """Buys."""
    tool_context.state["cart"] = [*(tool_context.state.get("cart") or []), item]
    tool_context.state["secret"] = "hidden"
    return {"filters": tool_context.state.get("filters"), "theme": tool_context.state.get("theme")}


class StatePage(Page):
    """A page that shares state with the agent."""

    def __init__(
        self, *turns: Any, tools: Any = (buy,), sessions: BaseSessionService | None = None, **options: Any
    ) -> None:
        self.model = ScriptedLlm(turns=turns)
        agent = LlmAgent(name="root", model=self.model, tools=list(tools), instruction="Theme: {theme?}.")
        runner = Runner(app_name="root", agent=agent, session_service=sessions or InMemorySessionService())
        self.service = ChatService(runner, shared_state=SHARED, **options)
        super().__init__(create_app(self.service))

    async def patch(self, changes: Any, chat_id: str = "c1") -> httpx.Response:
        async with client(self.app) as http:
            return await http.patch(f"/api/chat/{chat_id}/state", json=changes)

    async def state(self) -> Any:
        async with client(self.app) as http:
            return (await http.get("/api/chat/c1")).json()["state"]

    def instructions(self) -> list[str]:
        """The instructions that the model was given, in its calls."""
        return [str(request.config.system_instruction) for request in self.model.requests]

    def outputs(self) -> list[Any]:
        return [part["output"] for message in self.messages for part in message["parts"] if "output" in part]

    def parts_of_state(self) -> list[Any]:
        parts = [part for message in self.messages for part in message["parts"]]
        return [part["data"] for part in parts if part["type"] == "data-adk-state"]


async def test_the_page_gets_the_named_keys_live_and_after_a_reload() -> None:
    page = StatePage(Call("buy", {"item": "tea"}), "ok")
    await page.send("buy")
    assert page.parts_of_state() == [{"cart": ["tea"]}]
    assert await page.state() == {"cart": ["tea"]}
    assert comparable(await page.stored()) == comparable(page.messages)


async def test_a_value_of_any_type_that_a_tool_wrote_reaches_the_page_as_json() -> None:
    def mark(tool_context: ToolContext) -> None:
        """Marks."""
        tool_context.state["cart"] = {2**70}  # the store in memory keeps the object

    page = StatePage(Call("mark"), "ok", tools=[mark])
    await page.send("mark")
    assert await page.state() == {"cart": [str(2**70)]}
    assert (await page.patch({"theme": "dark"})).json() == {"state": {"cart": [str(2**70)], "theme": "dark"}}


async def test_what_the_page_writes_between_turns_is_there_in_the_next(sessions: BaseSessionService) -> None:
    page = StatePage("hello", Call("buy", {"item": "tea"}), "ok", sessions=sessions)
    await page.send("hi")
    written = await page.patch({"filters": {"city": "Oslo"}, "theme": "dark"})
    assert (written.status_code, written.json()) == (
        200,
        {"state": {"filters": {"city": "Oslo", "nights": 1}, "theme": "dark"}},
    )
    assert await page.state() == written.json()["state"]
    await page.send("buy")
    assert page.outputs() == [{"filters": {"city": "Oslo", "nights": 1}, "theme": "dark"}]
    assert await page.state() == {**written.json()["state"], "cart": ["tea"]}
    assert comparable(await page.stored()) == comparable(page.messages)


async def test_state_comes_with_a_message_also_with_the_first() -> None:
    page = StatePage(Call("buy", {"item": "tea"}), "ok")
    body = chat(said("buy"), state={"theme": "dark"})
    assert only(chunks((await post(page.app, body)).text), "tool-output-available")[0]["output"]["theme"] == "dark"
    assert (await page.state())["theme"] == "dark"


async def test_a_running_turn_sees_a_write_at_its_next_step(sessions: BaseSessionService) -> None:
    """The write comes by another worker, while a tool runs."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Waits."""
        begun.set()
        await go_on.wait()
        return "waited"

    turns = [Call("wait", {}), Call("buy", {"item": "tea"}), "ok"]
    page = StatePage(*turns, tools=[wait, buy], sessions=sessions)
    other = StatePage("unused", sessions=sessions)
    async with begin(page.app, chat(said("go"))) as running:
        await running.status()
        await soon(begun)
        assert (await other.patch({"theme": "light"})).status_code == 200
        assert (await other.patch({"theme": "dark"})).status_code == 200
        go_on.set()
        output = await running.until("tool-output-available")
        output = await running.until("tool-output-available")
        await running.until("finish")
    assert output["output"]["theme"] == "dark"
    instructions = page.instructions()
    assert ["dark" in text for text in instructions] == [False, True, True]
    assert (await page.state())["theme"] == "dark"
    page.messages = await page.stored()
    assert [message["role"] for message in page.messages] == ["user", "assistant"]


async def test_a_write_after_the_last_step_is_there_in_the_next_turn_and_no_older_one_returns() -> None:
    page = StatePage("one", "two", "three", "four")
    await page.send("a")
    await page.patch({"theme": "light"})
    await page.send("b")
    await page.patch({"theme": "dark"})
    await page.regenerate()
    assert "dark" in page.instructions()[-1]
    await page.send("c")
    assert "dark" in page.instructions()[-1]
    assert await page.state() == {"theme": "dark"}


async def test_what_the_agent_writes_after_the_page_stays() -> None:
    def choose(tool_context: ToolContext) -> str:
        """Chooses a theme."""
        tool_context.state["theme"] = "light"
        return "chosen"

    page = StatePage("one", Call("choose", {}), "ok", "three", tools=[choose])
    await page.send("a")
    await page.patch({"theme": "dark"})
    await page.send("b")
    await page.send("c")
    assert await page.state() == {"theme": "light"}


async def test_writes_at_once_are_all_stored(sessions: BaseSessionService) -> None:
    page = StatePage("one", sessions=sessions)
    await page.send("a")
    writes = [page.patch({"theme": "dark"}), page.patch({"filters": {"city": "Rome"}})]
    assert [response.status_code for response in await asyncio.gather(*writes)] == [200, 200]
    assert await page.state() == {"theme": "dark", "filters": {"city": "Rome", "nights": 1}}


HOSTILE: dict[str, tuple[Any, int]] = {
    "a key that is only read": ({"cart": []}, 422),
    "an unknown key": ({"secret": 1}, 422),
    "a key of the user": ({"user:theme": "dark"}, 422),
    "a key of ours": ({"_adk_ui_stream:title": "x"}, 422),
    "a prototype": ({"__proto__": {"theme": "dark"}}, 422),
    "a value that does not fit": ({"theme": "blue"}, 422),
    "a field that does not fit": ({"filters": {"city": "Oslo", "nights": "many"}}, 422),
    "a prototype within": ({"filters": {"city": "Oslo", "__proto__": {}}}, 422),
    "null": ({"theme": None}, 422),
    "a list": ([], 400),
    "a number that JSON does not have": ({"weight": "nan"}, 422),
    "too many bytes": ({"filters": {"city": "x" * 70_000}}, 413),
    "too many levels": (
        {"filters": {"city": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}},
        422,
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_what_the_page_may_not_write_is_refused(kind: str) -> None:
    changes, status = HOSTILE[kind]
    page = StatePage("one")
    await page.send("a")
    refused = await page.patch(changes)
    assert (refused.status_code, bool(why(refused))) == (status, True)
    assert await page.state() == {}
    with pytest.raises(ChatRequestError) as same:
        SHARED.check(changes)
    assert same.value.status in (status, 422)
    if kind != "a prototype within":  # the parser of a chat's request leaves the key out
        assert (await post(page.app, chat(said("b", "u2"), state=changes))).status_code == same.value.status


async def test_another_users_chat_is_neither_read_nor_written() -> None:
    user = {"id": "ann"}
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["one"])), shared_state=SHARED)
    page = Page(create_app(service, identify=lambda _: user["id"]))
    await page.send("a")
    async with client(page.app) as http:
        user["id"] = "eve"
        assert (await http.patch("/api/chat/c1/state", json={"theme": "dark"})).status_code == 404
        assert (await http.get("/api/chat/c1")).status_code == 404
        user["id"] = "ann"
        assert (await http.get("/api/chat/c1")).json()["state"] == {}
        assert (await http.patch("/api/chat/c2/state", json={"theme": "dark"})).status_code == 404
        await http.patch("/api/chat/c1/state", json={"theme": "dark"})
        await http.delete("/api/chat/c1")
        assert (await http.patch("/api/chat/c1/state", json={"theme": "dark"})).status_code == 404
    assert (await service.runner.session_service.list_sessions(app_name="root", user_id="ann")).sessions == []


async def test_without_shared_state_nothing_is_written_and_none_is_sent() -> None:
    page = Page(create_app(ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["one"])))))
    await page.send("a")
    async with client(page.app) as http:
        assert (await http.patch("/api/chat/c1/state", json={"theme": "dark"})).status_code == 422
        assert "state" not in (await http.get("/api/chat/c1")).json()


async def test_writes_are_audited() -> None:
    records: list[AuditRecord] = []
    page = StatePage("one", on_audit=records.append)
    await page.send("a")
    await page.patch({"theme": "dark"})
    await page.patch({"theme": "blue"})
    await page.service.aclose()
    assert [(each.action, each.outcome, each.arguments_sha256 is None) for each in records] == [
        ("state", "accepted", False),
        ("state", "refused", True),
    ]


@pytest.mark.parametrize(
    "options",
    [
        *({"read": ["user:name"]}, {"read": [""]}, {"read": "cart"}, {"write": {"temp:x": int}}, {"write": {"x": 3}}),
        *({"write": {"x": "int"}}, {"write": {"x": "a\nb"}}),
    ],
)
def test_keys_of_others_and_types_that_cannot_be_checked_are_refused(options: Any) -> None:
    with pytest.raises(StreamProtocolError):
        SharedState(**options)


def test_the_documented_state_is_shared() -> None:
    scope: dict[str, Any] = {"__name__": "agent"}
    exec(compile(block("docs/page-values.md", "SharedState(read"), "agent.py", "exec"), scope)
    shared: SharedState = scope["shared"]
    assert shared.check({"currency": "JPY"}) == {"currency": "JPY"}
    assert shared.keys == {"cart", "currency"}


async def test_null_removes_a_value_that_may_be_null(sessions: BaseSessionService) -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["one", "two"]), instruction="Note: {note?}.")
    shared = SharedState(write={"note": str | None})
    page = StatePage("one", sessions=sessions)
    page.service = ChatService(Runner(app_name="root", agent=agent, session_service=sessions), shared_state=shared)
    page.app = create_app(page.service)
    await page.send("a")
    assert (await page.patch({"note": "x"})).json() == {"state": {"note": "x"}}
    await page.send("b")
    assert await page.state() == {"note": "x"}
    assert (await page.patch({"note": None})).json() == {"state": {}}
    assert await page.state() == {}
    await page.send("c")
    assert await page.state() == {}


async def test_a_deleted_chat_takes_no_writes_and_a_new_one_has_none(sessions: BaseSessionService) -> None:
    page = StatePage("one", "two", sessions=sessions)
    await page.send("a")
    assert (await page.patch({"theme": "dark"})).status_code == 200
    async with client(page.app) as http:
        assert (await http.delete("/api/chat/c1")).status_code == 204
    assert (await page.patch({"theme": "light"})).status_code == 404
    page.messages = []
    await page.send("b")
    assert await page.state() == {}
    assert page.instructions()[-1] == page.instructions()[0]
