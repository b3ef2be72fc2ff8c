"""The stored events of an interrupted run, and the model's view of them in the next turn."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from stream_protocol.serving import MemoryRunLog, ServiceLimits, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.testing import Call, ScriptedLlm, Thought, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, client, post, soon

pytestmark = pytest.mark.usefixtures("patient_clock")


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


def where(question: str) -> None:
    """Only the page knows."""


TOOLS: list[Any] = [FunctionTool(pay, require_confirmation=True), explode, LongRunningFunctionTool(where)]


class Chat:
    """A page, its service, and a model that records its requests."""

    def __init__(self, *turns: Any, tools: Any = TOOLS, **options: Any) -> None:
        self.model = ScriptedLlm(turns=turns)
        self.service = InstrumentedService(LlmAgent(name="root", model=self.model, tools=list(tools)), **options)
        self.app = create_app(self.service)
        self.page = Page(self.app)

    async def events(self) -> list[Event]:
        session = await self.service.runner.session_service.get_session(
            app_name="root", user_id="local", session_id="c1"
        )
        assert session is not None
        return session.events

    async def appended(self) -> list[Event]:
        """Those that the service appended when a run was interrupted."""
        return [event for event in await self.events() if "sealed" in (event.custom_metadata or {}).get(KEY, {})]

    def shown_to_the_model(self) -> list[types.Part]:
        return [part for content in self.model.requests[-1].contents for part in content.parts or []]

    async def stop_after(self, kind: str, ready: asyncio.Event | None = None) -> None:
        async with begin(self.app, {"id": "c1", "messages": [MESSAGE]}) as exchange:
            await exchange.status()
            await exchange.until(kind)
            if ready is not None:
                await soon(ready)
            self.service.runs.run.stop()
            await exchange.until("abort")


KEY = "adk_ui_stream"
MESSAGE = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]}


def unanswered(parts: list[types.Part]) -> set[str | None]:
    calls = {part.function_call.id for part in parts if part.function_call}
    return calls - {part.function_response.id for part in parts if part.function_response}


BROKEN: list[tuple[str, Any]] = [
    ("a tool raises", Call("explode")),
    ("a tool raises beside a client tool", [Call("where", {"question": "a"}), Call("explode")]),
    ("a tool raises beside an approval", [Call("pay", {"amount": 1}), Call("explode")]),
    ("the model fails in a text", ["Half ", RuntimeError("x")]),
    ("the model fails in a call", ["Half ", Call("pay", {"amount": 1}, streamed=True), RuntimeError("x")]),
]


@pytest.mark.parametrize("turn", [row[1] for row in BROKEN], ids=[row[0] for row in BROKEN])
async def test_the_next_request_holds_no_unanswered_call_and_history_no_open_one(turn: Any) -> None:
    chat = Chat(turn, "Better.")
    await chat.page.send("go")
    open_parts = [part for part in await chat.page.stored() for part in part["parts"]]
    states = [(part["type"], part["state"]) for part in open_parts if "state" in part]
    assert {name for name, state in states if state.startswith("input-")} <= {"tool-where"}
    await chat.page.send("again")
    assert unanswered(chat.shown_to_the_model()) == set()


async def test_a_client_tool_beside_a_failed_one_can_still_be_answered() -> None:
    chat = Chat([Call("where", {"question": "a"}), Call("explode")], "Oslo, then.")
    await chat.page.send("go")
    chat.page.answer("where", "Oslo")
    await chat.page.submit()
    assert chat.page.messages[-1]["parts"][-1]["text"] == "Oslo, then."


async def test_half_a_text_is_stored_and_shown_to_the_model() -> None:
    chat = Chat([Thought("Hm."), "Half a sentence", RuntimeError("x")], "Better.")
    await chat.page.send("go")
    (added,) = await chat.appended()
    assert added.author == "root"
    assert added.content is not None
    assert [(part.text, bool(part.thought)) for part in added.content.parts or []] == [
        ("Hm.", True),
        ("Half a sentence", False),
    ]
    await chat.page.send("again")
    assert "Half a sentence" in [part.text for part in chat.shown_to_the_model()]


async def test_half_a_text_of_a_stopped_run_is_stored_once() -> None:
    chat = Chat(["Half", Wait(asyncio.Event()), " a sentence."], "Better.")
    await chat.stop_after("text-delta")
    stored = await chat.page.stored()
    assert [part["text"] for part in stored[1]["parts"] if part["type"] == "text"] == ["Half"]
    assert len(await chat.appended()) == 1


async def test_a_stopped_tool_that_adk_closed_itself_is_not_closed_again() -> None:
    started = asyncio.Event()

    async def dig() -> str:
        """Never ends by itself."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    chat = Chat(Call("dig"), "Better.", tools=[dig])
    await chat.stop_after("tool-input-available", started)
    await chat.page.stored()
    assert await chat.appended() == []
    chat.page.messages = await chat.page.stored()
    await chat.page.send("again")
    assert unanswered(chat.shown_to_the_model()) == set()


