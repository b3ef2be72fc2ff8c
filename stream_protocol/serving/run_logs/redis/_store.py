"""The connection of one worker to Redis: the keys of a chat, commands and scripts, and messages between workers.

The Lua text of the scripts is in ``_scripts``. Commands, connections and script caching are redis-py's. This module
adds the names of the keys, a time limit for each command, and one error, ``RunLogError``, for all that can go wrong.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import nullcontext
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
"""What redis-py raises. (``TimeoutError`` is an ``OSError``.)"""

CLUSTER: Final = "+cluster"
"""Ends the scheme of a cluster's URL: ``redis+cluster://``."""

LISTEN_SECONDS: Final = 1.0
"""How long one call waits for a pub/sub message, and the pause before a new subscription after a failure."""

ENTRIES_AT_ONCE: Final = 64
"""The most stream entries in one reply."""

COMMANDS_AT_ONCE: Final = 32
"""Each command that is under way has a connection, and redis-py keeps it for later ones. So a burst of requests leaves
no more than these; a reader of another worker's run, which waits for new events, has one of its own."""

MAX_CONNECTIONS: Final = 1_100
"""One for each client that a server takes by default, each of which may read another run, and some more. redis-py's own
100 would refuse the readers of the hundredth run."""

DEFAULT_PREFIX: Final = "adk-ui-stream"
"""Begins all keys and channels of a deployment."""

MAX_PREFIX_LENGTH: Final = 64
"""Characters. The prefix is in every key, so Redis keeps it five times for each run."""

_PREFIX: Final = re.compile(rf"[A-Za-z0-9._:/@-]{{1,{MAX_PREFIX_LENGTH}}}")
"""Braces would be the hash tag, in place of the chat's; ``*``, ``?`` and brackets mean more than themselves in the
patterns of ACL rules and ``SCAN``."""


@dataclass(frozen=True)
class Entry:
    """One entry of a run's Redis stream: some SSE events, or the end of the log."""

    after: int
    """The number of events before this entry."""
    count: int
    """The number of events up to its end."""
    events: bytes = b""
    end: bytes = b""
    """``WHOLE`` or ``BROKEN`` if the log ends here, else empty."""


WHOLE: Final = b"whole"
"""The end of a complete log."""

BROKEN: Final = b"broken"
"""The end of a log whose writer gave up: the last events are missing."""


@dataclass(frozen=True)
class Head:
    """What a reader needs before it reads the stream's first entry."""

    joined: int
    """The number of events that were joined and removed from the stream; 0 if none were."""
    events: bytes
    """These events, joined."""
    past: bytes
    """See ``EventBuffer.past``."""


class ChatKeys:
    """The Redis keys of one chat. They share a hash tag, so that a cluster keeps them on one node."""

    def __init__(self, prefix: str, chat: str) -> None:
        self._tag = f"{prefix}:{{{sha256(chat.encode(errors='surrogatepass')).hexdigest()[:32]}}}"
        self.lease = f"{self._tag}:lease"
        self.token = f"{self._tag}:token"

    def log(self, run_id: str) -> str:
        """The stream of a run's events."""
        return f"{self._tag}:log:{run_id}"

    def head(self, run_id: str) -> str:
        """A hash: the number of events, and what comes before the stream (see ``Head``)."""
        return f"{self._tag}:head:{run_id}"

    def readers(self, run_id: str) -> str:
        """A sorted set: the other workers that read the run, each with the time until which that counts."""
        return f"{self._tag}:readers:{run_id}"


