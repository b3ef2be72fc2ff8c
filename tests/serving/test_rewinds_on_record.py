"""A message that is sent again, edited or regenerated: its chat is rewound only when the engine has stored its run."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import ChatRequestError, parse_chat_request
from tests.serving.fake_engine import FakeEngine
from tests.serving.instrumented import InstrumentedService
from tests.serving.keeping_engine import StoredRuns
from tests.serving.support import chat, post, said, stream, text
from tests.serving.test_orphaned_runs import USER, GatedWorkers, Worker, read

pytestmark = pytest.mark.usefixtures("patient_clock")

REGENERATED = chat(said("hi"), trigger="regenerate-message")
EDITED = chat(said("ho"), messageId="u1")


class Refusing(FakeEngine):
    """It stores no run while ``refuses``."""

    refuses = False

    async def execute(self, *given: Any) -> None:
        if self.refuses:
            raise sqlite3.OperationalError("attempt to write a readonly database")
        await super().execute(*given)


async def words(service: ChatService, user_id: str = "local") -> list[str]:
    """The texts of the chat, as a reload shows them."""
    messages: Any = await service.history("c1", user_id=user_id)
    assert messages is not None
    return [str(part["text"]) for message in messages for part in message["parts"] if "text" in part]


@pytest.mark.parametrize("again", [REGENERATED, EDITED], ids=["regenerated", "edited"])
async def test_a_chat_keeps_its_messages_if_the_engine_cannot_record_the_run(again: dict[str, Any]) -> None:
    engine = Refusing()
    service = ChatService(
        LlmAgent(name="root", model=ScriptedLlm(turns=["One.", "Two."])),
        session_service=InMemorySessionService(),
        engine=engine,
    )
    app = create_app(service)
    assert text(await stream(app, chat(said("hi")))) == "One."
    engine.refuses = True
    assert (await post(app, again)).status_code == 503
    engine.refuses = False
    assert await words(service) == ["hi", "One."]
    assert text(await stream(app, again)) == "Two."


async def test_a_stopped_message_is_kept_if_the_engine_cannot_record_its_repetition() -> None:
    engine, never = Refusing(), asyncio.Event()
    model = ScriptedLlm(turns=[["One", Wait(never)], "Two."])
    service = InstrumentedService(
        LlmAgent(name="root", model=model),
        session_service=InMemorySessionService(),
        engine=engine,
        times=ServiceTimes(stop=0.01),
    )
    app = create_app(service)
    events: Any = await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    async with aclosing(events):
        async for event in events:
            if b"One" in event:
                await service.stop("c1", user_id="local")
    await service.runs.free()
    engine.refuses = True
    assert (await post(app, chat(said("hi")))).status_code == 503
    assert await words(service) == ["hi", "One"]
    engine.refuses = False
    assert text(await stream(app, chat(said("hi")))) == "Two."


class Dying(InMemorySessionService):
    """Its worker dies when it has stored so many more events."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.died = asyncio.Event()

    async def append_event(self, session: Session, event: Event) -> Event:
        if self.left == 0:
            self.died.set()
            await asyncio.Event().wait()
        if self.left is not None:
            self.left -= 1
        return await super().append_event(session, event)


class DyingWorkers(GatedWorkers):
    def __init__(self) -> None:
        super().__init__()
        self.sessions: Any = Dying()
        self.kept = StoredRuns()


def paying() -> LlmAgent:
    def respond(request: Any) -> Any:
        said_last = "".join(part.text or "" for part in request.contents[-1].parts or [])
        return Call("pay", {"amount": 1}) if said_last == "pay" else f"Reply to {said_last}."

    def pay(amount: int) -> None:
        """Pays."""
        raise AssertionError("nobody has approved it")

    return LlmAgent(
        name="root", model=ScriptedLlm(respond=respond), tools=[FunctionTool(pay, require_confirmation=True)]
    )


async def ask(worker: Worker, body: dict[str, Any]) -> list[Any]:
    return await read(await worker.service.respond(parse_chat_request(body), user_id=USER))


