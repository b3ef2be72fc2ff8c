from importlib.util import find_spec

import pytest

from tests.tools import missing


@pytest.fixture(autouse=True)
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """DBOS, which must be there, and looks at its queue more often than in a server."""
    if find_spec("dbos") is None:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    monkeypatch.setattr("stream_protocol.durable._dbos_engine.QUEUE_SECONDS", 0.05)
