"""The leases and logs in Redis: the connection of one worker, the keys of a chat, and messages between workers.

The Lua text of the scripts is in ``_scripts``. Commands, connections and script caching are redis-py's. This module
adds the names of the keys, a time limit for each command, and one error, ``RunLogError``, for all that can go wrong.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from stream_protocol.serving.run_logs._run_log import STOP_SECONDS, ChatTakenError, RunInfo, RunLogError
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
    chat_key,
    reason_of,
    run_info,
)
from stream_protocol.serving.run_logs.redis import _scripts as scripts
from stream_protocol.wire import StreamProtocolError, check_instance, check_text

try:
    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import (
        ConnectionError as RedisConnectionError,
        RedisClusterException,
        RedisError,
        ResponseError,
    )
except ImportError as error:
    raise ImportError("RedisRunLog needs the extra `redis`: pip install 'adk-ui-stream[redis]'.") from error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from stream_protocol.serving.run_logs._run_log import Phase

logger = logging.getLogger(__name__)

Client: TypeAlias = Redis | RedisCluster

FAILURES: Final = (RedisError, RedisClusterException, OSError)
"""The exceptions that redis-py raises. (``TimeoutError`` is an ``OSError``.)"""

CLUSTER: Final = "+cluster"
"""Ends the scheme of a cluster's URL: ``redis+cluster://``."""

LISTEN_SECONDS: Final = 1.0
"""Seconds that one call waits for a pub/sub message, and the pause before a new subscription after a failure."""

ENTRIES_AT_ONCE: Final = 64
"""The most stream entries in one reply."""

COMMANDS_AT_ONCE: Final = 32
"""The most commands that are under way at once. Each has a connection, and redis-py keeps it for later ones: a burst of
requests leaves no more than these. A reader of another worker's run, which waits for new events, has a connection of
its own."""

MAX_CONNECTIONS: Final = 1_100
"""One for each client that a server takes by default, and some more: each client may read another run. redis-py's
default of 100 would refuse the readers of the hundredth run."""

DEFAULT_PREFIX: Final = "adk-ui-stream"
"""Begins all keys and channels of a deployment."""

MAX_PREFIX_LENGTH: Final = 64
"""Characters. The prefix is in every key, so Redis keeps it five times for each run."""

_PREFIX: Final = re.compile(rf"[A-Za-z0-9._:/@-]{{1,{MAX_PREFIX_LENGTH}}}")
"""Braces would be the hash tag, in place of the chat's. ``*``, ``?`` and brackets have a meaning in the patterns of ACL
rules and ``SCAN``."""


NO_EVICTION: Final = "noeviction"
"""The ``maxmemory-policy`` that loses nothing: a server that is full refuses to write."""

EVICTION_WARNING: Final = (
    "%s has the maxmemory-policy %r: when its memory is full, it removes leases and responses of runs that go on. "
    "Set `maxmemory-policy noeviction`."
)

_WARNED: Final[set[str]] = set()
"""The servers that this process has warned of: it has several connections to one, and a new one after the check."""

NOT_HELD: Final = -1
"""The result of ``APPEND`` and ``REPLACE`` for a run that does not hold the chat's lease."""

NO_LOG: Final = -1
"""The number of events that ``WATCH`` returns if there is no log."""


class ChatKeys:
    """The Redis keys of one chat. They share a hash tag, so that a cluster keeps them on one node."""

    def __init__(self, prefix: str, chat: str) -> None:
        self._tag = f"{prefix}:{{{chat_key(chat)}}}"
        self.lease = f"{self._tag}:lease"
        self.token = f"{self._tag}:token"
        self.stopped = f"{self._tag}:stopped"

    def log(self, run_id: str) -> str:
        """The stream of a run's events."""
        return f"{self._tag}:log:{run_id}"

    def head(self, run_id: str) -> str:
        """A hash: the number of events, and what comes before the stream (see ``Snapshot``)."""
        return f"{self._tag}:head:{run_id}"

    def readers(self, run_id: str) -> str:
        """A sorted set: the other workers that read the run, each with the time until which that counts."""
        return f"{self._tag}:readers:{run_id}"

    def posts(self, run_id: str) -> str:
        """A hash: what other workers have posted to the run, by the id of the post."""
        return f"{self._tag}:posts:{run_id}"

    def reply(self, run_id: str, post_id: str) -> str:
        """The reply to a post."""
        return f"{self._tag}:reply:{run_id}:{post_id}"