async def die_during(request: Coroutine[Any, Any, object], worker: Worker, workers: DyingWorkers, stored: int) -> None:
    """Let the worker die during the request, after it has stored this many events. A shorter request ends first."""
    workers.sessions.left = stored
    asking, dying = asyncio.create_task(request), asyncio.create_task(workers.sessions.died.wait())
    await asyncio.wait({asking, dying}, return_when=asyncio.FIRST_COMPLETED)
    await worker.die()
    await asyncio.gather(asking, return_exceptions=True)
    dying.cancel()
    workers.sessions.left = None


@pytest.mark.parametrize("stored", range(7))
async def test_a_worker_that_dies_while_it_rewinds_a_chat_loses_no_message(stored: int) -> None:
    """The chat has either its earlier message, or the message that replaces it, with its reply."""
    workers = DyingWorkers()
    async with workers.worker(agent=paying()) as worker:
        await ask(worker, chat(said("pay"), chat_id="c1"))
        await ask(worker, chat(said("hi", "u2"), chat_id="c1"))
        edited = chat(said("ho", "u2"), chat_id="c1", messageId="u2")
        await die_during(ask(worker, edited), worker, workers, stored)
    async with workers.worker(agent=paying()) as worker:
        await workers.forgotten()
        await worker.service.runs.free()
        found = await words(worker.service, USER)
        assert found in (["pay", "hi", "Reply to hi."], ["pay", "ho", "Reply to ho."])
        await ask(worker, edited)
        assert await words(worker.service, USER) == ["pay", "ho", "Reply to ho."]


@pytest.mark.parametrize("stored", range(5))
async def test_answers_that_come_with_a_message_are_stored_by_the_next_worker(stored: int) -> None:
    workers = DyingWorkers()
    async with workers.worker(agent=paying()) as worker:
        await ask(worker, chat(said("pay"), chat_id="c1"))
        messages: Any = await worker.service.history("c1", user_id=USER)
        (card,) = [part for part in messages[-1]["parts"] if part.get("state") == "approval-requested"]
        card |= {"state": "approval-responded", "approval": {**card["approval"], "approved": False, "reason": "no"}}
        body = chat(*messages, said("hi", "u2"), chat_id="c1")
        await die_during(ask(worker, body), worker, workers, stored)
    agent = paying()
    model: Any = agent.model
    async with workers.worker(agent=agent) as worker:
        await workers.forgotten()
        await worker.service.runs.free()
        for request in model.requests:
            read_parts = [part for content in request.contents for part in content.parts or []]
            assert [part.function_response.name for part in read_parts if part.function_response] == ["pay"]
        history: Any = await worker.service.history("c1", user_id=USER)
        assert [part["text"] for message in history for part in message["parts"] if "text" in part][-1] == (
            "Reply to hi."
        )
        (call,) = [part for message in history for part in message["parts"] if "toolCallId" in part]
        assert (call["state"], call["approval"].get("reason")) == ("output-denied", "no")


async def test_a_repetition_whose_message_cannot_be_stored_after_its_rewind_is_continued_later() -> None:
    """The session store fails between the rewind and the message: the request is refused, and its run is left."""

    class Failing(InMemorySessionService):
        is_away = False

        async def append_event(self, session: Session, event: Event) -> Event:
            if self.is_away and event.content is not None:
                raise ConnectionError("away")
            return await super().append_event(session, event)

    workers = GatedWorkers()
    sessions: Any = Failing()
    workers.sessions = sessions
    async with workers.worker(agent=paying()) as worker:
        await ask(worker, chat(said("hi"), chat_id="c1"))
        sessions.is_away = True
        with pytest.raises(ChatRequestError) as refused:
            await ask(worker, EDITED)
        assert refused.value.status == 503
        sessions.is_away = False
        await workers.forgotten()
        await worker.service.runs.free()
        assert await words(worker.service, USER) == ["ho", "Reply to ho."]
