"""The engine's use of its database: through PgBouncer, while nothing runs, and beside another deployment."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import httpx
import psycopg
import pytest

from tests.fleet.test_durable_away import question
from tests.pgbouncer import pgbouncer, through
from tests.postgres import Postgres, postgres_server
from tests.processes import HANG, serving
from tests.redis_server import RedisServer
from tests.tools import missing

pytestmark = pytest.mark.fleet

AGENT: Final = """
import asyncio
from pathlib import Path
from google.adk.agents import LlmAgent
from stream_protocol.testing import Call, ScriptedLlm
async def note(name: str) -> str:
    with Path("tool-runs").open("a") as tool_runs:
        tool_runs.write(f"{name} ")
    while not Path("go").exists():
        await asyncio.sleep(0.05)
    return "noted"
def respond(request):
    name = request.contents[0].parts[-1].text
    answered = sum(part.function_response is not None for content in request.contents for part in content.parts)
    return [["I note. ", Call("note", {"name": name})], Call("note", {"name": name}), "Done."][min(answered, 2)]
root_agent = LlmAgent(name="mine", model=ScriptedLlm(respond=respond), tools=[note])
"""

LEASE: Final = 1.5

IDLE_SECONDS: Final = 12.0
"""Over which transactions are counted: PostgreSQL counts those of a session some seconds late."""

MOST_A_SECOND: Final = 2.0


@pytest.fixture(autouse=True)
def _engine() -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")


@pytest.fixture
def database() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


def options_of(redis: RedisServer, kept: str, chats: str = "chats", *more: str) -> tuple[str, ...]:
    stores = ("--session-service-uri", f"sqlite:///{chats}.db", "--run-log", redis.url, "--lease", str(LEASE))
    return ("agent:root_agent", "--no-page", *stores, "--durable", kept, "--idempotent-tools", "note", *more)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_ready(url: str) -> bool:
    return httpx.get(f"{url}/readyz", timeout=HANG).status_code == 200


def begin(stack: ExitStack, url: str, chat: str) -> None:
    """Begins a run, and waits until its first tool has begun."""
    reading = httpx.stream("POST", f"{url}/api/chat", json=question(chat, chat), timeout=HANG)
    lines = stack.enter_context(reading).iter_lines()
    assert any("tool-input-available" in line for line in lines)


def answer(url: str, chat: str) -> str:
    return httpx.get(f"{url}/api/chat/{chat}", timeout=HANG).text


def test_runs_outlive_their_worker_through_a_pooler_in_transaction_mode(
    redis: RedisServer, database: Postgres, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    direct = database.new_database()
    with pgbouncer(database, "transaction") as port, ExitStack() as stack:
        options = options_of(redis, through(port, direct))
        workers = [stack.enter_context(serving(*options, cwd=tmp_path)) for _ in range(2)]
        (first, url), (second, other) = workers
        until(lambda: is_ready(url) and is_ready(other))
        chats = [f"c{number}" for number in range(12)]
        for chat in chats:
            begin(stack, url, chat)
        first.kill()
        (tmp_path / "go").touch()
        until(lambda: all("Done." in answer(other, chat) for chat in chats))
        assert httpx.post(f"{other}/api/chat/c0/stop", timeout=HANG).status_code == 202
        until(lambda: count(direct, "SELECT count(*) FROM dbos.workflow_status") == 0)
        assert not re.findall(r".*prepared statement.*", second.log.read_text(), re.IGNORECASE)


def test_the_engine_prepares_no_statement_on_the_server(redis: RedisServer, database: Postgres, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "go").touch()
    kept = database.new_database()
    with psycopg.connect(kept, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET log_statement = 'all'")
        connection.execute("SELECT pg_reload_conf()")
    with serving(*options_of(redis, kept), cwd=tmp_path) as (_, url):
        for number in range(8):
            asked = httpx.post(f"{url}/api/chat", json=question(f"c{number}", "hi"), timeout=HANG)
            assert "Done." in asked.text
    assert not re.findall(r"execute _pg\w+:.*", database.log())


def test_an_idle_worker_leaves_the_database_in_peace(redis: RedisServer, database: Postgres, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "go").touch()
    kept = database.new_database()
    with serving(*options_of(redis, kept), cwd=tmp_path) as (_, url):
        asked = httpx.post(f"{url}/api/chat", json=question("c1", "hi"), timeout=HANG)
        assert "Done." in asked.text
        time.sleep(IDLE_SECONDS)  # those of the run are counted
        begun, before = time.monotonic(), transactions(kept)
        time.sleep(IDLE_SECONDS)
        assert transactions(kept) - before <= MOST_A_SECOND * (time.monotonic() - begun)


def transactions(url: str) -> int:
    """Counted by a session of another database: its own do not count."""
    name = url.rpartition("/")[2]
    ask = f"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{name}'"
    return count(url.replace(f"/{name}", "/postgres"), ask)


def count(url: str, statement: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("differs", ["app", "sessions", "run log"])
def test_a_deployment_leaves_the_runs_of_another_alone(
    differs: str, redis: RedisServer, database: Postgres, tmp_path: Path
) -> None:
    kept = database.new_database()
    folders = [tmp_path / name for name in ("shop", "bank")]
    for folder in folders:
        folder.mkdir()
        (folder / "agent.py").write_text(AGENT.replace("mine", folder.name if differs == "app" else "mine"))
    shop, bank = folders
    options = {
        "app": (options_of(redis, kept), options_of(redis, kept)),
        "sessions": (options_of(redis, kept, "shop"), options_of(redis, kept, "bank")),
        "run log": (
            options_of(redis, kept, str(tmp_path / "chats"), "--run-log-prefix", "shop"),
            options_of(redis, kept, str(tmp_path / "chats"), "--run-log-prefix", "bank"),
        ),
    }[differs]
    with ExitStack() as stack:
        one, url = stack.enter_context(serving(*options[0], cwd=shop))
        idle, _ = stack.enter_context(serving(*options[1], cwd=bank))
        begin(stack, url, "c1")
        time.sleep(3 * LEASE)  # the other one looks for runs meanwhile
        (shop / "go").touch()
        until(lambda: "Done." in answer(url, "c1"))
        (shop / "go").unlink()
        begin(stack, url, "c2")
        one.kill()
        time.sleep(3 * LEASE)
        assert count(kept, "SELECT count(*) FROM dbos.workflow_status WHERE name = 'adk_ui_stream.run.2'") == 1
        (shop / "go").touch()
        _, again = stack.enter_context(serving(*options[0], cwd=shop))
        until(lambda: "Done." in answer(again, "c2"))
        assert "ERROR" not in idle.log.read_text() + one.log.read_text()
    tool_runs = (shop / "tool-runs").read_text().split()
    assert tool_runs.count("c1") == 2
    assert not (bank / "tool-runs").exists()
