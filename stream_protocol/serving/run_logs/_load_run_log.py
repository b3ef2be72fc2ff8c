"""Creates the run log for a URL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.wire import StreamProtocolError, check_seconds, check_text

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._shared_run_log import SharedRunLog

REDIS: Final = ("redis", "unix:")
"""The beginnings of Redis URLs."""
POSTGRES: Final = ("postgres",)
"""The beginnings of PostgreSQL URLs."""


def load_run_log(url: str, *, prefix: str | None, lease: float) -> SharedRunLog:
    """Creates the run log for a URL, and checks that its store accepts writes. Must be called while no event loop is
    running.

    ``prefix``: the prefix of all names in the store; ``None`` for the default prefix. ``lease``: the lifetime of a
    lease in seconds. A lease is a run's right to be the only active run of its chat.

    Raises ``RunLogError`` if the store does not accept writes, ``StreamProtocolError`` for an unusable URL or prefix,
    and ``ImportError`` if an extra is not installed.
    """
    check_text("url", url, expected="a URL")
    check_text("prefix", prefix, or_none=True)
    check_seconds("lease", lease)
    asyncio.run(_probe(_make(url, prefix, lease)))
    return _make(url, prefix, lease)  # a second run log, because connections belong to the loop that opened them


def _make(url: str, prefix: str | None, lease: float) -> SharedRunLog:
    options: dict[str, Any] = {"lease": lease} if prefix is None else {"lease": lease, "prefix": prefix}
    if url.startswith(POSTGRES):
        from stream_protocol.serving.run_logs.postgres import PostgresRunLog

        return PostgresRunLog(url, **options)
    if url.startswith(REDIS):
        from stream_protocol.serving.run_logs.redis import RedisRunLog

        return RedisRunLog(url, **options)
    raise StreamProtocolError("The URL of a run log must be like redis://host:6379/0 or postgresql://user@host/db.")


async def _probe(log: SharedRunLog) -> None:
    try:
        await log.ping()
    finally:
        await log.aclose()
