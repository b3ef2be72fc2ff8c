"""The list of chats says which chats wait for the user, however their newest run has ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import BaseSessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from stream_protocol.serving import ServiceLimits, create_app
from stream_protocol.session import Transcript
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, client, post, said

pytestmark = pytest.mark.usefixtures("patient_clock")


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def where(question: str) -> None:
    """Only the page knows."""


def explode() -> None:
    """Raises."""
    raise RuntimeError("hunter2")


PAY = Call("pay", {"amount": 1})
ASK = Call("where", {"question": "a"})


class Chat:
    """A page, its service, and the list of chats."""

    def __init__(self, *turns: Any, tools: Any = (), **options: Any) -> None:
        given = [FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(where), explode, *tools]
        self.service = InstrumentedService(
            LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=given), **options
        )
        self.app = create_app(self.service)
        self.page = Page(self.app)

    async def waits(self) -> bool:
        """Return the mark in the list, which must agree with the stored calls."""
        async with client(self.app) as http:
            (entry,) = (await http.get("/api/chats")).json()["chats"]
        waits: bool = entry["waiting"]
        assert waits == any(call.is_awaited for call in Transcript(await self.events()).turns[-1].calls)
        return waits

    async def events(self) -> list[Event]:
        runner = self.service.runner
        session = await runner.session_service.get_session(app_name=runner.app_name, user_id="local", session_id="c1")
        assert session is not None
        return session.events

    async def approve(self, approved: bool) -> None:
        self.page.approve(approved)
        await self.page.submit()

    async def choose(self, version: str) -> None:
        async with client(self.app) as http:
            response = await http.post("/api/chat/c1/branch", json={"version": version})
        assert response.is_success, response.text

    @asynccontextmanager
    async def running(self, kind: str) -> AsyncIterator[Any]:
        """A run that has sent a chunk of this kind."""
        async with begin(self.app, {"id": "c1", "messages": [said("go")]}) as exchange:
            await exchange.status()
            await exchange.until(kind)
            yield exchange


@pytest.mark.parametrize("approved", [True, False])
async def test_a_chat_waits_until_its_approval_is_decided(sessions: BaseSessionService, approved: bool) -> None:
    chat = Chat("Hello.", PAY, "Well.", session_service=sessions)
    await chat.page.send("hello")
    assert not await chat.waits()
    await chat.page.send("pay")
    assert await chat.waits()
    await chat.approve(approved)
    assert not await chat.waits()


async def test_a_chat_waits_until_its_client_tool_is_answered(sessions: BaseSessionService) -> None:
    chat = Chat(ASK, "Well.", session_service=sessions)
    await chat.page.send("where?")
    assert await chat.waits()
    chat.page.answer("where", "Oslo")
    await chat.page.submit()
    assert not await chat.waits()


async def test_a_chat_with_two_questions_waits_until_both_are_answered() -> None:
    chat = Chat([PAY, ASK], "Well.", "Well.")
    await chat.page.send("go")
    await chat.approve(approved=True)
    assert await chat.waits()
    chat.page.answer("where", "Oslo")
    await chat.page.submit()
    assert not await chat.waits()


@pytest.mark.parametrize("turn", [PAY, ASK, [PAY, ASK]])
async def test_a_new_message_ends_the_wait(sessions: BaseSessionService, turn: Any) -> None:
    chat = Chat(turn, "Well.", session_service=sessions)
    await chat.page.send("go")
    assert await chat.waits()
    await chat.page.send("never mind")
    assert not await chat.waits()


async def test_a_denial_and_a_new_message_in_one_request_end_the_wait() -> None:
    chat = Chat(PAY, "Well.")
    await chat.page.send("go")
    chat.page.approve(approved=False)
    await chat.page.send("never mind")
    assert not await chat.waits()


async def test_an_edit_and_a_chosen_version_bring_the_wait_of_their_message(sessions: BaseSessionService) -> None:
    chat = Chat(PAY, "Well.", session_service=sessions)
    await chat.page.send("pay")
    await chat.page.edit("c1-u1", "do not pay")
    assert not await chat.waits()
    async with client(chat.app) as http:
        (versions,) = (await http.get("/api/chat/c1")).json()["versions"]
    await chat.choose(versions["ids"][0])
    assert await chat.waits()
    await chat.choose(versions["ids"][1])
    assert not await chat.waits()


@pytest.mark.parametrize("turn", [[ASK, Call("dig")], [PAY, Call("dig")]])
async def test_a_stopped_run_leaves_no_wait(sessions: BaseSessionService, turn: Any) -> None:
    started = asyncio.Event()

    async def dig() -> str:
        """Never ends by itself."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    chat = Chat(turn, tools=[dig], session_service=sessions)
    async with chat.running("tool-input-available") as exchange:
        await started.wait()
        chat.service.runs.run.stop()
        await exchange.until("abort")
    await chat.page.stored()
    assert not await chat.waits()


@pytest.mark.parametrize("turn", [ASK, PAY])
async def test_a_run_that_came_to_its_time_limit_leaves_no_wait(turn: Any) -> None:
    chat = Chat([turn, Call("never")], tools=[never], limits=ServiceLimits(run_timeout=0.2))
    await chat.page.send("go")
    await chat.page.stored()
    assert not await chat.waits()


async def never() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return "never"


@pytest.mark.parametrize("turn", [[ASK, Call("explode")], [PAY, Call("explode")], ["Half ", PAY, RuntimeError("x")]])
async def test_a_failed_run_leaves_the_wait_of_the_history(turn: Any) -> None:
    chat = Chat(turn, "Well.")
    await chat.page.send("go")
    last = (await chat.page.stored())[-1]
    states = {part.get("state") for part in last["parts"]}
    assert await chat.waits() == bool(states & {"approval-requested", "input-available"})


async def test_an_approval_that_the_client_was_not_shown_is_none_for_which_the_chat_waits() -> None:
    def transform(chunk: Any) -> Any:
        if chunk["type"] == "text-delta":
            raise ValueError("no transform")
        return chunk

    chat = Chat(["I pay. ", PAY], transform=transform)
    await post(chat.app, {"id": "c1", "messages": [said("go")]})
    await chat.page.stored()
    assert not await chat.waits()


async def test_a_changed_chat_still_waits() -> None:
    chat = Chat(PAY)
    await chat.page.send("go")
    async with client(chat.app) as http:
        changed = (await http.patch("/api/chat/c1", json={"title": "Money"})).json()
    assert (changed["title"], changed["waiting"]) == ("Money", True)
