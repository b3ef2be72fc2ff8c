from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools import missing


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test here for `make suite NAME=fleet`, because starting engines takes seconds."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("fleet")


@pytest.fixture(autouse=True)
def _engine() -> None:
    """Require DBOS."""
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")


@pytest.fixture
def engine_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an SQLite store, or of a PostgreSQL store if SQLite is too old for DBOS."""
    from stream_protocol.durable._store import sqlite_is_too_old  # noqa: PLC0415 - may be missing

    if sqlite_is_too_old():
        url: str = request.getfixturevalue("postgres").new_database()
        return url
    return f"sqlite:///{tmp_path / 'runs.db'}"
