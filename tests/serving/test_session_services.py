"""Chats in persistent session services that detect concurrent writers."""

import asyncio
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, DatabaseSessionService, InMemorySessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.function_tool import FunctionTool

from stream_protocol.agents import client_tool
from stream_protocol.serving import ChatService, RunOverrides, ServiceLimits, create_app
from stream_protocol.serving.adk_runner import SessionServiceError, load_session_service
from stream_protocol.serving.adk_runner._session_services import ProbeTimes
from stream_protocol.serving.adk_runner._threaded_reads import THREAD_NAME, ThreadedReads
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.postgres import Postgres
from tests.serving.chat_client import Page
from tests.serving.support import answered, approval, begin, chat, only, said, stream, text, types

ROOT = Path(__file__).parents[2]


def counting(sessions: BaseSessionService) -> ChatService:
    """A model that replies with the number of contents in its request."""
    model = ScriptedLlm(respond=lambda request: [str(len(request.contents))])
    return ChatService(LlmAgent(name="root", model=model), session_service=sessions)


async def test_of_requests_at_once_all_are_stored_and_the_last_to_claim_the_chat_is_answered(
    sessions: BaseSessionService,
) -> None:
    app = create_app(counting(sessions))
    answers = await asyncio.gather(*(stream(app, chat(said(f"hi {n}", f"u{n}"))) for n in range(6)))
    assert {types(answer)[-1] for answer in answers} == {"abort", "finish"}
    stored = await Page(app).stored()
    words = [message["parts"][0]["text"] for message in stored if message["role"] == "user"]
    assert sorted(words) == [f"hi {n}" for n in range(6)]
    assert types(answers[int(words[-1][-1])])[-1] == "finish"


async def test_chats_at_once_do_not_disturb_each_other(sessions: BaseSessionService) -> None:
    app = create_app(
        counting(sessions),
        prepare=lambda _, asked: RunOverrides(state_delta={"user:last": asked.id, "app:last": asked.id}),
    )
    for expected in ("1", "3"):
        answers = await asyncio.gather(
            *(stream(app, chat(said("hi", f"u{expected}"), chat_id=f"c{n}")) for n in range(5))
        )
        assert [text(answer) for answer in answers] == [expected] * 5


async def test_after_a_disconnect_the_next_turn_runs(sessions: BaseSessionService) -> None:
    model = ScriptedLlm(turns=[["Well. ", Wait(asyncio.Event())], "Again."])
    service = ChatService(
        LlmAgent(name="root", model=model), session_service=sessions, limits=ServiceLimits(disconnect_grace=0)
    )
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
    assert text(await stream(app, chat(said("more", "u2")))) == "Again."


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


async def test_nul_is_stored_as_the_replacement_character(sessions: BaseSessionService) -> None:
    """PostgreSQL refuses JSON with U+0000, from any author and at any place."""
    tools: list[Any] = [client_tool("where", "Where."), FunctionTool(pay, require_confirmation=True)]
    turns = (Call("where", {}), Call("pay", {"amount": 5}), "Paid.")
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=tools)
    page = Page(create_app(ChatService(agent, session_service=sessions)))
    await page.send("a\0b", {"type": "file", "mediaType": "text/plain", "filename": "a\0", "url": "https://h/\0"})
    page.answer("where", {"x\0": ["y\0"]})
    await page.submit()
    page.approve(True, "be\0cause")
    await page.submit()
    assert page.parts("done")[-1]["text"] == "Paid."
    user, assistant = await page.stored()
    assert [part.get("text", part.get("filename")) for part in user["parts"]] == ["a\ufffd", "a\ufffdb"]
    where, paid = (part for part in assistant["parts"] if part["type"].startswith("tool-"))
    assert where["output"] == {"x\ufffd": ["y\ufffd"]}
    assert paid["approval"]["reason"] == "be\ufffdcause"


