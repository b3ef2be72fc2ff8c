"""Provides ``is_unreachable``, which distinguishes an unavailable store from a wrong request to the store."""

from __future__ import annotations

from socket import gaierror
from ssl import SSLError
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SQLSTATES: Final = (
    "08",  # connection exceptions; PgBouncer reports all of its own failures as 08P01
    "53",  # insufficient resources: disk full, out of memory, too many connections
    "57P",  # shutting down, starting up, the session was ended
    "58",  # system errors: the disk fails
    "25006",  # read-only: a standby, or a primary that is about to become one
    "25P03",  # the session was idle in a transaction for too long
    "25P04",  # the transaction took too long
    "40001",  # a conflict with another transaction, or with the recovery of a standby
    "40P01",  # a deadlock
    "55P03",  # a lock is not available
    "57014",  # the statement took too long
)
"""Prefixes of SQLSTATE codes for errors after which the same statement may succeed later."""

_SQLITE_CODES: Final = frozenset(
    {
        5,  # SQLITE_BUSY
        6,  # SQLITE_LOCKED
        7,  # SQLITE_NOMEM
        8,  # SQLITE_READONLY
        10,  # SQLITE_IOERR
        13,  # SQLITE_FULL
        14,  # SQLITE_CANTOPEN
        15,  # SQLITE_PROTOCOL: the locks of the write-ahead log are contended
    }
)
"""SQLite's primary result codes for errors after which the same statement may succeed later."""

_CLASSES: Final = frozenset(
    {
        # SQLite, PostgreSQL and SQLAlchemy
        "OperationalError",
        "TimeoutError",
        "InterfaceError",
        "InternalClientError",
        "PostgresConnectionError",
        "OperatorInterventionError",
        "InsufficientResourcesError",
        # httpx
        "TransportError",
        # redis-py
        "ConnectionError",
        "ReadOnlyError",
        "OutOfMemoryError",
        "TryAgainError",
        "ClusterError",
        "SlotNotCoveredError",
    }
)
"""Exceptions without a database code that mean an unreachable, locked or full store."""

_REDIS_REPLIES: Final = ("BUSY ", "CLUSTERDOWN ", "LOADING ", "MASTERDOWN ", "MISCONF ", "NOREPLICAS ", "OOM ")
"""Prefixes of Redis's error replies for which redis-py has no exception class."""


def is_unreachable(error: BaseException) -> bool:
    """Return True if the error means that a store is unavailable at present. For any other error, the request may be
    wrong.

    If the error has a database code (SQLSTATE or SQLite), only the code matters, otherwise the class of the error.
    Drivers and SQLAlchemy wrap errors, so the wrapped errors (``.orig``, ``__cause__``, exception groups) are checked,
    too.
    """
    errors = [*_with_causes(error)]
    if any(_has_lost_connection(each) for each in errors):
        return True
    codes = [is_temporary for each in errors if (is_temporary := _judged_by_code(each)) is not None]
    return any(codes) if codes else any(map(_is_unreachable_by_class, errors))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            members = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
            causes = (getattr(each, "orig", None), each.__cause__, *members)
            waiting += [cause for cause in causes if isinstance(cause, BaseException)]


def _has_lost_connection(error: BaseException) -> bool:
    if isinstance(error, (ConnectionError, TimeoutError, gaierror, SSLError)) or type(error) is OSError:
        return True  # asyncio raises an OSError if a host has several addresses and none of them answers
    return bool(getattr(error, "connection_invalidated", False))  # SQLAlchemy's, in the middle of a statement


def _judged_by_code(error: BaseException) -> bool | None:
    for name in ("sqlstate", "pgcode"):
        if isinstance(state := getattr(error, name, None), str):
            return state.startswith(_SQLSTATES)
    if isinstance(code := getattr(error, "sqlite_errorcode", None), int):
        return code & 0xFF in _SQLITE_CODES
    return None


def _is_unreachable_by_class(error: BaseException) -> bool:
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & _CLASSES) or ("ResponseError" in names and str(error).startswith(_REDIS_REPLIES))
