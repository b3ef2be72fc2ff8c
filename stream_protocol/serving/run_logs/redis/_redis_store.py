"""Stores the leases and events of runs in Redis. ``_scripts`` describes the keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from stream_protocol.serving.run_logs._run_log import STOP_SECONDS, ChatTakenError, RunInfo
from stream_protocol.serving.run_logs._run_store import (
    BROKEN,
    Entry,
    LeaseTimes,
    LeaseView,
    LogBatch,
    Post,
    Renewal,
    RunIdentity,
    Snapshot,
    run_info,
)
from stream_protocol.serving.run_logs._shared_run_log import (
    EXPIRY_SECONDS,
    LEASE_SECONDS,
    MAX_PATIENCE,
    SharedRunLog,
    lease_times,
)
from stream_protocol.serving.run_logs.redis import _scripts as scripts
from stream_protocol.serving.run_logs.redis._commands import Commands
from stream_protocol.wire import StreamProtocolError, check_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from stream_protocol.serving.run_logs._run_log import LogBounds, Phase
    from stream_protocol.serving.run_logs.redis._commands import Client

ENTRIES_AT_ONCE: Final = 64
"""The maximum number of a run's log entries in one reply."""

DEFAULT_PREFIX: Final = "adk-ui-stream"

MAX_PREFIX_LENGTH: Final = 64
"""The maximum number of characters of a prefix. A run has five keys, each with the prefix."""

_PREFIX: Final = re.compile(rf"[A-Za-z0-9._:/@-]{{1,{MAX_PREFIX_LENGTH}}}")
"""Pattern of a prefix. Redis Cluster would take a text between braces as the hash tag, instead of the chat. ``*``,
``?`` and brackets have a meaning in ACL rules and ``SCAN``."""


class RedisStore:
    """The connection of one worker to Redis. Implements ``RunStore``.

    ``server``: a URL, or a client. The app creates and closes the client. ``patience``: the maximum number of seconds
    for a command. Raises ``StreamProtocolError`` for an unusable URL, client or prefix.
    """

    def __init__(self, server: str | Client, *, prefix: str, patience: float, times: LeaseTimes) -> None:
        self._commands = Commands(server, patience)
        check_text("prefix", prefix)
        if not _PREFIX.fullmatch(prefix):
            raise StreamProtocolError(
                f"The prefix in Redis must be 1 to {MAX_PREFIX_LENGTH} of these: ASCII letters, digits, and . _ : / @ -"
            )
        self._prefix = prefix
        self._times = times
        self.worker = uuid4().hex

    async def aclose(self) -> None:
        await self._commands.aclose()

    @property
    def place(self) -> str:
        return f"{self._commands.address} {self._prefix}"

    async def ping(self) -> None:
        await self._commands.call("SET", f"{self._prefix}:ping", "", "PX", 1)
        await self._commands.warn_of_eviction()

    async def claim(self, run: RunIdentity) -> int:
        keys = self._keys(run.chat)
        lifetimes = (self._times.lease_ms, self._times.token_ms)
        arguments = (run.run_id, run.worker, run.idempotency_key, *lifetimes)
        claimed, *reply = await self._commands.script(scripts.CLAIM, (keys.lease, keys.token), *arguments)
        if not claimed:
            raise ChatTakenError(self._run_info(reply))
        return int(reply[0])

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """For each chat, returns its active run (the run that holds the lease of the chat). Needs one round trip to
        each server.
        """
        if not chats:
            return []
        leases = [self._keys(chat).lease for chat in chats]
        replies = await self._commands.script_for_each(scripts.PEEK, leases)
        return [self._run_info(reply) if reply else None for reply in replies]

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        keys = self._keys(run.chat)
        of_run = (keys.log(run.run_id), keys.head(run.run_id), keys.readers(run.run_id), keys.posts(run.run_id))
        names = (keys.lease, keys.token, *of_run, keys.stopped)
        lifetimes = (self._times.lease_ms, self._times.token_ms, self._times.log_ttl_ms, 1000 * STOP_SECONDS)
        arguments = (run.run_id, token, run.worker, run.idempotency_key, phase, *lifetimes)
        current, *wanted = await self._commands.script(scripts.RENEW, names, *arguments)
        if not current:
            return None
        stop, readers, *posted = wanted
        posts = (Post(post_id.decode(), content) for post_id, content in zip(posted[::2], posted[1::2], strict=True))
        return Renewal(stop=bool(stop), readers=readers, posts=tuple(posts))

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        entry, past = piece.entry, b"" if piece.entry.after else piece.past
        arguments = (run.run_id, token, entry.after, entry.count, entry.events, past, entry.end, self._times.log_ttl_ms)
        return _held(await self._commands.script(scripts.APPEND, self._log_keys(run), *arguments))

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        arguments = (run.run_id, token, snapshot.compacted, snapshot.events, snapshot.past, self._times.log_ttl_ms)
        return _held(await self._commands.script(scripts.REPLACE, self._log_keys(run), *arguments))

    async def free(self, run: RunIdentity) -> None:
        lease, *of_run = self._log_keys(run)
        keys = (lease, self._keys(run.chat).token, *of_run)
        lifetimes = (self._times.token_ms, self._times.log_retention_ms)
        await self._commands.script(scripts.FREE, keys, run.run_id, *lifetimes, BROKEN)

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        keys = self._keys(chat)
        redis_keys = (keys.lease, keys.head(run_id), keys.readers(run_id))
        until_ms = self._times.lease_ms if reads else 0
        holder, worker, token, count = await self._commands.script(
            scripts.WATCH, redis_keys, run_id, self.worker, until_ms
        )
        return LeaseView(holder.decode(), worker.decode(), int(token), None if count == scripts.NO_LOG else count)

    async def stop(self, chat: str, run_id: str, stop_id: str) -> tuple[str, str] | None:
        keys = self._keys(chat)
        reply = await self._commands.script(scripts.STOP, (keys.lease, keys.stopped), run_id, stop_id, STOP_SECONDS)
        return (reply[0].decode(), reply[1].decode()) if reply else None

    async def newest_stop(self, chat: str) -> str:
        stop_id = await self._commands.call("GET", self._keys(chat).stopped)
        return stop_id.decode() if stop_id else ""

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        keys = self._keys(chat)
        redis_keys = (keys.lease, keys.posts(run_id), keys.reply(run_id, post.id))
        reply = await self._commands.script(
            scripts.POST, redis_keys, run_id, post.id, post.content, self._times.lease_ms
        )
        return reply[0].decode() if reply else None

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        keys = self._keys(chat)
        redis_keys = (keys.posts(run_id), keys.reply(run_id, post_id))
        await self._commands.script(scripts.REPLY, redis_keys, post_id, reply, self._times.lease_ms)

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        reply: bytes | None = await self._commands.call("GET", self._keys(chat).reply(run_id, post_id))
        return reply

    async def request_renewal(self, worker: str, run_id: str) -> None:
        await self._commands.call("PUBLISH", self._channel(worker), run_id)

    def renewal_requests(self) -> AsyncGenerator[str | None]:
        """Yields the ids of runs that must renew their leases now. A lost id does no harm, because each run also renews
        its lease regularly.
        """
        return self._commands.messages(self._channel(self.worker))

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        joined, events, past = await self._commands.call(
            "HMGET", self._keys(chat).head(run_id), "joined", "events", "past"
        )
        return Snapshot(int(joined or 0), events or b"", past or b"")

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        """Returns entries from the Redis stream of the run. The first part of an entry's id is the number of events up
        to the end of the entry.
        """
        blocking = ("BLOCK", max(1, int(wait * 1000))) if wait else ()
        options = ("COUNT", ENTRIES_AT_ONCE, *blocking)
        reply = await self._commands.call(
            "XREAD", *options, "STREAMS", self._keys(chat).log(run_id), f"{after}-0", wait=wait
        )
        return [_entry(entry_id, fields) for entry_id, fields in _stream(reply)]

    def _keys(self, chat: str) -> scripts.ChatKeys:
        return scripts.ChatKeys(self._prefix, chat)

    def _log_keys(self, run: RunIdentity) -> tuple[str, str, str]:
        keys = self._keys(run.chat)
        return keys.lease, keys.log(run.run_id), keys.head(run.run_id)

    def _run_info(self, reply: list[bytes]) -> RunInfo:
        """Return the run in a reply of the scripts ``PEEK`` or ``CLAIM``."""
        *texts, stop, left = reply
        run_id, idempotency_key, phase = (text.decode() for text in texts)
        return run_info(run_id, idempotency_key, phase, stop=bool(stop), left_ms=int(left), times=self._times)

    def _channel(self, worker: str) -> str:
        return f"{self._prefix}:worker:{worker}"