class RedisStore:
    """The connection of one worker. A ``RunStore``.

    ``server``: a URL, or a client that the app made and closes. ``patience``: the seconds that a command may take.
    Raises ``StreamProtocolError`` for an unusable URL, client or prefix. Every method raises ``RunLogError`` for a
    command that fails or takes longer.
    """

    def __init__(self, server: str | Client, *, prefix: str, patience: float, times: LeaseTimes) -> None:
        check_instance("server", server, (str, Redis, RedisCluster), "a URL or a client of redis.asyncio")
        check_text("prefix", prefix)
        if not _PREFIX.fullmatch(prefix):
            raise StreamProtocolError(
                f"The prefix in Redis must be 1 to {MAX_PREFIX_LENGTH} of these: ASCII letters, digits, and . _ : / @ -"
            )
        self._prefix = prefix
        self._patience = patience
        self._times = times
        self.worker = uuid4().hex
        self._commands = asyncio.Semaphore(COMMANDS_AT_ONCE)
        self._limits: set[asyncio.Timeout] = set()
        """Those of the commands that are under way."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._policy_is_known = False
        self._owns = isinstance(server, str)
        self._where = _without_password(server) if isinstance(server, str) else "Redis"
        self._redis = _connect(server, patience) if isinstance(server, str) else server
        if self._redis.get_encoder().decode_responses:
            raise StreamProtocolError("The Redis client must give bytes: make it without `decode_responses`.")
        if not hasattr(self._redis, "pubsub"):
            raise StreamProtocolError(
                "A Redis cluster needs a newer redis-py: this one's `RedisCluster` has no `pubsub`."
            )

    async def aclose(self) -> None:
        """Closes the connections, unless the client is the app's. Commands that are under way fail, and later ones.

        redis-py would connect again for them, and nobody would close that connection.
        """
        self._closed = True
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(0)
        await self._idle.wait()
        if self._owns:
            await self._redis.aclose()

    @property
    def place(self) -> str:
        """See ``RunStore``. A cluster is known by any of its nodes, so it has no address."""
        if isinstance(self._redis, RedisCluster):
            return f"redis+cluster {self._prefix}"
        options = self._redis.connection_pool.connection_kwargs
        where = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        return f"redis://{where}/{options.get('db') or 0} {self._prefix}"

    async def ping(self) -> None:
        """Writes to Redis, to find out whether that works."""
        await self._call("SET", f"{self._prefix}:ping", "", "PX", 1)
        await self._warn_of_eviction()

    async def claim(self, run: RunIdentity) -> int:
        """Gives the chat to a run, and the run its token."""
        keys = self._keys(run.chat)
        lifetimes = (self._times.lease_ms, self._times.token_ms)
        arguments = (run.run_id, run.worker, run.idempotency_key, *lifetimes)
        claimed, *reply = await self._script(scripts.CLAIM, (keys.lease, keys.token), *arguments)
        if not claimed:
            raise ChatTakenError(self._run_info(reply))
        return int(reply[0])

    async def peek(self, chats: Sequence[str]) -> list[RunInfo | None]:
        """The runs that hold the leases: in one round trip to each server."""
        if not chats:
            return []
        redis = self._redis
        commands = redis.pipeline(transaction=False) if isinstance(redis, Redis) else redis.pipeline()
        for chat in chats:
            commands.execute_command("EVAL", scripts.PEEK, 1, self._keys(chat).lease)
        replies = await self._wait_for(commands.execute)
        return [self._run_info(reply) if reply else None for reply in replies]

    async def renew(self, run: RunIdentity, token: int, phase: Phase) -> Renewal | None:
        """Renews a lease."""
        keys = self._keys(run.chat)
        of_run = (keys.log(run.run_id), keys.head(run.run_id), keys.readers(run.run_id), keys.posts(run.run_id))
        lifetimes = (self._times.lease_ms, self._times.token_ms, self._times.log_ttl_ms)
        arguments = (run.run_id, token, run.worker, run.idempotency_key, phase, *lifetimes)
        current, *wanted = await self._script(scripts.RENEW, (keys.lease, keys.token, *of_run), *arguments)
        if not current:
            return None
        stop, readers, *posted = wanted
        posts = (Post(post_id.decode(), content) for post_id, content in zip(posted[::2], posted[1::2], strict=True))
        return Renewal(stop=bool(stop), readers=readers, posts=tuple(posts))

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        """Adds a piece to the run's log."""
        entry, past = piece.entry, b"" if piece.entry.after else piece.past
        arguments = (run.run_id, token, entry.after, entry.count, entry.events, past, entry.end, self._times.log_ttl_ms)
        return _held(await self._script(scripts.APPEND, self._log_keys(run), *arguments))

    async def replace(self, run: RunIdentity, token: int, snapshot: Snapshot) -> int | None:
        """Replaces the first entries by joined events."""
        arguments = (run.run_id, token, snapshot.compacted, snapshot.events, snapshot.past, self._times.log_ttl_ms)
        return _held(await self._script(scripts.REPLACE, self._log_keys(run), *arguments))

    async def free(self, run: RunIdentity) -> None:
        """Frees the chat."""
        lease, *of_run = self._log_keys(run)
        keys = (lease, self._keys(run.chat).token, *of_run)
        lifetimes = (self._times.token_ms, self._times.log_retention_ms)
        await self._script(scripts.FREE, keys, run.run_id, *lifetimes, BROKEN)

    async def watch(self, chat: str, run_id: str, *, reads: bool) -> LeaseView:
        """Notes who reads a run."""
        keys = self._keys(chat)
        redis_keys = (keys.lease, keys.head(run_id), keys.readers(run_id))
        until_ms = self._times.lease_ms if reads else 0
        holder, worker, token, count = await self._script(scripts.WATCH, redis_keys, run_id, self.worker, until_ms)
        return LeaseView(holder.decode(), worker.decode(), int(token), None if count == NO_LOG else count)

    async def stop(self, chat: str, run_id: str) -> tuple[str, str] | None:
        """Asks a run to stop."""
        reply = await self._script(scripts.STOP, (self._keys(chat).lease,), run_id)
        return (reply[0].decode(), reply[1].decode()) if reply else None

    async def note_stop(self, chat: str, stop_id: str) -> None:
        """Keeps the id of the newest stop."""
        await self._call("SET", self._keys(chat).stopped, stop_id, "EX", STOP_SECONDS)

    async def newest_stop(self, chat: str) -> str:
        """The id of the newest stop."""
        stop_id = await self._call("GET", self._keys(chat).stopped)
        return stop_id.decode() if stop_id else ""

    async def post(self, chat: str, run_id: str, post: Post) -> str | None:
        """Keeps a post for the run."""
        keys = self._keys(chat)
        redis_keys = (keys.lease, keys.posts(run_id), keys.reply(run_id, post.id))
        reply = await self._script(scripts.POST, redis_keys, run_id, post.id, post.content, self._times.lease_ms)
        return reply[0].decode() if reply else None

    async def reply(self, chat: str, run_id: str, post_id: str, reply: bytes) -> None:
        """Puts a reply in the place of its post."""
        keys = self._keys(chat)
        redis_keys = (keys.posts(run_id), keys.reply(run_id, post_id))
        await self._script(scripts.REPLY, redis_keys, post_id, reply, self._times.lease_ms)

    async def reply_to(self, chat: str, run_id: str, post_id: str) -> bytes | None:
        """The reply to a post."""
        reply: bytes | None = await self._call("GET", self._keys(chat).reply(run_id, post_id))
        return reply

    async def request_renewal(self, worker: str, run_id: str) -> None:
        """Publishes a message to a worker."""
        await self._call("PUBLISH", self._channel(worker), run_id)

    async def renewal_requests(self) -> AsyncGenerator[str | None]:
        """Yields the ids of runs. Lost ids come later, with the next regular renewal."""
        await self._warn_of_eviction()  # here, since no request waits for it
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as listening:
                    await listening.subscribe(self._channel(self.worker))
                    while True:
                        message = await listening.get_message(timeout=LISTEN_SECONDS)
                        if message is not None:
                            yield message["data"].decode()
            except FAILURES:
                await asyncio.sleep(LISTEN_SECONDS)

    async def snapshot(self, chat: str, run_id: str) -> Snapshot:
        """The data before the stream's first entry."""
        joined, events, past = await self._call("HMGET", self._keys(chat).head(run_id), "joined", "events", "past")
        return Snapshot(int(joined or 0), events or b"", past or b"")

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        """The entries of the run's stream: an entry's id begins with the number of events up to its end."""
        blocking = ("BLOCK", max(1, int(wait * 1000))) if wait else ()
        options = ("COUNT", ENTRIES_AT_ONCE, *blocking)
        reply = await self._call("XREAD", *options, "STREAMS", self._keys(chat).log(run_id), f"{after}-0", wait=wait)
        return [_entry(entry_id, fields) for entry_id, fields in _stream(reply)]

    async def _warn_of_eviction(self) -> None:
        """Logs a warning, once in a process for each store, if Redis removes keys of its own when its memory is full.

        A server that does not say its policy, such as one whose ACL forbids ``INFO``, is not warned of.
        """
        if self._policy_is_known:
            return
        self._policy_is_known = True
        try:
            policy = await self._wait_for(self._eviction_policy)
        except RunLogError as error:
            # A reply, whatever it says, will not change. A server that is away is asked again.
            self._policy_is_known = isinstance(error.__cause__, ResponseError)
            return
        if policy not in ("", NO_EVICTION) and self._where not in _WARNED:
            _WARNED.add(self._where)
            logger.warning(EVICTION_WARNING, self._where, policy)

    async def _eviction_policy(self) -> str:
        """The ``maxmemory-policy``; of a cluster's primaries the first that evicts. Empty if unknown."""
        redis = self._redis
        if isinstance(redis, RedisCluster):
            replies = [*(await redis.info("memory", target_nodes=RedisCluster.PRIMARIES)).values()]
        else:
            replies = [await redis.info("memory")]
        policies = [str(reply.get("maxmemory_policy", "")) for reply in replies]
        return next((policy for policy in policies if policy not in ("", NO_EVICTION)), "")

    def _keys(self, chat: str) -> ChatKeys:
        return ChatKeys(self._prefix, chat)

    def _log_keys(self, run: RunIdentity) -> tuple[str, str, str]:
        keys = self._keys(run.chat)
        return keys.lease, keys.log(run.run_id), keys.head(run.run_id)

    def _run_info(self, reply: list[bytes]) -> RunInfo:
        """Reads the run in a reply of ``PEEK`` or ``CLAIM``.

        ``reply``: its id, the idempotency key, its phase, and the milliseconds that are left of its lease.
        """
        *texts, left = reply
        run_id, idempotency_key, phase = (text.decode() for text in texts)
        return run_info(run_id, idempotency_key, phase, healthy=int(left) > self._times.healthy_ms)

    def _channel(self, worker: str) -> str:
        return f"{self._prefix}:worker:{worker}"

    async def _script(self, text: str, keys: Sequence[str], *arguments: str | bytes | float) -> Any:
        """Runs one of the scripts. Returns integers, bytes, and lists of these."""
        script = self._redis.register_script(text)  # sends nothing; a call loads the text where a server lacks it
        return await self._wait_for(lambda: script(keys, arguments))

    async def _call(self, *command: Any, wait: float = 0) -> Any:
        return await self._wait_for(lambda: self._redis.execute_command(*command), extra=wait)

    async def _wait_for(self, send: Callable[[], Awaitable[Any]], extra: float = 0) -> Any:
        if self._closed:
            raise self._error()
        cancellations = _cancellations()
        try:
            async with self._limited(extra), nullcontext() if extra else self._commands:
                reply = await send()
        except FAILURES as error:
            raise self._error(error) from error
        if _cancellations() > cancellations:  # redis-py swallows some
            raise asyncio.CancelledError
        return reply

    def _error(self, error: BaseException | None = None) -> RunLogError:
        reason = "the run log is closed" if self._closed or error is None else reason_of(error)
        return RunLogError(f"{self._where}: {reason}")

    @asynccontextmanager
    async def _limited(self, extra: float) -> AsyncGenerator[None]:
        """Gives a command its time, which is over when the store is closed."""
        async with asyncio.timeout(self._patience + extra) as limit:
            self._limits.add(limit)
            self._idle.clear()
            try:
                yield
            finally:
                self._limits.discard(limit)
                if not self._limits:
                    self._idle.set()


def _held(stored: int) -> int | None:
    return None if stored == NOT_HELD else stored


def _cancellations() -> int:
    """The number of times that this task was cancelled."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _connect(url: str, patience: float) -> Client:
    scheme, colon, rest = url.partition(":")
    options: dict[str, Any] = {
        "protocol": 2,
        "socket_connect_timeout": patience,
        "max_connections": MAX_CONNECTIONS,
    }
    try:
        if scheme.endswith(CLUSTER):
            return RedisCluster.from_url(scheme.removesuffix(CLUSTER) + colon + rest, **options)
        redis: Redis = Redis.from_url(
            url,
            **options,
            retry=Retry(NoBackoff(), 1),  # a pooled connection may have died while nobody used it
            retry_on_error=[RedisConnectionError],
        )
    except (ValueError, RedisClusterException) as error:  # its text may hold a part of the password
        raise StreamProtocolError("The URL of Redis must be like redis://:password@host:6379/0.") from error
    return redis


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _stream(reply: Any) -> list[tuple[bytes, Any]]:
    """The entries of an XREAD reply for one stream. RESP3 gives a mapping, RESP2 a list or nothing."""
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
