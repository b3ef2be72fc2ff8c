from collections.abc import Iterator

import pytest

from tests.attacks.house import HOUSES, House, HouseName, open_house
from tests.attacks.stage import Row
from tests.attacks.table import table

ROWS: list[Row] = []


@pytest.fixture(scope="session")
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The house of this name, which all attacks on it share, one after the other."""
    name: HouseName = request.param
    assert name in HOUSES
    with open_house(name, tmp_path_factory.mktemp("house")) as opened:
        yield opened


@pytest.fixture(scope="session")
def rows() -> list[Row]:
    return ROWS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ROWS:
        terminalreporter.write_line(table(ROWS))