async def test_an_approval_is_answered_by_another_process(tmp_path: Path) -> None:
    """The two processes of this test share only the file."""

    def app_of_new_process(*turns: Any) -> ChatService:
        agent = LlmAgent(
            name="root", model=ScriptedLlm(turns=turns), tools=[FunctionTool(pay, require_confirmation=True)]
        )
        return ChatService(agent, session_service=SqliteSessionService(str(tmp_path / "chat.db")))

    first = await stream(create_app(app_of_new_process(Call("pay", {"amount": 5}))), chat(said("pay")))
    (request,) = only(first, "tool-approval-request")
    body = answered(first[0]["messageId"], approval(request, approved=True))
    second = await stream(create_app(app_of_new_process("Paid.")), body)
    (output,) = only(second, "tool-output-available")
    assert output["output"] == {"paid": 5}
    assert second[0] == first[0]


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("memory://", InMemorySessionService),
        ("sqlite:///chat.db", SqliteSessionService),
        ("sqlite+aiosqlite:///chat.db", DatabaseSessionService),
    ],
)
def test_a_uri_names_a_service(
    uri: str, kind: type[BaseSessionService], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service = load_session_service(uri)
    assert isinstance(service.service if isinstance(service, ThreadedReads) else service, kind)
    assert (tmp_path / "chat.db").exists() is ("chat.db" in uri)
    if isinstance(service, ThreadedReads):
        asyncio.run(service.close())


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+aiosqlite"])
def test_a_database_is_read_in_a_thread_of_its_own(scheme: str, tmp_path: Path) -> None:
    service = load_session_service(f"{scheme}:///{tmp_path}/chat.db")
    assert isinstance(service, ThreadedReads)
    threads = set()

    async def noted(read: Callable[..., Awaitable[Any]], **key: str) -> Any:
        threads.add(threading.current_thread().name)
        return await read(**key)

    async def use() -> None:
        await service.create_session(app_name="app", user_id="ann", session_id="c1", state={"x": 1})
        await service.create_session(app_name="app", user_id="bob", session_id="c2")
        session = await service.get_session(app_name="app", user_id="ann", session_id="c1")
        assert session is not None
        # A session that one service has read can be written by the other.
        await service.append_event(session, Event(author="user", actions=EventActions(state_delta={"user:y": 2})))
        again = await service.get_session(app_name="app", user_id="ann", session_id="c1")
        assert again is not None
        assert again.state == {"x": 1, "user:y": 2}
        assert [*await service.get_user_state(app_name="app", user_id="ann")] == ["y"]
        assert [one.id for one in (await service.list_sessions(app_name="app", user_id="ann")).sessions] == ["c1"]
        await service.delete_session(app_name="app", user_id="ann", session_id="c1")
        assert await service.get_session(app_name="app", user_id="ann", session_id="c1") is None
        await service.close()
        assert not any(thread.name == THREAD_NAME for thread in threading.enumerate())

    for name in ("get_session", "list_sessions"):
        setattr(service.reader, name, partial(noted, getattr(service.reader, name)))
    asyncio.run(use())
    assert threads == {THREAD_NAME}


@pytest.mark.parametrize(
    "uri", ["sqlite:///:memory:", "sqlite+aiosqlite:///:memory:", "sqlite+aiosqlite:///file:x?mode=memory&uri=true"]
)
def test_a_database_in_the_memory_of_a_service_has_no_second_reader_and_no_file(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with suppress(SessionServiceError):  # what ADK makes of it
        assert not isinstance(load_session_service(uri), ThreadedReads)
    assert [*tmp_path.iterdir()] == []


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+aiosqlite"])
@pytest.mark.skipif(os.name == "nt", reason="files of Windows have no modes")
async def test_the_files_of_a_store_are_their_owners_alone_whatever_the_umask(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    umask = os.umask(0)
    try:
        service = await asyncio.to_thread(load_session_service, f"{scheme}:///{path}")
        modes = modes_in(tmp_path)
        with closing(sqlite3.connect(path)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("CREATE TABLE x (y)")  # SQLite makes its files when the first page changes
            modes |= modes_in(tmp_path)
            writer.rollback()
            writer.execute("PRAGMA journal_mode = WAL")
            writer.execute("CREATE TABLE x (y)")
            modes |= modes_in(tmp_path)
    finally:
        os.umask(umask)
    assert modes == dict.fromkeys(["chat.db", "chat.db-journal", "chat.db-wal", "chat.db-shm"], 0o600)
    if isinstance(service, ThreadedReads):
        await service.close()


def test_a_store_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    path.touch()
    path.chmod(0o640)
    load_session_service(f"sqlite:///{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("nowhere://x", "cannot use nowhere://x: ADK has no session service for nowhere: write memory://, "),
        (
            "sqlite:///no/such/chat.db",
            "cannot use sqlite:///no/such/chat.db: there is no folder no/such: create it first",
        ),
        (
            f"postgresql://ann:secret@127.0.0.1:{closed_port()}/db?ssl=secret",
            "cannot use postgresql://127.0.0.1:",
        ),
        ("mysql+nothing://ann:secret@h/db", "cannot use mysql+nothing://h/db: "),
    ],
    ids=["unknown scheme", "no such folder", "nobody listens", "no such driver"],
)
def test_a_service_that_does_not_answer_is_one_line_without_its_password(
    uri: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SessionServiceError) as refused:
        load_session_service(uri)
    assert str(refused.value).startswith(reason)
    assert caplog.messages == []
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_database_that_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(SessionServiceError, match=r": it does not answer$"):
            load_session_service(f"postgresql://ann@127.0.0.1:{port}/db", times=ProbeTimes(limit=0.1))


def test_what_needs_no_sqlalchemy_works_without_it(tmp_path: Path) -> None:
    load = "from stream_protocol.serving.adk_runner import load_session_service as load"
    script = f"import sys; sys.modules['sqlalchemy'] = None; {load}; load('memory://'); load('sqlite:///chat.db')"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("times", [1, 4, 6])
def test_tables_that_another_worker_is_still_filling_are_waited_for(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADK tells them by a ``ValueError``: it reads a version that is not there yet."""
    asked = []
    get_session = DatabaseSessionService.get_session

    async def early(self: DatabaseSessionService, **which: Any) -> Session | None:
        asked.append(which)
        if len(asked) <= times:
            raise ValueError("Schema version not found in adk_internal_metadata.")
        return await get_session(self, **which)

    monkeypatch.setattr(DatabaseSessionService, "get_session", early)
    without_pauses = ProbeTimes(between=(0.0,) * 4, while_filled=(0.0,) * 2)
    load_session_service(f"sqlite+aiosqlite:///{tmp_path}/chat.db", times=without_pauses)
    assert len(asked) == times + 1
    times, asked = 8, []
    with pytest.raises(SessionServiceError, match="ValueError: Schema version not found"):
        load_session_service(f"sqlite+aiosqlite:///{tmp_path}/chat.db", times=without_pauses)


async def test_tables_whose_worker_died_before_it_had_filled_them_are_completed(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    """ADK makes the tables in one transaction, and writes their version in the next."""
    uri = postgres.new_database()
    load = partial(load_session_service, uri, times=ProbeTimes(between=(), while_filled=()))
    await asyncio.to_thread(load)
    connection = await asyncpg.connect(uri)
    try:
        await connection.execute("DELETE FROM adk_internal_metadata")
        services: list[Any] = await asyncio.gather(*(asyncio.to_thread(load) for _ in range(2)))
        session = await services[0].create_session(app_name="app", user_id="ann")
        assert await services[1].get_session(app_name="app", user_id="ann", session_id=session.id) is not None
        assert await connection.fetchval("SELECT value FROM adk_internal_metadata") == "1"
        for service in services:
            await service.close()
    finally:
        await connection.close()
    assert "a worker died while it made them" in caplog.text


async def test_workers_may_start_at_once_on_an_empty_database(postgres: Postgres) -> None:
    uri = postgres.new_database()
    services = await asyncio.gather(*(asyncio.to_thread(load_session_service, uri) for _ in range(4)))
    assert len(services) == 4
