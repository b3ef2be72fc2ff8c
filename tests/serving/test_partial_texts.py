"""Partial texts that clients have received from dead workers. Each text stays in the chat, where it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService

from stream_protocol.serving import MemoryRunLog
from stream_protocol.serving.base._tasks import cancel_and_wait
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.engine import RunRecord
from stream_protocol.testing import Call, ScriptedLlm, Turn, Wait
from stream_protocol.wire import parse_chat_request
from stream_protocol.wire.client import parse_sse, reduce_chunks
from tests.serving.instrumented import InstrumentedService
from tests.serving.keeping_engine import Execution, KeepingEngine, StoredRuns
from tests.serving.support import HANG, chat, said, soon

pytestmark = pytest.mark.usefixtures("patient_clock")

USER = "ann"


class Deployment:
    """Workers that die one after the other. They share all stores, and the logs of the dead workers."""

    def __init__(self) -> None:
        self.sessions = InMemorySessionService()
        self.runs = StoredRuns()
        self.logs: dict[str, list[bytes]] = {}
        """Run id -> SSE events, for the runs of dead workers."""
        self.stored_calls = 0
        """The number of model calls whose results the engine has stored."""
        self.beginning = "Step "
        """The beginning of the second reply, after which its model waits."""
        self.services: list[InstrumentedService] = []

    @asynccontextmanager
    async def worker(self, *, holds: bool = False) -> AsyncIterator[Worker]:
        """A worker that dies at the end of the block. ``holds``: its runs wait before their first model call."""
        worker = Worker(self, holds=holds)
        self.services.append(worker.service)
        await worker.service.start()
        try:
            yield worker
        finally:
            worker.die()


@pytest.fixture
async def deployment() -> AsyncIterator[Deployment]:
    made = Deployment()
    yield made
    for service in made.services:
        await cancel_and_wait(service._context.tasks)  # noqa: SLF001 - the end of a process has no method
        await service.aclose()


class Journal(KeepingEngine):
    """Engine that stores the number of model calls. The scripted model repeats the results."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__(deployment.runs)
        self._deployment = deployment
        self.asked = 0

    async def execute_again(
        self,
        record: RunRecord,
        runner: Runner,
        log_id: str,
        work: Callable[[Any], Awaitable[None]],
        *,
        alone: bool = False,
    ) -> None:
        async def repeat(execution: Execution) -> None:
            self.execution = execution
            execution.is_live = False
            execution.repeats_model_call = self._repeats_model_call  # type: ignore[method-assign]
            await work(execution)

        await super().execute_again(record, runner, log_id, repeat, alone=alone)

    def ask(self) -> bool:
        """Count a model call. Returns True if its result is stored."""
        self.asked += 1
        is_stored = self.asked <= self._deployment.stored_calls
        if not is_stored and self._executed and hasattr(self, "execution"):
            self.execution.is_live = True
        return is_stored

    async def _repeats_model_call(self, _agent: str, _branch: str | None) -> bool:
        return self.asked < self._deployment.stored_calls


class Worker:
    def __init__(self, deployment: Deployment, *, holds: bool) -> None:
        self.held, self.continues, self.may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()
        if not holds:
            self.continues.set()
        self.prompts: list[list[str]] = []
        self.engine = Journal(deployment)
        self._deployment = deployment
        self.service = InstrumentedService(
            LlmAgent(
                name="root",
                model=ScriptedLlm(respond=self._respond),
                tools=[self.note],
                before_agent_callback=self._hold,
            ),
            session_service=deployment.sessions,
            run_log=Logs(deployment),
            engine=self.engine,
            times=ServiceTimes(look=0.01, forgetting=0.01),
        )

    async def note(self) -> str:
        """Writes a note."""
        return "noted"

    async def say(self, text: str) -> None:
        """Send a message, and leave."""
        events = await self.service.respond(parse_chat_request(chat(said(text))), user_id=USER)
        self.reading = asyncio.create_task(read(events))

    async def resume(self) -> asyncio.Task[list[Any]]:
        """Return the reader of the recovered response."""
        events = await self.service.resume("c1", user_id=USER)
        assert events is not None
        return asyncio.create_task(read(events))

    async def steer(self, text: str) -> None:
        request = parse_chat_request({"id": "c1", "message": said(text, "s1")})
        assert (await self.service.steer(request, user_id=USER))["type"] == "delivered"

    async def shows(self, text: str) -> None:
        """Wait until this is the last text of the response."""
        async with asyncio.timeout(HANG):
            while self._texts()[-1:] != [text]:  # noqa: ASYNC110 - in the log
                await asyncio.sleep(0.001)

    async def ended(self) -> None:
        """Wait until no run is stored."""
        self.may_end.set()
        async with asyncio.timeout(HANG):
            while self._deployment.runs.runs:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.001)
        await self.service.runs.free()

    async def history(self) -> list[str]:
        """Return the outline of the last message."""
        messages = await self.service.history("c1", user_id=USER)
        assert messages is not None
        return outline(messages[-1])

    def die(self) -> None:
        """The log of the run stays, and nothing more is stored."""
        self.engine.is_dead = self.engine.is_paused = True
        if self.service.runs.running:
            run: Any = self.service.runs.run
            self._deployment.logs[run.id] = [*run.log.events()]

    def _texts(self) -> list[str]:
        run: Any = self.service.runs.run
        message: Any = reduce_chunks(list(parse_sse([*run.log.events()])))
        return [part["text"] for part in message["parts"] if part["type"] == "text"]

    async def _hold(self, callback_context: Any) -> None:
        self.held.set()
        await self.continues.wait()

    def _respond(self, request: LlmRequest) -> Turn:
        parts = [part for content in request.contents for part in content.parts or []]
        self.prompts.append([part.text for part in parts if part.text])
        results = sum(part.function_response is not None for part in parts)
        waits = [] if self.engine.ask() else [Wait(self.may_end)]
        if any(part.text == "Say hi." for part in parts):
            return ["Hi ", *waits, "there."]
        turns: list[Turn] = [
            ["Step 0 taken. ", Call("note", {})],
            [self._deployment.beginning, *waits, "1 taken. ", Call("note", {})],
            ["Home."],
        ]
        return turns[results]


