"""What the run logs of all workers hold in Redis: the keys of a chat, and each thing that is done to them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.wire import StreamProtocolError

try:
    from redis.asyncio import Redis
    from redis.asyncio.cluster import RedisCluster
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError as RedisConnectionError, RedisClusterException, RedisError
except ImportError as error:
    raise ImportError("RedisRunLog needs the extra `redis`: pip install 'adk-ui-stream[redis]'.") from error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

Client: TypeAlias = Redis | RedisCluster

FAILURES: Final = (RedisError, RedisClusterException, OSError)
"""What a client raises; a TimeoutError is an OSError."""

CLUSTER: Final = "+cluster"
"""Behind the scheme of a cluster's URL."""

LISTEN_SECONDS: Final = 1.0

ENTRIES_AT_ONCE: Final = 64


@dataclass(frozen=True)
class Entry:
    """A piece of a run's log."""

    after: int
    """How many events lie before it,"""
    count: int
    """and how many with it."""
    events: bytes = b""
    end: bytes = b""
    """Why nothing follows, if nothing does: see ``WHOLE`` and ``BROKEN``."""


WHOLE: Final = b"whole"
"""The log has ended: all that was written is there."""

BROKEN: Final = b"broken"
"""Its writer gave up: the log lacks its end."""


@dataclass(frozen=True)
class Head:
    """What a reader begins with."""

    joined: int
    """How many events the first entries were,"""
    events: bytes
    """and what they have become."""
    past: bytes


class ChatKeys:
    """The keys of one chat. They share a hash tag, so a cluster keeps them on one node."""

    def __init__(self, prefix: str, chat: str) -> None:
        self._tag = f"{prefix}:{{{sha256(chat.encode(errors='surrogatepass')).hexdigest()[:32]}}}"
        self.lease = f"{self._tag}:lease"
        self.token = f"{self._tag}:token"

    def log(self, run_id: str) -> str:
        """Of the stream of a run's events."""
        return f"{self._tag}:log:{run_id}"

    def head(self, run_id: str) -> str:
        """Of what stands before that stream."""
        return f"{self._tag}:head:{run_id}"

    def readers(self, run_id: str) -> str:
        """Of the workers that read the run."""
        return f"{self._tag}:readers:{run_id}"


class RedisStore:
    """One worker's connection. Every method raises ``RunLogError`` if Redis does not do what it is asked, in time."""

    def __init__(self, server: str | Client, *, prefix: str, patience: float) -> None:
        self._prefix = prefix
        self._patience = patience
        self._owns = isinstance(server, str)
        self._where = _shown(server) if isinstance(server, str) else "Redis"
        self._redis = _connected(server, patience) if isinstance(server, str) else server
        self._execute: Callable[..., Awaitable[Any]] = self._redis.execute_command
        if self._redis.get_encoder().decode_responses:
            raise StreamProtocolError("The Redis client must give bytes: make it without `decode_responses`.")
        if not hasattr(self._redis, "pubsub"):
            raise StreamProtocolError(
                "A Redis cluster needs a newer redis-py: this one's `RedisCluster` has no `pubsub`."
            )

    async def aclose(self) -> None:
        """Closes the connections, unless they are the app's."""
        if self._owns:
            await self._redis.aclose()

    async def ping(self) -> None:
        """Returns if Redis takes what it is given."""
        await self._call("SET", f"{self._prefix}:ping", "", "PX", 1)

    def keys(self, chat: str) -> ChatKeys:
        """The keys of a chat."""
        return ChatKeys(self._prefix, chat)

    async def nudge(self, worker: str, run_id: str) -> None:
        """Tells a worker that somebody wants something of its run: see ``nudges``."""
        await self._call("PUBLISH", self._channel(worker), run_id)

    async def nudges(self, worker: str) -> AsyncGenerator[str]:
        """The runs of this worker of which somebody wants something: each finds what, when it renews its lease.

        One may get lost: it is a matter of speed.
        """
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as listening:
                    await listening.subscribe(self._channel(worker))
                    while True:
                        message = await listening.get_message(timeout=LISTEN_SECONDS)
                        if message is not None:
                            yield message["data"].decode()
            except FAILURES:
                await asyncio.sleep(LISTEN_SECONDS)

    async def script(self, script: str, keys: Sequence[str], *arguments: object) -> Any:
        """Runs one of ``redis_scripts``. What it returns are integers, bytes, and lists of these."""
        return await self._call("EVAL", script, len(keys), *keys, *arguments)

    async def head(self, keys: ChatKeys, run_id: str) -> Head:
        """What a reader of the run begins with."""
        joined, events, past = await self._call("HMGET", keys.head(run_id), "joined", "events", "past")
        return Head(int(joined or 0), events or b"", past or b"")

    async def entries(self, keys: ChatKeys, run_id: str, after: str, wait: float) -> list[tuple[str, Entry]]:
        """The entries behind the one with this id. Waits for so many seconds if there is none."""
        blocking = ("BLOCK", max(1, int(wait * 1000))) if wait else ()
        options = ("COUNT", ENTRIES_AT_ONCE, *blocking)
        reply = await self._call("XREAD", *options, "STREAMS", keys.log(run_id), after, wait=wait)
        return [(entry_id.decode(), _entry(entry_id, fields)) for entry_id, fields in _stream(reply)]

    def _channel(self, worker: str) -> str:
        return f"{self._prefix}:worker:{worker}"

    async def _call(self, *command: Any, wait: float = 0) -> Any:
        try:
            async with asyncio.timeout(self._patience + wait):
                return await self._execute(*command)
        except FAILURES as error:
            raise RunLogError(f"{self._where}: {_reason(error)}") from error


def milliseconds(seconds: float) -> int:
    """As Redis counts time; never nothing."""
    return max(1, round(seconds * 1000))


def _reason(error: BaseException) -> str:
    """Why Redis cannot be had, in a line."""
    said = next(iter(str(error).splitlines()), "")
    return said or ("it does not answer" if isinstance(error, TimeoutError) else type(error).__name__)


def _connected(url: str, patience: float) -> Client:
    scheme, colon, rest = url.partition(":")
    options: dict[str, Any] = {"protocol": 2, "socket_connect_timeout": patience}
    try:
        if scheme.endswith(CLUSTER):
            return RedisCluster.from_url(scheme.removesuffix(CLUSTER) + colon + rest, **options)
        redis: Redis = Redis.from_url(
            url,
            **options,
            retry=Retry(NoBackoff(), 1),  # a pooled connection may have died while nobody used it
            retry_on_error=[RedisConnectionError],
        )
    except (ValueError, RedisClusterException) as error:  # which may say part of a password
        raise StreamProtocolError("The URL of Redis must be like redis://:password@host:6379/0.") from error
    return redis


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _stream(reply: Any) -> list[tuple[bytes, Any]]:
    """The entries of the one stream that was asked for, whichever protocol the client speaks."""
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
    return Entry(after, count, fields.get(b"events", b""), fields.get(b"end", b""))
