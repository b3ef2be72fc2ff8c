"""Chats in a database, through services that come and go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.adk_runner import SessionServiceError, load_session_service
from stream_protocol.serving.adk_runner._threaded_reads import ThreadedReads
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.postgres import Postgres
from tests.serving.chat_client import Page
from tests.serving.support import begin, client, post


@pytest.fixture(params=["sqlite", "postgres"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A value of ``--session-service-uri``, for a database that outlives a process."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/chat.db"
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.new_database()


def where(question: str) -> None:
    """Only the page knows."""


class RestartingServer:
    """The shared state of all processes: the database, the tools, and a page that stays open."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.paid: list[int] = []
        self.page = Page(Starlette())
        self.model = ScriptedLlm(turns=["Nobody asked."])

    def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        self.paid.append(amount)
        return {"paid": amount}

    @asynccontextmanager
    async def process(self, *turns: Any) -> AsyncIterator[Page]:
        """The page, with a service that has only the database; its model answers with these turns."""
        sessions = await asyncio.to_thread(load_session_service, self.uri)
        self.model = ScriptedLlm(turns=turns)
        tools: list[Any] = [FunctionTool(self.pay, require_confirmation=True), LongRunningFunctionTool(where)]
        service = ChatService(LlmAgent(name="root", model=self.model, tools=tools), session_service=sessions)
        self.page.app = create_app(service)
        try:
            yield self.page
        finally:
            await service.aclose()
            if isinstance(sessions, ThreadedReads):
                await sessions.close()

    async def stop_in_text(self, words: str) -> None:
        """Sends a message, and stops the answer in mid-text, as the page's button does."""
        page, app = self.page, self.page.app
        page.messages.append({"id": words, "role": "user", "parts": [{"type": "text", "text": words}]})
        async with begin(app, page.body()) as exchange, client(app) as http:
            await exchange.status()
            seen = [await exchange.chunk()]
            while seen[-1]["type"] != "text-delta":
                seen.append(await exchange.chunk())
            assert (await http.post(f"/api/chat/{page.chat_id}/stop")).status_code == 202
            while seen[-1]["type"] != "abort":
                seen.append(await exchange.chunk())
        page.take(seen)

    def texts_shown_to_the_model(self) -> list[str]:
        contents = self.model.requests[-1].contents
        return [part.text for content in contents for part in content.parts or [] if part.text]


async def assert_stored_is_shown(page: Page) -> None:
    assert comparable(await page.stored()) == comparable(page.messages)


def shown(page: Page) -> str:
    return " | ".join(
        "".join(part.get("text", "") or part.get("state", "") for part in message["parts"]) for message in page.messages
    )


async def test_a_chat_goes_on_where_the_last_process_left_it(uri: str) -> None:
    server = RestartingServer(uri)
    async with server.process("One.", "Two.") as page:
        await page.send("first")
        await page.send("second")
    async with server.process("Three.") as page:
        await assert_stored_is_shown(page)
        await page.send("third")
        await assert_stored_is_shown(page)
    assert server.texts_shown_to_the_model() == ["first", "One.", "second", "Two.", "third"]
    assert shown(server.page) == "first | One. | second | Two. | third | Three."


async def test_what_waited_for_people_when_a_process_ended_is_answered_in_the_next(uri: str) -> None:
    server = RestartingServer(uri)
    async with server.process([Call("pay", {"amount": 5}), Call("where", {"question": "city"})]) as page:
        await page.send("pay")
    async with server.process("Paid in Oslo.", "Bye.") as page:
        await assert_stored_is_shown(page)
        page.approve(True, "a gift")
        page.answer("where", "Oslo")
        body = page.body()
        await page.submit()
        assert server.paid == [5]
        assert shown(page).endswith("Paid in Oslo.")
    async with server.process("Bye.") as page:
        assert (await post(page.app, body)).status_code == 200
        await page.send("bye")
        await assert_stored_is_shown(page)
    assert server.paid == [5]
    assert page.messages[1]["parts"][1]["approval"]["reason"] == "a gift"


async def test_what_a_stopped_run_has_shown_is_there_in_the_next_process(uri: str) -> None:
    server = RestartingServer(uri)
    async with server.process(["Half of it", Wait(asyncio.Event())]):
        await server.stop_in_text("tell")
    async with server.process("Whole.") as page:
        await assert_stored_is_shown(page)
        await page.send("go on")
        await assert_stored_is_shown(page)
    assert server.texts_shown_to_the_model()[0] == "tell"
    assert shown(server.page).endswith("go on | Whole.")


async def test_what_was_taken_back_stays_taken_back(uri: str) -> None:
    server = RestartingServer(uri)
    async with server.process("One.", "Two.", "Three.", "Four.") as page:
        await page.send("first")
        await page.send("second")
        await page.regenerate()
        await page.edit(page.ids()[2], "otherwise")
        assert shown(page) == "first | One. | otherwise | Four."
    async with server.process("Five.") as page:
        await assert_stored_is_shown(page)
        await page.send("third")
    assert server.texts_shown_to_the_model() == ["first", "One.", "otherwise", "Four.", "third"]


@pytest.mark.slow
async def test_nothing_that_a_chat_can_do_makes_a_session_stale(uri: str) -> None:
    """A service with revisions refuses to append to a session that another writer has changed."""
    half = ["Half", Wait(asyncio.Event())]
    failed = RuntimeError("hunter2")
    server = RestartingServer(uri)
    rounds = 3
    async with server.process(*[half, failed, "Again.", Call("pay", {"amount": 1}), "Paid."] * rounds, "End.") as page:
        for number in range(rounds):
            await server.stop_in_text(f"stop {number}")
            await page.send("fail")
            await page.regenerate()
            await page.send("pay")
            page.approve(True)
            body = page.body()
            answers = await asyncio.gather(*(post(page.app, body) for _ in range(3)))
            assert [answer.status_code for answer in answers] == [200] * 3
            page.messages = await page.stored()
        await page.send("end")
        await assert_stored_is_shown(page)
    assert server.paid == [1] * rounds
    assert shown(page).endswith("end | End.")


async def test_a_chat_that_was_deleted_is_gone_for_the_next_process(uri: str) -> None:
    server = RestartingServer(uri)
    async with server.process("One.") as page, client(page.app) as http:
        await page.send("first")
        assert (await http.delete("/api/chat/c1")).status_code == 204
    async with server.process("Nobody asked.") as page, client(page.app) as http:
        assert (await http.get("/api/chats")).json()["chats"] == []
        assert (await http.get("/api/chat/c1")).status_code == 404


def test_a_database_that_is_not_there_is_one_line_without_its_password(postgres: Postgres) -> None:
    uri = postgres.new_database().replace("ann@", "ann:secret@").rpartition("/")[0] + "/nowhere"
    with pytest.raises(SessionServiceError) as refused:
        load_session_service(uri)
    assert str(refused.value).endswith('database "nowhere" does not exist')
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)
