from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools import missing


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder as ``fleet``: each starts engines, which takes seconds."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("fleet")


@pytest.fixture(autouse=True)
def _engine() -> None:
    """Skip the test if DBOS is not installed."""
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")


@pytest.fixture
def engine_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an engine in a file, or in a PostgreSQL if the installed SQLite is too old."""
    from stream_protocol.durable._store import sqlite_is_too_old  # noqa: PLC0415 - may be missing

    if sqlite_is_too_old():
        url: str = request.getfixturevalue("postgres").new_database()
        return url
    return f"sqlite:///{tmp_path / 'runs.db'}"
