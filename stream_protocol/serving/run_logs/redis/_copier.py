"""Copies the log of one run of this worker to Redis while it is written. (``_follower`` reads it at other workers.)

Each piece says how many events are before it. Redis appends it only if it has just as many. So a piece may be sent
twice, and a Redis that lost a part of the log in a fail-over says where to go on. redis-py has no such client.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.serving.run_logs.redis import _scripts as scripts
from stream_protocol.serving.run_logs.redis._store import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stream_protocol.serving.run_logs._event_buffer import EventBuffer, LogBounds
    from stream_protocol.serving.run_logs.redis._store import ChatKeys, RedisStore

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 0.1
"""The pause after a failed command."""

GATHER_SECONDS: Final = 0.005
"""The pause between two pieces: a fast run would spend most of its time on small ones. No reader sees the delay."""

UNREAD_GATHER_SECONDS: Final = 0.25
"""The pause while nobody reads the run at another worker: a command for each chunk takes several times as long as all
else that is done for it. A worker that dies takes along what it has not sent."""

MAX_PIECE: Final = 2**20
"""The most bytes in one piece, unless a single event is larger."""

JOIN_SECONDS: Final = 2.0
"""How long entries stay in the stream after they have been joined, for readers that still go through them."""

NOT_HELD: Final = -1
"""What a script returns to a run that does not hold the chat's lease."""


class Copier:
    """Copies ``log`` to Redis.

    A piece is all that was appended while the last one was sent, so a slow Redis gets fewer and larger pieces.
    ``log_ttl_ms``: milliseconds that Redis keeps the log after the last piece. ``renew_lease`` is called when Redis
    does not know the run's lease. ``read_elsewhere``: whether the run has readers at other workers now.
    """

    def __init__(
        self,
        store: RedisStore,
        keys: ChatKeys,
        log: EventBuffer,
        *,
        run_id: str,
        token: bytes,
        bounds: LogBounds,
        log_ttl_ms: int,
        renew_lease: Callable[[], None],
        read_elsewhere: Callable[[], bool],
    ) -> None:
        self._store = store
        self._keys = (keys.lease, keys.log(run_id), keys.head(run_id))
        self._log = log
        self._run_id = run_id
        self._token = token
        self._bounds = bounds
        self._log_ttl_ms = log_ttl_ms
        self._renew_lease = renew_lease
        self._read_elsewhere = read_elsewhere
        self._position = 0
        self._sent = 0
        """Bytes sent since events were last joined in Redis."""
        self._join_above = bounds.coalesce_above
        self._joined: tuple[float, int, bytes] | None = None
        """The first events, joined, to replace their entries: when (loop time), how many events, their bytes."""

    async def copy(self) -> None:
        """Returns when Redis has the complete log and its end."""
        failing = False
        self._log.mark_copied(0)
        while True:
            await self._log.changed(self._position)
            try:
                if await self._send():
                    return
                failing = False
                await self._gather()
            except RunLogError as error:
                self._log.mark_copied(None)  # memory is more important than readers at other workers
                if not failing:
                    logger.warning("The log of run %s is not copied just now: %s", self._run_id, error)
                failing = True
                await asyncio.sleep(RETRY_SECONDS)

    async def _gather(self) -> None:
        """Waits until the next piece is worth a command, or somebody waits for it."""
        await asyncio.sleep(GATHER_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(UNREAD_GATHER_SECONDS):
                while not self._read_elsewhere() and not self._log.closed:
                    await self._log.changed(self._log.count)

    async def _send(self) -> bool:
        """Sends the next piece. Returns whether it was the last."""
        log = self._log
        events = log.since(self._position)
        if events is None:
            await self._replace(log.count, b"".join(log.whole()))
            return False
        piece = _piece(events)
        count = self._position + len(piece)
        last = log.closed and count == log.count
        data = b"".join(piece)
        arguments = (self._position, count, data, log.past, WHOLE if last else b"", self._log_ttl_ms)
        count_in_redis = await self._run(scripts.APPEND, *arguments)
        self._sent += len(data)
        await self._join()
        return last and count_in_redis == count

    async def _join(self) -> None:
        """Joins the events in Redis once there are many, as ``EventBuffer`` does in memory."""
        now = asyncio.get_running_loop().time()
        if self._joined is None and self._sent > self._join_above:
            self._joined = now + JOIN_SECONDS, self._log.count, b"".join(self._log.whole())
        elif self._joined is not None and now >= self._joined[0] and self._position >= self._joined[1]:
            _, count, joined = self._joined
            await self._replace(count, joined)

    async def _replace(self, count: int, joined: bytes) -> None:
        await self._run(scripts.REPLACE, count, joined, self._log.past, self._log_ttl_ms)
        self._joined, self._sent = None, 0
        self._join_above = max(self._bounds.coalesce_above, len(joined))

    async def _run(self, script: str, *arguments: Any) -> int:
        count_in_redis: int = await self._store.script(script, self._keys, self._run_id, self._token, *arguments)
        if count_in_redis == NOT_HELD:
            self._renew_lease()  # writes the lease again if a fail-over lost it, or finds that a newer run holds it
            raise RunLogError("Redis knows nothing of the run's lease")
        self._position = count_in_redis
        self._log.mark_copied(count_in_redis)
        return count_in_redis


def _piece(events: Iterable[bytes]) -> list[bytes]:
    """The first events, as many as fit into one piece."""
    piece: list[bytes] = []
    size = 0
    for event in events:
        size += len(event)
        if piece and size > MAX_PIECE:
            break
        piece.append(event)
    return piece
