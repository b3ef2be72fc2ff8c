"""The run log of many workers: in PostgreSQL, any worker finds, resumes and stops any run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.serving.run_logs._shared_run_log import (
    EXPIRY_SECONDS,
    LEASE_SECONDS,
    MAX_PATIENCE,
    SharedRunLog,
    lease_times,
)
from stream_protocol.serving.run_logs.postgres._postgres_store import DEFAULT_PREFIX, PostgresStore

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._log_bounds import LogBounds


class PostgresRunLog(SharedRunLog):
    """Keeps responses in PostgreSQL while they are written: every worker can resume and stop every run.

    ``url``: as asyncpg takes it, ``postgresql://user:password@host:5432/database``; that of ADK's
    ``DatabaseSessionService``, ``postgresql+asyncpg://…``, is taken, too. It must lead to the server itself, or to a
    pooler that keeps a session's connection: through PgBouncer in transaction mode no ``NOTIFY`` arrives. PostgreSQL
    12 or later.
    ``prefix``: begins the names of all tables and channels. Deployments that share a database need one each: with the
    same, equal ids of an app, a user and a chat are one chat. Up to 24 lower-case ASCII letters, digits and ``_``.
    ``lease``: seconds until a worker that does not renew its leases loses its chats. A run that cannot renew its lease
    for two thirds of that ends in an error. Must be the same for all workers.
    ``expiry``: seconds that a log is kept after its run has ended, for readers at other workers.
    ``bounds``: how large each log may become.

    The tables are made when they are first needed. No run starts while PostgreSQL cannot be reached. Runs that have
    started survive an outage of less than two thirds of a lease. Raises ``StreamProtocolError`` for times that are not
    positive, and for an unusable URL or prefix.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        lease: float = LEASE_SECONDS,
        expiry: float = EXPIRY_SECONDS,
        bounds: LogBounds | None = None,
    ) -> None:
        times = lease_times(lease, expiry)
        store = PostgresStore(url, prefix=prefix, patience=min(MAX_PATIENCE, lease), times=times)
        super().__init__(store, times, bounds)
