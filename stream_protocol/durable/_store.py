"""Connects to the engine's database, and locks an SQLite file for one process."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from stream_protocol._private_files import lock_file, open_private
from stream_protocol.wire import StreamProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

BACKENDS: Final = frozenset({"postgres", "postgresql", "sqlite"})
"""The accepted schemes of a store's URL, without the driver. DBOS would treat any other scheme as PostgreSQL or as a
file."""

CONNECT_SECONDS: Final = 10
"""Seconds to wait for a connection to the store."""

SILENCE_SECONDS: Final = 10
"""Seconds within which the store's machine must acknowledge data. Without this limit, a dead machine stays unnoticed
for hours."""

CONNECTIONS: Final = 5
"""Maximum number of DBOS's own database connections, without the connection that listens for notifications."""

CLIENT_CONNECTIONS: Final = 4
"""Maximum number of database connections for queries that must not block, beside DBOS's own."""

NEEDING_PYTHON: Final = (3, 12)
NEEDED_SQLITE: Final = (3, 42)
"""The SQLite version that DBOS needs from ``NEEDING_PYTHON`` on, for ``unixepoch('subsec')``."""

ENGINE_OPTIONS: Final[dict[str, Any]] = {"connect_args": {"prepare_threshold": None}}
"""SQLAlchemy options for PostgreSQL that switch off psycopg's prepared statements.

PgBouncer in transaction mode may change the connection between transactions. A prepared statement may be missing on the
new connection, or may already exist.
"""


def is_postgres(url: str) -> bool:
    """Return True for a URL of PostgreSQL."""
    return url.startswith("postgres")


def check_store_url(url: str) -> None:
    """Raise ``StreamProtocolError`` unless the URL names an SQLite file or a PostgreSQL database.

    The error does not quote the URL, which may contain a password.
    """
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: the port is not a number
        address = None
    backend = address and address.get_backend_name()
    if address is None or backend not in BACKENDS or (backend == "sqlite" and address.host):
        raise StreamProtocolError(
            "The engine's store must be a URL like sqlite:///runs.db or postgresql://user@host/db. "
            "The path of a file follows a third slash."
        )


def sqlite_is_too_old() -> bool:
    return sys.version_info >= NEEDING_PYTHON and sqlite3.sqlite_version_info < NEEDED_SQLITE


def with_timeouts(url: str) -> str:
    """Return the URL with timeouts, so that no connection waits forever for a hanging or dead database server."""
    if not is_postgres(url):
        return url
    address = make_url(url)
    limits = {
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": SILENCE_SECONDS,
        "keepalives_interval": SILENCE_SECONDS,
        "tcp_user_timeout": SILENCE_SECONDS * 1000,
    }
    missing = {name: str(limit) for name, limit in limits.items() if name not in address.query}
    return address.update_query_dict(missing).render_as_string(hide_password=False)


@contextmanager
def without_prepared_statements() -> Iterator[None]:
    """Context manager: applies ``ENGINE_OPTIONS`` to all new database connections. Some DBOS functions accept no engine
    options, and need this context.
    """

    def connect(_dialect: object, _record: object, _arguments: object, options: dict[str, Any]) -> None:
        options.update(ENGINE_OPTIONS["connect_args"])

    event.listen(Engine, "do_connect", connect)
    try:
        yield
    finally:
        event.remove(Engine, "do_connect", connect)


def client_engine(url: str) -> Engine | None:
    """Return an SQLAlchemy engine for queries to PostgreSQL. Returns ``None`` for SQLite, because DBOS then creates its
    own engine.
    """
    if not is_postgres(url):
        return None
    address = make_url(with_timeouts(url)).set(drivername="postgresql+psycopg")
    return create_engine(address, pool_size=CLIENT_CONNECTIONS, max_overflow=0, pool_pre_ping=True, **ENGINE_OPTIONS)


class StoreFile:
    """The file of an SQLite store. Only one process at a time can use it. For other stores, the methods do nothing."""

    def __init__(self, url: str) -> None:
        database = None if is_postgres(url) else make_url(url).database
        in_memory = not database or database == ":memory:" or database.startswith("file:")
        self._path = None if in_memory else Path(str(database))
        self._lock: FileIO | None = None

    @property
    def name(self) -> str:
        """The name of the SQLite file; empty for other stores."""
        return "" if self._path is None else self._path.name

    def take(self) -> bool:
        """Lock the SQLite file for this process, until ``free`` is called or the process ends. Return False if another
        process holds the lock.

        A missing file is created. Only its owner can read it, because it contains messages.
        """
        if self._path is None or self._lock is not None:
            return True
        with suppress(OSError):  # SQLite reports errors of the path later
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            # The lock is a separate file: closing the store's file would release SQLite's own locks in this process.
            lock = FileIO(f"{self._path}.lock", "a", opener=open_private)
            if not lock_file(lock):
                lock.close()
                return False
            self._lock = lock
        return True

    def free(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
