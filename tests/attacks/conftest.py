from collections.abc import Iterator

import pytest

from tests.attacks.attack_run import Row
from tests.attacks.deployment import DEPLOYMENTS, Deployment, DeploymentName, open_deployment
from tests.attacks.table import table

ROWS: list[Row] = []


@pytest.fixture(scope="session")
def deployment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Deployment with this name. All attacks on it share it, one after the other."""
    name: DeploymentName = request.param
    assert name in DEPLOYMENTS
    with open_deployment(name, tmp_path_factory.mktemp("deployment")) as opened:
        yield opened


@pytest.fixture(scope="session")
def rows() -> list[Row]:
    return ROWS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ROWS:
        terminalreporter.write_line(table(ROWS))
