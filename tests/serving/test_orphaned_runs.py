"""Workers that crash, end or pause in the middle of runs, and those that recover the runs: in one process."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any
from unittest import mock
from unittest.mock import AsyncMock

import pytest
from google.adk.agents import BaseAgent, LlmAgent, ParallelAgent
from google.adk.events import Event
from google.adk.models import LlmRequest
from google.adk.sessions import InMemorySessionService, Session

from stream_protocol.agents import client_tool
from stream_protocol.serving import MemoryRunLog
from stream_protocol.serving.base._limits import READS_PER_USER
from stream_protocol.serving.base._tasks import cancel_and_wait
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.engine import LiveState, OrphanedRun, RunRecord, ToldEnd
from stream_protocol.serving.engine._engine import MAX_CRASHES
from stream_protocol.serving.engine._recovery import CRASHES_TEXT
from stream_protocol.serving.runs._run import TOO_SLOW_TEXT
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.testing import Call, ScriptedLlm, Turn, Wait
from stream_protocol.wire import ChatRequestError, encode_sse, parse_chat_request
from stream_protocol.wire.client import parse_sse, reduce_chunks
from tests.comparable_messages import comparable
from tests.serving.instrumented import InstrumentedLease, InstrumentedLog, InstrumentedService, let_time_out
from tests.serving.keeping_engine import KeepingEngine, KeptRun, StoredRuns
from tests.serving.support import HANG, answered, chat, said, soon

pytestmark = pytest.mark.usefixtures("patient_clock")

USER = "ann"

ERROR_TEXT = "An error occurred."


class Sessions(InMemorySessionService):
    """They store nothing while ``stores`` is not set, and no end of a run while ``stores_ends`` is not."""

    def __init__(self) -> None:
        super().__init__()
        self.stores = asyncio.Event()
        self.stores.set()
        self.stores_ends = asyncio.Event()
        self.stores_ends.set()
        self.error: Exception | None = None

    async def append_event(self, session: Session, event: Event) -> Event:
        await self.stores.wait()
        if EventMetadata.of(event).outcome is not None:
            await self.stores_ends.wait()
        if self.error is not None:
            raise self.error
        return await super().append_event(session, event)


class GatedWorkers:
    """Workers with the same stores. Each chat has a gate, at which its model waits after its first words."""

    def __init__(self, **times: float) -> None:
        self.times = ServiceTimes(**{"look": 0.01, "forgetting": 0.01, **times})
        self.kept = StoredRuns()
        self.sessions = Sessions()
        self.log = MemoryRunLog()
        self.gates: dict[str, asyncio.Event] = {}
        self.asked = Counter[str]()
        """The number of the model's requests in each chat."""

    def gate(self, chat_id: str) -> asyncio.Event:
        return self.gates.setdefault(chat_id, asyncio.Event())

    def _respond(self, request: LlmRequest) -> Turn:
        (words,) = [part.text or "" for part in request.contents[-1].parts or []]
        chat_id = words.split()[-1]
        self.asked[chat_id] += 1
        return ["Hello ", Wait(self.gate(chat_id)), f"{chat_id}."]

    @asynccontextmanager
    async def worker(
        self, *, version: str = "", launched: bool = True, agent: BaseAgent | None = None, **options: Any
    ) -> AsyncIterator[Worker]:
        """A worker, until it ends in order; see ``Worker.crash``."""
        engine = KeepingEngine(self.kept, version=version)
        agent = agent or LlmAgent(name="root", model=ScriptedLlm(respond=self._respond))
        service = InstrumentedService(
            agent, session_service=self.sessions, run_log=self.log, engine=engine, times=self.times, **options
        )
        worker = Worker(self, service, engine)
        if launched:
            await service.start()
        try:
            yield worker
        finally:
            await service.aclose()

    async def asked_for(self, chat_id: str, times: int) -> None:
        """Waits until a model was asked so often in this chat."""
        await until(lambda: self.asked[chat_id] >= times)

    async def forgotten(self) -> None:
        """Waits until no run is stored."""
        await until(lambda: not self.kept.runs)


class Worker:
    def __init__(self, gated: GatedWorkers, service: InstrumentedService, engine: KeepingEngine) -> None:
        self.service = service
        self.engine = engine
        self._office = gated

    async def say(self, chat_id: str, words: str = "go to", message: str = "u1") -> asyncio.Task[list[Any]]:
        """Returns the reader of the response."""
        body = chat(said(f"{words} {chat_id}", message), chat_id=chat_id)
        events = await self.service.respond(parse_chat_request(body), user_id=USER)
        return asyncio.create_task(read(events))

    async def text(self, chat_id: str) -> str:
        """The agent's text in the last message, and its ending."""
        messages = await self.service.history(chat_id, user_id=USER)
        assert messages is not None
        return "".join(str(part.get("text", "")) for part in messages[-1]["parts"])

    def crash(self) -> None:
        """Crashes the worker: its later work is not stored."""
        self.engine.is_dead = True

    async def die(self) -> None:
        """It crashes, and does nothing more."""
        self.crash()
        self.engine.is_paused = True
        await cancel_and_wait(self.service._context.tasks)  # noqa: SLF001 - the end of a process has no method


async def read(events: AsyncIterator[bytes]) -> list[Any]:
    pieces: list[bytes] = []
    with suppress(Exception):  # a reader that is cut off
        async for piece in events:
            pieces.append(piece)  # noqa: PERF401 - those before the cut count
    return [dict(chunk) for chunk in parse_sse(b"".join(pieces))]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG):
        while not is_so():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.001)


async def crash_with(gated: GatedWorkers, times: int, *chats: str) -> None:
    """So many workers crash while each executes these chats, the first of which is asked."""
    for number in range(times):
        async with gated.worker(launched=bool(number)) as worker:
            for chat_id in chats if not number else ():
                _ = await worker.say(chat_id)
            for chat_id in chats:
                await gated.asked_for(chat_id, number + 1)
            worker.crash()


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.message for record in caplog.records if record.levelno == level and "Run " in record.message]


async def test_a_run_that_has_crashed_three_workers_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    gated = GatedWorkers()
    with caplog.at_level(logging.INFO):
        await crash_with(gated, 3, "bad")
        (record,) = [kept.record for kept in gated.kept.runs.values()]
        async with gated.worker() as worker:
            await gated.forgotten()
            await worker.service.runs.free()
            assert await worker.text("bad") == "go to bad"
            again = await worker.say("bad", "and now to", "u2")
            await gated.asked_for("bad", 4)
            gated.gate("bad").set()
            assert (await again)[-1]["type"] == "finish"
    assert gated.asked["bad"] == 4
    assert lines(caplog, logging.INFO) == 2 * [f"Run {record.id} of chat bad is recovered."]
    given_up = f"Run {record.id} of chat bad is given up: 3 workers have crashed while they executed it."
    assert lines(caplog, logging.ERROR) == [given_up]


