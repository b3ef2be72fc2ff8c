"""Errors that mean that a store is unavailable at present, recognised by the codes of the drivers in use."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from socket import gaierror
from typing import Any, Final

import asyncpg
import httpx
import pytest
import sqlalchemy.exc
from redis import exceptions as redis
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from stream_protocol.serving.errors import is_unreachable
from tests.batch import batch
from tests.postgres import Postgres, postgres_server

psycopg = pytest.importorskip("psycopg")

TEMPORARY: Final = [
    "08000",
    "08001",
    "08003",
    "08006",
    "08P01",
    "25006",
    "25P03",
    "40001",
    "40P01",
    "53000",
    "53100",
    "53200",
    "53300",
    "53400",
    "55P03",
    "57014",
    "57P01",
    "57P02",
    "57P03",
    "57P05",
    "58030",
]

WRONG: Final = ["22P02", "23505", "25001", "25P02", "42501", "42601", "42P01", "55000"]


def by_psycopg(code: str) -> Exception:
    try:
        error: Exception = psycopg.errors.lookup(code)("It says why.")
    except KeyError:  # psycopg does not have this newer code: it raises the class for the first two characters
        error = psycopg.OperationalError("It says why.")
        error.sqlstate = code  # type: ignore[attr-defined]
    return error


def by_asyncpg(code: str) -> Exception:
    error: Exception = asyncpg.PostgresError.new({"C": code, "M": "It says why."})
    return error


def by_sqlalchemy(code: str) -> Exception:
    """Wrap an error of psycopg as SQLAlchemy does."""
    original = by_psycopg(code)
    return sqlalchemy.exc.DBAPIError.instance("SELECT 1", {}, original, psycopg.Error)


def by_library(code: str) -> Exception:
    """Wrap an error of SQLAlchemy as a further library would."""
    error = RuntimeError("The chats cannot be read.")
    error.__cause__ = by_sqlalchemy(code)
    return error


def in_group(code: str) -> Exception:
    return ExceptionGroup("Both failed.", [ValueError("no"), by_asyncpg(code)])


DRIVERS: Final = [by_psycopg, by_asyncpg, by_sqlalchemy, by_library, in_group]


@batch(driver={driver.__name__: driver for driver in DRIVERS}, code=TEMPORARY)
def test_a_database_that_cannot_do_it_now_is_unreachable(driver: Any, code: str) -> None:
    assert is_unreachable(driver(code))


@batch(driver={driver.__name__: driver for driver in DRIVERS}, code=WRONG)
def test_a_database_that_was_asked_something_wrong_is_reachable(driver: Any, code: str) -> None:
    assert not is_unreachable(driver(code))


WITHOUT_CODE: Final = {
    "refused": ConnectionRefusedError(),
    "several addresses": OSError("Multiple exceptions"),
    "no such host": gaierror(),
    "too slow": TimeoutError(),
    "psycopg cannot connect": psycopg.OperationalError("connection refused"),
    "asyncpg's connection is closed": asyncpg.InterfaceError("connection is closed"),
    "SQLAlchemy's pool is exhausted": sqlalchemy.exc.TimeoutError("QueuePool limit"),
    "httpx": httpx.ConnectError("no"),
    "redis is away": redis.ConnectionError("no"),
    "redis is slow": redis.TimeoutError("no"),
    "redis loads": redis.BusyLoadingError("no"),
    "redis is read-only": redis.ReadOnlyError("no"),
    "redis is full": redis.OutOfMemoryError("no"),
    "redis cluster is down": redis.ClusterDownError("no"),
    "redis has no primary": redis.MasterDownError("no"),
    "redis cannot save": redis.ResponseError("MISCONF Redis is configured to save RDB snapshots"),
    "redis has no replicas": redis.ResponseError("NOREPLICAS Not enough good replicas to write."),
}


@batch(error=WITHOUT_CODE)
def test_errors_without_a_code_are_judged_by_their_class(error: Exception) -> None:
    assert is_unreachable(error)


@batch(
    error={
        "a bug": KeyError("session"),
        "a file": FileNotFoundError(),
        "redis has another type": redis.ResponseError("WRONGTYPE Operation against a key"),
        "stale": ValueError("The session has been modified in storage."),
    }
)
def test_other_errors_are_the_requests_own(error: Exception) -> None:
    assert not is_unreachable(error)


def test_an_error_that_causes_itself_ends_the_search() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert not is_unreachable(first)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


ADD: Final = "INSERT INTO chats VALUES ('a')"

MANY: Final = f"INSERT INTO chats VALUES ('{'a' * 100_000}')"

OF_SQLITE: Final = {
    "locked": [ADD],
    "read-only": ["PRAGMA query_only = true", ADD],
    "full": ["PRAGMA max_page_count = 2", MANY],
    "in no folder": [ADD],
    "without a table": ["SELECT * FROM others"],
}


@pytest.mark.parametrize("state", OF_SQLITE)
def test_a_file_of_sqlite_is_judged_by_its_code(state: str, tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE chats (words TEXT)")
    folder = tmp_path / "nowhere" if state == "in no folder" else tmp_path
    engine = create_engine(f"sqlite:///{folder / path.name}", connect_args={"timeout": 0})

    def use() -> None:
        with engine.connect() as connection, locked(path) if state == "locked" else nullcontext():
            for statement in OF_SQLITE[state]:
                connection.execute(text(statement))

    with pytest.raises(sqlalchemy.exc.OperationalError) as failed:
        use()
    engine.dispose()
    assert is_unreachable(failed.value) == (state != "without a table")
    original = failed.value.orig
    assert isinstance(original, sqlite3.OperationalError)
    assert is_unreachable(original) == (state != "without a table")


async def failure(url: str, *statements: str) -> Exception:
    """Return the error that SQLAlchemy raises with the driver of this URL."""
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            for statement in statements:
                await connection.execute(text(statement))
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is judged
        return error
    finally:
        await engine.dispose()
    raise AssertionError("Nothing failed.")


@pytest.mark.store
@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
async def test_a_real_database_is_judged_by_its_code(driver: str) -> None:
    with postgres_server() as database:
        url = database.new_database()
        own = url.replace("postgresql:", f"postgresql+{driver}:")
        assert is_unreachable(await failure(own, "SET transaction_read_only = on", "CREATE TABLE a (b int)"))
        assert is_unreachable(await failure(own, "SET statement_timeout = 1", "SELECT pg_sleep(9)"))
        assert is_unreachable(await failure(own, "SELECT pg_terminate_backend(pg_backend_pid())"))
        assert not is_unreachable(await failure(own, "SELECT * FROM nothing"))
        await setting(database, url, "ALTER ROLE visitor CONNECTION LIMIT 0")
        assert is_unreachable(await failure(own.replace("ann@", "visitor@"), "SELECT 1"))
        with database.away():
            assert is_unreachable(await failure(own, "SELECT 1"))


async def setting(database: Postgres, url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE ROLE visitor LOGIN")
    await connection.execute(statement)
    await connection.close()
