"""Failures that only a run log in Redis has, and their effects on runs."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from stream_protocol.serving import LogBounds, RedisRunLog
from stream_protocol.serving.run_logs import ChatTakenError, EventBuffer, Lease, RunLogError, _log_writer
from stream_protocol.serving.run_logs._lease import SharedLease
from stream_protocol.serving.run_logs._run_store import RENEWALS, Post
from stream_protocol.serving.run_logs.redis._commands import COMMANDS_AT_ONCE
from stream_protocol.serving.run_logs.redis._scripts import APPEND, RENEW, STOP
from stream_protocol.testing._fake_runs import (
    CHAT,
    END,
    HANG,
    START,
    TEXT,
    FakeOwner,
    begin,
    delta,
    eventually,
    freed,
    joined_text,
    reader,
    rest,
    running,
    until,
)
from stream_protocol.wire import SSE_DONE, StreamProtocolError
from stream_protocol.wire.client import MessageReducer, parse_sse
from tests.redis_server import RedisServer, redis_server
from tests.serving.run_logs.redis_workers import LEASE, ROOMY, Wire, command, wires

pytestmark = pytest.mark.fleet  # the tests wait half of their time for leases to expire

Logs = tuple[RedisRunLog, RedisRunLog]

SHORT = 0.3
"""A lease in seconds that is short enough for a test to block the event loop."""

BROKEN_OFF = b'data: {"type":"text-end","id":"text-1"}\n\ndata: {"type":"error","errorText":"An error occurred."}\n\n'


@pytest.fixture
async def logs(redis: RedisServer) -> AsyncIterator[Logs]:
    async with two_workers(redis.url, redis.url) as logs:
        yield logs


@pytest.fixture
async def roomy_logs(redis: RedisServer) -> AsyncIterator[Logs]:
    async with two_workers(redis.url, redis.url, lease=ROOMY) as logs:
        yield logs


@pytest.fixture
async def ends(redis: RedisServer) -> AsyncIterator[list[Wire]]:
    """Return the connections of the two workers of ``wired`` to Redis."""
    async with wires(redis.url) as both:
        yield both


@pytest.fixture
async def wired(ends: list[Wire]) -> AsyncIterator[Logs]:
    async with two_workers(*ends) as logs:
        yield logs


@asynccontextmanager
async def two_workers(
    one: str | Wire, other: str | Wire, *, expiry: float = 60, lease: float = LEASE
) -> AsyncIterator[Logs]:
    logs = RedisRunLog(one, lease=lease, expiry=expiry), RedisRunLog(other, lease=lease)
    yield logs
    for log in logs:
        await log.aclose()


async def key(redis: RedisServer, pattern: str) -> bytes:
    """Return the only key that matches the pattern."""
    found: list[bytes] = await command(redis, "KEYS", pattern)
    assert len(found) == 1
    return found[0]


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(HANG):
        await event.wait()


def die(end: Wire, lease: Lease) -> None:
    """Abandon a run as a killed worker does, without an end."""
    end.cut()
    lease.release()


async def several_leases() -> None:
    await asyncio.sleep(2 * LEASE)


async def claimable(log: RedisRunLog) -> None:
    """Wait until the chat can be claimed, and release it."""

    async def claimed() -> bool:
        try:
            _, lease = await begin(log)
        except (RunLogError, ChatTakenError):
            return False
        lease.release()
        return True

    await eventually(claimed)


async def refused_by_a_closed_run(lease: Lease, worker: RedisRunLog) -> None:
    """Check that a claim is refused while the run of ``lease`` is being stored.

    Afterwards the chat is free.
    """
    with pytest.raises(ChatTakenError) as taken:
        await begin(worker, request="another")
    assert taken.value.run.phase == "closed"
    lease.release()
    await freed(worker)


async def test_a_reader_gets_the_end_when_redis_knows_of_it(ends: list[Wire], wired: Logs) -> None:
    """A page that has read the end here may send its next request to another worker at once."""
    owner, lease = await begin(wired[0])
    here = owner.log.read()
    await until(here, TEXT)
    go_on = ends[0].hold()
    owner.finish()
    end = asyncio.create_task(rest(here))
    await asyncio.sleep(0.1)
    assert not end.done()
    go_on.set()
    assert (await asyncio.wait_for(end, HANG)).endswith(SSE_DONE)
    await refused_by_a_closed_run(lease, wired[1])


async def test_a_reader_that_comes_after_the_end_waits_for_it_too(ends: list[Wire], wired: Logs) -> None:
    owner, lease = await begin(wired[0])
    go_on = ends[0].hold()
    owner.finish()
    end = asyncio.create_task(rest(owner.log.read(rebuild=True)))
    await asyncio.sleep(0.1)
    assert not end.done()
    go_on.set()
    assert (await asyncio.wait_for(end, HANG)).endswith(SSE_DONE)
    await refused_by_a_closed_run(lease, wired[1])


async def test_a_renewal_that_was_under_way_at_the_end_does_not_open_the_run_again(
    ends: list[Wire], wired: Logs
) -> None:
    renew = ends[0].register_script(RENEW).sha
    owner, lease = await begin(wired[0])
    here = owner.log.read()
    await until(here, TEXT)

    async def opened() -> bool:
        return (await running(wired[1])).phase == "open"

    async def renewing() -> bool:
        return bool(ends[0].waiting[renew])

    await eventually(opened)
    under_way = ends[0].hold()
    cast(SharedLease, lease).renew_now()
    await eventually(renewing)
    go_on = ends[0].hold()
    owner.finish()
    end = asyncio.create_task(rest(here))
    under_way.set()
    await asyncio.sleep(0.1)
    assert not end.done(), "the renewal says that the run goes on"
    go_on.set()
    assert (await asyncio.wait_for(end, HANG)).endswith(SSE_DONE)
    await refused_by_a_closed_run(lease, wired[1])


async def test_a_run_that_ends_before_its_first_renewal_is_closed_when_its_end_is_read(
    ends: list[Wire], wired: Logs
) -> None:
    """In Redis, the run still waits until its request is accepted."""
    owner = FakeOwner(EventBuffer(wired[0].bounds))
    lease = await wired[0].claim(CHAT, "request", owner)
    here = owner.log.read()
    go_on = ends[0].hold()
    lease.open()
    owner.log.append(START, TEXT)
    owner.finish()
    end = asyncio.create_task(rest(here))
    go_on.set()
    assert (await asyncio.wait_for(end, HANG)).endswith(SSE_DONE)
    await refused_by_a_closed_run(lease, wired[1])


async def test_a_redis_that_is_away_keeps_nobody_from_the_end_for_long(ends: list[Wire], wired: Logs) -> None:
    owner, _ = await begin(wired[0])
    here = owner.log.read()
    await until(here, TEXT)
    ends[0].hold()
    owner.finish()
    assert (await asyncio.wait_for(rest(here), HANG)).endswith(SSE_DONE)


async def test_a_renewal_that_redis_sees_after_the_end_does_not_take_the_chat_again(
    redis: RedisServer, ends: list[Wire], wired: Logs
) -> None:
    """It was under way on another connection when its worker freed the chat."""
    renew = ends[0].register_script(RENEW).sha
    owner, lease = await begin(wired[0])

    async def renewed() -> bool:
        return ends[0].answered[renew] > 0

    await eventually(renewed)
    owner.finish()
    lease.release()
    await freed(wired[1])
    assert await command(redis, *ends[0].last[renew]) == [0]
    assert await wired[1].current(CHAT) is None


async def test_a_worker_that_came_back_too_late_writes_nothing_more(redis: RedisServer, logs: Logs) -> None:
    old, old_lease = await begin(logs[0])
    info = await running(logs[1])
    old.say("first")
    await until(await reader(logs[1]), b"first")
    await command(redis, "DEL", await key(redis, "*:lease"))
    new, new_lease = await begin(logs[1])
    old.say("late")
    await happens(old.lost)
    assert not old_lease.held
    old.finish()
    old_lease.release()
    await asyncio.sleep(LEASE)
    assert new_lease.held
    assert not new.lost.is_set()
    written = await command(redis, "XRANGE", await key(redis, f"*:log:{info.run_id}"), "-", "+")
    assert "late" not in repr(written)
    new.say("new")
    assert joined_text(await until(await reader(logs[1]), b"new")) == "new"
    new.finish()
    new_lease.release()


async def test_a_worker_that_was_busy_for_longer_than_its_lease_takes_it_back(redis: RedisServer) -> None:
    async with two_workers(redis.url, redis.url, lease=SHORT) as logs:
        owner, lease = await begin(logs[0])
        time.sleep(1.5 * SHORT)  # noqa: ASYNC251 - the loop is to be busy
        assert [lease.held, await lease.confirm(), lease.held] == [False, True, True]
        assert not owner.lost.is_set()
        assert (await running(logs[1])).idempotency_key == "request"
        owner.finish()
        lease.release()


@pytest.mark.parametrize("ended", [False, True])
async def test_a_worker_that_was_busy_does_not_take_back_what_another_has_claimed(
    redis: RedisServer, *, ended: bool
) -> None:
    async def claim() -> None:
        log = RedisRunLog(redis.url, lease=SHORT)
        owner, lease = await begin(log)
        if ended:
            owner.finish()
            lease.release()
        await log.aclose()

    async with two_workers(redis.url, redis.url, lease=SHORT) as logs:
        owner, lease = await begin(logs[0])
        await command(redis, "DEL", await key(redis, "*:lease"))  # as if it had expired
        other = threading.Thread(target=asyncio.run, args=(claim(),))
        other.start()
        other.join()
        time.sleep(SHORT)  # noqa: ASYNC251 - the loop is to be busy
        assert not await lease.confirm()
        assert owner.lost.is_set()
        owner.finish()
        lease.release()


async def test_a_worker_that_was_busy_for_too_long_gives_up_without_asking(redis: RedisServer) -> None:
    async with two_workers(redis.url, redis.url, lease=0.1) as logs:
        owner, lease = await begin(logs[0])
        time.sleep(0.35)  # noqa: ASYNC251 - the loop is to be busy
        assert not await lease.confirm()
        assert owner.lost.is_set()
        owner.finish()
        lease.release()


async def test_a_burst_of_claims_leaves_few_connections(redis: RedisServer) -> None:
    log, observer = RedisRunLog(redis.url), Redis.from_url(redis.url)
    leases = await asyncio.gather(
        *(log.claim(f"chat {number}", "request", FakeOwner(EventBuffer(log.bounds))) for number in range(300))
    )
    clients = (await observer.info("clients"))["connected_clients"]
    assert clients <= COMMANDS_AT_ONCE + 2  # one connection listens, and one belongs to the test
    for lease in leases:
        lease.release()
    await log.aclose()
    await observer.aclose()


async def test_a_redis_that_forgets_everything_is_told_again(redis: RedisServer, roomy_logs: Logs) -> None:
    owner, lease = await begin(roomy_logs[0])
    owner.say("before ")
    early = await reader(roomy_logs[1])
    seen = await until(early, b"before")
    await command(redis, "FLUSHALL")
    owner.say("behind ")
    seen += await until(early, b"behind")
    owner.say("end")
    owner.finish()
    late = await reader(roomy_logs[1])
    assert joined_text(seen + await rest(early)) == "before behind end"
    assert joined_text(await rest(late)) == "before behind end"
    assert lease.held
    lease.release()
    await freed(roomy_logs[1])


async def test_a_stop_that_redis_forgot_with_all_else_is_asked_for_again(redis: RedisServer, ends: list[Wire]) -> None:
    async with two_workers(*ends, lease=9) as logs:
        owner, lease = await begin(logs[0])
        await until(await reader(logs[1]), TEXT)
        go_on = ends[0].hold()
        assert await logs[1].stop(CHAT)
        await command(redis, "FLUSHALL")
        await asyncio.sleep(3.5)  # one repeated request finds no lease
        go_on.set()
        await happens(owner.stopped)
        assert lease.held
        owner.finish()
        lease.release()
        await freed(logs[1])


async def test_a_run_whose_lease_redis_forgot_gets_the_stop_that_did_not_find_it(
    redis: RedisServer, ends: list[Wire]
) -> None:
    async with two_workers(*ends, lease=9) as logs:
        owner, lease = await begin(logs[0])
        await until(await reader(logs[1]), TEXT)
        go_on = ends[0].hold()
        await command(redis, "FLUSHALL")
        assert not await logs[1].stop(CHAT)
        go_on.set()
        await happens(owner.stopped)
        assert lease.held
        owner.finish()
        lease.release()
        await freed(logs[1])


async def test_a_run_whose_lease_redis_forgot_gets_no_stop_from_before_its_claim(
    redis: RedisServer, ends: list[Wire]
) -> None:
    async with two_workers(*ends, lease=9) as logs:
        assert not await logs[1].stop(CHAT)
        await asyncio.sleep(0.01)
        owner, lease = await begin(logs[0])
        await until(await reader(logs[1]), TEXT)
        await command(redis, "EVAL", "redis.call('DEL', unpack(redis.call('KEYS', '*:lease')))", 0)
        assert await logs[1].current(CHAT) is None
        assert isinstance(lease, SharedLease)
        lease.renew_now()
        async with asyncio.timeout(HANG):
            while await logs[1].current(CHAT) is None:  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)
        assert not owner.stopped.is_set()
        owner.finish()
        lease.release()


async def test_a_run_whose_lease_redis_forgot_gets_no_post_that_was_not_delivered(
    redis: RedisServer, ends: list[Wire]
) -> None:
    async with two_workers(*ends, lease=9) as logs:
        owner, lease = await begin(logs[0])
        await until(await reader(logs[1]), TEXT)
        assert await logs[1].store.post(CHAT, lease.run_id, Post.of(b"early")) is not None
        await command(redis, "EVAL", "redis.call('DEL', unpack(redis.call('KEYS', '*:lease')))", 0)
        assert await logs[1].post(CHAT, lease.run_id, b"late") is None
        assert isinstance(lease, SharedLease)
        lease.renew_now()
        async with asyncio.timeout(HANG):
            while await logs[1].current(CHAT) is None:  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.01)
            assert await logs[1].post(CHAT, lease.run_id, b"again") == b"re: again"
        owner.finish()
        lease.release()
        await freed(logs[1])
    assert owner.received == [b"again"]


async def test_a_stop_is_insisted_upon_once_however_often_it_is_asked_for(ends: list[Wire], wired: Logs) -> None:
    owner, lease = await begin(wired[0])
    assert all([await wired[1].stop(CHAT) for _ in range(20)])
    owner.finish()
    lease.release()
    await freed(wired[1])
    next_owner, next_lease = await begin(wired[0])
    await several_leases()
    assert ends[1].answered[ends[1].register_script(STOP).sha] == 20 + RENEWALS
    assert not next_owner.stopped.is_set()
    next_owner.finish()
    next_lease.release()


async def test_a_redis_that_was_killed_and_is_back_soon_harms_no_run(redis: RedisServer, roomy_logs: Logs) -> None:
    owner, lease = await begin(roomy_logs[0])
    owner.say("before ")
    early = await reader(roomy_logs[1])
    seen = await until(early, b"before")
    redis.kill()
    owner.say("meanwhile ")
    redis.start()
    seen += await until(early, b"meanwhile")
    owner.finish()
    assert joined_text(seen + await rest(early)) == "before meanwhile "
    assert lease.held
    assert not owner.lost.is_set()
    lease.release()
    await freed(roomy_logs[1])


async def test_a_redis_that_stays_away_ends_the_run_and_its_readers(redis: RedisServer, logs: Logs) -> None:
    owner, lease = await begin(logs[0])
    owner.say("word")
    early = await reader(logs[1])
    seen = await until(early, b"word")
    redis.kill()
    await happens(owner.lost)
    assert not lease.held
    assert (seen + await rest(early)).endswith(b'"delta":"word"}\n\n' + BROKEN_OFF + SSE_DONE)
    with pytest.raises(RunLogError):
        await logs[1].claim(CHAT, "next", owner)
    with pytest.raises(RunLogError):
        await logs[0].current(CHAT)
    owner.finish()
    lease.release()
    redis.start()
    await claimable(logs[1])


async def test_a_redis_that_hangs_for_a_moment_harms_no_run(redis: RedisServer, roomy_logs: Logs) -> None:
    owner, lease = await begin(roomy_logs[0])
    early = await reader(roomy_logs[1])
    seen = await until(early, TEXT)
    redis.freeze()
    owner.say("meanwhile")
    await asyncio.sleep(ROOMY / 8)
    redis.thaw()
    seen += await until(early, b"meanwhile")
    owner.finish()
    assert joined_text(seen + await rest(early)) == "meanwhile"
    assert lease.held
    lease.release()


async def test_a_redis_that_hangs_for_long_ends_the_run_and_holds_up_no_request(redis: RedisServer, logs: Logs) -> None:
    owner, lease = await begin(logs[0])
    await until(await reader(logs[1]), TEXT)
    redis.freeze()
    await happens(owner.lost)
    for request in (logs[0].current(CHAT), logs[1].current_many([CHAT, "other"]), logs[1].stop(CHAT)):
        async with asyncio.timeout(HANG):
            with pytest.raises(RunLogError):
                await request
    owner.finish()
    lease.release()
    redis.thaw()
    await claimable(logs[1])
    assert not lease.held


async def test_a_full_redis_lets_the_run_go_on_for_its_own_reader(redis: RedisServer, logs: Logs) -> None:
    owner, lease = await begin(logs[0])
    elsewhere = await reader(logs[1])
    seen = await until(elsewhere, TEXT)
    await command(redis, "CONFIG", "SET", "maxmemory", 1)
    owner.say("word")
    await several_leases()
    assert lease.held
    assert not owner.lost.is_set()
    with pytest.raises(RunLogError, match="memory"):
        await begin(logs[1], chat="another")
    assert await logs[1].stop(CHAT)
    await happens(owner.stopped)
    owner.finish()
    assert joined_text(await rest(await reader(logs[0]))) == "word"
    lease.release()
    assert seen + await rest(elsewhere) == START + TEXT + BROKEN_OFF + SSE_DONE
    await freed(logs[1])


async def test_what_a_full_redis_missed_is_there_once_it_has_room(redis: RedisServer, logs: Logs) -> None:
    owner, lease = await begin(logs[0])
    elsewhere = await reader(logs[1])
    seen = await until(elsewhere, TEXT)
    await command(redis, "CONFIG", "SET", "maxmemory", 1)
    owner.say("word")
    await asyncio.sleep(LEASE)
    await command(redis, "CONFIG", "SET", "maxmemory", 0)
    owner.finish()
    assert joined_text(seen + await rest(elsewhere)) == "word"
    lease.release()


async def test_the_readers_of_a_worker_that_died_are_told_and_the_chat_is_free(ends: list[Wire], wired: Logs) -> None:
    owner, lost = await begin(wired[0])
    owner.say("word")
    elsewhere = await reader(wired[1])
    seen = await until(elsewhere, b"word")
    die(ends[0], lost)
    assert joined_text(seen) == "word"
    assert (await rest(elsewhere)) == BROKEN_OFF + SSE_DONE
    await claimable(wired[1])


async def test_readers_are_told_at_once_when_another_run_has_the_chat(ends: list[Wire], wired: Logs) -> None:
    _, lost = await begin(wired[0])
    elsewhere = await reader(wired[1])
    await until(elsewhere, TEXT)
    die(ends[0], lost)
    await freed(wired[1])
    owner, lease = await begin(wired[1])
    assert (await rest(elsewhere)) == BROKEN_OFF + SSE_DONE
    owner.finish()
    lease.release()


async def test_who_comes_to_a_response_after_its_worker_died_is_told_the_same(ends: list[Wire], wired: Logs) -> None:
    owner, lost = await begin(wired[0])
    owner.say("word")
    info = await running(wired[1])
    await until(await reader(wired[1]), b"word")
    die(ends[0], lost)
    await freed(wired[1])
    late = await wired[1].read(CHAT, info.run_id)
    assert late is not None
    stream = await rest(late)
    assert stream == START + TEXT + delta("word") + BROKEN_OFF + SSE_DONE


async def test_the_readers_of_a_run_that_its_worker_leaves_are_cut_off_where_another_takes_it_up(wired: Logs) -> None:
    owner, lease = await begin(wired[0])
    owner.say("word")
    elsewhere = await wired[1].read(CHAT, (await running(wired[1])).run_id, runs_are_recovered=True)
    assert elsewhere is not None
    await until(elsewhere, b"word")
    lease.release()  # although the response has no end
    await happens(elsewhere.cut_off)
    await freed(wired[1])


async def test_who_comes_while_a_run_is_left_follows_it_anew(wired: Logs) -> None:
    owner, lease = await begin(wired[0])
    owner.say("word")
    info = await running(wired[1])
    await until(await reader(wired[1]), b"word")
    (tail,) = wired[1]._tails.values()  # noqa: SLF001 - the moment between two steps of it
    tail._unwanted.set()  # noqa: SLF001 - nobody has read here for a while
    late = await wired[1].read(CHAT, info.run_id)
    assert late is not None
    await until(late, b"word")
    owner.finish()
    assert await rest(late)
    lease.release()


async def test_a_reader_elsewhere_counts_while_it_is_there(ends: list[Wire], wired: Logs) -> None:
    owner, lease = await begin(wired[0])
    assert not lease.read_elsewhere
    elsewhere = await reader(wired[1])
    await until(elsewhere, TEXT)

    async def watched() -> bool:
        return lease.read_elsewhere

    async def unwatched() -> bool:
        return not lease.read_elsewhere

    await eventually(watched)
    await elsewhere.aclose()
    await eventually(unwatched)
    assert not ends[1].waiting["XREAD"]
    owner.finish()
    lease.release()


async def test_a_message_that_cannot_be_read_does_not_end_the_messages_between_workers(redis: RedisServer) -> None:
    async with two_workers(
        redis.url, redis.url, lease=10 * HANG
    ) as logs:  # no regular renewal is due before the end of the test
        owner, lease = await begin(logs[0])

        async def disturbed() -> bool:
            async with Redis.from_url(redis.url) as client:
                channels = await client.pubsub_channels()
                return [await client.publish(channel, b"\xff") for channel in channels] == [1]

        async def stopped() -> bool:
            await logs[1].stop(CHAT)
            return owner.stopped.is_set()

        await eventually(disturbed)
        await eventually(stopped)
        owner.finish()
        lease.release()


async def test_a_run_is_followed_once_however_many_read_it(ends: list[Wire], wired: Logs) -> None:
    owner, lease = await begin(wired[0])
    sent = ends[1].answered["HMGET"]
    readers = await asyncio.gather(*[reader(wired[1]) for _ in range(5)])
    for each in readers:
        await until(each, TEXT)

    async def asked_for_more() -> bool:
        return bool(ends[1].waiting["XREAD"])

    await eventually(asked_for_more)
    assert ends[1].waiting["XREAD"] == 1
    assert ends[1].answered["HMGET"] == sent + 1
    owner.say("word")
    owner.finish()
    assert {joined_text(await rest(each)) for each in readers} == {"word"}
    lease.release()


async def test_a_slow_reader_elsewhere_is_cut_and_holds_up_nobody(redis: RedisServer) -> None:
    async with two_workers(redis.url, redis.url) as (first, _):
        second = RedisRunLog(redis.url, lease=LEASE, bounds=LogBounds(max_backlog=10_000))
        owner, lease = await begin(first)
        slow, quick = await reader(second), await reader(second)
        await until(slow, TEXT)
        seen = await until(quick, TEXT)
        for number in range(10):
            owner.say(f"{number}".ljust(5000, "."))
            seen += await until(quick, f'"{number}.'.encode())
        assert slow.cut_off.is_set()
        assert not quick.cut_off.is_set()
        assert joined_text(await until(await reader(second), b"9....")).startswith("0....")
        owner.finish()
        assert (seen + await rest(quick)).endswith(END + SSE_DONE)
        lease.release()
        await second.aclose()


async def test_what_a_reader_elsewhere_has_missed_for_good_cuts_it_off(redis: RedisServer, logs: Logs) -> None:
    owner, lease = await begin(logs[0])
    info = await running(logs[1])
    elsewhere = await reader(logs[1])
    await until(elsewhere, TEXT)
    log = await key(redis, f"*:log:{info.run_id}")
    await command(redis, "XADD", log, "9-0", "after", "8", "events", delta("nine").decode())
    await happens(elsewhere.cut_off)
    owner.finish()
    lease.release()


async def test_nothing_is_left_of_a_run_but_what_expires(redis: RedisServer) -> None:
    async with two_workers(redis.url, redis.url, expiry=0.2) as (first, second):
        owner, lease = await begin(first)
        await until(await reader(second), TEXT)
        keys = await command(redis, "KEYS", "*")
        assert len({key.partition(b"{")[2].partition(b"}")[0] for key in keys}) == 1
        owner.finish()
        lease.release()

        async def empty() -> bool:
            return bool(await command(redis, "DBSIZE") == 0)

        await eventually(empty)


async def test_a_claim_whose_answer_was_lost_is_not_in_the_way(redis: RedisServer, logs: Logs) -> None:
    await logs[0].ping()
    redis.freeze()
    with pytest.raises(RunLogError):
        await begin(logs[0])
    redis.thaw()
    await claimable(logs[1])


async def test_a_wrong_password_is_said_without_it(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", "right") as server:
        log = RedisRunLog(f"redis://:wr0ng@127.0.0.1:{server.port}/0")
        with pytest.raises(RunLogError) as failure:
            await log.ping()
        assert "wr0ng" not in str(failure.value)
        assert str(server.port) in str(failure.value)
        assert "\n" not in str(failure.value)
        await log.aclose()


async def test_a_replica_that_cannot_be_written_gives_no_chat(redis: RedisServer, tmp_path: Path) -> None:
    folder = tmp_path / "replica"
    folder.mkdir()
    with redis_server(folder, "--replicaof", "127.0.0.1", str(redis.port)) as replica:
        log = RedisRunLog(replica.url)
        with pytest.raises(RunLogError, match="replica"):
            await log.ping()
        with pytest.raises(RunLogError, match="replica"):
            await log.claim(CHAT, "request", FakeOwner(EventBuffer()))
        await log.aclose()


async def test_a_client_of_the_app_is_used_and_left_open(redis: RedisServer) -> None:
    async with Redis.from_url(redis.url, protocol=3) as client:
        first, second = RedisRunLog(client), RedisRunLog(client)
        owner, lease = await begin(first)
        elsewhere = await reader(second)
        await until(elsewhere, TEXT)
        owner.say("word")
        owner.finish()
        assert joined_text(await rest(elsewhere)) == "word"
        lease.release()
        await first.aclose()
        await second.aclose()
        assert await client.ping()


def test_a_client_that_decodes_is_refused() -> None:
    with pytest.raises(StreamProtocolError, match="decode_responses"):
        RedisRunLog(Redis(decode_responses=True))


@pytest.mark.parametrize("url", ["redis://:s3cret/@host", "redis://:s3cret@[::1", "redis://:s3cret@host?sslmode=x"])
def test_what_is_no_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(StreamProtocolError) as refusal:
        RedisRunLog(url)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_times_must_be_positive_and_end(seconds: float) -> None:
    with pytest.raises(StreamProtocolError, match="positive"):
        RedisRunLog("redis://127.0.0.1", lease=seconds)
    with pytest.raises(StreamProtocolError, match="positive"):
        RedisRunLog("redis://127.0.0.1", expiry=seconds)


@pytest.mark.parametrize("version", [6, 7])
async def test_a_broken_off_stream_folds_in_every_client(ends: list[Wire], wired: Logs, version: int) -> None:
    _, lost = await begin(wired[0])
    elsewhere = await reader(wired[1])
    seen = await until(elsewhere, TEXT)
    die(ends[0], lost)
    reducer = MessageReducer(ai_sdk=7 if version == 7 else 6)
    *chunks, last = parse_sse(seen + await rest(elsewhere))
    for chunk in chunks:
        reducer.apply(chunk)
    assert last["type"] == "error"
    assert not reducer.open_ids("text")


async def test_a_log_that_is_closed_leaves_no_connection_to_those_who_still_ask_it(redis: RedisServer) -> None:
    log = RedisRunLog(redis.url)
    asked = [0, 0, 0]

    async def ask(number: int) -> None:
        while True:
            await log.current(CHAT)
            asked[number] += 1

    asking = [asyncio.create_task(ask(number)) for number in range(3)]

    async def all_have() -> bool:
        return all(asked)

    await eventually(all_have)
    await log.aclose()
    for task in asking:
        with pytest.raises(RunLogError, match="the run log is closed"):
            await asyncio.wait_for(task, HANG)
    (only_this,) = (await command(redis, "CLIENT", "LIST")).splitlines()
    assert b"cmd=client|list" in only_this


async def test_a_command_that_is_cancelled_never_goes_on(redis: RedisServer) -> None:
    """redis-py swallows a cancellation at times: so at many moments."""
    log = RedisRunLog(redis.url)

    async def ask() -> None:
        while True:
            await log.current(CHAT)

    for moment in range(200):
        asking = asyncio.create_task(ask())
        for _ in range(moment % 40):
            await asyncio.sleep(0)
        asking.cancel()
        assert await asyncio.wait([asking], timeout=HANG) == ({asking}, set())
        assert asking.cancelled()
    await log.aclose()


async def test_what_nobody_reads_elsewhere_is_copied_in_few_pieces_and_what_somebody_reads_at_once(
    ends: list[Wire], wired: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_log_writer, "UNREAD_GATHER_SECONDS", HANG)
    append = ends[0].register_script(APPEND).sha

    async def sent() -> bool:
        return ends[0].answered[append] > 0

    owner, lease = await begin(wired[0])
    await eventually(sent)
    for word in "abcdefgh":
        await asyncio.sleep(2 * _log_writer.GATHER_SECONDS)
        owner.log.append(delta(word))
    assert ends[0].answered[append] == 1
    async with aclosing(await reader(wired[1])) as elsewhere:
        seen = await until(elsewhere, TEXT)

        async def known() -> bool:
            return lease.read_elsewhere

        await eventually(known)
        owner.log.append(delta("i"))
        assert joined_text(seen + await until(elsewhere, delta("i"))) == "abcdefghi"
    owner.log.close()
    lease.release()
    await freed(wired[1])


async def test_the_end_of_what_nobody_reads_elsewhere_is_copied_at_once(
    wired: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_log_writer, "UNREAD_GATHER_SECONDS", 10 * HANG)
    owner, lease = await begin(wired[0])
    run_id = (await running(wired[0])).run_id
    owner.log.append(END)
    owner.log.close()
    lease.release()
    await freed(wired[1])
    left = await wired[1].read(CHAT, run_id)
    assert left is not None
    assert END in await rest(left)
