"""The connections of one worker to PostgreSQL. Some execute statements, and one receives messages from other workers.

asyncpg provides the connections and their pool. This module creates the tables, limits the time of each statement, and
sends messages between workers. After any failure, it raises ``RunLogError``.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from stream_protocol.serving.base import cancel_and_wait
from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.serving.run_logs._run_store import RETRY_SECONDS, reason_of
from stream_protocol.serving.run_logs.postgres import _statements as statements
from stream_protocol.serving.run_logs.postgres._turns import NoTurnError, Turns
from stream_protocol.wire import StreamProtocolError, check_text

try:
    import asyncpg
except ImportError as error:
    raise ImportError("PostgresRunLog needs the extra `postgres`: pip install 'adk-ui-stream[postgres]'.") from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


Result = TypeVar("Result")

Connection: TypeAlias = Any
"""asyncpg's ``Connection``. asyncpg has no types."""

Pool: TypeAlias = Any
"""asyncpg's ``Pool``. asyncpg has no types."""

logger = logging.getLogger(__name__)

LOST: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # raised while the server closes the connection
    ConnectionError,
)
"""The exceptions of asyncpg for a lost connection. An idle connection may also be lost."""

FAILURES: Final = (*LOST, asyncpg.PostgresError, OSError)
"""All exceptions that asyncpg raises. ``TimeoutError`` is an ``OSError``."""

STATEMENTS_AT_ONCE: Final = 4
"""The maximum number of a worker's connections for statements. One more connection listens for messages. By default, a
PostgreSQL server allows 100 connections in total."""

TURN_SECONDS: Final = 10.0
"""The maximum number of seconds that a statement waits for a free connection, if the server responds."""

FULL_SECONDS: Final = 0.1
"""Seconds between two attempts to connect, if the server has too many connections."""

IDLE_SECONDS: Final = 5.0
"""Seconds after which an idle connection is closed. A proxy or a firewall may drop it without closing it, and the next
statement would get no reply."""

HEARTBEAT_SECONDS: Final = 5.0
"""Seconds between two checks of the listening connection, because a broken network does not close a connection."""

MAX_PREFIX_LENGTH: Final = 24
"""The maximum number of characters of a prefix. A channel's name has at most 63 characters: the prefix and a worker's
id."""

_PREFIX: Final = re.compile(rf"[a-z_][a-z0-9_]{{0,{MAX_PREFIX_LENGTH - 1}}}")

_SCHEMES: Final = ("postgresql", "postgres", "postgresql+asyncpg")
"""The accepted schemes of a URL. ADK's ``DatabaseSessionService`` needs the last scheme, for SQLAlchemy."""

LIKE: Final = "The URL of PostgreSQL must be like postgresql://user:password@host:5432/database"

CHECK: Final = "check"
"""The message that a worker sends to itself, to check that messages arrive."""


