from collections.abc import Iterator

import pytest

from tests.fleet.workers import Fleet, fleet
from tests.postgres import Postgres


@pytest.fixture(scope="session")
def house(
    request: pytest.FixtureRequest, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """Two workers for clients of the version that is the parameter. A test may break what ``mend`` repairs."""
    with fleet(tmp_path_factory.mktemp("fleet"), postgres.new_database(), request.param) as whole:
        yield whole
