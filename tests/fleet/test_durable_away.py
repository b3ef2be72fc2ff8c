"""Workers whose engine's database becomes unreachable, or stops responding, and recovers."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import httpx
import pytest
from google.adk.agents import LlmAgent
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, RedisRunLog
from stream_protocol.serving.base._limits import HOOK_TIMEOUT
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import ScriptedLlm
from tests.postgres import Postgres, postgres_server
from tests.processes import HANG, PythonModule, serving
from tests.redis_server import RedisServer
from tests.serving.support import client
from tests.tools import missing

pytestmark = pytest.mark.fleet

AGENT: Final = f"""
from pathlib import Path
from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait
def respond(request):
    slow = request.contents[-1].parts[-1].text == "slow" and not Path("hurry").exists()
    return ["Hello there. ", *([Wait({HANG})] if slow else []), "Bye."]
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=respond))
"""

LEASE: Final = 1.5

AWAY_SECONDS: Final = 8.0
"""Long enough for DBOS to wait for longer than ``BACK_SECONDS`` until it tries again."""

NOTICED_SECONDS: Final = 15.0
BACK_SECONDS: Final = 15.0
"""Seconds that a probe may take to see the recovery on a busy machine: alone, less than two."""

REFUSED_SECONDS: Final = HOOK_TIMEOUT + 15.0
"""Seconds that a request on an old connection may take; a new connection gives up earlier."""


@dataclass(frozen=True)
class Deployment:
    """A worker, the database of its engine, and how another one is started beside it."""

    worker: PythonModule
    url: str
    database: Postgres
    options: tuple[str, ...]
    folder: Path

    def missing(self) -> list[str]:
        """The missing parts that ``/readyz`` reports."""
        answer = httpx.get(f"{self.url}/readyz", timeout=HANG)
        assert (answer.status_code == 503) == ("missing" in answer.json())
        found: list[str] = answer.json().get("missing", [])
        return found

    def seconds_until(self, missing: list[str]) -> float:
        begun = time.monotonic()
        while self.missing() != missing:
            assert time.monotonic() < begun + HANG
            time.sleep(0.05)
        return time.monotonic() - begun

    def probed_for(self, seconds: float) -> None:
        """Ask for the readiness for that long, like a load balancer."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.missing() == ["engine"]
            time.sleep(0.2)

    def ask(self, chat: str, words: str = "hi", *, message: str = "u1") -> httpx.Response:
        return httpx.post(f"{self.url}/api/chat", json=question(chat, words, message), timeout=HANG)

    def threads(self) -> int:
        return len([*Path(f"/proc/{self.worker.pid}/task").iterdir()])

    def said(self) -> str:
        return self.worker.log.read_text()


def question(chat: str, words: str, message: str = "u1") -> dict[str, object]:
    said = {"id": message, "role": "user", "parts": [{"type": "text", "text": words}]}
    return {"id": chat, "messages": [said], "trigger": "submit-message"}


@pytest.fixture(autouse=True)
def _engine() -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")


@pytest.fixture
def deployment(redis: RedisServer, tmp_path: Path) -> Iterator[Deployment]:
    (tmp_path / "agent.py").write_text(AGENT)
    with ExitStack() as stack:
        database = stack.enter_context(postgres_server())
        stores = ("--session-service-uri", "sqlite:///chats.db", "--run-log", redis.url, "--lease", str(LEASE))
        options = ("agent:root_agent", "--no-page", *stores, "--durable", database.new_database())
        worker, url = stack.enter_context(serving(*options, cwd=tmp_path))
        yield Deployment(worker, url, database, options, tmp_path)


