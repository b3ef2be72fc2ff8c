"""A lease after its release, which must keep nothing in memory, and a lease while its store is unreachable."""

import asyncio
import gc
import weakref
from contextlib import suppress
from typing import Any, cast

import pytest

from stream_protocol.serving import ChatIdFilter
from stream_protocol.serving.run_logs import (
    EventBuffer,
    LeaseTimes,
    LogBatch,
    LogBounds,
    Renewal,
    RunIdentity,
    RunLogError,
    RunStore,
    SharedRunLog,
    _log_writer,
)
from stream_protocol.serving.run_logs._lease import SharedLease
from stream_protocol.serving.run_logs._log_writer import LogWriter
from stream_protocol.testing._fake_runs import END, HANG, START, TEXT, begin, eventually, reader, rest, running, until
from stream_protocol.wire import SSE_DONE
from tests.serving.run_logs import dict_store
from tests.serving.run_logs.dict_store import DictStore, Shared

TIMES = LeaseTimes(lease=60, log_retention=60)


class Run:
    """The owner of the lease."""

    def __init__(self) -> None:
        self.log = EventBuffer()

    def stop(self) -> None:
        raise AssertionError("nobody has stopped it")

    async def receive(self, post: bytes) -> bytes:
        raise AssertionError("nobody has posted to it")

    def lease_lost(self) -> None:
        raise AssertionError("nobody has taken it")


class Store:
    """A store whose reply to a renewal arrives when the renewal is cancelled."""

    def __init__(self) -> None:
        self.renewing = asyncio.Event()

    async def claim(self, _run: RunIdentity) -> int:
        return 1

    async def renew(self, *_: Any) -> Renewal:
        self.renewing.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Renewal(stop=False, readers=0)
        raise AssertionError

    async def append(self, *_: Any) -> int:
        return 0

    async def free(self, _run: RunIdentity) -> None:
        """Frees the chat."""


async def test_a_renewal_that_arrives_while_the_lease_is_given_back_keeps_no_run() -> None:
    store = Store()
    run = Run()
    freed = weakref.ref(run)
    lease = SharedLease(
        cast(RunStore, store), RunIdentity(chat="c", run_id="r", worker="w", idempotency_key=""), run, TIMES
    )
    await lease.claim()
    keeping = asyncio.create_task(lease.keep_until_released(LogBounds()))
    lease.renew_now()
    await store.renewing.wait()
    lease.release()
    await keeping
    del run, lease, keeping
    gc.collect()
    assert freed() is None


class StoreThatIsAway(Store):
    def __init__(self) -> None:
        super().__init__()
        self.tries = 0

    async def renew(self, *_: Any) -> Renewal:
        self.tries += 1
        if self.tries == 3:
            self.renewing.set()
        raise RunLogError("redis://host:6379/0: it does not answer")


async def test_a_store_that_is_away_is_told_of_once_with_the_run(caplog: pytest.LogCaptureFixture) -> None:
    store, ids = StoreThatIsAway(), ChatIdFilter()
    lease = SharedLease(
        cast(RunStore, store), RunIdentity(chat="c", run_id="r", worker="w", idempotency_key=""), Run(), TIMES
    )
    await lease.claim()
    caplog.handler.addFilter(ids)
    keeping = asyncio.create_task(lease.keep_until_released(LogBounds()))
    lease.renew_now()
    await store.renewing.wait()
    lease.release()
    await keeping
    caplog.handler.removeFilter(ids)
    (told,) = [record for record in caplog.records if "could not be renewed" in record.getMessage()]
    assert told.__dict__["run_id"] == "r"


class SlowEnds(DictStore):
    """A store that takes no end of a log until the test allows it."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.may_end = asyncio.Event()

    async def append(self, run: RunIdentity, token: int, piece: LogBatch) -> int | None:
        if piece.entry.end:
            await self.may_end.wait()
        return await super().append(run, token, piece)


async def test_no_worker_gives_the_end_before_the_store_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_log_writer, "END_SECONDS", HANG)
    shared = Shared()
    store = SlowEnds(shared)
    logs = SharedRunLog(store, dict_store.TIMES), SharedRunLog(DictStore(shared), dict_store.TIMES)
    owner, lease = await begin(logs[0])
    readers = [await reader(log) for log in logs]
    begun = [await until(each, TEXT) for each in readers]
    owner.finish()
    reading = [asyncio.create_task(rest(each)) for each in readers]
    for _ in range(20):  # longer than the pauses of the writer and of the other worker's reader
        await asyncio.sleep(0.01)
    assert not any(each.done() for each in reading)
    store.may_end.set()
    assert [one + await each for one, each in zip(begun, reading, strict=True)] == [START + TEXT + END + SSE_DONE] * 2
    assert (await running(logs[1])).phase == "closed"
    lease.release()
    for log in logs:
        await log.aclose()


async def test_a_full_store_delays_the_end_and_the_run_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_log_writer, "END_SECONDS", 0.01)
    shared = Shared()
    times = LeaseTimes(lease=600, log_retention=60)
    store = SlowEnds(shared)
    log, other = SharedRunLog(store, times), SharedRunLog(DictStore(shared), times)
    owner, lease = await begin(log)
    reading = await reader(log)
    owner.finish()
    assert (await rest(reading)).endswith(SSE_DONE)

    async def is_closed() -> bool:
        return (await running(other)).phase == "closed"

    await eventually(is_closed)
    store.may_end.set()
    lease.release()
    await log.aclose()
    await other.aclose()


async def test_a_writer_that_is_cancelled_twice_gives_the_end() -> None:
    store, log = SlowEnds(Shared()), EventBuffer()
    run = RunIdentity(chat="c", run_id="r", worker=store.worker, idempotency_key="")
    log.ack(0)
    writer = LogWriter(
        store,
        run,
        await store.claim(run),
        log,
        bounds=LogBounds(),
        renew_lease=lambda: None,
        read_elsewhere=asyncio.Event(),
        patience=HANG,
    )
    copying = asyncio.create_task(writer.copy())
    log.append(START, TEXT, END)
    log.close()
    for _ in range(3):
        await asyncio.sleep(0)
        copying.cancel()
    assert (await rest(log.read())).endswith(END)
    with suppress(asyncio.CancelledError):
        await copying
