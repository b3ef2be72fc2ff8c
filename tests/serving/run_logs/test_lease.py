"""A lease after its release, which must keep nothing in memory, and a lease while its store is unreachable."""

import asyncio
import gc
import weakref
from typing import Any, cast

import pytest

from stream_protocol.serving import ChatIdFilter
from stream_protocol.serving.run_logs import EventBuffer, LogBounds, RunLogError
from stream_protocol.serving.run_logs._lease import SharedLease
from stream_protocol.serving.run_logs._run_store import LeaseTimes, Renewal, RunIdentity, RunStore

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
