"""Session services of every kind that a test can have."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from google.adk.sessions import BaseSessionService, DatabaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

KINDS = ("memory", "sqlite", "database")


@asynccontextmanager
async def session_service(kind: str, folder: Path) -> AsyncIterator[BaseSessionService]:
    """A new, empty service, which is closed at the end."""
    match kind:
        case "sqlite":
            yield SqliteSessionService(str(folder / "chat.db"))
        case "database":
            async with DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/chat.db") as service:
                yield service
        case _:
            yield InMemorySessionService()
