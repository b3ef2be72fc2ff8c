"""A message that is sent again, edited or regenerated: its chat is rewound only when the engine has stored its run."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.engine import RunRecord
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
    """Its worker dies when it has stored so many more events. If ``hangs``, no further event is stored before that."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.hangs = True
        self.died = asyncio.Event()

    async def append_event(self, session: Session, event: Event) -> Event:
        if self.left == 0:
            self.died.set()
            if self.hangs:
                await asyncio.Event().wait()
            self.left = None
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


async def die_during(
    request: Coroutine[Any, Any, object], worker: Worker, workers: DyingWorkers, stored: int, steps: int = 0
) -> None:
    """Let the worker die during the request, after it has stored this many events. A shorter request ends first.

    ``steps``: the worker goes on for so many steps of the event loop before it dies.
    """
    workers.sessions.left, workers.sessions.hangs = stored, not steps
    asking, dying = asyncio.create_task(request), asyncio.create_task(workers.sessions.died.wait())
    await asyncio.wait({asking, dying}, return_when=asyncio.FIRST_COMPLETED)
    for _ in range(steps):
        await asyncio.sleep(0)
    workers.sessions.left, workers.sessions.hangs = 0, True  # the dead worker stores nothing more
    await worker.die()
    await asyncio.gather(asking, return_exceptions=True)
    dying.cancel()
    workers.sessions.left = None


class Replaced:
    """A chat whose second message is replaced: by an edit, or by a shorter history."""

    def __init__(self, kind: str, workers: DyingWorkers) -> None:
        self._workers = workers
        self._options: dict[str, Any] = {} if kind == "edited" else {"truncated_history": "rewind"}
        self._body = (
            chat(said("ho", "u2"), chat_id="c1", messageId="u2")
            if kind == "edited"
            else chat(said("pay"), said("ho", "u3"), chat_id="c1")
        )

    async def replace(self, die: Callable[[Coroutine[Any, Any, object], Worker], Coroutine[Any, Any, None]]) -> None:
        """Replace the message. ``die``: lets the worker die while it handles the request."""
        async with self._workers.worker(agent=paying(), **self._options) as worker:
            await ask(worker, chat(said("pay"), chat_id="c1"))
            await ask(worker, chat(said("pay"), said("hi", "u2"), chat_id="c1"))
            await die(ask(worker, self._body), worker)

    async def check(self) -> None:
        """Check that the next worker finds the earlier message, or the message that replaces it, with its reply."""
        agent = paying()
        async with self._workers.worker(agent=agent, **self._options) as worker:
            await self._workers.forgotten()
            await worker.service.runs.free()
            found = await words(worker.service, USER)
            assert found in (["pay", "hi", "Reply to hi."], ["pay", "ho", "Reply to ho."])
            await ask(worker, self._body)
            assert await words(worker.service, USER) == ["pay", "ho", "Reply to ho."]
        model: Any = agent.model
        prompts = [[part.text for content in each.contents for part in content.parts or []] for each in model.requests]
        assert not any("Reply to hi." in prompt for prompt in prompts)


@pytest.mark.parametrize("kind", ["edited", "truncated"])
@pytest.mark.parametrize("stored", range(7))
async def test_a_worker_that_dies_while_it_rewinds_a_chat_loses_no_message(stored: int, kind: str) -> None:
    workers = DyingWorkers()
    replaced = Replaced(kind, workers)
    await replaced.replace(lambda request, worker: die_during(request, worker, workers, stored))
    await replaced.check()


@pytest.mark.parametrize("kind", ["edited", "truncated"])
@pytest.mark.parametrize("seed", range(5))
async def test_a_worker_that_dies_at_a_random_moment_of_a_rewind_loses_no_message(seed: int, kind: str) -> None:
    """The worker dies between two steps of the event loop, not only between two stored events."""
    workers = DyingWorkers()
    replaced = Replaced(kind, workers)
    draw = random.Random(f"{kind} {seed}")
    stored, steps = draw.randrange(5), draw.randrange(1, 12)
    await replaced.replace(lambda request, worker: die_during(request, worker, workers, stored, steps))
    await replaced.check()


@pytest.mark.parametrize("stored", range(3))
async def test_a_run_of_an_older_release_that_rewinds_is_recovered(stored: int) -> None:
    """Its record does not contain the rewind."""
    workers = DyingWorkers()
    replaced = Replaced("edited", workers)
    await replaced.replace(lambda request, worker: die_during(request, worker, workers, stored))
    assert workers.kept.runs
    for kept in workers.kept.runs.values():
        stored_record = kept.record.to_json()
        assert stored_record.pop("rewind_before") is not None
        older = RunRecord.from_json(stored_record)
        assert older is not None
        kept.record = older
    await replaced.check()


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
