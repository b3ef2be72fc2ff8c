"""A run log with a store of one's own: ``SharedRunLog`` with ``DictStore``, which uses public names alone."""

from collections.abc import AsyncIterator

import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService

from stream_protocol import parse_chat_request
from stream_protocol.serving import ChatService
from stream_protocol.serving.run_logs import SharedRunLog
from stream_protocol.testing import ScriptedLlm, Wait
from stream_protocol.testing.run_log_conformance import RunLogConformance, Workers
from tests.serving.run_logs.dict_store import TIMES, DictStore, Shared
from tests.serving.support import HANG, chat, chunks, said, types


@pytest.fixture
async def logs() -> AsyncIterator[tuple[SharedRunLog, SharedRunLog]]:
    shared = Shared()
    first, second = (SharedRunLog(DictStore(shared), TIMES) for _ in range(2))
    yield first, second
    await first.aclose()
    await second.aclose()


class TestOwnStore(RunLogConformance):
    @pytest.fixture
    def workers(self, logs: tuple[SharedRunLog, SharedRunLog]) -> Workers:
        return logs


async def test_a_service_with_this_store_is_stopped_from_any_worker(logs: tuple[SharedRunLog, SharedRunLog]) -> None:
    sessions = InMemorySessionService()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Hello", Wait(HANG)]]))
    runner = Runner(app_name="app", agent=agent, session_service=sessions)
    first, second = (ChatService(runner, run_log=log) for log in logs)
    events = await first.respond(parse_chat_request(chat(said("hi"))), user_id="ann")
    begun = [await anext(events)]
    other = await second.resume("c1", user_id="ann")
    assert other is not None
    await second.stop("c1", user_id="ann")
    whole = [b"".join([*begun, *[piece async for piece in events]]), b"".join([piece async for piece in other])]
    assert [types(chunks(each.decode()))[-1] for each in whole] == ["abort", "abort"]
    await first.aclose()
    await second.aclose()
