"""A URI -> an ADK session service that answers."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

from google.adk.cli.service_registry import get_service_registry

if TYPE_CHECKING:
    from google.adk.sessions import BaseSessionService

ASYNC_DRIVERS: Final = (("postgres://", "postgresql+asyncpg://"), ("postgresql://", "postgresql+asyncpg://"))
"""What people write, and what SQLAlchemy needs for it: ADK takes no driver that blocks."""

PROBE_SECONDS: Final = 10.0

BETWEEN_PROBES: Final = (0.1, 0.2, 0.4, 0.8)
"""Seconds. Workers that start at once on an empty database all make its tables, and the database lets only one; the
others may find tables that are not filled yet, which ADK takes for malformed (``ValueError``)."""


class SessionServiceError(Exception):
    """The service cannot be had. ``str(error)`` is one line without the URI's password."""


def load_session_service(uri: str) -> BaseSessionService:
    """The service of ``memory://``, ``sqlite:///chat.db``, ``postgresql://user@host/db``, or of a scheme known to ADK.

    Asks it once whether it answers, so that a server that cannot store anything does not start. Must be called where no
    event loop runs. Raises ``SessionServiceError``.
    """
    for written, meant in ASYNC_DRIVERS:
        if uri.startswith(written):
            uri = meant + uri.removeprefix(written)
    try:
        asyncio.run(_prepare(uri))
        return _make(uri)  # a new one: connections belong to the loop that made them
    except Exception as error:
        reason = next(iter(str(error).splitlines()), "")
        raise SessionServiceError(f"cannot use {_shown(uri)}: {type(error).__name__}: {reason}") from error


@runtime_checkable
class _Closable(Protocol):
    async def close(self) -> None: ...


async def _prepare(uri: str) -> None:
    if _names_driver(uri):
        from sqlalchemy.exc import DBAPIError

        for seconds in BETWEEN_PROBES:
            try:
                return await _probe(uri)
            except (DBAPIError, ValueError):
                await asyncio.sleep(seconds)
    return await _probe(uri)


async def _probe(uri: str) -> None:
    threads = set(threading.enumerate())
    service = _make(uri)
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await service.get_session(app_name="-", user_id="-", session_id="-")
    except sqlite3.Error:
        # The thread of a connection that failed still reports to this loop, and must not find it closed.
        for thread in set(threading.enumerate()) - threads:
            await asyncio.to_thread(thread.join, PROBE_SECONDS)
        raise
    finally:
        if isinstance(service, _Closable):
            await service.close()


def _make(uri: str) -> BaseSessionService:
    if _names_driver(uri):
        from google.adk.sessions import DatabaseSessionService

        return DatabaseSessionService(uri)
    service = get_service_registry().create_session_service(uri)
    if service is None:
        raise ValueError("no such kind of session service")
    return service


def _names_driver(uri: str) -> bool:
    """Whether it is SQLAlchemy's: that comes with an extra."""
    return "+" in urlsplit(uri).scheme


def _shown(uri: str) -> str:
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}".partition("?")[0]
