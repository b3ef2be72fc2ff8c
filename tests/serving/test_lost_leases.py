"""A worker that has lost the lease of a run which another worker can take up."""

import asyncio

from google.adk.agents import LlmAgent

from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.fake_engine import FakeEngine
from tests.serving.support import begin, chat, said
from tests.serving.watched import WatchedService


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
