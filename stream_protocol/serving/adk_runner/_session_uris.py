"""Parses the URIs of session services, and builds error messages for unusable URIs."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from stream_protocol.serving.adk_runner._load_errors import closest
from stream_protocol.serving.errors import one_line

_FORMS: Final = {
    "memory": "memory://",
    "sqlite": "sqlite:///chat.db",
    "postgresql": "postgresql://user@host/db",
    "mysql": "mysql://user@host/db",
    "agentengine": "agentengine://ID",
}
"""An example URI for each scheme of ADK's session services."""

_DRIVERS: Final = {
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "mysql": "mysql+aiomysql",
    "mariadb": "mariadb+asyncmy",
}
"""For each common scheme, the scheme with an asynchronous driver, which ADK needs."""

_ASYNC_DRIVERS: Final = {
    "asyncpg": "'adk-ui-stream[postgres]'",
    "psycopg": "'sqlalchemy[asyncio]' 'psycopg[binary]'",
    "psycopg_async": "'sqlalchemy[asyncio]' 'psycopg[binary]'",
    "aiosqlite": "'sqlalchemy[asyncio]' aiosqlite",
    "aiomysql": "'sqlalchemy[asyncio]' aiomysql",
    "asyncmy": "'sqlalchemy[asyncio]' asyncmy",
    "aioodbc": "'sqlalchemy[asyncio]' aioodbc",
    "oracledb": "'sqlalchemy[asyncio]' oracledb",
    "oracledb_async": "'sqlalchemy[asyncio]' oracledb",
}
"""The packages to install with pip for each asynchronous driver of SQLAlchemy."""

_OTHER_DATABASES: Final = ("mssql", "oracle")
"""Schemes of unsupported databases. An error message must not suggest a supported scheme with a similar name."""

_PORTS: Final = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306}
_CLASS: Final = re.compile(r"^<class '[^']*'>: ")
"""Pattern for the class name that SQLAlchemy puts before the text of some errors."""

_UNKNOWN_OPTION: Final = re.compile(r"unexpected keyword argument '([^']*)'")

_SQLITE_BEGINNING: Final = b"SQLite format 3\0"


def with_driver(uri: str) -> str:
    """Return the URI. For PostgreSQL, MySQL and MariaDB, an asynchronous driver is added if the URI names none."""
    scheme, separator, rest = uri.partition(":")
    return f"{_DRIVERS.get(scheme.lower(), scheme)}{separator}{rest}"


def names_driver(uri: str) -> bool:
    """Return True if the URI names an SQLAlchemy driver. SQLAlchemy is an optional dependency, needed only for such a
    URI.
    """
    return "+" in urlsplit(uri).scheme


def is_in_memory(uri: str) -> bool:
    """Return True for ``memory://``, and for SQLite without a file. With such a URI, each process has its own store."""
    address = urlsplit(uri)
    if not address.scheme.startswith("sqlite"):
        return address.scheme == "memory"
    return address.path in ("", "/", "/:memory:") or "mode=memory" in address.query


def sqlite_file(uri: str) -> str | None:
    address = urlsplit(uri)
    if address.scheme.partition("+")[0] != "sqlite" or is_in_memory(uri):
        return None
    return address.path.removeprefix("/").removeprefix("file:")


