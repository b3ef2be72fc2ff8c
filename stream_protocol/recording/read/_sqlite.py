"""The SQLite files of ADK's ``SqliteSessionService`` and ``DatabaseSessionService``, of the latter from schema 1 on.

Source: both services of google-adk 2.13. Of the tables, ``sessions`` and ``events`` are alike in both; an event is
JSON. A store is opened so that nothing in it or beside it is written.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from stream_protocol.recording.read._choose_session import choose
from stream_protocol.recording.read._fields import time_of
from stream_protocol.recording.read._lines import parsed
from stream_protocol.recording.read._records import EventRecord
from stream_protocol.recording.read._unreadable import RecordingError

LOCK_TIMEOUT: Final = 2.0
"""Seconds to wait for a writer; one that takes longer is at work on something large, or hangs."""

_WAL_VERSION: Final = 2
"""In byte 18 of a file that keeps a write-ahead log beside it."""

# Events of one moment come as they were written: the services order them by row, or by their random ids.
_EVENTS: Final = (
    "SELECT event_data FROM events WHERE app_name = ? AND user_id = ? AND session_id = ? ORDER BY timestamp, rowid"
)


def read_store(path: Path, session: str | None) -> Iterator[EventRecord]:
    """The events of a session, by its id, or by ``app/user/id`` where several have that id."""
    try:
        with closing(sqlite3.connect(_uri(path), uri=True, timeout=LOCK_TIMEOUT)) as store:
            _check_schema(store)
            key = _chosen(store, session)
            for number, (data,) in enumerate(store.execute(_EVENTS, key), 1):
                yield _record(number, data)
    except sqlite3.OperationalError as error:
        locked = error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        raise RecordingError("another process has locked the store" if locked else _told(error)) from None
    except sqlite3.Error as error:
        raise RecordingError(_told(error)) from None


def _uri(path: Path) -> str:
    """Even a read-only connection makes a missing write-ahead log anew, unless nothing is said to change."""
    with path.open("rb") as file:
        has_log = file.read(19)[18:] == bytes([_WAL_VERSION])
    log = path.with_name(f"{path.name}-wal")
    unchanging = "&immutable=1" if has_log and not (log.exists() and log.stat().st_size) else ""
    return f"file:{quote(str(path.absolute()))}?mode=ro{unchanging}"


def _check_schema(store: sqlite3.Connection) -> None:
    columns = {name for (name,) in store.execute("SELECT name FROM pragma_table_info('events')")}
    keys = {name for (name,) in store.execute("SELECT name FROM pragma_table_info('sessions')")}
    if not {"app_name", "user_id", "session_id"} <= columns or not {"app_name", "user_id", "id"} <= keys:
        raise RecordingError("an SQLite file, but not ADK's sessions")
    if "event_data" not in columns:
        raise RecordingError("the store has ADK's old schema 0; `adk migrate session` brings it up to date")


def _chosen(store: sqlite3.Connection, session: str | None) -> tuple[str, str, str]:
    query = "SELECT app_name, user_id, id FROM sessions ORDER BY app_name, user_id, id"
    keys: list[tuple[str, str, str]] = store.execute(query).fetchall()
    whole = ["/".join(map(str, key)) for key in keys]
    if session in whole:
        return keys[whole.index(session)]
    count = Counter(session_id for *_, session_id in keys)
    names = [name if count[key[2]] > 1 else str(key[2]) for key, name in zip(keys, whole, strict=True)]
    return keys[choose(names, session)]


def _record(number: int, data: object) -> EventRecord:
    try:
        value = parsed(data.encode() if isinstance(data, str) else b"")
    except (RecordingError, UnicodeEncodeError):
        raise RecordingError(f"event {number} is not JSON") from None
    return EventRecord(number, value, time_of(value), "event")


def _told(error: sqlite3.Error) -> str:
    return f"the store cannot be read: {error}"
