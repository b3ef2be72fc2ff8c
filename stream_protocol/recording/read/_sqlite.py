"""Reads the SQLite files of ADK's ``SqliteSessionService`` and ``DatabaseSessionService``.

In google-adk 2.13, the table ``events`` stores each event as JSON, and the table ``sessions`` has the sessions. Old
stores have a column for each field: see ``_old_stores``. Reading a store never writes a file.

The file is not trusted. Only plain tables are read, because a query of a view may never end. In a broken file, the
pages may form a cycle. So SQLite stops after a number of steps that depends on the file's size.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from stream_protocol.adk import WarnOnce
from stream_protocol.recording.read._choose_session import choose_session
from stream_protocol.recording.read._old_stores import is_old_store, old_columns, read_old_events
from stream_protocol.recording.read._parsing import event_time, parse_json_text
from stream_protocol.recording.read._records import EventRecord, RecordingError

LOCK_TIMEOUT: Final = 2.0
"""Seconds to wait while a different process writes the store."""

MAX_VALUE: Final = 64 * 2**20
"""Maximum number of bytes of one value, such as an event with its files."""

MAX_CODES: Final = 10
"""Maximum number of SQLite instructions for each byte of the file. A valid store needs less than one."""

_CODES_AT_ONCE: Final = 100_000
"""The number of SQLite instructions between two checks of the limit."""

_BROKEN: Final = "the store cannot be read: it is broken, and reading it does not end"

_WAL_VERSION: Final = 2
"""The value of byte 18 in a SQLite file that has a write-ahead log."""

_ORDER: Final = (
    "SELECT rowid FROM events WHERE app_name = ? AND user_id = ? AND session_id = ? ORDER BY timestamp, rowid"
)
"""Query for the rows of a session, in the order of their timestamps and of writing."""


def read_store(path: Path, session: str | None, warn: WarnOnce) -> Iterator[EventRecord]:
    """Yield the events of a session. ``session``: the session's id, or ``app/user/id`` if several sessions have the
    same id."""
    try:
        with closing(sqlite3.connect(_uri(path), uri=True, timeout=LOCK_TIMEOUT)) as store:
            store.text_factory = _text
            _bound_work(store, path)
            columns = _event_columns(store)
            key = _session_key(store, session)
            if "event_data" not in columns:
                names = old_columns(columns)
                yield from read_old_events(names, _rows(store, names, key, path), warn)
                return
            for number, (data,) in enumerate(_rows(store, ["event_data"], key, path), 1):
                yield _record(number, data)
    except sqlite3.Error as error:
        raise RecordingError(_error_text(error)) from None


def _uri(path: Path) -> str:
    """Return the URI for a read-only connection. The flag ``immutable`` prevents SQLite from creating a write-ahead
    log."""
    with path.open("rb") as file:
        uses_log = file.read(19)[18:] == bytes([_WAL_VERSION])
    immutable = "&immutable=1" if uses_log and not _log_size(path) else ""
    return f"file:{quote(str(path.absolute()))}?mode=ro{immutable}"


def _log_size(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return log.stat().st_size if log.exists() else 0


def _size(path: Path) -> int:
    return path.stat().st_size + _log_size(path)


def _bound_work(store: sqlite3.Connection, path: Path) -> None:
    """Make SQLite raise an error after too many instructions. The limit depends on the size of the file."""
    checks = iter(range(1 + _size(path) * MAX_CODES // _CODES_AT_ONCE))
    store.set_progress_handler(lambda: next(checks, None) is None, _CODES_AT_ONCE)
    store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)


def _rows(
    store: sqlite3.Connection, names: Iterable[str], key: tuple[str, str, str], path: Path
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a session's events in order. ``names``: the columns to read. ``key``: the app's name, the
    user's id and the session's id.

    The total size of all values is limited to twice the size of the file. In a broken file, many rows may use the same
    pages.
    """
    left = 2 * _size(path)
    query = f"SELECT {', '.join(names)} FROM events WHERE rowid = ?"  # noqa: S608 - the names come from constants
    for row_id in store.execute(_ORDER, key).fetchall():
        for row in store.execute(query, row_id):
            left -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if left < 0:
                raise RecordingError(_BROKEN)
            yield row


def _event_columns(store: sqlite3.Connection) -> set[str]:
    """Return the columns of the event table. Raises ``RecordingError`` if the tables are not those of ADK."""
    tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")}
    if not {"events", "sessions"} <= tables:
        raise RecordingError("an SQLite file, but not ADK's sessions")
    columns = {name for (name,) in store.execute("SELECT name FROM pragma_table_info('events')")}
    keys = {name for (name,) in store.execute("SELECT name FROM pragma_table_info('sessions')")}
    has_keys = {"app_name", "user_id", "session_id"} <= columns and {"app_name", "user_id", "id"} <= keys
    if not has_keys or not ("event_data" in columns or is_old_store(columns)):
        raise RecordingError("an SQLite file, but not ADK's sessions")
    return columns


def _session_key(store: sqlite3.Connection, session: str | None) -> tuple[str, str, str]:
    from stream_protocol.session import DETAILS_PREFIX

    query = "SELECT app_name, user_id, id FROM sessions ORDER BY app_name, user_id, id"
    keys: list[tuple[str, str, str]] = store.execute(query).fetchall()
    keys = [key for key in keys if not str(key[2]).startswith(DETAILS_PREFIX)]
    paths = ["/".join(map(str, key)) for key in keys]
    if session in paths:
        return keys[paths.index(session)]
    count = Counter(session_id for *_, session_id in keys)
    names = [path if count[key[2]] > 1 else str(key[2]) for key, path in zip(keys, paths, strict=True)]
    return keys[choose_session(names, session)]


def _record(number: int, data: object) -> EventRecord:
    try:
        value = parse_json_text(data.encode() if isinstance(data, str) else b"")
    except (RecordingError, UnicodeEncodeError):
        raise RecordingError(f"event {number} is not JSON") from None
    return EventRecord(number, value, event_time(value), "event")


def _text(stored: bytes) -> str:
    """Return a stored text. Invalid UTF-8 becomes U+FFFD, so that a store with one broken text can still be read."""
    return stored.decode(errors="replace")


def _error_text(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)  # errors of the Python module have no code
    if code == sqlite3.SQLITE_INTERRUPT:
        return _BROKEN
    locked = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return "another process has locked the store" if locked else f"the store cannot be read: {error}"