def without_password(uri: str) -> str:
    """Return the URI without user, password and query."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}".partition("?")[0]


def wrong_form(uri: str) -> str | None:
    """Return an error message if the URI names no store, or is probably mistyped. Return ``None`` for a correct URI."""
    if not uri.strip():
        return f"it is empty: write {_any_form()}"
    try:
        address = urlsplit(uri)
    except ValueError as error:
        return f"it is not a URI ({error}): write {_any_form()}"
    if len(address.scheme) < 2:  # no scheme, or a drive letter of Windows
        return _no_uri(uri)
    backend, _, driver = address.scheme.partition("+")
    if backend != "sqlite":
        return None
    if driver and driver not in _ASYNC_DRIVERS:
        return _no_async_driver(backend, driver)
    if address.netloc:
        return f"the path of a file follows a third slash.{_sqlite_offer(address.netloc + address.path)}"
    return _wrong_file(sqlite_file(uri))


def unknown_scheme(uri: str) -> str:
    scheme = urlsplit(uri).scheme
    text = f"ADK has no session service for {scheme}"
    if scheme == "file":
        return f"{text}.{_sqlite_offer(urlsplit(uri).path or uri.partition(':')[2])}"
    if scheme in ("redis", "rediss"):
        return f"{text}: --run-log takes this URI, beside a store of chats"
    close = closest(scheme, [*_FORMS, *_DRIVERS])
    if close is not None and scheme not in _OTHER_DATABASES:
        return f"{text}. Did you mean `{close}{without_password(uri).removeprefix(scheme)}`?"
    return f"{text}: write {_any_form()}"


def failure(uri: str, error: Exception) -> str:
    address = urlsplit(uri)
    backend, _, driver = address.scheme.partition("+")
    causes = [*_causes(error)]
    if driver and driver not in _ASYNC_DRIVERS and isinstance(error, ValueError | ImportError):
        return _no_async_driver(backend, driver)
    if driver and any(_is_missing_package(cause) for cause in causes):
        return f"it needs the driver {driver}: pip install {_ASYNC_DRIVERS[driver]}"
    if driver and (not _has_valid_port(address) or any(type(cause).__name__ == "ArgumentError" for cause in causes)):
        return f"it is not a whole URI: write {backend}://user@host:5432/db"
    if driver and (option := _UNKNOWN_OPTION.search(str(error))) is not None:
        hint = "; ssl=require is its word for it" if (driver, option[1]) == ("asyncpg", "sslmode") else ""
        return f"the driver {driver} has no option `{option[1]}`{hint}"
    match getattr(error, "orig", None) or error:
        case ConnectionRefusedError():
            return f"nothing listens at {address.hostname or 'localhost'}:{address.port or _PORTS.get(backend, '')}"
        case socket.gaierror():
            return f"there is no host named {address.hostname}"
        case TimeoutError():
            return "it does not answer"
        case raised:
            line = _CLASS.sub("", next(iter(str(raised).splitlines()), ""))
            return f"{type(raised).__name__}: {one_line(line)}" if line else type(raised).__name__


def _no_async_driver(backend: str, driver: str) -> str:
    better = _DRIVERS.get(backend, "sqlite+aiosqlite" if backend == "sqlite" else "")
    offer = f". Did you mean `{better}`?" if better else ""
    return f"SQLAlchemy has no asynchronous driver `{driver}` for {backend}{offer}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _is_missing_package(cause: BaseException) -> bool:
    # The oldest supported SQLAlchemy raises a ValueError if greenlet is missing.
    return isinstance(cause, ImportError) or (isinstance(cause, ValueError) and "greenlet library" in str(cause))


def _has_valid_port(address: SplitResult) -> bool:
    try:
        return address.port is None or address.port > 0
    except ValueError:
        return False


def _no_uri(text: str) -> str:
    name = text.strip(":/").lower()
    form = _FORMS.get(_DRIVERS.get(name, name).partition("+")[0])
    if form is not None:
        return f"it is not a URI: write {form}"
    return f"it is not a URI.{_sqlite_offer(text)}"


def _sqlite_offer(path: str) -> str:
    """Return a sentence that suggests an SQLite URI for the file ``path``. If no file can have this path, the sentence
    contains an example URI.
    """
    file = Path(path).expanduser()
    if _wrong_file(str(file)) is None:
        return f" Did you mean `sqlite:///{file}`?"
    return f" Write sqlite:/// before the path of a file, as in {_FORMS['sqlite']}"


def _wrong_file(path: str | None) -> str | None:
    file = Path(path or "")
    try:
        if path is None or (file.is_file() and file.stat().st_size == 0):
            return None
        if file.is_dir():
            return f"{path} is a folder: name a file in it, as in {path.rstrip('/')}/chat.db"
        if not file.parent.is_dir():
            return f"there is no folder {file.parent}: create it first"
        if file.is_file() and not _begins_as_sqlite(file):
            return f"{path} is not an SQLite database: name another file"
    except (OSError, ValueError) as error:
        return f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}"
    return None


def _begins_as_sqlite(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(_SQLITE_BEGINNING)) == _SQLITE_BEGINNING


def _any_form() -> str:
    return f"{_FORMS['memory']}, {_FORMS['sqlite']} or {_FORMS['postgresql']}"