class RedisStore:
    """The connection of one worker.

    ``server``: a URL, or a client that the app made and closes. ``patience``: the seconds that a command may take.
    Raises ``StreamProtocolError`` for an unusable URL, client or prefix. Every method raises ``RunLogError`` for a
    command that fails or takes longer.
    """

    def __init__(self, server: str | Client, *, prefix: str, patience: float) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise StreamProtocolError(
                f"The prefix in Redis must be 1 to {MAX_PREFIX_LENGTH} of these: ASCII letters, digits, and . _ : / @ -"
            )
        self._prefix = prefix
        self._patience = patience
        self._commands = asyncio.Semaphore(COMMANDS_AT_ONCE)
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
        """Closes the connections, unless the client is the app's."""
        if self._owns:
            await self._redis.aclose()

    async def ping(self) -> None:
        """Writes to Redis, to find out whether that works."""
        await self._call("SET", f"{self._prefix}:ping", "", "PX", 1)

    def keys(self, chat: str) -> ChatKeys:
        """The keys of a chat."""
        return ChatKeys(self._prefix, chat)

    async def request_renewal(self, worker: str, run_id: str) -> None:
        """Publishes a message to a worker: renew the lease of this run now. See ``renewal_requests``."""
        await self._call("PUBLISH", self._channel(worker), run_id)

    async def renewal_requests(self, worker: str) -> AsyncGenerator[str]:
        """Yields the id of a run of this worker whenever another worker asks to renew its lease now.

        The reply to the renewal says why: the run should stop, or somebody reads it. A message may get lost. Then the
        next regular renewal brings the same reply, only later.
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

    async def script(self, text: str, keys: Sequence[str], *arguments: str | bytes | float) -> Any:
        """Runs one of the scripts of ``_scripts``. Returns integers, bytes, and lists of these."""
        script = self._redis.register_script(text)  # sends nothing; a call loads the text where a server lacks it
        return await self._wait_for(lambda: script(keys, arguments))

    async def script_on_each(self, text: str, keys: Sequence[str]) -> list[Any]:
        """Runs a script once for each of these keys, in one round trip to each server. Returns the replies in order."""
        if not keys:
            return []
        commands = self._redis.pipeline(transaction=False) if isinstance(self._redis, Redis) else self._redis.pipeline()
        for key in keys:
            commands.execute_command("EVAL", text, 1, key)
        replies: list[Any] = await self._wait_for(commands.execute)
        return replies

    async def head(self, keys: ChatKeys, run_id: str) -> Head:
        """Returns what a reader needs before the first stream entry."""
        joined, events, past = await self._call("HMGET", keys.head(run_id), "joined", "events", "past")
        return Head(int(joined or 0), events or b"", past or b"")

    async def entries(self, keys: ChatKeys, run_id: str, after: str, wait: float) -> list[tuple[str, Entry]]:
        """Returns the entries after the one with this id, each with its id. Waits up to ``wait`` seconds for one."""
        blocking = ("BLOCK", max(1, int(wait * 1000))) if wait else ()
        options = ("COUNT", ENTRIES_AT_ONCE, *blocking)
        reply = await self._call("XREAD", *options, "STREAMS", keys.log(run_id), after, wait=wait)
        return [(entry_id.decode(), _entry(entry_id, fields)) for entry_id, fields in _stream(reply)]

    def _channel(self, worker: str) -> str:
        return f"{self._prefix}:worker:{worker}"

    async def _call(self, *command: Any, wait: float = 0) -> Any:
        return await self._wait_for(lambda: self._redis.execute_command(*command), extra=wait)

    async def _wait_for(self, send: Callable[[], Awaitable[Any]], extra: float = 0) -> Any:
        try:
            async with asyncio.timeout(self._patience + extra), nullcontext() if extra else self._commands:
                return await send()
        except FAILURES as error:
            raise RunLogError(f"{self._where}: {_reason(error)}") from error


def milliseconds(seconds: float) -> int:
    """Seconds as the milliseconds that Redis takes; at least 1."""
    return max(1, round(seconds * 1000))


def _reason(error: BaseException) -> str:
    """One line that says why Redis cannot be reached."""
    line = next(iter(str(error).splitlines()), "")
    return line or ("it does not answer" if isinstance(error, TimeoutError) else type(error).__name__)


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
    return Entry(after, count, fields.get(b"events", b""), fields.get(b"end", b""))