async def test_a_page_that_asks_again_is_told_that_the_run_is_given_up() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 3, "bad")
    async with gated.worker(launched=False) as worker:
        chunks = await (await worker.say("bad"))
        assert chunks[-1] == {"type": "error", "errorText": CRASHES_TEXT}
        await gated.forgotten()
    assert gated.asked["bad"] == 3


async def test_workers_that_end_in_order_are_no_crashes() -> None:
    gated = GatedWorkers()
    for number in range(8):
        async with gated.worker() as worker:
            if not number:
                _ = await worker.say("c1")
            await gated.asked_for("c1", number + 1)
    gated.gate("c1").set()
    async with gated.worker() as worker:
        await gated.forgotten()
        assert "c1." in await worker.text("c1")


async def test_a_worker_that_is_killed_while_it_ends_is_no_crash() -> None:
    gated = GatedWorkers()
    for number in range(5):
        async with gated.worker() as worker:
            if not number:
                _ = await worker.say("c1")
            await gated.asked_for("c1", number + 1)
            draining = asyncio.create_task(worker.service.drain())
            await until(lambda: all(set(kept.executions.values()) == {"left"} for kept in gated.kept.runs.values()))
            worker.crash()
            draining.cancel()
    gated.gate("c1").set()
    async with gated.worker() as worker:
        await gated.forgotten()
        assert "c1." in await worker.text("c1")


async def test_a_run_that_is_recorded_while_its_worker_ends_is_no_crash() -> None:
    gated = GatedWorkers()
    async with gated.worker() as worker:
        worker.engine.writes.clear()
        asking = asyncio.create_task(worker.say("c1"))
        await until(lambda: worker.service.runs.running == 1 and bool(gated.sessions.sessions))
        draining = asyncio.create_task(worker.service.drain())
        await asyncio.sleep(0)
        worker.engine.writes.set()
        _ = await asking
        await until(lambda: any("left" in kept.executions.values() for kept in gated.kept.runs.values()))
        gated.gate("c1").set()
        await draining


@pytest.mark.parametrize("drains_first", [False, True])
async def test_a_run_that_waits_for_its_lease_while_its_worker_ends_is_no_crash(*, drains_first: bool) -> None:
    gated, has_lease = GatedWorkers(), asyncio.Event()

    async def confirm(_lease: InstrumentedLease) -> bool:
        return await has_lease.wait()

    async with gated.worker() as worker:
        worker.engine.writes.clear()
        asking = asyncio.create_task(worker.say("c1"))
        await until(lambda: worker.service.runs.running == 1 and bool(gated.sessions.sessions))
        with mock.patch.multiple(InstrumentedLease, held=False, confirm=confirm):
            if drains_first:
                draining = asyncio.create_task(worker.service.drain())
                await asyncio.sleep(0)
            worker.engine.writes.set()
            await until(lambda: bool(gated.kept.runs))
            if not drains_first:
                draining = asyncio.create_task(worker.service.drain())
            await until(lambda: any("left" in kept.executions.values() for kept in gated.kept.runs.values()))
            assert gated.asked["c1"] == 0
            has_lease.set()
            _ = await asking
            gated.gate("c1").set()
            await draining


async def test_a_worker_that_is_about_to_end_recovers_nothing() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    async with gated.worker(launched=False) as worker:
        await worker.service.drain()
        await worker.service.start()
        await asyncio.sleep(0.05)
        assert gated.asked["c1"] == 1
    async with gated.worker():
        await gated.asked_for("c1", 2)


async def test_workers_that_were_only_paused_are_no_crashes() -> None:
    gated = GatedWorkers()
    async with AsyncExitStack() as stack:
        sleeping: Worker | None = None
        for number in range(5):
            worker = await stack.enter_async_context(gated.worker())
            if not number:
                _ = await worker.say("c1")
            await gated.asked_for("c1", number + 1)
            if sleeping is not None:  # it wakes up, and finds that another worker has the chat
                sleeping.service.runs.run.lease_lost()
                await sleeping.service.runs.free()
            worker.engine.is_paused = True
            gated.log = MemoryRunLog()  # its lease has expired
            sleeping = worker
        gated.gate("c1").set()
        last = await stack.enter_async_context(gated.worker())
        await gated.forgotten()
        assert "c1." in await last.text("c1")


async def test_runs_that_were_beside_the_one_that_crashes_are_finished() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 2, "good", "bad", "fine")
    for chat_id in ("good", "fine"):
        gated.gate(chat_id).set()
    crashes = 0
    while gated.kept.runs:
        async with gated.worker() as worker:
            await until(lambda: gated.asked["bad"] > 2 + crashes or not gated.kept.runs)  # noqa: B023 - awaited here
            if gated.kept.runs:
                crashes += 1
                worker.crash()
    assert crashes == 1
    async with gated.worker() as worker:
        for chat_id in ("good", "fine"):
            assert (await worker.text(chat_id)).endswith(f"Hello {chat_id}.")


async def test_a_suspect_is_alone_on_its_worker_and_new_runs_wait_for_it() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 2, "bad")
    async with gated.worker() as worker:
        await gated.asked_for("bad", 3)
        asking = asyncio.create_task(worker.say("new"))
        await asyncio.sleep(0.05)
        assert not asking.done()
        assert gated.asked["new"] == 0
        gated.gate("bad").set()
        gated.gate("new").set()
        assert (await (await asking))[-1]["type"] == "finish"
        await gated.forgotten()


async def test_a_run_that_waits_for_a_suspect_can_be_stopped() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 2, "bad")
    async with gated.worker() as worker:
        await gated.asked_for("bad", 3)
        asking = asyncio.create_task(worker.say("new"))
        await until(lambda: worker.service.runs.running == 2)
        await worker.service.stop("new", user_id=USER)
        assert (await (await asking))[-1]["type"] == "abort"
        await until(lambda: len(gated.kept.runs) == 1)
        assert await worker.text("new") == "go to new"
        assert gated.asked["bad"] == 3


@pytest.mark.slow
async def test_a_suspect_waits_until_other_runs_have_ended() -> None:
    gated = GatedWorkers(alone=1.0)
    async with gated.worker(launched=False) as worker:
        worker.engine.is_paused = True
        _ = await worker.say("busy")
        await gated.asked_for("busy", 1)
        log, gated.log = gated.log, MemoryRunLog()
        await crash_with(gated, 2, "bad")
        gated.log = log
        worker.engine.is_paused = False
        reading = await worker.say("bad")  # the page asks again: it does not wait for an idle worker
        await asyncio.sleep(0.05)
        assert gated.asked["bad"] == 2
        gated.gate("busy").set()
        await gated.asked_for("bad", 3)
        gated.gate("bad").set()
        assert (await reading)[-1]["type"] == "finish"


