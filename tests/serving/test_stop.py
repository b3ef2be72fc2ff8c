"""The stop button: a user ends the run of a chat."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService, Session

from stream_protocol.serving import ChatService, create_app, header_user
from stream_protocol.testing import ScriptedLlm, Wait
from stream_protocol.wire import AiSdkVersion
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


async def test_a_loaded_chat_names_the_answers_that_were_stopped_or_interrupted() -> None:
    half = ["Half. ", Wait(asyncio.Event())]
    nothing = [Wait(asyncio.Event())]
    app = create_app(service_for(half, nothing, half, "Whole.", ["Half", RuntimeError("broken")], "End."))
    async with client(app) as http:
        for number, shown in enumerate(("text-delta", "start")):
            async with begin(app, chat(said("stop", f"stop{number}"))) as exchange:
                await exchange.status()
                await exchange.until(shown)
                assert (await http.post("/api/chat/c1/stop")).status_code == 202
                await exchange.until("abort")
        async with begin(app, chat(said("go", "u1"))) as exchange:
            await exchange.status()
            await exchange.until("text-delta")
            await post(app, chat(said("this instead", "u2")))
        for message_id in ("u3", "u4"):
            await post(app, chat(said("on", message_id)))
        stored = (await http.get("/api/chat/c1")).json()
    texts = {message["id"]: [part.get("text") for part in message["parts"]][-1] for message in stored["messages"]}
    assert [texts[message_id] for message_id in stored["stopped"]] == ["Half. ", "stop", "Half. "]
    assert [texts[failed["messageId"]] for failed in stored["failed"]] == ["Half"]
    assert list(texts.values())[-3:] == ["Half", "on", "End."]


@pytest.mark.parametrize("ai_sdk", [6, 7])
async def test_a_loaded_chat_names_the_messages_whose_run_failed_until_they_are_answered(ai_sdk: AiSdkVersion) -> None:
    broken = RuntimeError("broken")
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Half", broken], "Whole.", [broken], "Again."]))
    app = create_app(ChatService(agent, ai_sdk=ai_sdk))
    async with client(app) as http:

        async def failed() -> list[str]:
            stored = (await http.get("/api/chat/c1")).json()
            return [failed["messageId"] for failed in stored.get("failed", ())]

        first = chunks((await post(app, chat(said("hi", "u1")))).text)
        assert await failed() == [first[0]["messageId"]]
        await post(app, chat(said("go on", "u2")))
        assert await failed() == [first[0]["messageId"]]
        await post(app, chat(said("and now", "u3")))
        assert await failed() == [first[0]["messageId"], "u3"]  # the agent has shown nothing
        await post(app, chat(said("and now", "u3"), trigger="regenerate-message"))
        assert await failed() == [first[0]["messageId"]]


async def test_a_chat_without_a_stopped_answer_names_none() -> None:
    app = create_app(service_for("Whole."))
    await post(app, chat(said("hi")))
    async with client(app) as http:
        assert (await http.get("/api/chat/c1")).json().keys() == {"messages"}


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
