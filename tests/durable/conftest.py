from importlib.util import find_spec

import pytest

from tests.tools import missing


@pytest.fixture(autouse=True)
def _engine() -> None:
    """DBOS, which must be there."""
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