@pytest.mark.slow
async def test_a_busy_worker_leaves_a_suspect_to_an_idle_one() -> None:
    gated = GatedWorkers(alone=1.0)
    async with gated.worker() as busy:
        busy.engine.is_paused = True
        _ = await busy.say("busy")
        await gated.asked_for("busy", 1)
        log, gated.log = gated.log, MemoryRunLog()
        await crash_with(gated, 2, "bad")
        gated.log = log
        busy.engine.is_paused = False
        await asyncio.sleep(0.05)
        assert gated.asked["bad"] == 2
        async with gated.worker():
            await gated.asked_for("bad", 3)
            gated.gate("bad").set()
            gated.gate("busy").set()
            await gated.forgotten()


async def test_a_crash_beside_others_proves_nothing_but_six_are_enough() -> None:
    gated = GatedWorkers(alone=0.01)
    await crash_with(gated, 2, "slow")
    for crashes in range(2, MAX_CRASHES):
        async with gated.worker() as worker:
            await gated.asked_for("slow", crashes + 1)
            (kept,) = gated.kept.runs.values()
            await until(lambda: kept.executions[kept.log_id] == "running")  # noqa: B023 - awaited here
            worker.crash()
    async with gated.worker() as worker:
        await gated.forgotten()
    assert gated.asked["slow"] == MAX_CRASHES


async def test_a_run_whose_end_is_stored_is_not_recovered() -> None:
    gated = GatedWorkers(shutdown=0.5)
    async with gated.worker() as worker:
        reading = await worker.say("c1")
        await gated.asked_for("c1", 1)
        worker.engine.error = ConnectionError("away")
        with pytest.raises(ChatRequestError):
            await worker.service.stop("c1", user_id=USER)
        assert (await reading)[-1]["type"] == "abort"
        assert gated.kept.runs
        assert worker.service.runs.running
    async with gated.worker():
        await gated.forgotten()
    assert gated.asked["c1"] == 1


async def test_a_run_that_is_stopped_again_keeps_its_chat_until_it_is_forgotten() -> None:
    gated = GatedWorkers(stop=0.01)
    async with gated.worker() as worker:
        _ = await worker.say("c1")
        await gated.asked_for("c1", 1)
        worker.engine.error = ConnectionError("away")
        for _ in range(3):
            with pytest.raises(ChatRequestError) as refused:
                await worker.service.stop("c1", user_id=USER)
            assert (refused.value.status, refused.value.retry_after) == (503, 2)
            await asyncio.sleep(0.05)
            assert worker.service.runs.running
        worker.engine.error = None
        await worker.service.runs.free()
        assert not gated.kept.runs


async def test_a_run_that_later_messages_have_replaced_is_not_recovered() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    kept = dict(gated.kept.runs)
    gated.kept.runs.clear()  # as a release does that cannot read the record
    gated.gate("c1").set()
    async with gated.worker(launched=False) as older:
        assert (await (await older.say("c1", "and now to", "u2")))[-1]["type"] == "finish"
    gated.kept.runs.update(kept)
    async with gated.worker():
        await gated.forgotten()
    assert gated.asked["c1"] == 2


async def test_a_run_whose_chat_is_not_here_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    elsewhere, gated.sessions = gated.sessions, Sessions()
    async with gated.worker() as worker:
        await until(lambda: "is left alone" in caplog.text)
        assert await worker.service.resume("c1", user_id=USER) is None
        with pytest.raises(ChatRequestError, match="no such chat"):
            await worker.service.stop("c1", user_id=USER)
        await asyncio.sleep(0.05)
    assert caplog.text.count("is left alone") == 1
    assert gated.kept.runs
    gated.sessions = elsewhere
    gated.gate("c1").set()
    async with gated.worker() as worker:
        await gated.forgotten()
        assert "c1." in await worker.text("c1")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "at another worker"])
async def test_a_stop_is_answered_when_no_record_of_the_run_can_come_any_more(elsewhere: bool) -> None:
    gated = GatedWorkers()
    async with gated.worker() as worker, gated.worker() as other:
        worker.engine.writes.clear()
        asking = asyncio.create_task(worker.say("c1"))
        await until(lambda: bool(gated.sessions.sessions) and worker.service.runs.running == 1)
        stopping = asyncio.create_task((other if elsewhere else worker).service.stop("c1", user_id=USER))
        await asyncio.sleep(0.05)
        assert not stopping.done()
        worker.engine.writes.set()
        await stopping
        assert not gated.kept.runs
        assert (await (await asking))[-1]["type"] == "abort"
        assert await worker.text("c1") == "go to c1"


