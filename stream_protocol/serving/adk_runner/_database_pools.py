"""The database connections of ADK's ``DatabaseSessionService``: their number, and the check for dead connections."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import asyncpg
from google.adk.sessions import DatabaseSessionService
from sqlalchemy import event, make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.util import await_only

if TYPE_CHECKING:
    from google.adk.sessions import BaseSessionService
    from sqlalchemy.engine import URL
    from sqlalchemy.ext.asyncio import AsyncConnection

CONNECTIONS: Final = 5
"""The maximum number of connections of one session service. ``adk-ui-stream serve`` has two services for each database:
one for reads, one for writes."""

CONNECT_SECONDS: Final = 5.0
"""The maximum number of seconds for opening a connection, unless the URI has a ``timeout``."""

PING_SECONDS: Final = 1.0
"""The maximum number of seconds for the check of a connection before its use. A proxy may drop a connection without
closing it."""

REFUSED_PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""The pauses, in seconds, between attempts to connect to a database server that is full or starting."""

NOTIFY_SECONDS: Final = 6.0
"""The maximum number of seconds that a starting server waits for its ``NOTIFY`` message. Must be shorter than
``ProbeTimes.limit``, which would raise a less precise error."""

STATEMENT_ERRORS: Final = ("42P05", "26000")
"""The SQLSTATE codes for a prepared statement that already exists, or does not exist."""

READ_ONLY: Final = "25006"

POOLER_TEXT: Final = (
    "NOTIFY does not arrive: is a pooler in transaction mode between? "
    "Use the address of the server itself, or a pool in session mode"
)


class PoolerError(Exception):
    """Raised if a connection pooler in front of the database may run each transaction on a different connection."""


def database_sessions(uri: str) -> DatabaseSessionService:
    """Creates the session service for an SQLAlchemy URI. At most ``CONNECTIONS`` connections are open. If all are in
    use, a statement waits.
    """
    url = make_url(uri)
    if url.get_backend_name() == "sqlite":  # a file has no limit of connections
        return DatabaseSessionService(uri)
    bounds: dict[str, Any] = {"pool_size": CONNECTIONS, "max_overflow": 0}
    if url.get_driver_name() != "asyncpg":
        return DatabaseSessionService(uri, **bounds)
    # ADK's own ping has no time limit, so `_ping` replaces it.
    service = DatabaseSessionService(uri, pool_pre_ping=False, connect_args=_connect_arguments(url), **bounds)
    event.listen(service.db_engine.sync_engine, "checkout", _ping)
    return service


async def check_pooler(service: BaseSessionService) -> None:
    """Raises ``PoolerError`` if a pooler runs each transaction on a different connection.

    With such a pooler, the settings and prepared statements of a connection are lost after each transaction. The check
    sends ``LISTEN`` and ``NOTIFY``. If the server refuses ``LISTEN``, as a standby does, nothing is raised.
    """
    if not isinstance(service, DatabaseSessionService) or service.db_engine.dialect.driver != "asyncpg":
        return
    try:
        async with service.db_engine.connect() as listening, service.db_engine.connect() as sending:
            await _check_messages(await _driver_connection(listening), await _driver_connection(sending))
    except (DBAPIError, asyncpg.PostgresError) as error:
        state = getattr(error, "sqlstate", None) or getattr(getattr(error, "orig", None), "sqlstate", None)
        if state in STATEMENT_ERRORS:
            raise PoolerError(POOLER_TEXT) from error
        if state != READ_ONLY:
            raise


async def _driver_connection(connection: AsyncConnection) -> Any:
    return (await connection.get_raw_connection()).driver_connection


async def _check_messages(listening: Any, sending: Any) -> None:
    received, channel = asyncio.Event(), f"adk_ui_stream_{uuid4().hex}"

    def receive(*_: object) -> None:
        received.set()

    await listening.add_listener(channel, receive)
    try:
        await sending.execute(f"NOTIFY {channel}")
        async with asyncio.timeout(NOTIFY_SECONDS):
            await received.wait()
    except TimeoutError:
        raise PoolerError(POOLER_TEXT) from None
    finally:
        await listening.remove_listener(channel, receive)


def _connect_arguments(url: URL) -> dict[str, Any]:
    timeout = {} if "timeout" in url.query else {"timeout": CONNECT_SECONDS}
    return {"async_creator_fn": _connect, **timeout}


async def _connect(*arguments: Any, **options: Any) -> Any:
    for seconds in REFUSED_PAUSES:
        with suppress(asyncpg.TooManyConnectionsError, asyncpg.CannotConnectNowError):
            return await asyncpg.connect(*arguments, **options)
        await asyncio.sleep(seconds)
    return await asyncpg.connect(*arguments, **options)


def _ping(connection: Any, _record: object, _proxy: object) -> None:
    """Check a connection of the pool before its use. For a dead connection, raise ``DisconnectionError``, so that the
    pool opens a new one.
    """
    driver = connection.driver_connection
    try:
        await_only(driver.execute("SELECT 1", timeout=PING_SECONDS))
    except Exception as error:
        driver.terminate()  # `close` would wait for a reply
        raise DisconnectionError from error
