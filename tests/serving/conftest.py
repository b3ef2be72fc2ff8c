from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.adk.sessions import BaseSessionService

from stream_protocol.serving.adk_runner import load_session_service
from stream_protocol.serving.adk_runner._threaded_reads import ThreadedReads
from tests.postgres import Postgres


@pytest.fixture(params=["memory", "sqlite", "sqlalchemy", "postgres"])
def new_sessions(request: pytest.FixtureRequest, tmp_path: Path) -> BaseSessionService:
    """A new, empty session service of every kind, made where no loop runs, as a server makes it."""
    match request.param:
        case "memory":
            uri = "memory://"
        case "sqlite":
            uri = f"sqlite:///{tmp_path}/chat.db"
        case "sqlalchemy":
            uri = f"sqlite+aiosqlite:///{tmp_path}/chat.db"
        case _:
            postgres: Postgres = request.getfixturevalue("postgres")
            uri = postgres.new_database()
    return load_session_service(uri)


@pytest.fixture
async def sessions(new_sessions: BaseSessionService) -> AsyncIterator[BaseSessionService]:
    """The same, closed at the end, in the loop that has used it."""
    yield new_sessions
    if isinstance(new_sessions, ThreadedReads):
        await new_sessions.close()