async def test_a_run_that_had_to_be_cancelled_is_closed_by_us() -> None:
    started = asyncio.Event()

    async def dig() -> str:
        """Swallows the first cancellation."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()
        return "never"

    chat = Chat(Call("dig"), "Better.", tools=[dig], times=ServiceTimes(stop=0.01))
    await chat.stop_after("tool-input-available", started)
    chat.page.messages = await chat.page.stored()
    (part,) = chat.page.parts("output-error")
    assert part["errorText"] == "The run was stopped before the tool finished."
    await chat.page.send("again")
    assert unanswered(chat.shown_to_the_model()) == set()


async def test_nothing_is_appended_to_a_run_that_ends_well() -> None:
    chat = Chat(["Hello.", Call("pay", {"amount": 1})])
    await chat.page.send("go")
    assert await chat.appended() == []


async def test_a_store_that_fails_leaves_the_chat_free(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(InMemorySessionService):
        async def append_event(self, session: Session, event: Event) -> Event:
            if "sealed" in (event.custom_metadata or {}).get(KEY, {}):  # an event of ours
                raise RuntimeError("broken")
            return await super().append_event(session, event)

    chat = Chat(Call("explode"), "Better.", session_service=Failing())
    await chat.page.send("go")
    response = await post(chat.app, {"id": "c1", "messages": [{**MESSAGE, "id": "u2"}]})
    assert response.status_code == 200
    assert "The failure of a tool could not be stored." in caplog.messages
    assert "The end of a run could not be stored." in caplog.messages


async def test_a_store_that_is_away_gets_the_end_of_a_run_when_it_is_back(caplog: pytest.LogCaptureFixture) -> None:

    class Away(InMemorySessionService):
        """Stores no event of ours at first. Then it stores one, and its answer is lost."""

        attempts = 0

        async def append_event(self, session: Session, event: Event) -> Event:
            if "sealed" not in (event.custom_metadata or {}).get(KEY, {}):
                return await super().append_event(session, event)
            self.attempts += 1
            if self.attempts == 2:
                await super().append_event(session, event)
            raise ConnectionError("away")

    chat = Chat(["Well. ", Wait(3600)], "Better.", session_service=Away(), times=ServiceTimes(completing=0.01))
    await chat.stop_after("text-delta")
    await chat.service.runs.free()
    (half,) = await chat.appended()
    assert half.content is not None
    assert [part.text for part in half.content.parts or ()] == ["Well. "]
    told = [each for each in caplog.messages if each.startswith("A chat stays busy until the session store")]
    assert len(told) == 1


@pytest.mark.parametrize("reads", [True, False], ids=["read-only", "away"])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["the same worker", "another worker"])
async def test_a_chat_whose_end_is_not_stored_gives_503_until_the_store_is_back(reads: bool, elsewhere: bool) -> None:

    class Store(InMemorySessionService):
        is_there = True

        async def append_event(self, session: Session, event: Event) -> Event:
            if not self.is_there:
                raise ConnectionError("away")
            return await super().append_event(session, event)

        async def get_session(self, **key: Any) -> Session | None:
            if not (self.is_there or reads):
                raise ConnectionError("away")
            return await super().get_session(**key)

    stores: Any = {"session_service": Store(), "run_log": MemoryRunLog()}
    stores["limits"] = ServiceLimits(stop_timeout=0.05)
    stores["times"] = ServiceTimes(completing=0.01)
    first = Chat(["Well. ", Wait(3600)], "Better.", **stores)
    chat = Chat("Better.", **stores) if elsewhere else first
    async with begin(first.app, {"id": "c1", "messages": [MESSAGE]}) as page, client(chat.app) as http:
        await page.status()
        await page.until("text-delta")
        store = stores["session_service"]
        store.is_there = False
        first.service.runs.run.stop()
        await page.until("abort")
        words = {"id": "c1", "messages": [MESSAGE, {**MESSAGE, "id": "u2"}]}
        for _ in range(2):
            refused = [await http.post("/api/chat", json=words), await http.delete("/api/chat/c1")]
            assert [(each.status_code, each.headers.get("retry-after")) for each in refused] == 2 * [(503, "2")]
        store.is_there = True
        await first.service.runs.free()
        assert (await http.post("/api/chat", json=words)).status_code == 200
        shown = [message["parts"] for message in (await http.get("/api/chat/c1")).json()["messages"]]
        texts = ["".join(part.get("text", "") for part in parts) for parts in shown]
        assert texts == ["go", "Well. ", "go", "Better."]


async def ask(tool_context: ToolContext) -> str:
    """Asks by itself, and lets the agent go on."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Shall I?")
        return "asked"
    return "answered"


async def test_code_that_a_broken_run_showed_keeps_its_id_when_the_message_goes_on() -> None:
    code = types.Part(executable_code=types.ExecutableCode(code="plot()", language=types.Language.PYTHON))
    ran = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="ok"))
    turns = [Call("ask")], [code, ran, RuntimeError("the model failed")], [code, ran, "Done."]
    chat = Chat(*turns, tools=[ask])
    await chat.page.send("go")
    chat.page.approve(True)
    await chat.page.submit()
    parts = chat.page.messages[-1]["parts"]
    assert [part["toolCallId"] for part in parts if part["type"] == "dynamic-tool"] == ["call_0", "call_1"]
    assert comparable(await chat.page.stored()) == comparable(chat.page.messages)
