"""The database connections of session services: their number, dead connections, poolers."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from google.adk.sessions import BaseSessionService

from stream_protocol.serving.adk_runner import SessionServiceError, load_session_service
from stream_protocol.serving.adk_runner._database_pools import CONNECTIONS
from stream_protocol.serving.adk_runner._threaded_reads import ThreadedReads
from tests.ports import free_port
from tests.postgres import UNPRIVILEGED, Postgres
from tests.processes import HANG
from tests.tools import require_command

pytestmark = pytest.mark.fleet


@asynccontextmanager
async def loaded(uri: str) -> AsyncIterator[ThreadedReads]:
    sessions = await asyncio.to_thread(load_session_service, uri)
    assert isinstance(sessions, ThreadedReads)
    try:
        yield sessions
    finally:
        await sessions.close()


async def in_use(url: str) -> int:
    connection = await asyncpg.connect(f"{url.rpartition('/')[0]}/postgres")
    name = url.rpartition("/")[2]
    count: int = await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE datname = $1", name)
    await connection.close()
    return count


async def burst(sessions: BaseSessionService, count: int) -> None:
    """Create, write and read this number of chats at once."""

    async def one(number: int) -> None:
        session = await sessions.create_session(app_name="app", user_id="ann", session_id=f"c{number}")
        await sessions.get_session(app_name="app", user_id="ann", session_id=session.id)

    await asyncio.gather(*map(one, range(count)))


async def test_a_burst_waits_for_the_connections_of_a_bounded_pool(postgres: Postgres) -> None:
    url = postgres.new_database()
    async with loaded(url) as sessions:
        await burst(sessions, 100)
        assert await in_use(url) <= 2 * CONNECTIONS


async def test_a_server_that_is_full_for_a_moment_is_waited_for(postgres: Postgres) -> None:
    url = postgres.new_database()
    admin = await asyncpg.connect(url)
    await admin.execute("CREATE ROLE crowded LOGIN; GRANT ALL ON SCHEMA public TO crowded")
    async with loaded(url.replace("ann@", "crowded@")) as sessions:
        await admin.execute("ALTER ROLE crowded CONNECTION LIMIT 0")
        writing = asyncio.create_task(burst(sessions, 1))
        await asyncio.sleep(0.5)
        assert not writing.done()
        await admin.execute("ALTER ROLE crowded CONNECTION LIMIT -1")
        await asyncio.wait_for(writing, HANG)
    await admin.execute("DROP OWNED BY crowded; DROP ROLE crowded")
    await admin.close()


class ForgetfulProxy:
    """A proxy that drops connections without closing them: their bytes are lost."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._target = (address.hostname, address.port)
        self._forgotten: set[asyncio.StreamWriter] = set()
        self._known: set[asyncio.StreamWriter] = set()

    def forget(self) -> None:
        self._forgotten |= self._known

    def end(self) -> None:
        for writer in self._known:
            writer.close()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server = await asyncio.open_connection(*self._target)
        self._known |= {writer, server}
        with suppress(OSError):
            await asyncio.gather(self._copy(reader, server), self._copy(server_reader, writer))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            if writer not in self._forgotten:
                writer.write(data)
        writer.close()


async def test_idle_connections_that_a_proxy_has_forgotten_are_made_again(postgres: Postgres) -> None:
    url = postgres.new_database()
    proxy = ForgetfulProxy(url)
    async with await asyncio.start_server(proxy.accept, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        async with loaded(url.replace(f":{postgres.port}/", f":{port}/")) as sessions:
            await burst(sessions, 2)
            proxy.forget()
            async with asyncio.timeout(HANG / 3):  # waiting for the dropped connections would take longer than any test
                session = await sessions.get_session(app_name="app", user_id="ann", session_id="c1")
                assert session is not None
                await sessions.create_session(app_name="app", user_id="ann", session_id="new")
            proxy.end()


@contextmanager
def pgbouncer(url: str, mode: str, folder: Path) -> Iterator[str]:
    """Start PgBouncer in front of this database. Yields its URL."""
    command, port, address = require_command("pgbouncer"), free_port(), urlsplit(url)
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host=127.0.0.1 port={address.port} user={address.username}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\nunix_socket_dir =\n"
        f"pool_mode = {mode}\ndefault_pool_size = 20\nignore_startup_parameters = extra_float_digits\n"
    )
    user = ("-u", UNPRIVILEGED) if os.geteuid() == 0 else ()  # PgBouncer refuses to run as root
    process = subprocess.Popen([command, *user, str(settings)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield url.replace(f":{address.port}/", f":{port}/")
    finally:
        process.terminate()
        process.wait(HANG)


async def _answers(url: str) -> None:
    async with asyncio.timeout(HANG):
        while True:  # no event reports the start
            with suppress(OSError):  # the server has not started yet
                _, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
                writer.close()
                return
            await asyncio.sleep(0.05)


async def test_a_pooler_in_transaction_mode_is_refused_at_the_start(postgres: Postgres, tmp_path: Path) -> None:
    with pgbouncer(postgres.new_database(), "transaction", tmp_path) as url:
        await _answers(url)
        for _ in range(2):  # the first worker creates the tables, the second finds them
            with pytest.raises(SessionServiceError, match="is a pooler in transaction mode between"):
                await asyncio.to_thread(load_session_service, url)


async def test_a_pooler_in_session_mode_is_used(postgres: Postgres, tmp_path: Path) -> None:
    with pgbouncer(postgres.new_database(), "session", tmp_path) as url:
        await _answers(url)
        async with loaded(url) as one, loaded(url) as two:
            await burst(one, 20)
            session: Any = await two.get_session(app_name="app", user_id="ann", session_id="c7")
            assert session is not None
