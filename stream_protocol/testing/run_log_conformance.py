"""Tests that every run log must pass. To test your own run log:

    class TestMyRunLog(RunLogConformance):
        @pytest.fixture
        async def workers(self) -> AsyncIterator[Workers]:
            first, second = MyRunLog(store), MyRunLog(store)
            yield first, second
            await first.aclose()
            await second.aclose()

The fixture ``workers`` yields two run logs. They belong to two workers that share one empty store. If your run log
works only in a single process, yield the same object twice. The tests are coroutines, so you need pytest-asyncio
(``asyncio_mode = "auto"``) or a similar plugin. A test fails after it has waited for 20 seconds.
"""

import asyncio
import time
from typing import Final

from stream_protocol.serving.run_logs import ChatTakenError, EventBuffer, RunInfo, RunLog, RunReader
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
from stream_protocol.testing._run_store_conformance import RunStoreConformance, Workers
from stream_protocol.wire import SSE_DONE

__all__ = ["RunLogConformance", "Workers"]

BUSY: Final = 0.5
"""The number of seconds for which a test blocks the event loop."""


class RunLogConformance(RunStoreConformance):
    """Tests for a run log. Inherit from this class in your test class, and define the fixture ``workers`` there."""

    async def test_a_chat_is_free_at_first(self, workers: Workers) -> None:
        for worker in workers:
            assert await worker.current(CHAT) is None
            assert not await worker.stop(CHAT)
            assert await worker.read(CHAT, "0") is None

    async def test_one_run_holds_a_chat_whichever_worker_asks(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0], "the one")
        for worker in workers:
            other = await _refused(worker)
            assert other.idempotency_key == "the one"
            assert other.healthy
        assert lease.held
        owner.finish()
        lease.release()

    async def test_a_lease_and_all_workers_know_the_run_by_one_id(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        _, other = await begin(workers[0], chat="other")
        assert {(await running(worker)).run_id for worker in workers} == {lease.run_id}
        assert lease.run_id != other.run_id
        owner.finish()
        lease.release()
        other.release()

    async def test_a_store_that_is_there_can_be_written_to(self, workers: Workers) -> None:
        for worker in workers:
            await worker.ping()

    async def test_other_chats_are_free(self, workers: Workers) -> None:
        _, first = await begin(workers[0])
        _, second = await begin(workers[0], chat="other")
        assert await workers[1].current("third") is None
        first.release()
        await freed(*workers)
        assert (await running(workers[1], "other")).idempotency_key == "request"
        second.release()

    async def test_many_chats_are_looked_up_at_once(self, workers: Workers) -> None:
        owner, first = await begin(workers[0])
        _, second = await begin(workers[1], chat="other")
        await _phase(workers[1], "open")
        await _phase(workers[0], "open", "other")
        for worker in workers:
            assert await worker.current_many([]) == []
            runs = await worker.current_many(["free", "other", CHAT, "free"])
            assert runs == [None, await running(worker, "other"), await running(worker), None]
        owner.finish()
        first.release()
        second.release()

    async def test_the_phases_of_a_run_are_seen(self, workers: Workers) -> None:
        owner = FakeOwner(EventBuffer(workers[0].bounds))
        lease = await workers[0].claim(CHAT, "request", owner)
        assert (await running(workers[1])).phase == "claimed"
        lease.open()
        await _phase(workers[1], "open")
        owner.finish()
        await _phase(workers[1], "closed")
        lease.release()
        await freed(*workers)

    async def test_a_released_chat_can_be_claimed_again(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        first = await running(workers[1])
        owner.finish()
        lease.release()
        lease.release()
        await freed(*workers)
        _, second = await begin(workers[1])
        assert (await running(workers[0])).run_id != first.run_id
        lease.release()
        assert second.held
        assert await workers[0].current(CHAT) is not None
        second.release()

    async def test_a_run_that_was_refused_leaves_nothing(self, workers: Workers) -> None:
        lease = await workers[0].claim(CHAT, "request", FakeOwner(EventBuffer(workers[0].bounds)))
        lease.release()
        await freed(*workers)

    async def test_nobody_reads_the_response_of_a_request_that_is_not_accepted(self, workers: Workers) -> None:
        owner = FakeOwner(EventBuffer(workers[0].bounds))
        lease = await workers[0].claim(CHAT, "request", owner)
        owner.finish()
        await asyncio.sleep(BUSY)  # until the store has the log
        assert {(await running(worker)).phase for worker in workers} == {"claimed"}
        lease.open()
        for worker in workers:
            await _phase(worker, "closed")
        lease.release()

    async def test_every_reader_gets_everything_from_the_beginning(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        owner.say("Good ", "morn")
        early = [await reader(worker) for worker in workers]
        seen = [await until(each, b"morn") for each in early]
        owner.say("ing, ", "“you”.")
        late = [await reader(worker) for worker in workers]
        owner.finish()
        for begun, each in zip((*seen, b"", b""), (*early, *late), strict=True):
            whole = begun + await rest(each)
            assert whole.startswith(START + TEXT)
            assert whole.endswith(END + SSE_DONE)
            assert joined_text(whole) == "Good morning, “you”."
        lease.release()

    async def test_a_reader_gets_the_end_after_the_chat_was_freed(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        late = await reader(workers[1])
        await until(late, TEXT)
        owner.say("word")
        owner.finish()
        lease.release()
        whole = await rest(late)
        assert joined_text(whole) == "word"
        assert whole.endswith(SSE_DONE)

    async def test_a_reader_that_has_the_end_finds_the_run_closed_at_any_worker(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        for worker in workers:
            await _phase(worker, "open")
        reading = [asyncio.create_task(rest(await reader(worker))) for worker in workers]
        owner.say("all")
        owner.finish()
        phases = []
        for each in asyncio.as_completed(reading):
            assert (await each).endswith(SSE_DONE)
            phases += [(await running(worker)).phase for worker in workers]
        assert phases == ["closed"] * 4
        lease.release()

    async def test_earlier_content_of_the_message_comes_after_start_for_a_reader_without_it(
        self, workers: Workers
    ) -> None:
        owner = FakeOwner(EventBuffer(workers[0].bounds))
        lease = await workers[0].claim(CHAT, "request", owner)
        lease.open()
        past = b'data: {"type":"data-past","data":1}\n\n'
        owner.log.set_past(past)
        owner.log.append(START, TEXT)
        for worker in workers:
            knows = await reader(worker)
            lacks = await reader(worker, rebuild=True)
            assert await until(knows, TEXT) == START + TEXT
            assert await until(lacks, TEXT) == START + past + TEXT
            await knows.aclose()
            await lacks.aclose()
        owner.finish()
        lease.release()

    async def test_a_run_is_stopped_from_any_worker(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        assert await workers[1].stop(CHAT)
        async with asyncio.timeout(HANG):
            await owner.stopped.wait()
        assert await workers[0].stop(CHAT)
        assert lease.held
        owner.finish()
        lease.release()

    async def test_a_stop_of_a_run_that_has_ended_does_not_reach_its_successor(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        ended = (await running(workers[1])).run_id
        owner.finish()
        lease.release()
        await freed(*workers)
        for worker in workers:
            assert not await worker.stop(CHAT, ended)
            successor, lease = await begin(workers[0], "another")
            assert not await worker.stop(CHAT, ended)
            await asyncio.sleep(0.05)
            assert not successor.stopped.is_set()
            assert await worker.stop(CHAT, (await running(worker)).run_id)
            async with asyncio.timeout(HANG):
                await successor.stopped.wait()
            successor.finish()
            lease.release()
            await freed(worker)

    async def test_a_stop_is_known_to_the_requests_that_wait_at_any_worker(self, workers: Workers) -> None:
        assert [await worker.newest_stop(CHAT) for worker in workers] == ["", ""]
        owner, lease = await begin(workers[0])
        assert await workers[1].stop(CHAT, lease.run_id)  # a stop of one run is not a stop of the chat
        assert [await worker.newest_stop(CHAT) for worker in workers] == ["", ""]
        found = {""}
        for worker in workers:
            assert await worker.stop(CHAT)
            known = {await worker.newest_stop(CHAT) for worker in workers}
            assert len(known) == 1
            assert not known & found
            found |= known
        owner.finish()
        lease.release()
        await freed(*workers)
        assert await workers[1].newest_stop(CHAT) in found
        assert not await workers[1].stop(CHAT)
        newest = await workers[0].newest_stop(CHAT)
        assert newest not in found
        owner, lease = await begin(workers[0])
        assert lease.newest_stop == newest
        owner.finish()
        lease.release()
        await freed(*workers)
        assert await workers[0].newest_stop("another") == ""

    async def test_a_post_from_any_worker_gets_the_reply_of_its_run(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        _, other = await begin(workers[1], chat="other")
        for number, worker in enumerate(workers):
            post = b"\x00%d\xff" % number
            async with asyncio.timeout(HANG):
                assert await worker.post(CHAT, lease.run_id, post) == b"re: " + post
        assert set(owner.received) == {b"\x00%d\xff" % number for number in range(len(workers))}
        owner.finish()
        lease.release()
        other.release()

    async def test_equal_posts_at_once_get_one_reply(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        owner.may_reply.clear()
        async with asyncio.timeout(HANG):
            posting = [asyncio.create_task(workers[1].post(CHAT, lease.run_id, b"post")) for _ in range(3)]

            async def is_received() -> bool:
                return bool(owner.received)

            await eventually(is_received)
            owner.may_reply.set()
            assert await asyncio.gather(*posting) == [b"re: post"] * 3
        owner.finish()
        lease.release()

    async def test_nobody_replies_for_a_run_that_has_ended(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        owner.finish()
        lease.release()
        await freed(*workers)
        successor, later = await begin(workers[0], "another")
        for worker in workers:
            assert await worker.post(CHAT, lease.run_id, b"late") is None
            assert await worker.post("no such chat", later.run_id, b"late") is None
        assert successor.received == []
        successor.finish()
        later.release()

    async def test_a_long_response_is_joined_and_stays_whole(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        early = await reader(workers[1])
        seen = await until(early, TEXT)
        words = [f"{number} ".ljust(2048, ".") for number in range(1500)]
        for first in range(0, len(words), 50):
            owner.say(*words[first : first + 50])
            await asyncio.sleep(0.01)
        late = [await reader(worker) for worker in workers]
        owner.finish()
        for begun, each in zip((seen, b"", b""), (early, *late), strict=True):
            assert joined_text(begun + await rest(each)) == "".join(words)
        lease.release()

    async def test_a_lease_is_held_while_its_run_takes_its_time(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        for _ in range(20):
            await asyncio.sleep(0.1)
            assert lease.held
            assert (await running(workers[1])).healthy
        assert not owner.lost.is_set()
        owner.finish()
        lease.release()

    async def test_a_loop_that_was_busy_for_a_moment_does_not_lose_the_lease(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        time.sleep(BUSY)  # noqa: ASYNC251 - blocks the loop on purpose
        async with asyncio.timeout(HANG):
            assert await lease.confirm()
        assert lease.held
        assert not owner.lost.is_set()
        owner.finish()
        lease.release()

    async def test_a_reader_that_does_not_read_is_cut_off_and_another_gets_everything(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        stalled, reading = await reader(workers[1]), await reader(workers[1])
        await until(stalled, TEXT)
        seen = [await until(reading, TEXT)]
        words = [f"{number} ".ljust(2**15, ".") for number in range(workers[1].bounds.max_backlog // 2**15 + 64)]
        for first in range(0, len(words), 32):
            owner.say(*words[first : first + 32])
            async with asyncio.timeout(HANG):
                while not seen[-1].endswith(delta(words[: first + 32][-1])):
                    seen.append(await anext(reading))
        assert stalled.cut_off.is_set()
        assert not reading.cut_off.is_set()
        owner.finish()
        assert joined_text(b"".join(seen) + await rest(reading)) == "".join(words)
        lease.release()

    async def test_a_run_has_so_many_readers_and_the_newest_gets_in(self, workers: Workers) -> None:
        owner, lease = await begin(workers[0])
        readers: list[RunReader] = []
        for _ in range(workers[1].bounds.max_readers + 3):
            readers.append(await reader(workers[1]))
            await until(readers[-1], TEXT)
        assert sum(each.cut_off.is_set() for each in readers) == 3
        owner.finish()
        assert (await rest(readers[-1])).endswith(END + SSE_DONE)
        lease.release()


async def _phase(worker: RunLog, phase: str, chat: str = CHAT) -> None:
    async def reached() -> bool:
        return (await running(worker, chat)).phase == phase

    await eventually(reached)


async def _refused(worker: RunLog) -> RunInfo:
    """Try to claim a chat that has an active run, and return this run. Raises ``AssertionError`` if the claim
    succeeds.
    """
    try:
        await worker.claim(CHAT, "another", FakeOwner(EventBuffer()))
    except ChatTakenError as taken:
        return taken.run
    raise AssertionError("the chat was given twice")
