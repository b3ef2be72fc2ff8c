import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import Postgres, postgres_server

# No test asserts a time, neither of an example nor of making one. CI tries the same examples each time: what fails
# there is what a change broke. Other runs look for new ones.
settings.register_profile(
    "project",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, started when the first test asks for it."""
    with postgres_server() as server:
        yield server
