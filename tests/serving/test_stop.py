"""The stop button: a user ends the run of a chat."""

import asyncio
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService, Session

from stream_protocol.serving import ChatService, create_app, header_user
from stream_protocol.testing import ScriptedLlm, Wait
from tests.serving.support import begin, chat, chunks, client, post, said, soon, text, types


def service_for(*turns: Any) -> ChatService:
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=list(turns))))


async def test_stop_ends_the_response_at_once_and_the_next_turn_works() -> None:
    app = create_app(service_for(["Half. ", Wait(asyncio.Event())], "Whole."))
    async with begin(app, chat(said("hi"))) as exchange, client(app) as http:
        await exchange.status()
        await exchange.until("text-delta")
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
        assert await exchange.until("abort") == {"type": "abort"}
    again = await post(app, chat(said("go on", "u2")))
    assert text(chunks(again.text)) == "Whole."


async def test_stopping_twice_or_where_nothing_runs_is_fine() -> None:
    app = create_app(service_for("Done."))
    await post(app, chat(said("hi")))
    async with client(app) as http:
        assert [(await http.post("/api/chat/c1/stop")).status_code for _ in range(2)] == [202, 202]


async def test_a_chat_that_is_not_there_and_one_of_somebody_else_cannot_be_stopped() -> None:
    app = create_app(service_for("Done."), identify=header_user("X-User"))
    async with client(app) as http:
        await http.post("/api/chat", json=chat(said("hi")), headers={"x-user": "ann"})
        refusals = [
            await http.post("/api/chat/c1/stop", headers={"x-user": "bob"}),
            await http.post("/api/chat/none/stop", headers={"x-user": "ann"}),
        ]
    assert {(answer.status_code, answer.text) for answer in refusals} == {(404, "There is no such chat.")}


class SlowSessions(InMemorySessionService):
    """Takes as long as a test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def get_session(self, **whose: Any) -> Session | None:
        self.asked.set()
        await self.may_answer.wait()
        return await super().get_session(**whose)


async def test_a_run_that_is_stopped_before_it_has_begun_says_so_and_does_nothing() -> None:
    sessions = SlowSessions()
    model = ScriptedLlm(turns=["Never said."])
    app = create_app(ChatService(LlmAgent(name="root", model=model), session_service=sessions))
    async with client(app) as http:
        answer = asyncio.create_task(post(app, chat(said("hi"))))
        await soon(sessions.asked)
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
        sessions.may_answer.set()
        assert types(chunks((await answer).text))[-1] == "abort"
    assert not model.requests
