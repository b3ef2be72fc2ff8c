"""Runs during a fail-over from a primary to its replica, behind one address."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from stream_protocol.serving import RedisRunLog
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.testing._fake_runs import (
    CHAT,
    HANG,
    TEXT,
    begin,
    eventually,
    freed,
    joined_text,
    reader,
    rest,
    until,
)
from tests.redis_server import RedisServer, redis_server

pytestmark = pytest.mark.fleet  # the tests wait half of their time for leases to expire

LEASE = 9.0
"""Seconds. Two thirds of it are longer than a fail-over in these tests, even on a busy machine."""

READERS_FIRST = 0.4
"""Seconds for which only readers can reach the new primary."""


class Address:
    """The address of the current primary. Its connections break when the primary changes."""

    def __init__(self, primary: RedisServer) -> None:
        self._primary: RedisServer | None = primary
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    async def lead_to(self, primary: RedisServer | None) -> None:
        """Sets the server behind the address; ``None``: no server."""
        self._primary = primary
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def aclose(self) -> None:
        assert self._server is not None
        self._server.close()
        await self.lead_to(self._primary)
        await self._server.wait_closed()

    def _connect(self, reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._pass_on(reads, writes))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _pass_on(self, reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        writers = [writes]
        try:
            if self._primary is None:
                return
            there_reads, there_writes = await asyncio.open_connection("127.0.0.1", self._primary.port)
            writers.append(there_writes)
            directions = [_copied(reads, there_writes), _copied(there_reads, writes)]
            tasks = [asyncio.create_task(direction) for direction in directions]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except OSError:
            pass  # the server is dead, and so is the connection
        finally:
            for writer in writers:
                writer.close()


async def _copied(reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
    while data := await reads.read(65536):
        writes.write(data)
        await writes.drain()


class Pair:
    """Two workers with separate connections to the two servers: one runs agents, and one reads."""

    def __init__(self, primary: RedisServer, replica: RedisServer) -> None:
        self._primary = primary
        self._replica = replica
        self._addresses = Address(primary), Address(primary)

    async def open(self) -> None:
        for address in self._addresses:
            await address.open()
        self.here, self.elsewhere = (RedisRunLog(address.url, lease=LEASE) for address in self._addresses)
        await self.replicated()

    async def aclose(self) -> None:
        for worker in (self.here, self.elsewhere):
            await worker.aclose()
        for address in self._addresses:
            await address.aclose()

    async def replicated(self) -> None:
        """Waits until the replica has the primary's data."""

        async def linked() -> bool:
            async with Redis.from_url(self._replica.url) as client:
                status: str = (await client.info("replication"))["master_link_status"]
                return status == "up"

        await eventually(linked)
        async with Redis.from_url(self._primary.url) as client:
            await client.set("written", "last")
            assert await client.wait(1, 10_000) == 1

    async def detach(self) -> None:
        """Disconnects the replica from the primary, which continues."""
        await self.replicated()
        await self._promote()

    async def lose_writer(self) -> None:
        """Disconnects the worker that runs agents, until the next primary has taken over."""
        await self._addresses[0].lead_to(None)

    async def fail_over(self) -> None:
        """Kills the primary, and promotes the replica. Readers reach it first."""
        self._primary.kill()
        await self._promote()
        writing, reading = self._addresses
        await reading.lead_to(self._replica)
        await asyncio.sleep(READERS_FIRST)
        await writing.lead_to(self._replica)

    async def _promote(self) -> None:
        async with Redis.from_url(self._replica.url) as client:
            await client.replicaof("NO", "ONE")


@pytest.fixture
async def pair(redis: RedisServer, tmp_path: Path) -> AsyncIterator[Pair]:
    folder = tmp_path / "replica"
    folder.mkdir()
    async with Redis.from_url(redis.url) as client:
        await client.config_set("repl-diskless-sync-delay", "0")
    with redis_server(folder, "--replicaof", "127.0.0.1", str(redis.port)) as replica:
        pair = Pair(redis, replica)
        await pair.open()
        try:
            yield pair
        finally:
            await pair.aclose()


@pytest.mark.parametrize("unheard", ["", "unheard "])
async def test_a_run_goes_on_when_a_replica_takes_over_whatever_that_had_not_heard(pair: Pair, unheard: str) -> None:
    owner, lease = await begin(pair.here)
    owner.say("before ")
    early = await reader(pair.elsewhere)
    seen = await until(early, b"before")
    if unheard:
        await pair.detach()
        owner.say(unheard)
        seen += await until(early, unheard.encode())
    else:
        await pair.replicated()
    await pair.fail_over()
    owner.say("behind ")
    seen += await until(early, b"behind")
    owner.say("end")
    owner.finish()
    late = await reader(pair.elsewhere)
    assert joined_text(seen + await rest(early)) == joined_text(await rest(late)) == f"before {unheard}behind end"
    assert lease.held
    assert not owner.lost.is_set()
    lease.release()
    await freed(pair.elsewhere)


@pytest.mark.parametrize("released", [True, False])
async def test_a_run_that_a_replica_never_heard_of_has_the_chat_all_the_same(pair: Pair, *, released: bool) -> None:
    """The replica knows of the run before: that it was, and perhaps not even that it is over."""
    first, its_lease = await begin(pair.here)
    first.finish()
    assert joined_text(await rest(await reader(pair.elsewhere))) == ""
    if not released:
        assert await pair.elsewhere.stop(CHAT)
        await pair.detach()
    its_lease.release()
    await freed(pair.elsewhere)
    if released:
        await pair.detach()
    owner, lease = await begin(pair.here)
    early = await reader(pair.elsewhere)
    seen = await until(early, TEXT)
    await pair.fail_over()
    owner.say("word")
    seen += await until(early, b"word")
    assert lease.held
    assert not owner.lost.is_set()
    assert not owner.stopped.is_set()
    owner.finish()
    assert joined_text(seen + await rest(early)) == "word"
    lease.release()
    await freed(pair.elsewhere)


async def test_a_stop_reaches_a_run_after_a_fail_over(pair: Pair) -> None:
    owner, lease = await begin(pair.here)
    await pair.replicated()
    await pair.fail_over()

    async def asked() -> bool:
        try:
            return await pair.elsewhere.stop(CHAT)
        except RunLogError:
            return False

    await eventually(asked)
    async with asyncio.timeout(HANG):
        await owner.stopped.wait()
    owner.finish()
    lease.release()
    await freed(pair.elsewhere)


async def test_a_stop_that_a_replica_never_heard_of_is_asked_for_again(pair: Pair) -> None:
    owner, lease = await begin(pair.here)
    await until(await reader(pair.elsewhere), TEXT)
    await pair.detach()
    await pair.lose_writer()
    assert await pair.elsewhere.stop(CHAT)
    await pair.fail_over()
    async with asyncio.timeout(HANG):
        await owner.stopped.wait()
    assert lease.held
    owner.finish()
    lease.release()
    await freed(pair.elsewhere)
