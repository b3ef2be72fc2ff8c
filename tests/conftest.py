import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import Postgres, postgres_server
from tests.redis_server import RedisServer, redis_server

# No test asserts a time, neither of an example nor of making one. CI tries the same examples each time: what fails
# there is what a change broke. Other runs look for new ones.
settings.register_profile(
    "project",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


STORES = {"redis", "shared_redis", "cluster", "postgres"}
"""Fixtures that start a server."""

SHRINKING_SECONDS = 900
"""For a property that was refuted, to find the smallest example: that takes minutes."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need a Redis or a PostgreSQL server, and gives properties their time."""
    for item in items:
        if isinstance(item, pytest.Function):
            params = item.callspec.params if hasattr(item, "callspec") else {}
            if STORES & {*item.fixturenames, params.get("new_sessions")}:
                item.add_marker("store")
            if getattr(item.obj, "is_hypothesis_test", False):
                item.add_marker(pytest.mark.timeout(SHRINKING_SECONDS))


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that a test may break."""
    with redis_server(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that tests leave as it is, each with a prefix of its own."""
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, started when the first test asks for it."""
    with postgres_server() as server:
        yield server
