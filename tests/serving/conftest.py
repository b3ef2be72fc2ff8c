import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions import BaseSessionService

from stream_protocol.serving.adk_runner import load_session_service
from stream_protocol.serving.adk_runner._threaded_reads import ThreadedReads
from tests.postgres import Postgres

LEAST_WAIT = 0.001
"""Seconds that the clock advances in a poll without waiting, so that a polling test sees time pass."""


@pytest.fixture
async def patient_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clock that advances only while the loop waits. So on a busy machine no time limit ends before its work."""
    loop: Any = asyncio.get_running_loop()
    now, select = loop.time(), loop._selector.select  # noqa: SLF001 - the loop has no other place where it waits

    def wait(timeout: float | None = None) -> Any:
        nonlocal now
        begun = time.monotonic()
        events = select(timeout)
        waited = time.monotonic() - begun
        now += waited if timeout is None else min(waited, max(timeout, LEAST_WAIT))
        return events

    monkeypatch.setattr(loop._selector, "select", wait)  # noqa: SLF001
    monkeypatch.setattr(loop, "time", lambda: now)


@pytest.fixture(params=["memory", "sqlite", pytest.param("sqlalchemy", marks=pytest.mark.slow), "postgres"])
def new_sessions(request: pytest.FixtureRequest, tmp_path: Path) -> BaseSessionService:
    """New, empty session service of every kind. Created without a running loop, as by a server."""
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
    """The same session service. It is closed at the end, in the loop that has used it."""
    yield new_sessions
    if isinstance(new_sessions, ThreadedReads):
        await new_sessions.close()
