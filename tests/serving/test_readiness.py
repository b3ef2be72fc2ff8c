"""``/readyz``: whether a worker can take runs, as its stores are."""

import asyncio
import logging
from typing import Any, Final

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService, Session

from stream_protocol.server._json_lines import JsonLines
from stream_protocol.serving import ChatService, MemoryRunLog, create_app
from stream_protocol.serving.base import ServiceTimes
from stream_protocol.serving.base._tasks import CachedProbe
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.testing import ScriptedLlm
from tests.serving.fake_engine import FakeEngine
from tests.serving.support import HANG, client

pytestmark = pytest.mark.usefixtures("patient_clock")


class Sessions(InMemorySessionService):
    """A session store that fails or hangs on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.hangs = False
        self.asked = 0

    async def get_session(self, **key: Any) -> Session | None:
        self.asked += 1
        if self.hangs:
            await asyncio.sleep(HANG)
        if self.error is not None:
            raise self.error
        return await super().get_session(**key)


class BrokenLog(MemoryRunLog):
    """A run log whose store cannot be reached."""

    async def ping(self) -> None:
        raise RunLogError("redis://host:6379/0: it does not answer")


def service_over(sessions: Sessions, **options: Any) -> ChatService:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]))
    return ChatService(agent, session_service=sessions, **options)


async def readyz(service: ChatService) -> httpx.Response:
    async with client(create_app(service)) as http:
        assert (await http.get("/healthz")).status_code == 200
        return await http.get("/readyz")


NOT_CACHED: Final = ServiceTimes(readiness_cache=0.0)
"""Times with which each probe asks the stores."""


async def test_a_worker_whose_stores_answer_is_ready() -> None:
    answer = await readyz(service_over(Sessions()))
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_worker_says_which_store_does_not_answer_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sessions = Sessions()
    sessions.error = OSError("no route to the database")
    answer = await readyz(service_over(sessions, run_log=BrokenLog()))
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "missing": ["run log", "session store"]}
    assert "redis://host:6379/0: it does not answer" in caplog.text
    assert "no route to the database" in caplog.text
    quoting_nobody = [JsonLines().format(record) for record in caplog.records]
    assert any("redis://host:6379/0: it does not answer" in line for line in quoting_nobody)


async def test_a_store_that_hangs_is_not_waited_for() -> None:
    sessions = Sessions()
    sessions.hangs = True
    answer = await readyz(service_over(sessions, times=ServiceTimes(readiness=0.01)))
    assert (answer.status_code, answer.json()["missing"]) == (503, ["session store"])


async def test_a_worker_whose_engine_is_away_is_not_ready_until_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine()
    service = service_over(Sessions(), engine=engine, times=NOT_CACHED)
    assert (await readyz(service)).status_code == 200
    engine.error = OSError("no route to the engine")
    answer = await readyz(service)
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "missing": ["engine"]}
    assert "This worker is not ready: the engine does not answer." in caplog.text
    assert "no route to the engine" in caplog.text
    engine.error = None
    assert (await readyz(service)).status_code == 200


async def test_an_engine_that_hangs_is_asked_once_until_it_answers() -> None:
    engine = FakeEngine()
    service = service_over(Sessions(), engine=engine, times=ServiceTimes(readiness=0.01, readiness_cache=0.0))
    engine.answers.clear()
    assert [await service.unready() for _ in range(5)] == 5 * [("engine",)]
    assert engine.pings == 1
    engine.answers.set()
    assert [await service.unready() for _ in range(2)] == 2 * [()]
    assert engine.pings == 3


async def test_an_engine_that_cannot_keep_these_agents_runs_is_not_asked() -> None:
    engine = FakeEngine(in_use=False)
    engine.error = OSError("no route to the engine")
    assert (await readyz(service_over(Sessions(), engine=engine))).status_code == 200
    assert engine.pings == 0


async def test_what_changes_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    sessions = Sessions()
    service = service_over(sessions, times=NOT_CACHED)
    for error in (None, OSError("gone"), OSError("gone"), None, None):
        sessions.error = error
        await service.unready()
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage().partition(" (")[0] for record in told] == [
        "This worker is not ready: the session store does not answer.",
        "OSError: gone",
        "This worker is ready again.",
    ]


async def test_the_stores_are_asked_once_however_many_ask_the_worker() -> None:
    sessions = Sessions()
    service = service_over(sessions)
    app = create_app(service)
    async with client(app) as http:
        answers = await asyncio.gather(*[http.get("/readyz") for _ in range(20)])
        answers.append(await http.get("/readyz"))
    assert {answer.status_code for answer in answers} == {200}
    assert sessions.asked == 1


async def test_an_answer_is_asked_for_again_when_it_is_old() -> None:
    asked: list[int] = []

    async def ask() -> int:
        asked.append(len(asked))
        return len(asked)

    kept, forgotten = CachedProbe(ask, HANG), CachedProbe(ask, 0.0)
    assert [await kept.get(), await kept.get()] == [1, 1]
    assert [await forgotten.get(), await forgotten.get()] == [2, 3]


async def test_who_stops_waiting_takes_the_answer_from_nobody() -> None:
    go_on = asyncio.Event()

    async def ask() -> str:
        await go_on.wait()
        return "here"

    remembered = CachedProbe(ask, HANG)
    first, second = asyncio.create_task(remembered.get()), asyncio.create_task(remembered.get())
    await asyncio.sleep(0)
    first.cancel()
    go_on.set()
    assert await second == "here"