class Logs(MemoryRunLog):
    """Run log of one worker, with the logs of dead workers."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__()
        self._logs = deployment.logs

    async def written(self, chat: str, run_id: str) -> list[bytes]:
        return self._logs.get(run_id, [])


async def read(events: AsyncIterator[bytes]) -> list[Any]:
    return [dict(chunk) for chunk in parse_sse([piece async for piece in events])]


def outline(message: Any) -> list[str]:
    """Return the texts of a message, and the types of its other parts."""
    return [part.get("text", part["type"]) for part in message["parts"] if part["type"] != "step-start"]


async def die_in_second_reply(deployment: Deployment, beginning: str) -> None:
    """Let a worker die after it has shown the beginning of the second reply. The engine has the first reply."""
    deployment.beginning = beginning
    deployment.stored_calls = 1
    async with deployment.worker() as first:
        await first.say("Walk.")
        await first.shows(beginning)


BEGINNINGS = ["Step ", "Well, "]
"""Beginnings of the second reply. The first one is also the beginning of the first reply."""


@pytest.mark.parametrize("beginning", BEGINNINGS)
async def test_a_steering_message_after_the_death_of_the_worker_stands_after_the_partial_text(
    deployment: Deployment, beginning: str
) -> None:
    """The recovered run reads the message in the model call that has shown the text."""
    await die_in_second_reply(deployment, beginning)
    async with deployment.worker(holds=True) as second:
        await soon(second.held)
        await second.steer("Say hi.")
        reading = await second.resume()
        second.continues.set()
        await second.shows("Hi ")
    parts = ["Step 0 taken. ", "tool-note", beginning, "data-adk-steering"]
    async with deployment.worker(holds=True) as third:
        await soon(third.held)
        reading = await third.resume()
        third.continues.set()
        await third.ended()
        assert outline(reduce_chunks(await reading)) == [*parts, "Hi ", "Hi there."]
        assert await third.history() == [*parts, "Hi ", "Hi there."]
        assert third.prompts[-1].count("Say hi.") == 1


@pytest.mark.parametrize("beginning", BEGINNINGS)
async def test_a_partial_text_survives_a_worker_that_dies_before_it_shows_the_text_again(
    deployment: Deployment, beginning: str
) -> None:
    await die_in_second_reply(deployment, beginning)
    async with deployment.worker(holds=True) as second:
        await soon(second.held)
    async with deployment.worker(holds=True) as third:
        await soon(third.held)
        reading = await third.resume()
        third.continues.set()
        await third.ended()
        parts = ["Step 0 taken. ", "tool-note", beginning, f"{beginning}1 taken. ", "tool-note", "Home."]
        assert outline(reduce_chunks(await reading)) == parts
        assert await third.history() == parts


async def test_a_steering_message_waits_while_the_result_of_the_next_model_call_is_stored(
    deployment: Deployment,
) -> None:
    """The worker died between the two stores: the engine has the result, and the session lacks its event."""
    deployment.stored_calls = 1
    async with deployment.worker() as first:
        await first.say("Walk.")
        await first.shows("Step ")
    deployment.stored_calls = 2
    async with deployment.worker(holds=True) as second:
        await soon(second.held)
        await second.steer("Say hi.")
        second.continues.set()
        await second.ended()
        parts = ["Step 0 taken. ", "tool-note", "Step 1 taken. ", "tool-note", "data-adk-steering", "Hi there."]
        assert await second.history() == parts
