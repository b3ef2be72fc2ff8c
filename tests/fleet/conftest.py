from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.fleet.desk import LEASE
from tests.fleet.workers import Fleet, fleet
from tests.postgres import Postgres
from tests.tools import missing


@pytest.fixture(scope="session")
def house(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Two workers for clients of the version that is the parameter. A test may break what ``mend`` repairs."""
    with fleet(tmp_path_factory.mktemp("fleet"), postgres.new_database(), request.param) as whole:
        yield whole


@pytest.fixture(scope="module", params=["durable_agent:root_agent", "durable_agent:loop_agent", "agent:root_agent"])
def durable_house(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Two workers with an engine, and a short lease, that serve the agent which is the parameter."""
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    kept = postgres.new_database().replace("+asyncpg", "")
    idempotent = ("--idempotent-tool", "note") if "durable_agent" in request.param else ()
    options = ("--durable", kept, *idempotent, "--lease", str(LEASE))
    agent, folder = f"tests.fleet.{request.param}", tmp_path_factory.mktemp("durable")
    with fleet(folder, postgres.new_database(), 6, *options, agent=agent) as whole:
        yield whole
