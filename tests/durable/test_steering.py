"""A run with a steering message continues in the next server. The same model call reads the message, which is stored
once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from stream_protocol.serving import ChatService, PageContext
from stream_protocol.session.transcript import Transcript
from stream_protocol.testing import Call
from stream_protocol.wire import parse_chat_request
from tests.durable.shared_state import USER, SharedState, begin, ended, history, read
from tests.serving.support import HANG, said, soon

STEERING = "data-adk-steering"


@pytest.fixture
def shared(tmp_path: Path, engine_url: str) -> SharedState:
    return SharedState(tmp_path, engine_url)


async def steer(service: ChatService, text: str, message_id: str = "s1", **values: Any) -> None:
    request = parse_chat_request({"id": "c1", "message": said(text, message_id), **values})
    assert (await service.steer(request, user_id=USER))["type"] == "delivered"


async def stored_texts(service: ChatService) -> list[str]:
    session = await service.runner.session_service.get_session(
        app_name=service.runner.app_name, user_id=USER, session_id="c1"
    )
    assert session is not None
    parts: list[Any] = [part for event in session.events if event.content for part in event.content.parts or ()]
    return [part.text for part in parts if part.text]


async def test_a_message_that_waited_when_the_server_ended_is_taken_in_by_the_next(shared: SharedState) -> None:
    agent = shared.agent(Call("quick", {}), Call("look", {}), "Done.")
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
        await steer(service, "Stop at one.")
    shared.gate.set()
    async with shared.service(agent) as service:
        await ended(service)
        _, answer = await history(service)
        assert (await stored_texts(service)).count("Stop at one.") == 1
    assert shared.asked == 3
    kinds = [part["type"] for part in answer["parts"]]
    assert kinds.count(STEERING) == 1
    assert kinds.index("tool-look") < kinds.index(STEERING) < kinds.index("text")


async def test_a_message_that_was_taken_in_comes_at_the_same_call_again(shared: SharedState) -> None:
    agent = shared.agent(Call("look", {}), Call("book", {}), "Done.")
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
        await steer(service, "Stop at one.")
        shared.reached.clear()
        shared.gate.set()
        shared.gate.clear()  # `look` has continued, and `book` waits at the gate
        await soon(shared.reached)
    shared.gate.set()
    async with shared.service(agent) as service:
        await ended(service)
        _, answer = await history(service)
        assert (await stored_texts(service)).count("Stop at one.") == 1
        await steer(service, "Stop at one.")  # a client that lost the reply
    assert shared.asked == 3
    kinds = [part["type"] for part in answer["parts"]]
    assert kinds.count(STEERING) == 1
    assert kinds.index("tool-look") < kinds.index(STEERING) < kinds.index("tool-book")


async def test_a_message_in_a_recovered_run_is_stored_beside_an_earlier_one(shared: SharedState) -> None:
    agent = shared.agent(Call("quick", {}), Call("look", {}), "Done.")
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
        await steer(service, "Stop at one.")
    shared.reached.clear()
    async with shared.service(agent) as service:
        await soon(shared.reached)
        await steer(service, "Or at two.", "s2")
        session = await service.runner.session_service.get_session(
            app_name=service.runner.app_name, user_id=USER, session_id="c1"
        )
        assert session is not None
        assert [message.id for message in Transcript(session.events).waiting] == ["s1", "s2"]
    shared.gate.set()
    async with shared.service(agent) as service:
        await ended(service)
        texts = await stored_texts(service)
    assert (texts.count("Stop at one."), texts.count("Or at two.")) == (1, 1)


@pytest.mark.parametrize("is_taken_in", [True, False])
async def test_the_context_of_a_message_is_that_of_the_recovered_run(shared: SharedState, is_taken_in: bool) -> None:
    context = PageContext(dict[str, str])
    agent = shared.agent(Call("look", {}), Call("look", {}), "Done.")
    async with shared.service(agent, context=context) as service:
        _ = await begin(service)
        await soon(shared.reached)
        await steer(service, "Here, too.", context={"path": "/cart"})
        if is_taken_in:
            shared.reached.clear()
            shared.gate.set()
            shared.gate.clear()
            await soon(shared.reached)
    shared.gate.set()
    async with shared.service(agent, context=context) as service:
        await ended(service)
    assert ["/cart" in prompt for prompt in shared.prompts] == [False, True, True]


@pytest.mark.parametrize("by_route", [True, False])
async def test_a_message_after_the_death_of_the_worker_steers_the_recovered_run(
    shared: SharedState, by_route: bool
) -> None:
    agent = shared.agent(Call("quick", {}), Call("look", {}), "Done.")
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
    shared.reached.clear()
    async with shared.service(agent, on_busy="steer", launched=False) as service:
        if by_route:
            await steer(service, "Stop at one.")
            shared.gate.set()
        else:
            request = parse_chat_request({"id": "c1", "message": said("Stop at one.", "s1")})
            responding = asyncio.create_task(service.respond(request, user_id=USER))
            await soon(shared.reached)
            shared.gate.set()
            _ = await read(await asyncio.wait_for(responding, HANG))
        await ended(service)
        _, answer = await history(service)
    kinds = [part["type"] for part in answer["parts"]]
    assert kinds.index("tool-look") < kinds.index(STEERING) < kinds.index("text")
    assert shared.ran["quick"] == 1


async def test_a_message_before_a_repeated_model_call_waits_for_a_new_one(shared: SharedState) -> None:
    agent = shared.agent(Call("quick", {}), Call("look", {}), "Done.")
    held, continues = asyncio.Event(), asyncio.Event()
    continues.set()

    async def hold(callback_context: Any) -> None:
        held.set()
        await continues.wait()

    agent.before_agent_callback = hold
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
    held.clear()
    continues.clear()
    shared.gate.set()
    async with shared.service(agent) as service:
        await soon(held)
        events = await service.resume("c1", user_id=USER)
        assert events is not None
        reading = asyncio.create_task(read(events))
        await steer(service, "Stop at one.")
        continues.set()
        chunks = await asyncio.wait_for(reading, HANG)
        await ended(service)
        _, answer = await history(service)
    kinds = [part["type"] for part in answer["parts"]]
    assert kinds.index("tool-look") < kinds.index(STEERING) < kinds.index("text")
    sent = [chunk["type"] for chunk in chunks]
    last_output = max(place for place, kind in enumerate(sent) if kind == "tool-output-available")
    assert last_output < sent.index(STEERING) < sent.index("text-start")


async def test_a_message_waits_while_the_next_result_is_only_in_the_engine(shared: SharedState) -> None:
    """The first server died after the engine had stored the second model call, and before the session had."""
    stores, held, continues = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Sessions(SqliteSessionService):
        async def append_event(self, session: Session, event: Event) -> Event:
            if any(call.name == "look" for call in event.get_function_calls()):
                stores.set()
                await asyncio.Event().wait()
            return await super().append_event(session, event)

    async def hold(callback_context: Any) -> None:
        held.set()
        await continues.wait()

    agent = shared.agent(Call("quick", {}), Call("look", {}), "Done.")
    async with shared.service(agent, sessions=Sessions(shared.chats)) as service:
        _ = await begin(service)
        await soon(stores)
    agent.before_agent_callback = hold
    shared.gate.set()
    async with shared.service(agent) as service:
        await soon(held)
        await steer(service, "Stop at one.")
        continues.set()
        await ended(service)
        _, answer = await history(service)
    kinds = [part["type"] for part in answer["parts"]]
    assert kinds.index("tool-look") < kinds.index(STEERING) < kinds.index("text")
    assert ["Stop at one." in prompt for prompt in shared.prompts] == [False, False, True]
