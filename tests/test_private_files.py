"""Files that the package creates: only the account of the process can read them, whatever the umask."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream_protocol.recording.write import ChatRecorder
from stream_protocol.serving import AuditFile
from stream_protocol.serving.adk_runner import load_session_service, make_private_file
from tests.tools import missing

if TYPE_CHECKING:
    from stream_protocol.durable import DbosEngine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files of Windows have no modes")

BESIDE = ("", "-journal", "-wal", "-shm")


@pytest.fixture(autouse=True)
def _no_umask() -> Iterator[None]:
    umask = os.umask(0)
    yield
    os.umask(umask)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def write_with_each_journal(path: Path) -> dict[str, int]:
    """Write a database with a rollback journal, then with a write-ahead log. Return the modes while it is open."""
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("CREATE TABLE written (y)")
        seen = modes(path.parent)
        writer.rollback()
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE written (y)")
        return seen | modes(path.parent)


@pytest.fixture
def engine(tmp_path: Path) -> DbosEngine:
    try:
        from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing
        from stream_protocol.durable._store import sqlite_is_too_old  # noqa: PLC0415 - as above
    except ImportError:
        missing("DBOS is not installed: pip install 'adk-ui-stream[durable]'")
    if sqlite_is_too_old():
        pytest.skip("this SQLite is too old for DBOS")
    return DbosEngine(f"sqlite:///{tmp_path / 'runs.db'}")


async def test_only_the_owner_reads_the_store_of_an_engine(engine: DbosEngine, tmp_path: Path) -> None:
    await asyncio.to_thread(engine.prepare)
    await engine.aclose()
    assert modes(tmp_path)["runs.db"] == 0o600
    seen = write_with_each_journal(tmp_path / "runs.db")
    assert seen == {f"runs.db{suffix}": 0o600 for suffix in (*BESIDE, ".lock")}


async def test_only_the_owner_reads_the_store_of_an_engine_that_was_probed_before_its_launch(
    engine: DbosEngine, tmp_path: Path
) -> None:
    await engine.ping()
    await engine.start()
    seen = modes(tmp_path)
    await engine.aclose()
    assert seen["runs.db"] == 0o600
    assert set(seen.values()) == {0o600}


@pytest.mark.parametrize("mode", [0o644, 0o666, 0o604, 0o755])
def test_a_store_that_everybody_can_read_becomes_private(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    for suffix in BESIDE:
        (tmp_path / f"runs.db{suffix}").touch(mode)
    make_private_file(f"sqlite:///{path}")
    assert modes(tmp_path) == {f"runs.db{suffix}": 0o600 for suffix in BESIDE}


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o660])
def test_a_store_that_some_accounts_can_read_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.touch(mode)
    make_private_file(f"sqlite+aiosqlite:///{path}")
    assert modes(tmp_path) == {"runs.db": mode}


@pytest.mark.parametrize(
    "uri", ["memory://", "sqlite://", "sqlite:///:memory:", "postgresql://a@b/c", "sqlite:///none/x"]
)
def test_nothing_is_created_for_a_store_without_a_file(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_private_file(uri)
    assert modes(tmp_path) == {}


def test_a_session_store_that_everybody_can_read_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    path.touch(0o644)
    load_session_service(f"sqlite:///{path}")
    assert modes(tmp_path)["chats.db"] == 0o600


def test_only_the_owner_enters_a_new_folder_of_recordings_and_its_new_parents(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir(0o755)
    ChatRecorder(tmp_path / "old" / "new" / "newer")
    assert modes(tmp_path) == {"old": 0o755, "old/new": 0o700, "old/new/newer": 0o700}


def test_a_folder_of_recordings_in_the_working_folder_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ChatRecorder(Path("runs/today"))
    assert modes(tmp_path) == {"runs": 0o700, "runs/today": 0o700}


def test_a_file_in_the_place_of_the_folder_of_recordings_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    for folder in ("taken", "taken/below"):
        with pytest.raises(OSError):  # noqa: PT011 - which one is up to the system
            ChatRecorder(tmp_path / folder)


def test_only_the_owner_reads_the_audit_file(tmp_path: Path) -> None:
    AuditFile(tmp_path / "audit.jsonl")
    assert modes(tmp_path) == {"audit.jsonl": 0o600}
