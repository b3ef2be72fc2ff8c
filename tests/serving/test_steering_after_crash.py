"""Steering messages of runs whose worker dies: nothing that was delivered is lost, and nothing is answered twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.sessions import InMemorySessionService

from stream_protocol.serving.base import NO_OVERRIDES
from stream_protocol.serving.base._tasks import cancel_and_wait
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.requests._context import begin_turn
from stream_protocol.serving.runs._steering_posts import NextTurn
from stream_protocol.testing import Call, Wait
from tests.serving.keeping_engine import KeepingEngine, StoredRuns
from tests.serving.steering import SteeredApp
from tests.serving.support import HANG, begin, chat, only, said, soon, stream, text

pytestmark = pytest.mark.usefixtures("patient_clock")

DELIVERED = {"type": "delivered", "id": "s1"}


class Stores:
    """The stores of a deployment, which outlive its workers."""

    def __init__(self) -> None:
        self.sessions, self.runs = InMemorySessionService(), StoredRuns()
        self.engines: list[KeepingEngine] = []
        self.workers: list[SteeredApp] = []

    def worker(self, *turns: Any, engine: bool = True, **options: Any) -> SteeredApp:
        """A worker with a run log of its own: the lease of the one before has expired. That one does nothing more."""
        for dead in self.engines:
            dead.is_dead = dead.is_paused = True
        if engine:
            self.engines.append(KeepingEngine(self.runs))
            options["engine"] = self.engines[-1]
        times = ServiceTimes(look=0.01, forgetting=0.01)
        self.workers.append(SteeredApp(*turns, session_service=self.sessions, times=times, **options))
        return self.workers[-1]

    async def recovered(self) -> SteeredApp:
        """The newest worker, which has recovered all runs."""
        worker = self.workers[-1]
        worker.may_end.set()
        await worker.service.start()
        async with asyncio.timeout(HANG):
            while self.runs.runs:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.01)
        await worker.service.runs.free()
        return worker


@pytest.fixture
async def stores() -> AsyncIterator[Stores]:
    made = Stores()
    yield made
    for worker in made.workers:
        await cancel_and_wait(worker.service._context.tasks)  # noqa: SLF001 - the end of a process has no method
        await worker.service.aclose()


async def test_without_an_engine_the_next_run_reads_the_message(stores: Stores) -> None:
    first = stores.worker(Call("dig", {}), "Never.", engine=False)
    async with begin(first.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(first.digging)
        assert await first.steer("Stop at one.") == DELIVERED
    second = stores.worker("Both.", engine=False)
    user = (await second.history())[-1]
    assert (user["id"], user["role"], user["parts"]) == ("s1", "user", said("Stop at one.")["parts"])
    assert await second.steer("Stop at one.") == DELIVERED
    assert text(await stream(second.app, chat(said("Well?", "u2")))) == "Both."
    assert second.model.read[0][-2:] == ["Well?", "Stop at one."]
    assert [message["id"] for message in await second.history() if message["role"] == "user"] == ["u1", "u2"]


async def test_a_recovered_run_takes_in_what_the_dead_worker_has_accepted(stores: Stores) -> None:
    first = stores.worker(Call("dig", {}), "Never.")
    async with begin(first.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(first.digging)
        assert await first.steer("Stop at one.") == DELIVERED
    second = stores.worker(Call("dig", {}), "Dug one.")
    await stores.recovered()
    assert second.model.read[-1][-1] == "Stop at one."
    assert [read.count("Stop at one.") for read in second.model.read] == [0, 1]
    history = await second.history()
    assert [message["role"] for message in history] == ["user", "assistant"]
    assert len(only(history[1]["parts"], "data-adk-steering")) == 1


async def test_a_recovered_run_takes_in_again_what_was_taken_in_and_stores_it_once(stores: Stores) -> None:
    first = stores.worker(Call("dig", {}), ["Dug ", Wait(3600), "one."])
    async with begin(first.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(first.digging)
        assert await first.steer("Stop at one.") == DELIVERED
        first.may_end.set()
        await answer.until("data-adk-steering")
        await answer.until("text-delta")
    second = stores.worker(Call("dig", {}), "Dug one.")
    await stores.recovered()
    stored = [event for event in await second.stored() if "Stop at one." in str(event.content)]
    assert len(stored) == 1
    assert second.model.read[-1].count("Stop at one.") == 1
    history = await second.history()
    assert len(only(history[1]["parts"], "data-adk-steering")) == 1
    assert await second.steer("Stop at one.") == DELIVERED


async def test_a_message_that_came_too_late_does_not_interrupt_the_run_of_a_newer_message() -> None:
    """The newer run has begun between the two: it reads the message."""
    may_end = asyncio.Event()
    app = SteeredApp(["One ", Wait(may_end), "two."])
    async with begin(app.app, chat(said("Count."))) as answer:
        assert await answer.status() == 200
        await answer.until("text-delta")
        turn = NextTurn(message=said("Late.", "s1"), context=None, overrides=NO_OVERRIDES, since_stop="")
        begin_turn(app.service._context, ("local", "c1"), turn)  # noqa: SLF001 - as a run that has just ended does
        await asyncio.sleep(0.05)
        may_end.set()
        assert (await answer.until("finish"))["finishReason"] == "stop"
    await app.service.drain()
    await app.service.aclose()
