"""Tests for the ``RunStore`` of a run log."""

import asyncio
from typing import TypeAlias

from stream_protocol.serving.run_logs import WHOLE, Entry, LogBatch, RunIdentity, RunLog, RunStore, SharedRunLog
from stream_protocol.testing._fake_runs import CHAT, END, TEXT

Workers: TypeAlias = tuple[RunLog, RunLog]


class RunStoreConformance:
    """Tests for the ``RunStore`` of a run log. For a run log without a ``RunStore``, the tests check nothing."""

    async def test_a_late_renewal_of_a_freed_run_does_not_take_its_chat(self, workers: Workers) -> None:
        for store in _stores(workers):
            run = _run(store, "freed")
            token = await store.claim(run)
            await store.free(run)
            assert await store.renew(run, token, "open") is None
            assert await store.peek([CHAT]) == [None]

    async def test_a_run_whose_lease_a_fail_over_has_lost_gets_the_stops_of_its_own_time(
        self, workers: Workers
    ) -> None:
        for store in _stores(workers):
            older, newer, last = (_run(store, name) for name in ("older", "newer", "last"))
            token = await store.claim(older)
            await store.stop(CHAT, older.run_id, "")
            renewal = await store.renew(newer, token + 1, "open")
            assert renewal is not None
            assert not renewal.stop
            await store.free(newer)
            token = await store.claim(last)
            await store.free(last)
            await asyncio.sleep(0.01)  # some stores compare the time of a stop with the time of a claim
            assert await store.stop(CHAT, "", "the stop") is None
            renewal = await store.renew(last, token + 1, "open")
            assert renewal is not None
            assert renewal.stop
            await store.free(last)

    async def test_a_log_with_an_end_gets_no_more_events_and_its_run_is_closed(self, workers: Workers) -> None:
        for store in _stores(workers):
            run = _run(store, "ended")
            token = await store.claim(run)
            await store.renew(run, token, "open")
            for entry in (Entry(0, 1, TEXT, WHOLE), Entry(1, 2, END)):
                assert await store.append(run, token, LogBatch(entry=entry, past=b"")) == 1
                assert [found and found.phase for found in await store.peek([CHAT])] == ["closed"]
            entries = await store.entries(CHAT, run.run_id, 0, 0)
            assert b"".join(entry.events for entry in entries) == TEXT
            assert entries[-1].end == WHOLE
            await store.free(run)


def _stores(workers: Workers) -> list[RunStore]:
    return [worker.store for worker in workers if isinstance(worker, SharedRunLog)]


def _run(store: RunStore, name: str) -> RunIdentity:
    run_id = f"{name} at {store.worker}"
    return RunIdentity(chat=CHAT, run_id=run_id, worker=store.worker, idempotency_key="request")