def test_a_worker_refuses_runs_and_says_so_until_its_database_is_back(deployment: Deployment) -> None:
    assert deployment.ask("before").status_code == 200
    assert deployment.missing() == []
    with httpx.stream("POST", f"{deployment.url}/api/chat", json=question("stopped", "slow"), timeout=HANG) as reading:
        pieces = reading.iter_text()
        assert '"start"' in next(pieces)
        with deployment.database.away():
            assert deployment.seconds_until(["engine"]) < NOTICED_SECONDS
            begun = time.monotonic()
            refused = [deployment.ask("new"), httpx.post(f"{deployment.url}/api/chat/stopped/stop", timeout=HANG)]
            refused += [httpx.delete(f"{deployment.url}/api/chat/before", timeout=HANG)]
            assert time.monotonic() < begun + NOTICED_SECONDS
            assert [(answer.status_code, answer.headers["retry-after"]) for answer in refused] == 3 * [(503, "2")]
            assert '"abort"' in "".join(pieces)
            deployment.probed_for(AWAY_SECONDS)
        assert deployment.seconds_until([]) < BACK_SECONDS
    begun = time.monotonic()
    assert deployment.ask("new").status_code == 200
    assert deployment.ask("stopped", message="u2").status_code == 200
    assert time.monotonic() < begun + BACK_SECONDS
    stopped = httpx.get(f"{deployment.url}/api/chat/stopped", timeout=HANG).json()["messages"]
    assert "Bye." not in str(stopped[1]["parts"])
    assert "Traceback" not in deployment.said()


def test_a_database_that_says_nothing_holds_neither_requests_nor_threads_for_long(deployment: Deployment) -> None:
    assert deployment.ask("before").status_code == 200
    with deployment.database.frozen():
        assert deployment.seconds_until(["engine"]) < NOTICED_SECONDS
        threads = deployment.threads()
        deployment.probed_for(AWAY_SECONDS)
        assert deployment.threads() <= threads + 2, "a ping and a look for runs may hang"
        begun = time.monotonic()
        assert deployment.ask("new").status_code == 503
        assert time.monotonic() < begun + REFUSED_SECONDS
    assert deployment.seconds_until([]) < BACK_SECONDS
    assert deployment.ask("new").status_code == 200
    assert "Traceback" not in deployment.said()


def test_a_run_is_taken_up_soon_after_the_database_is_back(deployment: Deployment) -> None:
    with (
        serving(*deployment.options, cwd=deployment.folder) as (other, url),
        httpx.stream("POST", f"{url}/api/chat", json=question("left", "slow"), timeout=HANG) as reading,
    ):
        assert '"start"' in next(reading.iter_text())
        with deployment.database.away():
            other.kill()
            (deployment.folder / "hurry").touch()
            deployment.probed_for(AWAY_SECONDS)
        begun = time.monotonic()
        while "Bye." not in httpx.get(f"{deployment.url}/api/chat/left", timeout=HANG).text:
            assert time.monotonic() < begun + NOTICED_SECONDS + BACK_SECONDS
            time.sleep(0.05)


async def test_an_app_whose_first_request_finds_no_database_serves_the_next_one(redis: RedisServer) -> None:
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    with postgres_server() as database:
        engine = DbosEngine(database.new_database())
        agent = LlmAgent(name="mine", model=ScriptedLlm(turns=["Well."]))
        service = ChatService(agent, engine=engine, run_log=RedisRunLog(redis.url))
        app = Starlette(routes=chat_routes(service))  # nobody launches it
        async with client(app) as http:
            with database.away():
                async with asyncio.timeout(HANG):  # a probe has one second: on a busy machine, Redis may miss some
                    while (await http.get("/readyz")).json()["missing"] != ["engine"]:  # noqa: ASYNC110 - as below
                        await asyncio.sleep(0.1)
                assert (await http.post("/api/chat/new/stop")).status_code == 503
                assert (await http.post("/api/chat", json=question("new", "hi"))).status_code == 503
            async with asyncio.timeout(HANG):
                while (await http.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - nobody tells of it
                    await asyncio.sleep(0.1)
            answer = await http.post("/api/chat", json=question("new", "hi"))
            assert (answer.status_code, "Well." in answer.text) == (200, True)
        await service.aclose()