class Connections:
    """Executes statements in the database of ``url``, and receives messages from other workers.

    ``worker``: the id of this worker. ``on_message``: called with each message. ``on_gap``: called when messages may
    have got lost. ``patience``: the maximum number of seconds for a statement. Raises ``StreamProtocolError`` for an
    unusable URL or prefix.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str,
        worker: str,
        patience: float,
        on_message: Callable[[str], None],
        on_gap: Callable[[], None],
    ) -> None:
        check_text("url", url, expected="a URL")
        check_text("prefix", prefix)
        if not _PREFIX.fullmatch(prefix):
            raise StreamProtocolError(
                f"The prefix in PostgreSQL must be 1 to {MAX_PREFIX_LENGTH} of these: a to z, _ and, but first, digits"
            )
        scheme, separator, rest = url.partition("://")
        if scheme not in _SCHEMES or not separator:
            raise StreamProtocolError(f"{LIKE}.")
        self._url = f"postgresql://{rest}"
        self._where = f"postgresql://{rest.rpartition('@')[2]}".partition("?")[0]
        self._prefix = prefix
        self._channel = f"{prefix}_{worker}"
        self._patience = patience
        self._on_message = on_message
        self._on_gap = on_gap
        self._turns = Turns(STATEMENTS_AT_ONCE)
        self._answered_at = 0.0
        self._is_silent = False
        """True if the last statement did not get a reply in time."""
        self._opening = asyncio.Lock()
        self._pool: Pool | None = None
        self._closed = False
        self._listening: Connection | None = None
        self._checked = asyncio.Event()
        self._listen_task: asyncio.Task[None] | None = None

    @property
    def place(self) -> str:
        """The address of the database, without user name and password, and the prefix of all names in the database."""
        return f"{self._where} {self._prefix}"

    @property
    def channels(self) -> str:
        """The beginning of all ``NOTIFY`` channel names. The name of a channel is this text and the id of a worker."""
        return f"{self._prefix}_"

    async def rows(self, statement: str, *arguments: Any, urgent: bool = False) -> list[Any]:
        """Executes a statement, and returns its rows. Raises ``RunLogError``. After a lost connection, tries once more.

        ``urgent``: True to give this statement a connection before other waiting statements. The wait for a connection
        does not count toward the time limit of the statement.
        """
        text = statements.named(statement, self._prefix)

        async def run(connection: Connection) -> list[Any]:
            rows: list[Any] = await connection.fetch(text, *arguments)
            return rows

        try:
            async with self._turns.turn(urgent=urgent, seconds=TURN_SECONDS):
                return await self._answer(run)
        except NoTurnError:
            reason = "it does not answer" if self._is_silent else f"all {STATEMENTS_AT_ONCE} connections are busy"
            raise RunLogError(f"{self._where}: {reason}") from None

    async def _answer(self, run: Callable[[Connection], Awaitable[list[Any]]]) -> list[Any]:
        now = asyncio.get_running_loop().time
        begun = now()
        try:
            async with asyncio.timeout(self._patience):
                rows = await self._try(run)
        except FAILURES as error:
            if isinstance(error, TimeoutError) and self._answered_at < begun:
                self._is_silent = True  # no statement got a reply since, so waiting statements fail at once
                self._turns.refuse_all()
            raise RunLogError(f"{self._where}: {reason_of(error)}") from error
        self._answered_at, self._is_silent = now(), False
        return rows

    async def _try(self, run: Callable[[Connection], Awaitable[list[Any]]]) -> list[Any]:
        pool = self._pool or await self._open()
        while True:
            try:
                return await _in_pool(pool, run)
            except asyncpg.TooManyConnectionsError:
                # The server refuses more connections of this worker now. Wait for one of the worker's open connections.
                if not pool.get_size():
                    raise
                await asyncio.sleep(FULL_SECONDS)
            except LOST:
                return await _in_pool(pool, run)

    async def row(self, statement: str, *arguments: Any, urgent: bool = False) -> Any:
        return next(iter(await self.rows(statement, *arguments, urgent=urgent)), None)

    async def send(self, worker: str, message: str) -> None:
        await self.rows("SELECT pg_notify($1, $2)", f"{self.channels}{worker}", message)

    async def aclose(self) -> None:
        """Closes all connections. Later statements fail."""
        async with self._opening:
            self._closed = True
        if self._listen_task is not None:
            await cancel_and_wait([self._listen_task])
        if self._pool is not None:
            try:
                async with asyncio.timeout(self._patience):
                    await self._pool.close()
            except FAILURES:
                self._pool.terminate()

    async def _open(self) -> Pool:
        async with self._opening:
            if self._closed:
                raise RunLogError(f"{self._where}: the run log is closed")
            if self._pool is None:
                # `min_size=0` means no permanent connections. asyncpg would log each failure to restore a permanent
                # connection, with the ids of an unrelated chat.
                pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=STATEMENTS_AT_ONCE,
                    max_inactive_connection_lifetime=IDLE_SECONDS,
                    **_OPTIONS,
                )
                try:
                    try:
                        await _in_pool(pool, self._make_tables)
                    except (ValueError, OverflowError):  # a wrong port or option; the message may contain a password
                        raise RunLogError(f"{self._where}: {LIKE}") from None
                    await self._begin_to_listen(pool)
                except BaseException:
                    pool.terminate()
                    raise
                self._pool = pool
            return self._pool

    async def _make_tables(self, connection: Connection) -> None:
        if await connection.fetchval(statements.named(statements.TABLES, self._prefix)):
            return
        try:
            async with connection.transaction():
                await connection.execute(statements.named(statements.SCHEMA, self._prefix))
        except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidSchemaNameError) as error:
            raise RunLogError(
                f"{self._where}: the tables {self._prefix}_… cannot be made: {reason_of(error)}"
            ) from error

    async def _begin_to_listen(self, pool: Pool) -> None:
        """Listen for messages from other workers. Send a message to this worker to check that messages arrive, because
        some connection poolers do not deliver them.
        """
        if self._listen_task is None:
            await self._listen()
            self._listen_task = asyncio.create_task(self._keep_listening(), context=Context())
        await pool.execute("SELECT pg_notify($1, $2)", self._channel, CHECK)
        try:
            async with asyncio.timeout(self._patience / 2):
                await self._checked.wait()
        except TimeoutError:
            raise RunLogError(
                f"{self._where}: NOTIFY does not arrive: is a pooler in transaction mode between? "
                "It takes the address of the server itself"
            ) from None

    async def _listen(self) -> None:
        connection: Connection = await asyncpg.connect(self._url, timeout=self._patience, **_OPTIONS)
        self._listening = connection
        await connection.add_listener(self._channel, self._receive)

    def _receive(self, _connection: object, _pid: int, _channel: str, message: object) -> None:
        if message == CHECK:
            self._checked.set()
        else:
            self._on_message(str(message))

    async def _keep_listening(self) -> None:
        failing = False
        try:
            while True:
                try:
                    if self._listening is None:
                        await self._listen()
                        failing = False
                        self._on_gap()
                    await self._until_lost()
                except FAILURES as error:
                    if not failing:
                        text = "%s: messages of other workers are not received just now: %s"
                        logger.warning(text, self._where, reason_of(error))
                    failing = True
                if self._listening is not None:
                    self._listening.terminate()
                    self._listening = None
                await asyncio.sleep(RETRY_SECONDS)
        finally:
            if self._listening is not None:
                self._listening.terminate()

    async def _until_lost(self) -> None:
        assert self._listening is not None
        lost = asyncio.Event()
        self._listening.add_termination_listener(lambda _: lost.set())
        while not lost.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await lost.wait()
                    break
            await self._listening.execute("SELECT 1", timeout=self._patience)


_OPTIONS: Final[dict[str, Any]] = {"server_settings": {"application_name": "adk-ui-stream"}}


async def _in_pool(pool: Pool, work: Callable[[Connection], Awaitable[Result]]) -> Result:
    """Call ``work`` with a connection of the pool. If the connection is lost or ``work`` is cancelled, close the
    connection.
    """
    connection = await pool.acquire()
    try:
        return await work(connection)
    except (*LOST, asyncio.CancelledError):
        connection.terminate()
        raise
    finally:
        await pool.release(connection)
