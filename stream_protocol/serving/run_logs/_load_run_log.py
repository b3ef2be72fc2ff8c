"""Creates the run log that a URL names, for a server that is started by a command."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from stream_protocol.wire import StreamProtocolError, check_seconds, check_text

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._shared_run_log import SharedRunLog
    from stream_protocol.serving.run_logs.postgres import PostgresRunLog
    from stream_protocol.serving.run_logs.redis import RedisRunLog

REDIS: Final = ("redis", "unix:")
"""Prefixes of the URLs of Redis."""
POSTGRES: Final = ("postgres",)
"""Prefixes of the URLs of PostgreSQL."""


def load_run_log(url: str, *, prefix: str | None, lease: float) -> SharedRunLog:
    """Checks that the store of a URL can be written to, and creates the run log.

    A server without its store must not start. ``prefix``: the prefix of all names in the store; ``None``: the default
    of the run log. ``lease``: seconds. Call this where no event loop runs.

    Raises ``RunLogError`` if the store cannot be written to, ``StreamProtocolError`` for an unusable URL or prefix, and
    ``ImportError`` if an extra is not installed.
    """
    check_text("url", url, expected="a URL")
    check_text("prefix", prefix, or_none=True)
    check_seconds("lease", lease)
    asyncio.run(_probe(_make(url, prefix, lease)))
    return _make(url, prefix, lease)  # a second run log, since connections belong to the loop that opened them


def _make(url: str, prefix: str | None, lease: float) -> SharedRunLog:
    if not url.startswith((*REDIS, *POSTGRES)):
        raise StreamProtocolError("The URL of a run log must be like redis://host:6379/0 or postgresql://user@host/db.")
    kind = _postgres() if url.startswith(POSTGRES) else _redis()
    return kind(url, lease=lease) if prefix is None else kind(url, prefix=prefix, lease=lease)


def _postgres() -> type[PostgresRunLog]:
    from stream_protocol.serving.run_logs.postgres import PostgresRunLog

    return PostgresRunLog


def _redis() -> type[RedisRunLog]:
    from stream_protocol.serving.run_logs.redis import RedisRunLog

    return RedisRunLog


async def _probe(log: SharedRunLog) -> None:
    try:
        await log.ping()
    finally:
        await log.aclose()
