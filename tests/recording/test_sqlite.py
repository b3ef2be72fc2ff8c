"""SQLite files of ADK's session services are read, and never written."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from stream_protocol.recording import RecordingError, load_recording
from stream_protocol.recording.read import _sqlite
from stream_protocol.session import DETAILS_PREFIX
from tests.recording.adk_writers import write_database


def said(text: str, at: float) -> Event:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(id=f"id-{text}", invocation_id="e-1", author="root", content=content, timestamp=at)


def session(session_id: str, *texts: str) -> Session:
    return Session(
        id=session_id, app_name="a", user_id="u", events=[said(text, 1.5e9 + n) for n, text in enumerate(texts)]
    )


async def write_sqlite(path: Path, *sessions: Session) -> None:
    service = SqliteSessionService(str(path))
    for one in sessions:
        stored = await service.create_session(app_name=one.app_name, user_id=one.user_id, session_id=one.id)
        for event in one.events:
            await service.append_event(stored, event)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "a #1 store.db"


def words(path: Path, session_id: str | None = None) -> list[Any]:
    turns = load_recording(path, session=session_id).turns()
    return [
        event.content.parts[0].text for turn in turns for event in turn.events if event.content and event.content.parts
    ]


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize("write", [write_sqlite, write_database])
async def test_a_store_is_read_in_order_and_left_as_it_is(write: Any, store: Path) -> None:
    await write(store, session("s", *"zyxabc"))
    before = state_of(store.parent)
    assert words(store) == list("zyxabc")
    assert state_of(store.parent) == before


async def test_a_store_that_keeps_a_log_is_left_as_it_is(store: Path) -> None:
    await write_sqlite(store, session("s", "a"))
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
    before = state_of(store.parent)
    assert list(before) == [store.name]
    assert words(store) == ["a"]
    assert state_of(store.parent) == before


async def test_what_is_still_in_the_log_is_read(store: Path) -> None:
    await write_sqlite(store, session("s", "a"))
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE events SET event_data = replace(event_data, '\"a\"', '\"b\"')")
        writer.commit()
        names = sorted(path.name for path in store.parent.iterdir())
        assert words(store) == ["b"]
        assert sorted(path.name for path in store.parent.iterdir()) == names


async def test_sessions_of_one_name_are_told_apart_by_app_and_user(store: Path) -> None:
    other = session("s", "b").model_copy(update={"user_id": "v"})
    await write_sqlite(store, session("s", "a"), other, session("t", "c"))
    with pytest.raises(RecordingError, match=r': "a/u/s", "t", "a/v/s"$'):
        load_recording(store)
    assert [words(store, name) for name in ("a/u/s", "a/v/s", "t", "a/u/t")] == [["a"], ["b"], ["c"], ["c"]]


async def test_what_the_user_has_said_of_a_chat_is_no_session_of_its_own(store: Path) -> None:
    await write_sqlite(store, session("s", "a"), session(f"{DETAILS_PREFIX}0", "b"))
    assert words(store) == ["a"]
    with pytest.raises(RecordingError, match=r'; it has "s"$'):
        load_recording(store, session=f"{DETAILS_PREFIX}0")


async def test_a_store_of_many_sessions_lists_some(store: Path) -> None:
    await write_sqlite(store, *(session(f"s{number:02}", "a") for number in range(25)))
    with pytest.raises(RecordingError, match=r'^25 sessions are in it, .*"s19" and 5 more$'):
        load_recording(store)


async def test_a_locked_store_is_told_in_one_line(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_protocol.recording.read._sqlite.LOCK_TIMEOUT", 0.0)
    await write_sqlite(store, session("s", "a"))
    with closing(sqlite3.connect(store)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RecordingError, match=r"^another process has locked the store$"):
            load_recording(store)
    assert words(store) == ["a"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("DROP TABLE events", "an SQLite file, but not ADK's sessions"),
        ("DROP TABLE sessions", "an SQLite file, but not ADK's sessions"),
        ("ALTER TABLE events DROP COLUMN event_data", "an SQLite file, but not ADK's sessions"),
        ("UPDATE events SET event_data = '{'", "event 1 is not JSON"),
        ("UPDATE events SET event_data = x'ff'", "event 1 is not JSON"),
        ("UPDATE events SET event_data = CAST(x'ff' AS TEXT)", "event 1 is not JSON"),
        ("UPDATE events SET event_data = '3'", "event 1 is not an ADK event: it is of the type int"),
        ("DELETE FROM events", "no events in it"),
        ("DELETE FROM sessions", "no sessions in it"),
    ],
)
async def test_a_store_that_is_none_is_told_in_one_line(change: str, reason: str, store: Path) -> None:
    await write_sqlite(store, session("s", "a"))
    with closing(sqlite3.connect(store)) as writer:
        writer.execute(change)
        writer.commit()
    with pytest.raises(RecordingError) as refused:
        load_recording(store)
    assert str(refused.value).startswith(reason)


COLUMNS: Final = "'a' AS app_name, 'u' AS user_id, 's' AS session_id, 's' AS id, 1.0 AS timestamp, '{}' AS event_data"
ENDLESS: Final = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {COLUMNS} FROM n"

CRAFTED: list[tuple[str, str]] = [
    (f"DROP TABLE events; CREATE VIEW events AS {ENDLESS}", "an SQLite file, but not ADK's sessions"),
    (f"DROP TABLE sessions; CREATE VIEW sessions AS {ENDLESS}", "an SQLite file, but not ADK's sessions"),
    (
        "DROP TABLE events; CREATE VIRTUAL TABLE events USING fts5(app_name, user_id, session_id, event_data)",
        "an SQLite file, but not ADK's sessions",
    ),
    (
        "ALTER TABLE events DROP COLUMN event_data; ALTER TABLE events ADD COLUMN event_data AS (zeroblob(1000000000))",
        "an SQLite file, but not ADK's sessions",
    ),
]


@pytest.mark.parametrize(("change", "reason"), CRAFTED)
async def test_a_store_that_was_made_to_harm_is_told_in_one_line(change: str, reason: str, store: Path) -> None:
    await write_sqlite(store, session("s", "a"))
    with closing(sqlite3.connect(store)) as writer:
        writer.executescript(change)
    with pytest.raises(RecordingError) as refused:
        load_recording(store)
    assert str(refused.value) == reason


async def test_a_value_that_is_too_large_is_told_in_one_line(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await write_sqlite(store, session("s", "a" * 5_000))
    monkeypatch.setattr(_sqlite, "MAX_VALUE", 2_000)
    with pytest.raises(RecordingError, match=r"^the store cannot be read: string or blob too big$"):
        load_recording(store)


async def test_what_triggers_and_other_views_would_do_is_not_done(store: Path) -> None:
    await write_sqlite(store, session("s", "a"))
    with closing(sqlite3.connect(store)) as writer:
        writer.executescript(
            f"CREATE VIEW other AS {ENDLESS}; CREATE TRIGGER t AFTER UPDATE ON events BEGIN DELETE FROM events; END"
        )
    assert words(store) == ["a"]


async def test_a_store_whose_reading_does_not_end_is_told_in_one_line(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate a file whose pages refer to each other, so that it needs more work than its size explains."""
    await write_sqlite(store, session("s", *map(str, range(50))))
    monkeypatch.setattr(_sqlite, "_CODES_AT_ONCE", 10)
    assert len(words(store)) == 50
    monkeypatch.setattr(_sqlite, "MAX_CODES", 0)
    with pytest.raises(RecordingError, match=r"^the store cannot be read: it is broken, and reading it does not end$"):
        load_recording(store)


async def test_rows_that_share_their_pages_are_told_in_one_line(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await write_sqlite(store, session("s", *map(str, range(3))))
    monkeypatch.setattr(_sqlite, "_size", lambda _path: 100)
    with pytest.raises(RecordingError, match=r"^the store cannot be read: it is broken, and reading it does not end$"):
        load_recording(store)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


async def test_a_store_that_is_cut_off_is_told_in_one_line(store: Path) -> None:
    await write_sqlite(store, session("s", *map(str, range(200))))
    cut_in_half(store)
    with pytest.raises(RecordingError, match=r"^the store cannot be read: database disk image is malformed$"):
        load_recording(store)
