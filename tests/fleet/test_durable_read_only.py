"""Workers whose engine's database is read-only for a while, as during a fail-over: no ended run continues."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import httpx
import psycopg
import pytest

from tests.fleet.test_durable_away import question
from tests.postgres import Postgres, postgres_server
from tests.processes import HANG, serving
from tests.redis_server import RedisServer
from tests.tools import missing

pytestmark = pytest.mark.fleet

AGENT: Final = """
from pathlib import Path
from google.adk.agents import LlmAgent
from stream_protocol.testing import Call, ScriptedLlm, Wait
class Gate:
    async def over(self):
        import asyncio
        while not Path("go").exists():
            await asyncio.sleep(0.05)
async def look() -> str:
    with Path("tool-runs").open("a") as tool_runs:
        tool_runs.write("look ")
    await Gate().over()
    return "seen"
def charge() -> str:
    with Path("tool-runs").open("a") as tool_runs:
        tool_runs.write("charge ")
    return "paid"
def respond(request):
    answered = sum(part.function_response is not None for content in request.contents for part in content.parts)
    return [["I look. ", Call("look", {})], Call("charge", {}), "Done."][answered]
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=respond), tools=[look, charge])
"""

LEASE: Final = 1.5

LATER_SECONDS: Final = 3 * LEASE
"""Long enough for the other worker to find a run that was left."""


@contextmanager
def read_only(database: Postgres, url: str) -> Iterator[None]:
    """No transaction may write, and connections that were open are broken."""
    set_read_only(url, "on")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    try:
        yield
    finally:
        set_read_only(url, "off")


def set_read_only(url: str, value: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        connection.execute("SELECT pg_reload_conf()")
    while True:
        with psycopg.connect(url, autocommit=True) as connection:
            if connection.execute("SHOW default_transaction_read_only").fetchone() == (value,):
                return
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def _engine() -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")


@pytest.mark.parametrize("ends", ["stop", "new words", "by itself"])
def test_no_tool_runs_after_the_page_was_told_the_end(ends: str, redis: RedisServer, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with ExitStack() as stack:
        database = stack.enter_context(postgres_server())
        kept = database.new_database()
        stores = ("--session-service-uri", "sqlite:///chats.db", "--run-log", redis.url, "--lease", str(LEASE))
        options = ("agent:root_agent", "--no-page", *stores, "--durable", kept)
        url, other = [stack.enter_context(serving(*options, cwd=tmp_path))[1] for _ in range(2)]
        until(lambda: all(httpx.get(f"{each}/readyz", timeout=HANG).status_code == 200 for each in (url, other)))
        chat = f"{url}/api/chat/c1"
        with httpx.stream("POST", f"{url}/api/chat", json=question("c1", "go"), timeout=HANG) as reading:
            lines = reading.iter_lines()
            assert any("tool-input-available" in line for line in lines)
            until((tmp_path / "tool-runs").exists)
            with read_only(database, kept):
                refused: httpx.Response | None
                match ends:
                    case "stop":
                        refused = httpx.post(f"{chat}/stop", timeout=HANG)
                    case "new words":
                        refused = httpx.post(f"{url}/api/chat", json=question("c1", "no", "u2"), timeout=HANG)
                    case _:
                        (tmp_path / "go").touch()
                        refused = None
                end = [line for line in lines if '"abort"' in line or '"error"' in line]
                assert len(end) == 1
                answers = [refused] if refused is not None else []
                answers += [httpx.post(f"{chat}/stop", timeout=HANG)]
                answers += [httpx.post(f"{url}/api/chat", json=question("c1", "and", "u3"), timeout=HANG)]
                assert [(answer.status_code, answer.headers.get("retry-after")) for answer in answers] == [
                    (503, "2")
                ] * len(answers)
        (tmp_path / "go").touch()
        until(lambda: kept_runs(kept) == 0)
        before = httpx.get(chat, timeout=HANG).json()
        time.sleep(LATER_SECONDS)
        assert (tmp_path / "tool-runs").read_text() == "look "
        assert httpx.get(chat, timeout=HANG).json() == before


def kept_runs(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM dbos.workflow_status").fetchone()
    assert row is not None
    return int(row[0])


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
