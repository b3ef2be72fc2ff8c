"""Creates the ADK session service for a URI, and checks that its store works."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from google.adk.cli.service_registry import get_service_registry
from google.adk.sessions import InMemorySessionService

from stream_protocol._private_files import make_private_store
from stream_protocol.serving.adk_runner._memory_sessions import MemorySessionService
from stream_protocol.serving.adk_runner._session_uris import (
    failure,
    is_in_memory,
    names_driver,
    sqlite_file,
    unknown_scheme,
    with_driver,
    without_password,
    wrong_form,
)
from stream_protocol.serving.adk_runner._threaded_reads import Closable, ThreadedReads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.adk.sessions import BaseSessionService

logger = logging.getLogger(__name__)

ADK_DATABASES: Final = "google_adk.google.adk.sessions.database_session_service"
"""The ADK logger that reports an unusable database at each attempt."""


@dataclass(frozen=True)
class ProbeTimes:
    """Times for the check that a session store works, in seconds."""

    limit: float = 10.0
    """The maximum time of one attempt."""
    between: Sequence[float] = (0.1, 0.2, 0.4, 0.8)
    """The pauses between two attempts. If several workers start on an empty database, only one of them can create the
    tables, and the others try again."""
    while_filled: Sequence[float] = (1.6, 3.2)
    """Additional pauses while the tables are empty, for which ADK raises ``ValueError``. Another worker may fill the
    tables soon."""


DEFAULT_PROBES: Final = ProbeTimes()


class _UnknownSchemeError(Exception):
    pass


class SessionServiceError(Exception):
    """Raised if a session service cannot be used. ``str(error)`` is one line, without the URI's password."""


def load_session_service(uri: str, *, times: ProbeTimes = DEFAULT_PROBES) -> BaseSessionService:
    """Creates the session service of a URI, such as ``sqlite:///chat.db`` or ``postgresql://user@host/db``.

    The other URI schemes of ADK also work. Must be called without a running event loop. The function checks that the
    store works, so that a server with a broken store fails at its start. A new SQLite file is readable only by its
    owner.

    Raises ``SessionServiceError``.
    """
    if (problem := wrong_form(uri)) is not None:
        raise _refusal(uri, problem)
    address = with_driver(uri)
    make_private_file(address)
    try:
        with silenced(ADK_DATABASES):
            asyncio.run(_prepare(address, times))
        # Create a second service, because connections belong to the event loop that has opened them.
        return ThreadedReads(partial(_make, address)) if _is_shared_database(address) else _make(address)
    except _UnknownSchemeError as error:
        raise _refusal(uri, unknown_scheme(uri)) from error
    except Exception as error:
        raise _refusal(uri, failure(address, error)) from error


def _refusal(uri: str, reason: str) -> SessionServiceError:
    return SessionServiceError(f"cannot use {without_password(uri)}: {reason}")


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """Context manager: disables the logger ``name``. Use it if the logger would only repeat an error that is also
    raised.
    """
    logger = logging.getLogger(name)
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


def make_private_file(uri: str) -> None:
    """Let only the owner read the file of an SQLite store. Does nothing for other URIs."""
    if (path := sqlite_file(uri)) is not None:
        make_private_store(path)


async def _prepare(uri: str, times: ProbeTimes) -> None:
    if names_driver(uri):
        from sqlalchemy.exc import DBAPIError

        _make(uri)  # raises for a URI or a driver that can never be used
        for seconds in times.between:
            try:
                return await _probe(uri, times.limit)
            except (DBAPIError, ValueError):
                await asyncio.sleep(seconds)
        for seconds in times.while_filled:
            try:
                return await _probe(uri, times.limit)
            except ValueError:
                await asyncio.sleep(seconds)
        try:
            return await _probe(uri, times.limit)
        except ValueError:
            await _complete_tables(uri)
    return await _probe(uri, times.limit)


async def _complete_tables(uri: str) -> None:
    """Write ADK's schema version into the database if the version is missing.

    ADK creates its tables in one transaction, and writes the version in another. If a worker dies between the two
    transactions, no other worker can start.
    """
    from google.adk.sessions import DatabaseSessionService
    from google.adk.sessions.migration._schema_check_utils import LATEST_SCHEMA_VERSION, SCHEMA_VERSION_KEY
    from sqlalchemy import column, insert, select, table
    from sqlalchemy.exc import DBAPIError

    service = _make(uri)
    assert isinstance(service, DatabaseSessionService)
    metadata = table("adk_internal_metadata", column("key"), column("value"))
    version = {"key": SCHEMA_VERSION_KEY, "value": LATEST_SCHEMA_VERSION}
    try:
        async with service.db_engine.begin() as connection:
            if (await connection.execute(select(metadata.c.key))).first() is None:
                await connection.execute(insert(metadata).values(**version))
                text = "The session store's tables had no version: a worker died while it made them. It is written now."
                logger.warning(text)
    except DBAPIError:
        pass  # the table is missing, or another worker has just written the version: the next probe decides
    finally:
        await service.close()


async def _probe(uri: str, limit: float) -> None:
    threads = set(threading.enumerate())
    service = _make(uri)
    try:
        async with asyncio.timeout(limit):
            if names_driver(uri):
                from stream_protocol.serving.adk_runner._database_pools import check_pooler

                await check_pooler(service)
            await service.get_session(app_name="-", user_id="-", session_id="-")
    except Exception as error:
        if not isinstance(getattr(error, "orig", error), sqlite3.Error):
            raise
        # The thread of a failed connection still calls this event loop. So wait for the thread before the loop is
        # closed.
        for thread in set(threading.enumerate()) - threads:
            await asyncio.to_thread(thread.join, limit)
        raise
    finally:
        if isinstance(service, Closable):
            await service.close()


def _make(uri: str) -> BaseSessionService:
    if names_driver(uri):
        from stream_protocol.serving.adk_runner._database_pools import database_sessions

        return database_sessions(uri)
    service = get_service_registry().create_session_service(uri)
    if service is None:
        raise _UnknownSchemeError
    return MemorySessionService() if type(service) is InMemorySessionService else service


def _is_shared_database(uri: str) -> bool:
    """Return True if several session services can use the same database. An SQLite database in memory belongs to one
    service.
    """
    is_sqlite = urlsplit(uri).scheme.startswith("sqlite")
    return not is_in_memory(uri) if is_sqlite else names_driver(uri)
