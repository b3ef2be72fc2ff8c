"""A worker that has lost the lease of a run which another worker can take up."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService, Session

from stream_protocol.serving import create_app
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import parse_chat_request
from tests.serving.fake_engine import FakeEngine
from tests.serving.support import begin, chat, said, soon
from tests.serving.watched import WatchedLease, WatchedService


async def test_it_stores_nothing_about_the_calls_that_another_worker_goes_on_with() -> None:
    async def dig() -> str:
        """Digs for ever."""
        await asyncio.Event().wait()
        return "dug"

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Call("dig", {})]]), tools=[dig])
    service = WatchedService(agent, engine=FakeEngine())
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        assert await exchange.status() == 200
        await exchange.until("tool-input-available")
        service.runs.run.lease_lost()
        await service.runs.free()
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert [event.author for event in session.events] == ["user", "root"]
    assert session.events[-1].get_function_calls()


async def test_a_worker_that_was_paused_while_it_read_the_session_stores_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Paused(InMemorySessionService):
        def __init__(self) -> None:
            super().__init__()
            self.is_asked, self.answers = asyncio.Event(), asyncio.Event()
            self.answers.set()

        async def get_session(self, **key: Any) -> Session | None:
            found = await super().get_session(**key)
            if not self.answers.is_set():
                self.is_asked.set()
                await self.answers.wait()
            return found

    async def is_lost(_lease: WatchedLease) -> bool:
        return False

    sessions = Paused()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Wait(3600)]]))
    service = WatchedService(agent, session_service=sessions, engine=FakeEngine())
    events = await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    while b"text-delta" not in await anext(events):
        pass
    sessions.answers.clear()
    service.runs.run.stop()
    await soon(sessions.is_asked)
    monkeypatch.setattr(WatchedLease, "held", False)
    monkeypatch.setattr(WatchedLease, "confirm", is_lost)
    sessions.answers.set()
    await service.runs.free()
    session = await sessions.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert [EventMetadata.of(event).outcome for event in session.events] == [None, None]
