"""Two workers that share their chats hold each check of a backend, whichever of them a request meets."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stream_protocol.backend_check import Outcome, read_settings, run_checks
from tests.fleet.test_workers import address_in
from tests.postgres import Postgres
from tests.processes import COMMAND, ENV, ROOT
from tests.redis_server import RedisServer

pytestmark = [pytest.mark.fleet]

TARGET = "tests.backends.servers.own:agent"
PROMPTS = ROOT / "tests" / "backends" / "prompts.toml"


@contextmanager
def two_workers(folder: Path, run_log: str, sessions: str) -> Iterator[str]:
    """The address of the chat."""
    shared = ["--run-log", run_log, "--session-service-uri", sessions]
    command = [*COMMAND, "serve", TARGET, "--workers", "2", "--port", "0", *shared]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENV, cwd=folder
    ) as process:
        assert process.stdout is not None
        try:
            yield f"{address_in(process.stdout)}/api/chat"
        finally:
            process.kill()


async def not_held(url: str) -> list[tuple[str, str]]:
    results = await run_checks(url, read_settings(PROMPTS))
    return [(each.check.name, each.reason) for each in results if each.outcome is not Outcome.HOLDS]


async def test_workers_that_share_a_redis_hold_all_checks(tmp_path: Path, redis: RedisServer) -> None:
    with two_workers(tmp_path, redis.url, f"sqlite:///{tmp_path}/chats.db") as url:
        assert await not_held(url) == []


async def test_workers_that_share_a_postgresql_hold_all_checks(tmp_path: Path, postgres: Postgres) -> None:
    database = postgres.new_database()
    with two_workers(tmp_path, database, database.replace("postgresql://", "postgresql+asyncpg://")) as url:
        assert await not_held(url) == []
