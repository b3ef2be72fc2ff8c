"""Responses while the database of the sessions cannot serve: recovering, full, or read-only."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg
import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService, DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.adk_runner import load_session_service
from stream_protocol.serving.base import ServiceTimes
from stream_protocol.serving.requests import _readiness
from stream_protocol.testing import ScriptedLlm
from tests.postgres import Postgres
from tests.serving.support import HANG, chat, client, said

SSL_REQUEST: Final = 80877103

NOT_READY: Final = {"status": "unavailable", "missing": ["session store"]}


@asynccontextmanager
async def refusing_postgres(sqlstate: str) -> AsyncIterator[str]:
    """The URL of a server that refuses each connection with this code."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length, kind = struct.unpack("!II", await reader.readexactly(8))
        if kind == SSL_REQUEST:
            writer.write(b"N")
            (length,) = struct.unpack("!I", await reader.readexactly(4))
            await reader.readexactly(length - 4)
        else:
            await reader.readexactly(length - 8)
        fields = b"".join(f"{name}{text}\0".encode() for name, text in (("S", "FATAL"), ("C", sqlstate), ("M", "no")))
        writer.write(b"E" + struct.pack("!I", len(fields) + 5) + fields + b"\0")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"postgresql+asyncpg://ann@127.0.0.1:{port}/chats"


def service_over(sessions: BaseSessionService) -> ChatService:
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=lambda _: ["Hi."]))
    times = ServiceTimes(readiness=HANG, readiness_cache=0.0)  # each probe asks the stores, which may be slow
    return ChatService(agent, session_service=sessions, times=times)


async def answers(http: httpx.AsyncClient) -> dict[str, httpx.Response]:
    """The answer to each kind of request."""
    return {
        "message": await http.post("/api/chat", json=chat(said("hi"))),
        "history": await http.get("/api/chat/c1"),
        "stop": await http.post("/api/chat/c1/stop"),
        "list": await http.get("/api/chats"),
        "delete": await http.delete("/api/chat/c1"),
        "rename": await http.patch("/api/chat/c1", json={"title": "Rome"}),
        "artifact": await http.get("/api/chat/c1/artifacts/a.txt"),
    }


@pytest.mark.parametrize("sqlstate", ["57P03", "53300", "57P01", "08006"])
async def test_a_database_that_takes_no_connections_just_now_gives_503(sqlstate: str) -> None:
    async with refusing_postgres(sqlstate) as url:
        sessions = DatabaseSessionService(url)
        async with client(create_app(service_over(sessions))) as http:
            told = {
                name: (each.status_code, each.headers.get("retry-after"))
                for name, each in (await answers(http)).items()
            }
            assert told == dict.fromkeys(told, (503, "2"))
            ready = await http.get("/readyz")
            assert (ready.status_code, ready.json()) == (503, NOT_READY)
        await sessions.close()


@pytest.mark.fleet
async def test_a_database_that_is_read_only_is_read_and_gives_503_to_the_rest(postgres: Postgres) -> None:
    url = postgres.new_database()
    sessions: Any = await asyncio.to_thread(load_session_service, url)
    async with client(create_app(service_over(sessions))) as http:
        assert (await http.post("/api/chat", json=chat(said("hi")))).status_code == 200
        assert (await http.get("/readyz")).status_code == 200
        await _set_read_only(url, "on")
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, NOT_READY)
        new = await http.post("/api/chat", json=chat(said("hi")) | {"id": "c2"})
        told = [new, await http.delete("/api/chat/c1"), await http.patch("/api/chat/c1", json={"title": "Rome"})]
        assert [(each.status_code, each.headers.get("retry-after")) for each in told] == 3 * [(503, "2")]
        assert (await http.get("/api/chat/c1")).status_code == 200
        await _set_read_only(url, "off")
        assert (await http.get("/readyz")).status_code == 200
        assert len((await http.get("/api/chat/c1")).json()["messages"]) == 2
    await sessions.close()


async def test_a_worker_whose_file_of_sessions_is_read_only_is_not_ready(tmp_path: Path) -> None:
    sessions = SqliteSessionService(str(tmp_path / "chats.db"))
    await sessions.create_session(app_name="root", user_id="ann", session_id="c1")
    async with client(create_app(service_over(sessions))) as http:
        assert (await http.get("/readyz")).status_code == 200
    read_only = SqliteSessionService(f"sqlite:///{tmp_path}/chats.db?mode=ro")
    async with client(create_app(service_over(read_only))) as http:
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, NOT_READY)


async def test_the_check_changes_nothing_in_any_store(sessions: BaseSessionService) -> None:
    for user in ("ann", _readiness.NAME):
        await sessions.create_session(app_name="root", user_id=user, session_id=_readiness.NAME)
    async with client(create_app(service_over(sessions))) as http:
        assert (await http.get("/readyz")).status_code == 200
    assert len((await sessions.list_sessions(app_name="root")).sessions) == 2


async def test_no_deletion_is_asked_of_a_session_service_that_the_app_has_written(tmp_path: Path) -> None:
    class Sessions(SqliteSessionService):
        async def delete_session(self, **key: Any) -> None:
            raise KeyError(key)

    async with client(create_app(service_over(Sessions(str(tmp_path / "chats.db"))))) as http:
        assert (await http.get("/readyz")).status_code == 200


async def _set_read_only(url: str, value: str) -> None:
    """Make the database read-only and end its open connections, as a fail-over does."""
    connection = await asyncpg.connect(f"{url.rpartition('/')[0]}/postgres")
    name = url.rpartition("/")[2]
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}")
    await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
    await connection.close()
