"""Executes the Redis commands of one worker, and receives messages from other workers.

redis-py provides the commands, the connections and the caching of scripts. This module limits the time of each command.
After any failure, it raises ``RunLogError``.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from stream_protocol.serving.run_logs._run_log import RunLogError
from stream_protocol.serving.run_logs._run_store import reason_of
from stream_protocol.wire import StreamProtocolError, check_instance

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

logger = logging.getLogger(__name__)

Client: TypeAlias = Redis | RedisCluster

FAILURES: Final = (RedisError, RedisClusterException, OSError)
"""The exceptions that redis-py raises. ``TimeoutError`` is an ``OSError``."""

CLUSTER: Final = "+cluster"
"""The end of the scheme in the URL of a Redis cluster, such as ``redis+cluster://``."""

LISTEN_SECONDS: Final = 1.0
"""The maximum number of seconds that one call waits for a pub/sub message, and the pause before a new subscription
after a failure."""

COMMANDS_AT_ONCE: Final = 32
"""The maximum number of concurrent commands. redis-py keeps the connection of each command, so a burst of requests
leaves at most this number open. Reads that wait for events of another worker's run use further connections."""

MAX_CONNECTIONS: Final = 1_100
"""The maximum number of connections to Redis. The chat server has up to 1,000 clients by default, and each may read a
different run of another worker."""

NO_EVICTION: Final = "noeviction"
"""The ``maxmemory-policy`` with which a full Redis refuses writes, and never deletes data."""

EVICTION_WARNING: Final = (
    "%s has the maxmemory-policy %r: when its memory is full, it removes leases and responses of runs that go on. "
    "Set `maxmemory-policy noeviction`."
)

_WARNED: Final[set[str]] = set()
"""The addresses for which this process has logged the eviction warning."""