def _held(stored: int) -> int | None:
    return None if stored == scripts.NOT_HELD else stored


def _stream(reply: Any) -> list[tuple[bytes, Any]]:
    """Return the entries in a reply of ``XREAD``. The reply is a mapping in RESP3, and a list or ``None`` in RESP2."""
    match reply:
        case dict():
            return [entry for batches in reply.values() for batch in batches for entry in batch]
        case None:
            return []
        case _:
            return [entry for _, batch in reply for entry in batch]


def _entry(entry_id: bytes, fields: dict[bytes, bytes]) -> Entry:
    count = int(entry_id.partition(b"-")[0])
    after = int(fields.get(b"after", count))
    return Entry(after, count, fields.get(b"events", b""), fields.get(b"end", b"").decode())


class RedisRunLog(SharedRunLog):
    """Stores responses in Redis while they are written, so that every worker can resume and stop every run.

    ``server``: a URL, or a client. The app creates and closes the client. URLs: ``redis://``, ``rediss://``,
    ``unix://``; for a cluster ``redis+cluster://`` or ``rediss+cluster://``. Clients: ``Redis`` or ``RedisCluster`` of
    ``redis.asyncio``, created without ``decode_responses``. Redis 6.2 or later is required.
    ``prefix``: beginning of the names of all keys and channels: up to 64 ASCII letters, digits, and ``. _ : / @ -``.
    Each deployment in a Redis needs its own prefix.
    ``lease``: how long the chats of a dead worker accept no new runs. All workers must use the same value.
    ``expiry``: how long the events of an ended run are kept.
    ``bounds``: limits of each response: see ``LogBounds``.

    Times are seconds. If two deployments use the same prefix, two chats with the same app name, user id and chat id
    count as one chat. A worker renews the lease of each of its runs. If a lease cannot be renewed for five sixths of
    ``lease``, the run ends in an error.

    No run starts while Redis is unreachable. Runs that have started survive an outage of less than a third of
    ``lease``. Raises ``StreamProtocolError`` for times that are not positive, and for an unusable URL, client or
    prefix.
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