async def test_a_stop_reaches_a_run_that_another_worker_recovers_meanwhile() -> None:
    gated, marks, may_mark = GatedWorkers(), asyncio.Event(), asyncio.Event()
    await crash_with(gated, 1, "c1")
    async with gated.worker(launched=False) as worker:
        note = worker.engine.mark

        async def mark(record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
            marks.set()
            await may_mark.wait()
            await note(record, log_id, state)

        worker.engine.mark = mark  # type: ignore[method-assign]
        await worker.service.drain()  # it recovers nothing itself
        stopping = asyncio.create_task(worker.service.stop("c1", user_id=USER))
        await soon(marks)
        async with gated.worker() as other:
            await gated.asked_for("c1", 2)
            may_mark.set()
            await stopping
            await other.service.runs.free()
            assert not gated.kept.runs
            assert await other.text("c1") in {"go to c1", "Hello "}


async def test_messages_that_are_stopped_before_they_are_stored_are_not_accepted_by_a_retry_either() -> None:
    gated = GatedWorkers()
    async with gated.worker() as worker, gated.worker() as other:
        gated.sessions.stores.clear()
        asking = asyncio.create_task(worker.say("c1"))
        await until(lambda: bool(gated.kept.runs))
        stopping = asyncio.create_task(worker.service.stop("c1", user_id=USER))
        await until(lambda: worker.service.runs.running == 1 and worker.service.runs.run.log.closed)
        again = asyncio.create_task(other.say("c1"))
        await asyncio.sleep(0.05)
        assert not again.done()
        assert not asking.done()
        gated.sessions.stores.set()
        for response in (asking, again):
            assert (await (await response))[-1]["type"] == "abort"
        await stopping
        assert await worker.text("c1") == "go to c1"


@pytest.mark.parametrize("error", [ConnectionError("away"), OSError("no space left")], ids=["away", "full"])
async def test_a_request_whose_messages_are_not_stored_is_refused_and_not_left(error: Exception) -> None:
    gated = GatedWorkers()
    async with gated.worker() as worker:
        gated.sessions.error = error
        with pytest.raises((ChatRequestError, OSError)) as refused:
            _ = await worker.say("c1")
        if isinstance(error, ConnectionError):
            assert isinstance(refused.value, ChatRequestError)
            assert (refused.value.status, refused.value.retry_after) == (503, 2)
        await worker.service.runs.free()
        assert not gated.kept.runs


async def test_messages_that_a_dead_worker_had_not_stored_are_awaited() -> None:
    gated = GatedWorkers()
    gated.gate("c1").set()
    async with gated.worker(launched=False) as worker:
        gated.sessions.stores.clear()
        asking = asyncio.create_task(worker.say("c1"))
        await until(lambda: bool(gated.kept.runs))
        worker.crash()
    with pytest.raises(ChatRequestError) as refused:
        _ = await asking
    assert refused.value.status == 503
    async with gated.worker() as worker:
        again = asyncio.create_task(worker.say("c1"))
        reading = asyncio.create_task(worker.text("c1"))
        await asyncio.sleep(0.05)
        assert not again.done()
        assert not reading.done()
        gated.sessions.stores.set()
        assert (await reading).startswith(("go to c1", "Hello "))
        assert (await (await again))[-1]["type"] == "finish"
        await gated.forgotten()
    assert gated.asked["c1"] == 1


async def test_histories_that_wait_for_such_messages_do_not_keep_others_waiting() -> None:
    gated, waiting = GatedWorkers(), [f"c{number}" for number in range(READS_PER_USER)]
    for chat_id in ("whole", *waiting):
        gated.gate(chat_id).set()
    async with gated.worker(launched=False) as worker:
        await (await worker.say("whole"))
        await worker.service.runs.free()
        gated.sessions.stores.clear()
        asking = [asyncio.create_task(worker.say(chat_id)) for chat_id in waiting]
        await until(lambda: len(gated.kept.runs) == len(waiting))
        worker.crash()
    await asyncio.gather(*asking, return_exceptions=True)
    async with gated.worker(launched=False) as worker:
        await worker.service.drain()  # it recovers nothing itself
        reading = [asyncio.create_task(worker.text(chat_id)) for chat_id in waiting]
        await asyncio.sleep(0.05)
        assert await worker.text("whole") == "Hello whole."
        assert not any(each.done() for each in reading)
        gated.sessions.stores.set()
        async with gated.worker():
            await asyncio.gather(*reading)
            await gated.forgotten()


class ReadOnlyError(Exception):
    """The error of psycopg during a fail-over."""

    sqlstate = "25006"


@pytest.mark.parametrize("error", [ConnectionError("away"), ReadOnlyError()], ids=["away", "read-only"])
async def test_a_recovery_that_the_engine_refuses_stores_nothing(error: Exception) -> None:
    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    (session,) = [*gated.sessions.sessions["root"][USER].values()]
    before = len(session.events)
    async with gated.worker(launched=False) as worker:
        worker.engine.error = error
        await worker.service.start()
        await asyncio.sleep(0.1)
        assert len(session.events) == before
        worker.engine.error = None
        gated.gate("c1").set()
        await gated.forgotten()


def answer_to(call_id: str, message_id: str = "a1") -> Any:
    """The request of a page that has answered this call of a tool of its own."""
    part = {"type": "tool-where", "toolCallId": call_id, "state": "output-available", "input": {}, "output": "Oslo"}
    return parse_chat_request(answered(message_id, part))


async def test_a_refused_request_does_not_end_an_orphaned_run() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    gated.gate("c1").set()
    async with gated.worker(launched=False) as worker:
        with pytest.raises(ChatRequestError) as refused:
            await worker.service.respond(answer_to("unknown"), user_id=USER)
        assert refused.value.status == 409
        await gated.forgotten()
        await worker.service.runs.free()
        assert "c1." in await worker.text("c1")


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
async def test_an_answer_waits_for_the_end_of_an_orphaned_run() -> None:
    gated = GatedWorkers()
    where = client_tool("where", "Where the user is.")

    def asking(request: LlmRequest) -> Turn:
        is_answered = any(part.function_response for each in request.contents for part in each.parts or [])
        return ["Thanks."] if is_answered else [Call("where", {})]

    def speaking(_request: LlmRequest) -> Turn:
        gated.asked["c1"] += 1
        return ["I am ", Wait(gated.gate("c1")), "here."]

    def agent() -> ParallelAgent:
        left = LlmAgent(name="left", model=ScriptedLlm(respond=asking), tools=[where])
        right = LlmAgent(name="right", model=ScriptedLlm(respond=speaking))
        return ParallelAgent(name="root", sub_agents=[left, right])

    def calls() -> list[Event]:
        sessions = gated.sessions.sessions.get("root", {}).get(USER, {}).values()
        return [event for session in sessions for event in session.events if event.get_function_calls()]

    async with gated.worker(launched=False, agent=agent()) as worker:
        _ = await worker.say("c1")
        await gated.asked_for("c1", 1)
        await until(lambda: bool(calls()))
        messages = await worker.service.history("c1", user_id=USER)
        worker.crash()
    assert messages is not None
    (call_id,) = [str(part.get("toolCallId")) for part in messages[-1]["parts"] if part["type"] == "tool-where"]
    async with gated.worker(launched=False, agent=agent()) as worker:
        answer = answer_to(call_id, messages[-1]["id"])
        answering = asyncio.create_task(worker.service.respond(answer, user_id=USER))
        await gated.asked_for("c1", 2)
        assert not answering.done()
        gated.gate("c1").set()
        assert (await read(await answering))[-1]["type"] == "finish"
        await worker.service.runs.free()
        assert "here." in await worker.text("c1")
        assert "Thanks." in await worker.text("c1")


async def test_a_stop_reaches_a_run_whose_recovery_begins_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    async with gated.worker(launched=False) as stopper, gated.worker(launched=False) as other:
        unfinished, mark, asked = stopper.engine.unfinished, stopper.engine.mark, asyncio.Event()

        async def unfinished_of_chat(chat: tuple[str, str] | None = None) -> list[OrphanedRun]:
            return await unfinished(chat) if chat else []  # so that the stopper recovers nothing

        async def mark_after_the_recovery(record: RunRecord, log_id: str, state: LiveState | ToldEnd) -> None:
            asked.set()
            await gated.asked_for("c1", 2)
            await mark(record, log_id, state)

        monkeypatch.setattr(stopper.engine, "unfinished", unfinished_of_chat)
        monkeypatch.setattr(stopper.engine, "mark", mark_after_the_recovery)
        stopping = asyncio.create_task(stopper.service.stop("c1", user_id=USER))
        await soon(asked)
        await other.service.start()
        await stopping
        gated.gate("c1").set()
        await other.service.runs.free()
        assert "c1." not in await other.text("c1")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "at another worker"])
