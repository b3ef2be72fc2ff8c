"""URIs without a usable session store: the error names the problem and the correct form."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stream_protocol.serving.adk_runner import SessionServiceError, load_session_service
from tests.processes import ROOT

SQLITE = "Write sqlite:/// before the path of a file, as in sqlite:///chat.db"
ANY = "write memory://, sqlite:///chat.db or postgresql://user@host/db"

WRONG = {
    "chat.db": "it is not a URI. Did you mean `sqlite:///chat.db`?",
    "./chat.db": "it is not a URI. Did you mean `sqlite:///chat.db`?",
    "data/chat.db": "it is not a URI. Did you mean `sqlite:///data/chat.db`?",
    "chats": "it is not a URI. Did you mean `sqlite:///chats`?",
    "no/such/chat.db": f"it is not a URI. {SQLITE}",
    "data": f"it is not a URI. {SQLITE}",
    "memory": "it is not a URI: write memory://",
    ":memory:": "it is not a URI: write memory://",
    "postgres": "it is not a URI: write postgresql://user@host/db",
    "": f"it is empty: {ANY}",
    "  ": f"it is empty: {ANY}",
    "sqlite://chat.db": "the path of a file follows a third slash. Did you mean `sqlite:///chat.db`?",
    "sqlite://data/chat.db": "the path of a file follows a third slash. Did you mean `sqlite:///data/chat.db`?",
    "sqlite+aiosqlite://chat.db": "the path of a file follows a third slash. Did you mean `sqlite:///chat.db`?",
    "sqlite://no/such/chat.db": f"the path of a file follows a third slash. {SQLITE}",
    "sqlite3:///chat.db": "ADK has no session service for sqlite3. Did you mean `sqlite:///chat.db`?",
    "file:chat.db": "ADK has no session service for file. Did you mean `sqlite:///chat.db`?",
    "postgressql://ann:secret@h/db": "ADK has no session service for postgressql. Did you mean `postgresql://h/db`?",
    "redis://h": "ADK has no session service for redis: --run-log takes this URI, beside a store of chats",
    "mssql://h/db": f"ADK has no session service for mssql: {ANY}",
    "https://h/db": f"ADK has no session service for https: {ANY}",
    "sqlite:///data": "data is a folder: name a file in it, as in data/chat.db",
    "sqlite+aiosqlite:///data/": "data/ is a folder: name a file in it, as in data/chat.db",
    "sqlite:///notes.txt": "notes.txt is not an SQLite database: name another file",
    "sqlite+aiosqlite:///notes.txt": "notes.txt is not an SQLite database: name another file",
    "sqlite+aiosqlite:///no/such/chat.db": "there is no folder no/such: create it first",
    "sqlite+pysqlite:///chat.db": "SQLAlchemy has no asynchronous driver `pysqlite` for sqlite. "
    "Did you mean `sqlite+aiosqlite`?",
    "postgresql+psycopg2://ann:secret@h/db": "SQLAlchemy has no asynchronous driver `psycopg2` for postgresql. "
    "Did you mean `postgresql+asyncpg`?",
    "mysql+nothing://h/db": "SQLAlchemy has no asynchronous driver `nothing` for mysql. Did you mean `mysql+aiomysql`?",
    "postgresql:db": "it is not a whole URI: write postgresql://user@host:5432/db",
    "postgresql://ann:secret@h:port/db": "it is not a whole URI: write postgresql://user@host:5432/db",
    "postgresql://ann:secret@[::1/db": f"it is not a URI (Invalid IPv6 URL): {ANY}",
    "postgresql://h.invalid/db": "there is no host named h.invalid",
    "Postgres://127.0.0.1:1/db": "nothing listens at 127.0.0.1:1",
    "postgresql://127.0.0.1:1/db?sslmode=require": "the driver asyncpg has no option `sslmode`; "
    "ssl=require is its word for it",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "notes.txt").write_text("Notes")
    return tmp_path


@pytest.mark.parametrize(("uri", "sentence"), WRONG.items())
def test_a_uri_that_names_no_store_says_what_to_write(
    uri: str, sentence: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.rglob("*"))
    with pytest.raises(SessionServiceError) as refused:
        load_session_service(uri)
    text = str(refused.value)
    assert text.startswith("cannot use ")
    assert text.endswith(f": {sentence}")
    assert "secret" not in text
    assert sorted(folder.rglob("*")) == before
    assert capfd.readouterr() == ("", "")
    for offered in re.findall(r"Did you mean `(sqlite:///[^`]*)`", text):
        assert load_session_service(offered) is not None


def test_the_path_of_a_file_may_be_absolute(folder: Path) -> None:
    with pytest.raises(SessionServiceError, match=f"Did you mean `sqlite:///{folder}/chat.db`"):
        load_session_service(f"{folder}/chat.db")
    assert load_session_service(f"sqlite:///{folder}/chat.db") is not None
    assert (folder / "chat.db").is_file()


EXTRA = "it needs the driver asyncpg: pip install 'adk-ui-stream[postgres]'"
NEEDED = {
    "postgresql://ann:secret@127.0.0.1:1/db": EXTRA,
    "postgres://ann:secret@127.0.0.1:1/db": EXTRA,
    "postgresql+asyncpg://ann:secret@127.0.0.1:1/db": EXTRA,
    "mysql://h/db": "it needs the driver aiomysql: pip install 'sqlalchemy[asyncio]' aiomysql",
    "mariadb://h/db": "it needs the driver asyncmy: pip install 'sqlalchemy[asyncio]' asyncmy",
    "mysql+asyncmy://h/db": "it needs the driver asyncmy: pip install 'sqlalchemy[asyncio]' asyncmy",
    "sqlite+aiosqlite:///chat.db": "it needs the driver aiosqlite: pip install 'sqlalchemy[asyncio]' aiosqlite",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "uris"),
    [
        ("sqlalchemy", [*NEEDED]),
        pytest.param("greenlet", [*NEEDED], marks=pytest.mark.samples),
        pytest.param("asyncpg", [*NEEDED][:6], marks=pytest.mark.samples),
    ],
)
def test_a_store_without_its_packages_names_the_extra_or_what_to_install(
    missing: str, uris: list[str], tmp_path: Path
) -> None:
    script = f"""
import sys
sys.modules[{missing!r}] = None
from stream_protocol.serving.adk_runner import SessionServiceError, load_session_service
for uri in {uris!r}:
    try:
        load_session_service(uri)
    except SessionServiceError as error:
        print(error)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    names = [uri.replace("ann:secret@", "") for uri in uris]
    assert done.stdout.splitlines() == [
        f"cannot use {name}: {NEEDED[uri]}" for name, uri in zip(names, uris, strict=True)
    ]
