from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from uuid import uuid4

import pytest

from tests.fleet.browser import Browser, browser
from tests.fleet.crash_scenarios import LEASE
from tests.fleet.proxy import Proxy
from tests.fleet.tool_log import ToolLog
from tests.fleet.workers import Fleet, Worker, Workers, fleet
from tests.postgres import Postgres
from tests.served import served
from tests.tools import missing


@pytest.fixture(scope="session")
def deployment(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Two workers for clients of the version in the parameter. Tests may break anything that ``mend`` repairs."""
    with fleet(tmp_path_factory.mktemp("fleet"), postgres.new_database(), request.param) as whole:
        yield whole


@pytest.fixture
async def pages(deployment: Fleet) -> AsyncIterator[Browser]:
    """Pages before a repaired deployment."""
    deployment.mend()
    with served(Proxy(deployment.ports).app) as url:
        async with browser(url, deployment.ai_sdk) as opened:
            yield opened


@pytest.fixture
def chat() -> str:
    """Id of a new chat."""
    return uuid4().hex


@pytest.fixture(scope="module", params=["durable_agent:root_agent", "durable_agent:loop_agent", "agent:root_agent"])
def durable_house(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Two workers with an engine and a short lease. The parameter is their agent."""
    _need_engine()
    kept = postgres.new_database().replace("+asyncpg", "")
    idempotent = ("--idempotent-tools", "note") if "durable_agent" in request.param else ()
    options = ("--durable", kept, *idempotent, "--lease", str(LEASE))
    agent, folder = f"tests.fleet.{request.param}", tmp_path_factory.mktemp("durable")
    with fleet(folder, postgres.new_database(), 6, *options, agent=agent) as whole:
        yield whole


@pytest.fixture(scope="module")
def house_with_files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """One worker with an engine, and with files for all stores. The parameter is its agent."""
    _need_engine()
    from stream_protocol.durable._store import sqlite_is_too_old  # noqa: PLC0415 - may be missing

    if sqlite_is_too_old():
        pytest.skip("SQLite is too old for DBOS")
    folder = tmp_path_factory.mktemp("files")
    stores = ("--session-service-uri", f"sqlite:///{folder}/chats.db", "--durable", f"sqlite:///{folder}/runs.db")
    worker = Worker(folder, f"tests.fleet.{request.param}", *stores, "--idempotent-tools", "note")
    deployment = Workers((worker,), ToolLog(folder))
    try:
        deployment.mend()
        yield deployment
    finally:
        deployment.kill()


def _need_engine() -> None:
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