async def test_a_record_that_a_retry_has_taken_over_is_not_forgotten_for_the_request_before(
    elsewhere: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gated = GatedWorkers(forgetting=0.2)
    async with gated.worker(launched=False) as worker, gated.worker(launched=False) as other:
        execute = worker.engine.execute

        async def recorded_and_refused(record: RunRecord, _runner: Any, log_id: str, *_: Any) -> None:
            monkeypatch.setattr(worker.engine, "execute", execute)
            gated.kept.runs[record.id] = KeptRun(record, "", log_id, {log_id: "running"})
            worker.engine.error = ConnectionError("away")
            raise worker.engine.error

        monkeypatch.setattr(worker.engine, "execute", recorded_and_refused)
        with pytest.raises(ChatRequestError) as refused:
            _ = await worker.say("c1")
        assert refused.value.status == 503
        await until(lambda: "until the engine has forgotten it" in caplog.text)
        reading = asyncio.create_task(other.say("c1")) if elsewhere else None
        worker.engine.error = None
        reading = reading or asyncio.create_task(worker.say("c1"))
        response = await reading
        await gated.asked_for("c1", 1)
        await asyncio.sleep(0.6)  # nobody tells that nothing is forgotten
        assert gated.kept.runs
        gated.gate("c1").set()
        assert (await response)[-1]["type"] == "finish"
        await gated.forgotten()


async def test_a_record_of_a_refused_request_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    gated = GatedWorkers()
    async with gated.worker(launched=False) as worker:
        engine = worker.engine

        async def recorded_and_refused(record: RunRecord, _runner: Any, log_id: str, *_: Any) -> None:
            gated.kept.runs[record.id] = KeptRun(record, "", log_id, {log_id: "running"})
            raise ConnectionError("away")

        monkeypatch.setattr(engine, "execute", recorded_and_refused)
        with pytest.raises(ChatRequestError):
            _ = await worker.say("c1")
        await gated.forgotten()
        assert gated.asked["c1"] == 0


async def test_a_store_that_is_away_for_some_chats_does_not_keep_others_from_being_recovered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gated, away = GatedWorkers(), [f"away{number}" for number in range(5)]
    await crash_with(gated, 1, *away, "fine")
    for chat_id in (*away, "fine"):
        gated.gate(chat_id).set()
    find = gated.sessions.get_session

    async def get_session(*, session_id: str, **key: Any) -> Session | None:
        if session_id in away:
            raise ConnectionError("away")
        return await find(session_id=session_id, **key)

    monkeypatch.setattr(gated.sessions, "get_session", get_session)
    async with gated.worker() as worker:
        await until(lambda: len(gated.kept.runs) == len(away))
        assert "fine." in await worker.text("fine")
        monkeypatch.setattr(gated.sessions, "get_session", find)
        await gated.forgotten()
        assert "away0." in await worker.text("away0")


async def test_a_run_that_is_given_up_is_fenced_before_it_is_ended() -> None:
    gated = GatedWorkers()
    await crash_with(gated, 3, "bad")
    (session,) = [*gated.sessions.sessions["root"][USER].values()]
    before = len(session.events)
    async with gated.worker(launched=False) as worker:
        gated.sessions.error = ConnectionError("away")
        await worker.service.start()
        await asyncio.sleep(0.1)  # nobody tells that it is left
        assert gated.kept.runs
        gated.sessions.error = None
        await gated.forgotten()
        (session,) = [*gated.sessions.sessions["root"][USER].values()]
        added = session.events[before:]
        assert [(event.author, event.content) for event in added[:1]] == [("user", None)]
        assert [EventMetadata.of(event).outcome for event in added] == [None, "error"]


async def test_a_run_that_was_stopped_is_ended_and_not_executed_again() -> None:
    """Its worker had lost the lease before the engine had forgotten the run."""
    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    shown: list[Any] = [
        {"type": "start", "messageId": "a1"},
        {"type": "start-step"},
        {"type": "text-start", "id": "t1"},
        {"type": "text-delta", "id": "t1", "delta": "Hel"},
        {"type": "abort"},
    ]

    class Log(InstrumentedLog):
        async def written(self, chat: str, run_id: str) -> list[bytes]:
            return [encode_sse(chunk) for chunk in shown]

    async with gated.worker(launched=False) as worker:
        worker.service.runs.__class__ = Log
        chunks = await (await worker.say("c1"))
        await gated.forgotten()
        assert "".join(chunk.get("delta", "") for chunk in chunks) == "Hel"
        assert chunks[-1]["type"] == "abort"
        assert await worker.text("c1") == "Hel"
    assert gated.asked["c1"] == 1


async def test_a_page_that_comes_back_sees_what_is_stored_before_the_run_is_stopped() -> None:
    gated, begins = GatedWorkers(), asyncio.Event()
    begins.set()

    async def note() -> str:
        """Notes it."""
        return "noted"

    def respond(request: LlmRequest) -> Turn:
        gated.asked["c1"] += 1
        is_answered = any(part.function_response for each in request.contents for part in each.parts or [])
        return ["Done ", Wait(gated.gate("c1")), "c1."] if is_answered else [Wait(begins), "Well. ", Call("note", {})]

    def agent() -> LlmAgent:
        return LlmAgent(name="root", model=ScriptedLlm(respond=respond), tools=[note])

    async with gated.worker(launched=False, agent=agent()) as worker:
        _ = await worker.say("c1")
        await gated.asked_for("c1", 2)
        worker.crash()
    begins.clear()
    async with gated.worker(launched=False, agent=agent()) as worker:
        reading = await worker.say("c1")
        await gated.asked_for("c1", 3)
        await worker.service.stop("c1", user_id=USER)
        kinds = [chunk["type"] for chunk in await reading]
        assert kinds[-1] == "abort"
        assert {"text-delta", "tool-output-available"} <= {*kinds}
        await worker.service.runs.free()
        assert await worker.text("c1") == "Well. "


async def test_a_retry_of_an_answer_waits_for_later_messages_that_are_not_stored_yet() -> None:
    gated = GatedWorkers()

    def respond(request: LlmRequest) -> Turn:
        if request.contents[-1].parts and request.contents[-1].parts[-1].function_response:
            return ["Thanks."]
        return [Call("where", {})] if len(request.contents) == 1 else ["Well."]

    where = client_tool("where", "Where the user is.")
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=respond), tools=[where])
    async with gated.worker(launched=False, agent=agent) as worker:
        await (await worker.say("c1"))
        messages = await worker.service.history("c1", user_id=USER)
        assert messages is not None
        (call_id,) = [str(part.get("toolCallId")) for part in messages[-1]["parts"] if part["type"] == "tool-where"]
        answer = answer_to(call_id, messages[-1]["id"])
        first = await read(await worker.service.respond(answer, user_id=USER))
        await worker.service.runs.free()
        gated.sessions.stores.clear()
        asking = asyncio.create_task(worker.say("c1", "and to", "u2"))
        await until(lambda: worker.service.runs.running == 1)
        again = asyncio.create_task(worker.service.respond(answer, user_id=USER))
        await asyncio.sleep(0.05)
        assert not again.done()
        gated.sessions.stores.set()
        texts = [
            [chunk.get("delta") for chunk in chunks if "delta" in chunk] for chunks in (first, await read(await again))
        ]
        assert texts == [["Thanks."], ["Thanks."]]
        await (await asking)


