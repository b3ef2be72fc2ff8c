"""The connections of ADK's ``DatabaseSessionService``: how many, and how a dead one is noticed."""

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
    from sqlalchemy.engine import URL
    from sqlalchemy.ext.asyncio import AsyncConnection

CONNECTIONS: Final = 5
"""Of one service. A statement that finds all of them in use waits for one. ``serve`` has two services of a database:
one reads."""

CONNECT_SECONDS: Final = 5.0
"""Seconds that the server may take to accept a connection, unless the URI has a ``timeout``."""

PING_SECONDS: Final = 1.0
"""Seconds that a connection may take to answer before it is used. A proxy may have forgotten the connection without
closing it."""

REFUSED_PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""The pauses between attempts to connect to a server that is full or starts, in seconds."""

NOTIFY_SECONDS: Final = 6.0
"""Seconds that a message may take from one connection to another. A busy machine needs some of it. It is shorter than
the timeout of the probe of the whole store, whose error says only that nothing answers. A server that starts waits for
it once."""

MIXED_UP: Final = ("42P05", "26000")
"""The codes of a prepared statement that is there already, or is not there."""

READ_ONLY: Final = "25006"

POOLER_TEXT: Final = (
    "NOTIFY does not arrive: is a pooler in transaction mode between? "
    "Use the address of the server itself, or a pool in session mode"
)


class PoolerError(Exception):
    """A pooler gives each transaction another connection."""


def database_sessions(uri: str) -> DatabaseSessionService:
    """Makes the session service of an SQLAlchemy URI, with a pool that is bounded and waits."""
    url = make_url(uri)
    if url.get_backend_name() == "sqlite":  # a file, which has no limit of connections
        return DatabaseSessionService(uri)
    bounds: dict[str, Any] = {"pool_size": CONNECTIONS, "max_overflow": 0}
    if url.get_driver_name() != "asyncpg":
        return DatabaseSessionService(uri, **bounds)
    # ADK's own ping has no time limit, so `_ping` takes its place.
    service = DatabaseSessionService(uri, pool_pre_ping=False, connect_args=_connect_arguments(url), **bounds)
    event.listen(service.db_engine.sync_engine, "checkout", _ping)
    return service


async def check_pooler(service: DatabaseSessionService) -> None:
    """Raises ``PoolerError`` if what one connection has set does not stay with it: prepared statements would get lost.

    A server that refuses ``LISTEN``, such as a standby, is not checked.
    """
    if service.db_engine.dialect.driver != "asyncpg":
        return
    try:
        async with service.db_engine.connect() as listening, service.db_engine.connect() as sending:
            await _check_messages(await _driver_connection(listening), await _driver_connection(sending))
    except (DBAPIError, asyncpg.PostgresError) as error:
        state = getattr(error, "sqlstate", None) or getattr(getattr(error, "orig", None), "sqlstate", None)
        if state in MIXED_UP:
            raise PoolerError(POOLER_TEXT) from error
        if state != READ_ONLY:
            raise


async def _driver_connection(connection: AsyncConnection) -> Any:
    return (await connection.get_raw_connection()).driver_connection


async def _check_messages(listening: Any, sending: Any) -> None:
    heard, channel = asyncio.Event(), f"adk_ui_stream_{uuid4().hex}"

    def hear(*_: object) -> None:
        heard.set()

    await listening.add_listener(channel, hear)
    try:
        await sending.execute(f"NOTIFY {channel}")
        async with asyncio.timeout(NOTIFY_SECONDS):
            await heard.wait()
    except TimeoutError:
        raise PoolerError(POOLER_TEXT) from None
    finally:
        await listening.remove_listener(channel, hear)


def _connect_arguments(url: URL) -> dict[str, Any]:
    timeout = {} if "timeout" in url.query else {"timeout": CONNECT_SECONDS}
    return {"async_creator_fn": _connect, **timeout}


async def _connect(*arguments: Any, **options: Any) -> Any:
    """Connects. Waits for a server that is full, or that starts: a run that has begun shall not end because of that."""
    for seconds in REFUSED_PAUSES:
        with suppress(asyncpg.TooManyConnectionsError, asyncpg.CannotConnectNowError):
            return await asyncpg.connect(*arguments, **options)
        await asyncio.sleep(seconds)
    return await asyncpg.connect(*arguments, **options)


def _ping(connection: Any, _record: object, _proxy: object) -> None:
    """Called when a connection is taken from the pool. Raises ``DisconnectionError``: then the pool makes another."""
    driver = connection.driver_connection
    try:
        await_only(driver.execute("SELECT 1", timeout=PING_SECONDS))
    except Exception as error:
        driver.terminate()  # to close it would be to wait for an answer
        raise DisconnectionError from error
