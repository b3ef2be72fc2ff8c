"""The run log of many workers: in Redis, any worker finds, resumes and stops any run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_protocol.serving.run_logs._shared_run_log import (
    EXPIRY_SECONDS,
    LEASE_SECONDS,
    MAX_PATIENCE,
    SharedRunLog,
    lease_times,
)
from stream_protocol.serving.run_logs.redis._redis_store import DEFAULT_PREFIX, RedisStore

if TYPE_CHECKING:
    from stream_protocol.serving.run_logs._log_bounds import LogBounds
    from stream_protocol.serving.run_logs.redis._redis_store import Client


class RedisRunLog(SharedRunLog):
    """Keeps responses in Redis while they are written: every worker can resume and stop every run.

    ``server``: a URL, or a client that the app closes. URLs: ``redis://``, ``rediss://``, ``unix://``; for a cluster
    ``redis+cluster://`` or ``rediss+cluster://``. Clients: ``Redis`` or ``RedisCluster`` of ``redis.asyncio``, made
    without ``decode_responses``. Redis 6.2 or later.
    ``prefix``: beginning of all keys and channels. Each deployment in a shared Redis needs its own prefix, otherwise
    equal ids of app, user and chat mean one chat. Up to 64 ASCII letters, digits, and ``. _ : / @ -``.
    ``lease``: seconds until a worker that does not renew its leases loses its chats. A run that cannot renew its lease
    for two thirds of this time ends in an error. Must be equal in all workers.
    ``expiry``: seconds that the log of an ended run is kept, for readers on other workers.
    ``bounds``: limits of each log: see ``LogBounds``.

    No run starts while Redis cannot be reached. Runs that have started survive an outage of less than two thirds of a
    lease. Raises ``StreamProtocolError`` for times that are not positive, and for an unusable URL, client or prefix.
    """

    def __init__(
        self,
        server: str | Client,
        *,
        prefix: str = DEFAULT_PREFIX,
        lease: float = LEASE_SECONDS,
        expiry: float = EXPIRY_SECONDS,
        bounds: LogBounds | None = None,
    ) -> None:
        times = lease_times(lease, expiry)
        store = RedisStore(server, prefix=prefix, patience=min(MAX_PATIENCE, lease), times=times)
        super().__init__(store, times, bounds)
