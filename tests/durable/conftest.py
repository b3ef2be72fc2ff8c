from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools import missing


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test here starts engines, which takes seconds: `make suite NAME=fleet` has them."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("fleet")


@pytest.fixture(autouse=True)
def _engine() -> None:
    """DBOS, which must be there."""
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")


@pytest.fixture
def engine_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a file; where SQLite is too old for that, of a PostgreSQL."""
    from stream_protocol.durable._store import sqlite_is_too_old  # noqa: PLC0415 - may be missing

    if sqlite_is_too_old():
        url: str = request.getfixturevalue("postgres").new_database()
        return url
    return f"sqlite:///{tmp_path / 'runs.db'}"