async def test_the_end_of_a_stopped_run_is_stored_by_another_worker_if_its_own_crashes() -> None:
    gated, digs = GatedWorkers(stop=1.0), asyncio.Event()

    async def dig() -> str:
        """Digs for ever."""
        digs.set()
        await asyncio.Event().wait()
        return "dug"

    def agent() -> LlmAgent:
        return LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Call("dig", {})]]), tools=[dig])

    async with gated.worker(launched=False, agent=agent()) as worker:
        reading = await worker.say("c1")
        await soon(digs)
        await worker.service.stop("c1", user_id=USER)
        assert (await reading)[-1]["type"] == "abort"
        (kept,) = gated.kept.runs.values()
        assert [*kept.executions.values()] == ["abort"]
        draining = asyncio.create_task(worker.service.drain())
        await asyncio.sleep(0.05)
        draining.cancel()
        worker.crash()
        gated.log = MemoryRunLog()
        async with gated.worker(agent=agent()) as other:
            await gated.forgotten()
            await other.service.runs.free()
            messages = await other.service.history("c1", user_id=USER)
            assert messages is not None
            errors = [part.get("errorText") for part in messages[-1]["parts"] if part["type"] == "tool-dig"]
            assert errors == ["The run was stopped before the tool finished."]


@pytest.mark.parametrize(
    ("state", "text", "is_marked"),
    [
        ("timeout", TOO_SLOW_TEXT, True),
        ("timeout", TOO_SLOW_TEXT, False),
        ("error", ERROR_TEXT, True),
        ("error", ERROR_TEXT, False),
    ],
    ids=["a limit", "a limit that only the log knows", "a failure", "a failure that only the log knows"],
)
async def test_the_error_that_a_page_was_told_is_stored_by_another_worker_if_its_own_crashes(
    state: str, text: str, is_marked: bool
) -> None:
    gated, begun, may_end = GatedWorkers(), asyncio.Event(), asyncio.Event()

    async def dig() -> str:
        """Digs for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "dug"

    def agent() -> LlmAgent:
        calls = [Call("where", {}), Call("dig", {})] if state == "timeout" else [Wait(may_end), RuntimeError("broken")]
        where = client_tool("where", "Where the user is.")
        return LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", *calls]]), tools=[where, dig])

    async with gated.worker(launched=False, agent=agent()) as worker:
        reading = await worker.say("c1")
        if not is_marked:
            worker.crash()
        gated.sessions.stores_ends.clear()
        if state == "timeout":
            await soon(begun)
            gated.sessions.stores.clear()  # ADK stores by itself that the calls of such a run are closed
            let_time_out()
        may_end.set()
        told = await reading
        assert told[-1] == {"type": "error", "errorText": text}
        (kept,) = gated.kept.runs.values()
        await until(lambda: not is_marked or state in kept.executions.values())
        await worker.die()
        gated.sessions.stores.set()
        gated.sessions.stores_ends.set()
        gated.log = MemoryRunLog()
        async with gated.worker(launched=False, agent=agent()) as other:
            log = [encode_sse(chunk) for chunk in (told[:-1] if is_marked else told)]
            mock.patch.object(other.service.runs, "written", AsyncMock(return_value=log)).start()
            assert (await (await other.say("c1")))[-1] == told[-1]
            await gated.forgotten()
            await other.service.runs.free()
            messages = await other.service.history("c1", user_id=USER)
            assert messages is not None
            assert comparable(messages[1:]) == comparable([reduce_chunks(told[:-1])])


async def test_a_run_that_has_finished_is_not_recorded_as_stopped() -> None:
    """Another execution finishes, too, with the stored answers."""
    gated = GatedWorkers()
    gated.gate("c1").set()
    async with gated.worker(launched=False) as worker:
        marked: list[str] = []
        with mock.patch.object(worker.engine, "mark", AsyncMock(side_effect=lambda *args: marked.append(args[2]))):
            assert (await (await worker.say("c1")))[-1]["type"] == "finish"
            await gated.forgotten()
    assert marked == []


@pytest.mark.parametrize("stops", [True, False])
async def test_a_run_that_has_finished_and_could_not_be_forgotten_is_not_executed_again_nor_stopped(
    *, stops: bool
) -> None:
    """Its call waits for the user."""
    gated, asked = GatedWorkers(), Counter[str]()

    def respond(_request: LlmRequest) -> Turn:
        asked["c1"] += 1
        return [Call("where", {})]

    def agent() -> LlmAgent:
        return LlmAgent(name="root", model=ScriptedLlm(respond=respond), tools=[client_tool("where", "Where?")])

    async with gated.worker(launched=False, agent=agent()) as worker:
        with mock.patch.object(worker.engine, "cancel", AsyncMock(side_effect=ConnectionError("away"))):
            told = await (await worker.say("c1"))
            await worker.die()
        gated.log = MemoryRunLog()
        async with gated.worker(launched=False, agent=agent()) as other:
            log = AsyncMock(return_value=[*map(encode_sse, told)])
            with mock.patch.object(other.service.runs, "written", log):
                unfinished = other.engine.unfinished

                async def unfinished_of_chat(chat: Any = None) -> list[OrphanedRun]:
                    return await unfinished(chat) if chat else []  # nothing is recovered yet

                with mock.patch.object(other.engine, "unfinished", unfinished_of_chat):
                    if stops:
                        await other.service.stop("c1", user_id=USER)
                await other.service.start()
                await gated.forgotten()
                await other.service.runs.free()
            messages = await other.service.history("c1", user_id=USER)
            assert messages is not None
            assert comparable(messages[1:]) == comparable([reduce_chunks(told)])
    assert asked["c1"] == 1


async def test_a_stop_of_a_run_whose_page_has_an_error_records_this_error() -> None:
    gated, marked = GatedWorkers(look=HANG), AsyncMock()
    await crash_with(gated, 1, "c1")
    async with gated.worker(launched=False) as worker:
        log = AsyncMock(return_value=[encode_sse({"type": "error", "errorText": TOO_SLOW_TEXT})])
        with mock.patch.object(worker.service.runs, "written", log), mock.patch.object(worker.engine, "mark", marked):
            await worker.service.stop("c1", user_id=USER)
        assert marked.await_args_list[0].args[2] == ToldEnd("timeout", TOO_SLOW_TEXT)


async def test_a_failure_before_the_messages_are_stored_leaves_nothing_to_end() -> None:
    """The request was refused. The message starts a new run when it is sent again."""
    gated = GatedWorkers()
    async with gated.worker(launched=False) as worker:
        worker.crash()
        gated.sessions.error = ConnectionError("away")
        with pytest.raises(ChatRequestError):
            _ = await worker.say("c1")
        (kept,) = gated.kept.runs.values()
        kept.executions[kept.log_id] = "error"
        await worker.die()
        gated.sessions.error = None
        gated.log = MemoryRunLog()
        async with gated.worker(launched=False) as other:
            with pytest.raises(ChatRequestError) as refused:
                _ = await other.say("c1")
            assert refused.value.status == 503
            assert not gated.kept.runs
            gated.gate("c1").set()
            assert (await (await other.say("c1")))[-1]["type"] == "finish"
            await other.service.runs.free()
            assert await other.text("c1") == "Hello c1."
            assert gated.asked["c1"] == 1


@pytest.mark.parametrize("crashes", [1, 2, 3], ids=["executed again", "alone", "given up"])
async def test_a_run_whose_lease_is_lost_before_its_recovery_begins_is_left(crashes: int) -> None:
    """A page reads its response already: the worker was too busy to renew the lease."""
    gated, reads = GatedWorkers(), asyncio.Event()
    await crash_with(gated, crashes, "c1")
    (kept,) = gated.kept.runs.values()
    executions = {**kept.executions}
    async with gated.worker(launched=False) as worker:

        async def written(_chat: str, _run_id: str) -> list[bytes]:
            await reads.wait()
            return []

        with mock.patch.object(worker.service.runs, "written", written):
            reading = await worker.say("c1")
            worker.service.runs.run.lease_lost()
            assert await reading == []
            reads.set()
            await worker.service.runs.free()
    assert [*gated.kept.runs.values()] == [kept]
    assert kept.executions == executions
    gated.log = MemoryRunLog()
    gated.gate("c1").set()
    async with gated.worker() as other:
        await gated.forgotten()
        await other.service.runs.free()
        assert await other.text("c1") == ("go to c1" if crashes == 3 else "Hello c1.")


@pytest.mark.parametrize("dies", [False, True], ids=["wakes up", "dies then"])
async def test_a_record_that_comes_after_the_lease_was_lost_is_forgotten_and_the_answer_of_another_run_stays(
    monkeypatch: pytest.MonkeyPatch, *, dies: bool
) -> None:
    """The worker was frozen before it recorded its run, and the page has sent its request to another worker."""

    async def is_lost(_lease: InstrumentedLease) -> bool:
        return False

    gated = GatedWorkers(look=0.01 if dies else 3600)  # no worker looks for the record while its own is alive
    gated.gate("c1").set()
    async with gated.worker(launched=False) as frozen:
        frozen.engine.writes.clear()
        asking = asyncio.create_task(frozen.say("c1"))
        await until(lambda: bool(gated.sessions.sessions) and frozen.service.runs.running == 1)
        gated.log = MemoryRunLog()
        async with gated.worker(launched=False) as other:
            assert (await (await other.say("c1")))[-1]["type"] == "finish"
            await other.service.runs.free()
            session = await gated.sessions.get_session(app_name="root", user_id=USER, session_id="c1")
            frozen.service.runs.run.lease_lost()
            frozen.engine.is_dead = dies
            with monkeypatch.context() as woken:
                woken.setattr(InstrumentedLease, "held", False)
                woken.setattr(InstrumentedLease, "confirm", is_lost)
                frozen.engine.writes.set()
                with pytest.raises(ChatRequestError) as refused:
                    _ = await asking
            assert refused.value.status == 503
            if dies:
                await until(lambda: bool(gated.kept.runs))
                await frozen.die()
            await gated.forgotten()
            await other.service.runs.free()
            assert await gated.sessions.get_session(app_name="root", user_id=USER, session_id="c1") == session
            assert await other.text("c1") == "Hello c1."
    assert gated.asked["c1"] == 1


async def test_a_recovery_that_loses_its_lease_leaves_the_end_of_a_stopped_run_to_another_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = asyncio.Event()

    async def is_lost(_lease: InstrumentedLease) -> bool:
        lost.set()
        return False

    gated = GatedWorkers()
    await crash_with(gated, 1, "c1")
    (kept,) = gated.kept.runs.values()
    kept.executions[kept.log_id] = "abort"
    with monkeypatch.context() as frozen:
        frozen.setattr(InstrumentedLease, "held", False)
        frozen.setattr(InstrumentedLease, "confirm", is_lost)
        async with gated.worker() as worker:
            await soon(lost)
            worker.engine.is_paused = True
            await worker.service.runs.free()
            assert [*gated.kept.runs.values()] == [kept]
    async with gated.worker() as other:
        await gated.forgotten()
        await other.service.runs.free()
        session = await gated.sessions.get_session(app_name="root", user_id=USER, session_id="c1")
        assert session is not None
        assert [outcome for event in session.events if (outcome := EventMetadata.of(event).outcome)] == ["abort"]


@pytest.mark.slow
async def test_runs_that_wait_for_a_suspect_are_left_when_their_worker_ends() -> None:
    gated = GatedWorkers(alone=0.01)
    await crash_with(gated, 2, "bad")
    await crash_with(gated, 1, "good")
    gated.times = GatedWorkers().times
    async with gated.worker() as worker:
        await gated.asked_for("bad", 3)
        reading = await worker.say("good")
        await until(lambda: worker.service.runs.running == 2)
    assert await reading == []
    assert len(gated.kept.runs) == 2
    gated.log = MemoryRunLog()
    for chat_id in ("bad", "good"):
        gated.gate(chat_id).set()
    async with gated.worker() as other:
        await gated.forgotten()
        await other.service.runs.free()
        assert await other.text("good") == "Hello good."


async def test_the_end_of_a_stopped_run_is_stored_by_another_worker_if_its_own_has_lost_the_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def is_lost(_lease: InstrumentedLease) -> bool:
        return False

    gated = GatedWorkers()
    async with gated.worker(launched=False) as worker:
        reading = await worker.say("c1")
        await until(lambda: b"Hello" in b"".join(worker.service.runs.run.log.events()))
        with monkeypatch.context() as busy:
            busy.setattr(InstrumentedLease, "held", False)
            busy.setattr(InstrumentedLease, "confirm", is_lost)
            await worker.service.stop("c1", user_id=USER)
            assert (await reading)[-1]["type"] == "abort"
            await worker.service.runs.free()
        assert [[*kept.executions.values()] for kept in gated.kept.runs.values()] == [["abort"]]
        async with gated.worker() as other:
            await gated.forgotten()
            await other.service.runs.free()
            assert await other.text("c1") == "Hello "
    assert gated.asked["c1"] == 1


@pytest.mark.parametrize("has_log", [True, False], ids=["with the log", "without the log"])
async def test_what_was_stored_after_the_end_is_hidden_if_the_worker_crashes_then(has_log: bool) -> None:
    """ADK stores an event while the user stops the run. The page is not shown it any more."""
    gated, stored = GatedWorkers(), asyncio.Event()

    class Slow(Sessions):
        async def append_event(self, session: Session, event: Event) -> Event:
            appended = await super().append_event(session, event)
            if event.get_function_calls():
                stored.set()
                await asyncio.Event().wait()
            return appended

    async def note() -> str:
        """Notes it."""
        return "noted"

    def agent() -> LlmAgent:
        return LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Call("note", {})]]), tools=[note])

    gated.sessions = Slow()
    async with gated.worker(launched=False, agent=agent()) as worker:
        reading = await worker.say("c1")
        await soon(stored)
        gated.sessions.stores_ends.clear()
        await worker.service.stop("c1", user_id=USER)
        told = await reading
        assert told[-1]["type"] == "abort"
        await worker.die()
        gated.sessions.stores_ends.set()
    gated.log = MemoryRunLog()
    async with gated.worker(launched=False, agent=agent()) as other:
        log = [encode_sse(chunk) for chunk in told] if has_log else []
        with mock.patch.object(other.service.runs, "written", AsyncMock(return_value=log)):
            await other.service.start()
            await gated.forgotten()
            await other.service.runs.free()
        messages = await other.service.history("c1", user_id=USER)
        assert messages is not None
        # The page has a call that the model has not ended; no history has one.
        shown = [part for part in reduce_chunks(told[:-1])["parts"] if part["type"] not in {"tool-note", "step-start"}]
        kept = [part for message in messages[1:] for part in message["parts"] if part["type"] != "step-start"]
        assert kept == shown
        session = await gated.sessions.get_session(app_name="root", user_id=USER, session_id="c1")
        assert session is not None
        texts = [part.text for event in session.events[1:] for part in (event.content and event.content.parts) or ()]
        assert texts.count("Well. ") == 1  # the model reads it once


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")
async def test_a_stop_keeps_the_texts_of_all_agents_if_the_worker_dies_then() -> None:
    gated, speaking = GatedWorkers(), asyncio.Barrier(3)

    class Speaker(ScriptedLlm):
        async def generate_content_async(self, *arguments: Any, **options: Any) -> Any:
            async for response in super().generate_content_async(*arguments, **options):
                yield response
                await speaking.wait()
                await asyncio.Event().wait()

    def agent() -> ParallelAgent:
        agents = [LlmAgent(name=name, model=Speaker(turns=[f"By_{name} …"])) for name in ("left", "right")]
        return ParallelAgent(name="root", sub_agents=[*agents])

    async with gated.worker(launched=False, agent=agent()) as worker:
        reading = await worker.say("c1")
        await speaking.wait()
        gated.sessions.stores_ends.clear()
        await worker.service.stop("c1", user_id=USER)
        told = await reading
        await worker.die()
        gated.sessions.stores_ends.set()
    gated.log = MemoryRunLog()
    async with gated.worker(launched=False, agent=agent()) as other:
        log = AsyncMock(return_value=[*map(encode_sse, told)])
        with mock.patch.object(other.service.runs, "written", log):
            await other.service.start()
            await gated.forgotten()
            await other.service.runs.free()
        messages = await other.service.history("c1", user_id=USER)
    assert messages is not None
    parts: list[Any] = [*messages[-1]["parts"]]
    texts = [(part["text"], part["providerMetadata"]["adk"]["author"]) for part in parts if "text" in part]
    assert texts == [("By_left", "left"), ("By_right", "right")]


@pytest.mark.parametrize("loses", ["an event", "its end"])
async def test_a_worker_whose_lease_was_forgotten_does_not_end_the_run_that_another_worker_continues(
    loses: str,
) -> None:
    gated, fails, begun = GatedWorkers(), asyncio.Event(), asyncio.Event()

    class Failing(ScriptedLlm):
        async def generate_content_async(self, *arguments: Any, **options: Any) -> Any:
            async for response in super().generate_content_async(*arguments, **options):
                yield response
            begun.set()
            await fails.wait()
            raise ValueError("The session has been modified in storage since it was loaded.")

    agent = LlmAgent(name="root", model=Failing(turns=["Hello "]))
    async with gated.worker(agent=agent) as first:
        reading = await first.say("c1")
        await soon(begun)
        first.engine.is_paused = True
        gated.log = MemoryRunLog()  # a fail-over forgets the lease
        async with gated.worker() as second:
            await gated.asked_for("c1", 1)
            if loses == "its end":
                first.service.runs.run.stop()
            else:
                fails.set()
            await first.service.runs.free()
            ends = [chunk["type"] for chunk in await reading][-1:]
            assert ends == (["abort"] if loses == "its end" else ["text-end"])
            gated.gate("c1").set()
            await gated.forgotten()
            assert (await second.text("c1")).endswith("c1.")
            session = await gated.sessions.get_session(app_name="root", user_id=USER, session_id="c1")
            assert session is not None
            assert [
                EventMetadata.of(event).outcome for event in session.events if EventMetadata.of(event).outcome
            ] == []


async def test_a_stopped_run_whose_messages_are_not_stored_is_ended_by_one_recovery() -> None:
    """The recovery executes nothing, so the engine still has the execution of the dead worker."""
    gated = GatedWorkers()
    async with gated.worker(launched=False) as worker:
        gated.sessions.stores.clear()
        asking = asyncio.create_task(worker.say("c1"))
        await until(lambda: bool(gated.kept.runs))
        (kept,) = gated.kept.runs.values()
        kept.executions[kept.log_id] = "abort"
        worker.crash()
    with pytest.raises(ChatRequestError):
        _ = await asking
    gated.sessions.error = ConnectionError("dead")  # the event of the dead worker is not stored
    gated.sessions.stores.set()
    await asyncio.sleep(0.01)
    gated.sessions.error = None
    async with gated.worker() as other:
        await gated.forgotten()
        await other.service.runs.free()
