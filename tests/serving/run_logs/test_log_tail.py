"""Readers of a run of another worker, when a fail-over of the store has lost the run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from stream_protocol.serving.run_logs import LeaseTimes, SharedRunLog, _log_tail
from stream_protocol.testing._fake_runs import CHAT, END, START, TEXT, begin, reader, rest, running, until
from stream_protocol.wire import SSE_DONE
from tests.serving.run_logs.dict_store import DictStore, Shared

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from stream_protocol.serving.run_logs import Entry

TIMES = LeaseTimes(lease=0.3, log_retention=60)


class Gated(DictStore):
    """It gives no entries until the test allows it."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.asked, self.may_give = asyncio.Event(), asyncio.Event()

    async def entries(self, chat: str, run_id: str, after: int, wait: float) -> list[Entry]:
        self.asked.set()
        await self.may_give.wait()
        return await super().entries(chat, run_id, after, wait)


@pytest.fixture
async def workers() -> AsyncIterator[tuple[SharedRunLog, SharedRunLog, Gated, Shared]]:
    shared = Shared()
    gated = Gated(shared)
    logs = SharedRunLog(DictStore(shared), TIMES), SharedRunLog(gated, TIMES)
    yield *logs, gated, shared
    for log in logs:
        await log.aclose()


@pytest.mark.parametrize("is_forgotten", [True, False])
async def test_a_run_that_a_fail_over_has_lost_before_it_was_read_has_no_response(
    workers: tuple[SharedRunLog, SharedRunLog, Gated, Shared], *, is_forgotten: bool
) -> None:
    own, other, gated, shared = workers
    owner, lease = await begin(own)
    run = await running(other)
    reading = [asyncio.create_task(other.read(CHAT, run.run_id)) for _ in range(2)]
    await gated.asked.wait()
    if is_forgotten:
        owner.finish()
        lease.release()
        await own.aclose()
        shared.leases.clear()
        shared.logs.clear()
    gated.may_give.set()
    found = await asyncio.gather(*reading)
    if is_forgotten:
        assert found == [None, None]
        return
    owner.finish()
    for each in found:
        assert each is not None
        assert await rest(each) == START + TEXT + END + SSE_DONE
    lease.release()


async def test_a_run_without_events_has_a_reader(
    workers: tuple[SharedRunLog, SharedRunLog, Gated, Shared], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_log_tail, "BEGIN_SECONDS", 0.01)
    own, other, gated, _ = workers
    owner, lease = await begin(own)
    reading = await reader(other)
    gated.may_give.set()
    assert await until(reading, TEXT) == START + TEXT
    owner.finish()
    assert await rest(reading) == END + SSE_DONE
    lease.release()