class Commands:
    """Executes commands in Redis. ``server``: a URL, or a client. The app creates and closes the client.

    ``patience``: the maximum number of seconds for a command. Each method raises ``RunLogError`` if a command fails or
    takes longer. The constructor raises ``StreamProtocolError`` for an unusable URL or client.
    """

    def __init__(self, server: str | Client, patience: float) -> None:
        check_instance("server", server, (str, Redis, RedisCluster), "a URL or a client of redis.asyncio")
        self._patience = patience
        self._turns = asyncio.Semaphore(COMMANDS_AT_ONCE)
        self._limits: set[asyncio.Timeout] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._policy_is_known = False
        self._owns = isinstance(server, str)
        self._redis = _connect(server, patience) if isinstance(server, str) else server
        self._where = _without_password(server) if isinstance(server, str) else "Redis"
        if self._redis.get_encoder().decode_responses:
            raise StreamProtocolError("The Redis client must give bytes: make it without `decode_responses`.")
        if not hasattr(self._redis, "pubsub"):
            raise StreamProtocolError(
                "A Redis cluster needs a newer redis-py: this one's `RedisCluster` has no `pubsub`."
            )

    @property
    def address(self) -> str:
        """The address of the database. The address of a cluster is ``redis+cluster`` without a host, because the URL
        may name any node.
        """
        if isinstance(self._redis, RedisCluster):
            return "redis+cluster"
        options = self._redis.connection_pool.connection_kwargs
        where = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        return f"redis://{where}/{options.get('db') or 0}"

    async def aclose(self) -> None:
        """Lets all running and later commands fail. Closes the connections, unless the app has created the client."""
        self._closed = True
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(0)
        await self._idle.wait()
        if self._owns:
            await self._redis.aclose()

    async def call(self, *command: Any, wait: float = 0) -> Any:
        """Executes a command, and returns its reply. ``wait``: the number of seconds for which the command may block in
        Redis.
        """
        return await self._wait_for(lambda: self._redis.execute_command(*command), extra=wait)

    async def script(self, text: str, keys: Sequence[str], *arguments: str | bytes | float) -> Any:
        """Executes a Lua script, and returns its reply: an integer, bytes, or a list."""
        script = self._redis.register_script(text)  # sends nothing; the call loads the script on servers that lack it
        return await self._wait_for(lambda: script(keys, arguments))

    async def script_for_each(self, text: str, keys: Sequence[str]) -> list[Any]:
        """Executes a Lua script once for each key, and returns the replies. Needs one round trip to each server."""
        redis = self._redis
        commands = redis.pipeline(transaction=False) if isinstance(redis, Redis) else redis.pipeline()
        for key in keys:
            commands.execute_command("EVAL", text, 1, key)
        replies: list[Any] = await self._wait_for(commands.execute)
        return replies

    async def messages(self, channel: str) -> AsyncGenerator[str]:
        """Yields the pub/sub messages of a channel. After a failure, subscribes again. Messages may then get lost."""
        await self.warn_of_eviction()  # here, because no request waits for `messages`
        while True:
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as listening:
                    await listening.subscribe(channel)
                    while True:
                        message = await listening.get_message(timeout=LISTEN_SECONDS)
                        if message is not None:
                            yield message["data"].decode()
            except FAILURES:
                await asyncio.sleep(LISTEN_SECONDS)

    async def warn_of_eviction(self) -> None:
        """Log a warning if Redis is configured to evict keys. Log it once for each address."""
        if self._policy_is_known:
            return
        self._policy_is_known = True
        try:
            policy = await self._wait_for(self._eviction_policy)
        except RunLogError as error:
            # A server that replies with an error is not asked again. An unreachable server is asked again.
            self._policy_is_known = isinstance(error.__cause__, ResponseError)
            return
        if policy not in ("", NO_EVICTION) and self._where not in _WARNED:
            _WARNED.add(self._where)
            logger.warning(EVICTION_WARNING, self._where, policy)

    async def _eviction_policy(self) -> str:
        """Return the setting ``maxmemory-policy`` if it lets Redis evict keys. Return an empty string if no server
        evicts keys, or if the setting cannot be read.
        """
        redis = self._redis
        if isinstance(redis, RedisCluster):
            replies = [*(await redis.info("memory", target_nodes=RedisCluster.PRIMARIES)).values()]
        else:
            replies = [await redis.info("memory")]
        policies = [str(reply.get("maxmemory_policy", "")) for reply in replies]
        return next((policy for policy in policies if policy not in ("", NO_EVICTION)), "")

    async def _wait_for(self, send: Callable[[], Awaitable[Any]], extra: float = 0) -> Any:
        if self._closed:
            raise self._error()
        cancellations = _cancellations()
        try:
            async with self._limited(extra), nullcontext() if extra else self._turns:
                reply = await send()
        except FAILURES as error:
            raise self._error(error) from error
        if _cancellations() > cancellations:  # redis-py may swallow a cancellation
            raise asyncio.CancelledError
        return reply

    def _error(self, error: BaseException | None = None) -> RunLogError:
        reason = "the run log is closed" if self._closed or error is None else reason_of(error)
        return RunLogError(f"{self._where}: {reason}")

    @asynccontextmanager
    async def _limited(self, extra: float) -> AsyncGenerator[None]:
        async with asyncio.timeout(self._patience + extra) as limit:
            self._limits.add(limit)
            self._idle.clear()
            try:
                yield
            finally:
                self._limits.discard(limit)
                if not self._limits:
                    self._idle.set()


def _cancellations() -> int:
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
            retry=Retry(NoBackoff(), 1),  # an idle connection of the pool may be dead
            retry_on_error=[RedisConnectionError],
        )
        pool = redis.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # connects to nothing; raises for an unknown option in the URL
    except (
        ValueError,
        TypeError,
        RedisClusterException,
    ) as error:  # the error's text may contain a part of the password
        raise StreamProtocolError("The URL of Redis must be like redis://:password@host:6379/0.") from error
    return redis


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
