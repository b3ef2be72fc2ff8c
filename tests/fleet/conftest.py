from collections.abc import Iterator

import pytest

from tests.fleet.workers import Fleet, fleet
from tests.postgres import Postgres


@pytest.fixture(scope="module")
def house(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Two workers for clients of one version, which is the fixture's parameter."""
    with fleet(tmp_path_factory.mktemp("fleet"), postgres.new_database(), request.param) as whole:
        yield whole
