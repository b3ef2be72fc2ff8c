"""A Redis cluster of three nodes. Each node has some of the chats."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from stream_protocol.serving import RedisRunLog
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.testing._fake_runs import HANG, begin, eventually, freed, joined_text, reader, rest, until
from tests.ports import free_port
from tests.redis_server import RedisServer, redis_server
from tests.serving.run_logs.redis_workers import LEASE

pytestmark = pytest.mark.fleet  # the tests wait half of their time for leases to expire

SLOTS = 16384

LEASES = "*:lease"
"""The pattern of the keys of leases."""


class Cluster:
    def __init__(self, nodes: list[RedisServer], buses: list[int]) -> None:
        self.nodes = nodes
        self._buses = buses
        self.url = nodes[0].url.replace("redis://", "redis+cluster://")

    async def form(self) -> None:
        share = SLOTS // len(self.nodes) + 1
        for number, node in enumerate(self.nodes):
            await command(node, "CLUSTER", "ADDSLOTSRANGE", number * share, min((number + 1) * share, SLOTS) - 1)
        for node, bus in zip(self.nodes[1:], self._buses[1:], strict=True):
            await command(self.nodes[0], "CLUSTER", "MEET", "127.0.0.1", node.port, bus)

        async def formed() -> bool:
            told = [await command(node, "CLUSTER", "INFO") for node in self.nodes]
            return all(b"cluster_state:ok" in each and b"cluster_known_nodes:3" in each for each in told)

        await eventually(formed)

    async def holder(self, keys: str) -> tuple[RedisServer, bytes]:
        """Returns the only key that matches the pattern, and its node."""
        found = [(node, key) for node in self.nodes for key in await command(node, "KEYS", keys)]
        assert len(found) == 1
        return found[0]

    async def move(self, slot: int, here: RedisServer, there: RedisServer) -> None:
        """Moves a slot with its keys to a different node."""
        ids = {node.port: (await command(node, "CLUSTER", "MYID")).decode() for node in (here, there)}
        await command(there, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[here.port])
        await command(here, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[there.port])
        while keys := await command(here, "CLUSTER", "GETKEYSINSLOT", slot, 100):
            await command(here, "MIGRATE", "127.0.0.1", there.port, "", 0, 5000, "KEYS", *keys)
        for node in (there, here):
            await command(node, "CLUSTER", "SETSLOT", slot, "NODE", ids[there.port])


async def command(node: RedisServer, *words: object) -> Any:
    async with Redis.from_url(node.url) as client:
        return await client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py's


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    with ExitStack() as servers:
        nodes, buses = [], []
        for number in range(3):
            (folder := tmp_path / str(number)).mkdir()
            buses.append(free_port())  # the default is 10000 above the port, which may exceed the range of ports
            options = ("--cluster-enabled", "yes", "--cluster-port", str(buses[-1]))
            nodes.append(servers.enter_context(redis_server(folder, *options)))
        cluster = Cluster(nodes, buses)
        await cluster.form()
        yield cluster


@asynccontextmanager
async def two_workers(cluster: Cluster, lease: float = LEASE) -> AsyncIterator[tuple[RedisRunLog, RedisRunLog]]:
    logs = RedisRunLog(cluster.url, lease=lease), RedisRunLog(cluster.url, lease=lease)
    try:
        yield logs
    finally:
        for log in logs:
            await log.aclose()


async def test_chats_on_every_node_are_read_and_stopped_from_everywhere(cluster: Cluster) -> None:
    async with two_workers(cluster, lease=6 * HANG) as (here, elsewhere):
        holders = set()
        for number in range(12):
            chat = f"chat {number}"
            owner, lease = await begin(here, chat=chat)
            holders.add((await cluster.holder(LEASES))[0].port)
            owner.say("word")
            info = await elsewhere.current(chat)
            assert info is not None
            early = await elsewhere.read(chat, info.run_id)
            assert early is not None
            seen = await until(early, b"word")
            assert await elsewhere.stop(chat)
            async with asyncio.timeout(HANG):  # a message arrives: the next regular renewal is much later
                await owner.stopped.wait()
            owner.finish()
            assert joined_text(seen + await rest(early)) == "word"
            lease.release()
            await freed(elsewhere, chat=chat)
        assert len(holders) == 3


async def test_chats_on_every_node_are_looked_up_at_once(cluster: Cluster) -> None:
    async with two_workers(cluster, lease=6 * HANG) as (here, elsewhere):
        chats = [f"chat {number}" for number in range(12)]
        begun = [await begin(here, chat=chat) for chat in chats[::2]]
        runs = await elsewhere.current_many(chats)
        assert [run is not None for run in runs] == [True, False] * 6
        for owner, lease in begun:
            owner.finish()
            lease.release()


async def test_a_chat_that_moves_to_another_node_harms_no_run(cluster: Cluster) -> None:
    async with two_workers(cluster, lease=3 * LEASE) as (here, elsewhere):
        owner, lease = await begin(here)
        owner.say("before ")
        early = await reader(elsewhere)
        seen = await until(early, b"before")
        holder, key = await cluster.holder(LEASES)
        other = next(node for node in cluster.nodes if node is not holder)
        slot = await command(holder, "CLUSTER", "KEYSLOT", key)
        await cluster.move(int(slot), holder, other)
        owner.say("behind ")
        seen += await until(early, b"behind")
        assert await cluster.holder(LEASES) == (other, key)
        owner.finish()
        late = await reader(elsewhere)
        assert joined_text(seen + await rest(early)) == joined_text(await rest(late)) == "before behind "
        assert lease.held
        lease.release()
        await freed(elsewhere)


async def test_a_cluster_client_of_the_app_is_used_and_left_open(cluster: Cluster) -> None:
    async with RedisCluster.from_url(
        cluster.nodes[1].url, socket_connect_timeout=HANG
    ) as client:  # closing waits as long
        log = RedisRunLog(client)
        owner, lease = await begin(log)
        owner.finish()
        assert joined_text(await rest(await reader(log))) == ""
        lease.release()
        await log.aclose()
        assert await client.ping()


async def test_a_server_that_is_no_cluster_says_so_in_a_line(redis: RedisServer) -> None:
    log = RedisRunLog(redis.url.replace("redis://", "redis+cluster://:pass@"))
    with pytest.raises(RunLogError) as failure:
        await log.ping()
    assert "\n" not in str(failure.value)
    assert "pass@" not in str(failure.value)
    await log.aclose()
