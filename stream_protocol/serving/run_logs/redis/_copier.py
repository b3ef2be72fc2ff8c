"""Copies the log of one run to Redis while it is written."""

from __future__ import annotations

import asyncio
import logging
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
"""Between two attempts at a Redis that is in trouble."""

GATHER_SECONDS: Final = 0.005
"""Between two pieces: a fast run would spend most of its time on small ones. Nobody who reads sees the delay."""

MAX_PIECE: Final = 2**20
"""Bytes that go to Redis at once, if that is more than one event."""

JOIN_SECONDS: Final = 2.0
"""How long entries stay when they have been joined, for readers that are on their way through them."""

NOT_OURS: Final = -1
"""What Redis says to a run that does not have the chat."""


class Copier:
    """A piece is all that came while the last one was under way, so a slow Redis gets fewer and larger ones.

    Redis counts events, and takes a piece only behind the count that it was made for. So a piece may be sent again, and
    a Redis that lost some of the log, or all, says from where.
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
        log_ms: int,
        nudge: Callable[[], None],
    ) -> None:
        self._store = store
        self._keys = (keys.lease, keys.log(run_id), keys.head(run_id))
        self._log = log
        self._whose = (run_id, token)
        self._bounds = bounds
        self._log_ms = log_ms
        self._nudge = nudge
        self._position = 0
        self._sent = 0
        """Bytes since events were joined in Redis."""
        self._join_above = bounds.coalesce_above
        self._joined: tuple[float, int, bytes] | None = None
        """The first events, joined: from when on they may take the place of those, how many they were, what they are
        now."""

    async def copy(self) -> None:
        """Returns when everything is in Redis, and that it is everything."""
        troubled = False
        self._log.copied = 0
        while True:
            await self._log.changed(self._position)
            try:
                if await self._send():
                    return
                troubled = False
                await asyncio.sleep(GATHER_SECONDS)
            except RunLogError as error:
                self._log.copied = None  # joined as one likes from now on: memory counts more than a reader elsewhere
                if not troubled:
                    logger.warning("The log of run %s is not copied just now: %s", self._whose[0], error)
                troubled = True
                await asyncio.sleep(RETRY_SECONDS)

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
        arguments = (self._position, count, data, log.past, WHOLE if last else b"", self._log_ms)
        there = await self._run(scripts.APPEND, *arguments)
        self._sent += len(data)
        await self._join()
        return last and there == count

    async def _join(self) -> None:
        """Once there is much in Redis: joins it there, too."""
        now = asyncio.get_running_loop().time()
        if self._joined is None and self._sent > self._join_above:
            self._joined = now + JOIN_SECONDS, self._log.count, b"".join(self._log.whole())
        elif self._joined is not None and now >= self._joined[0] and self._position >= self._joined[1]:
            _, count, joined = self._joined
            await self._replace(count, joined)

    async def _replace(self, count: int, joined: bytes) -> None:
        await self._run(scripts.REPLACE, count, joined, self._log.past, self._log_ms)
        self._joined, self._sent = None, 0
        self._join_above = max(self._bounds.coalesce_above, len(joined))

    async def _run(self, script: str, *arguments: Any) -> int:
        there: int = await self._store.script(script, self._keys, *self._whose, *arguments)
        if there == NOT_OURS:
            self._nudge()  # Redis may have forgotten the lease; if not, that is found then
            raise RunLogError("Redis knows nothing of the run's lease")
        self._position = self._log.copied = there
        return there


def _piece(events: Iterable[bytes]) -> list[bytes]:
    """The first events that go together."""
    piece: list[bytes] = []
    size = 0
    for event in events:
        size += len(event)
        if piece and size > MAX_PIECE:
            break
        piece.append(event)
    return piece
