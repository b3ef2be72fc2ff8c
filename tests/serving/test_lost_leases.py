"""A worker that has lost the lease of a run which another worker can take up."""

import asyncio
import logging
from functools import partial
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.genai.types import UserContent

from stream_protocol.serving import MemoryRunLog, create_app
from stream_protocol.serving.engine import RunRecord
from stream_protocol.serving.run_logs import Lease, RunHandle
from stream_protocol.session.transcript import EventMetadata, update_metadata
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import ChatRequestError, parse_chat_request
from stream_protocol.wire.client import parse_sse
from tests.serving.fake_engine import FakeEngine
from tests.serving.instrumented import InstrumentedLease, InstrumentedService
from tests.serving.support import begin, chat, said, soon


async def test_it_stores_nothing_about_the_calls_that_another_worker_goes_on_with() -> None:
    async def dig() -> str:
        """Digs for ever."""
        await asyncio.Event().wait()
        return "dug"

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Call("dig", {})]]), tools=[dig])
    service = InstrumentedService(agent, engine=FakeEngine())
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        assert await exchange.status() == 200
        await exchange.until("tool-input-available")
        service.runs.run.lease_lost()
        await service.runs.free()
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert [event.author for event in session.events] == ["user", "root"]
    assert session.events[-1].get_function_calls()


class LosingLease:
    """``lease``, until it is lost. The loss is only found by a query."""

    def __init__(self, lease: Lease, owner: RunHandle) -> None:
        self.is_lost = False
        self.run_id = lease.run_id
        self.newest_stop = lease.newest_stop
        self.read_elsewhere = False
        self.open = lease.open
        self.release = lease.release
        self._owner = owner

    @property
    def held(self) -> bool:
        return not self.is_lost

    async def confirm(self) -> bool:
        if self.is_lost:
            self._owner.lease_lost()
        return not self.is_lost


class LosingLog(MemoryRunLog):
    lease: LosingLease

    async def claim(self, chat: str, request: str, owner: RunHandle) -> Any:
        self.lease = LosingLease(await super().claim(chat, request, owner), owner)
        return self.lease


class Sessions(InMemorySessionService):
    error: Exception | None = None

    async def append_event(self, session: Session, event: Event) -> Event:
        if self.error is not None:
            raise self.error
        return await super().append_event(session, event)


async def test_a_store_that_refuses_what_it_appends_then_does_not_end_the_response(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate, sessions, log = asyncio.Event(), Sessions(), LosingLog()

    async def dig() -> str:
        """Digs until the worker wakes up."""
        await gate.wait()
        return "dug"

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Call("dig", {})]]), tools=[dig])
    service = InstrumentedService(agent, session_service=sessions, run_log=log, engine=FakeEngine())
    response = await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    read: list[bytes] = []
    async for piece in response:
        read.append(piece)
        if b"tool-input-available" in piece:
            log.lease.is_lost = True  # the worker was paused, and another one goes on with the run
            sessions.error = ValueError("The session has been modified in storage since it was loaded.")
            gate.set()
    assert {chunk["type"] for chunk in parse_sse(b"".join(read))} & {"error", "abort", "finish"} == set()
    await service.runs.free()
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_worker_that_was_paused_while_it_read_the_session_stores_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Paused(InMemorySessionService):
        def __init__(self) -> None:
            super().__init__()
            self.is_asked, self.answers = asyncio.Event(), asyncio.Event()
            self.answers.set()

        async def get_session(self, **key: Any) -> Session | None:
            found = await super().get_session(**key)
            if not self.answers.is_set():
                self.is_asked.set()
                await self.answers.wait()
            return found

    async def is_lost(_lease: InstrumentedLease) -> bool:
        return False

    sessions = Paused()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Wait(3600)]]))
    service = InstrumentedService(agent, session_service=sessions, engine=FakeEngine())
    events = await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    while b"text-delta" not in await anext(events):
        pass
    sessions.answers.clear()
    service.runs.run.stop()
    await soon(sessions.is_asked)
    monkeypatch.setattr(InstrumentedLease, "held", False)
    monkeypatch.setattr(InstrumentedLease, "confirm", is_lost)
    sessions.answers.set()
    await service.runs.free()
    session = await sessions.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert [EventMetadata.of(event).outcome for event in session.events] == [None, None]


async def test_a_run_stores_no_end_after_the_message_of_a_later_run() -> None:
    """A fail-over has forgotten the lease of the first run, whose worker does not know of it yet."""
    sessions = InMemorySessionService()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Well. ", Wait(3600)]]))
    service = InstrumentedService(agent, session_service=sessions)
    find = partial(sessions.get_session, app_name="root", user_id="local", session_id="c1")
    events = await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    while b"text-delta" not in await anext(events):
        pass
    session = await find()
    assert session is not None
    later = Event(author="user", invocation_id="later", content=UserContent("And?"))
    update_metadata(later, idempotency_key="later")
    await sessions.append_event(session, later)
    service.runs.run.stop()
    await service.runs.free()
    session = await find()
    assert session is not None
    assert {EventMetadata.of(event).outcome for event in session.events} == {None}


@pytest.mark.parametrize(
    "stored",
    [{"record": "other"}, {"idempotency_key": "another request"}, {"idempotency_key": None, "execution": "other"}],
    ids=["equal request", "another request", "another execution"],
)
async def test_a_run_stores_no_message_if_another_run_has_stored_one_since_its_plan(stored: dict[str, Any]) -> None:
    """A fail-over has forgotten the lease of the other run, so both runs hold the chat."""
    sessions = InMemorySessionService()
    find = partial(sessions.get_session, app_name="root", user_id="local", session_id="c1")

    class Slow(FakeEngine):
        async def execute(self, record: RunRecord, *others: Any) -> None:
            session = await find()
            assert session is not None
            other = Event(author="user", invocation_id="other", content=UserContent("hi"))
            update_metadata(other, **{"idempotency_key": record.idempotency_key, **stored})
            await sessions.append_event(session, other)
            await super().execute(record, *others)

    model = ScriptedLlm(turns=["Hi."])
    service = InstrumentedService(LlmAgent(name="root", model=model), session_service=sessions, engine=Slow())
    with pytest.raises(ChatRequestError) as refused:
        await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    assert refused.value.status == 503
    await service.runs.free()
    session = await find()
    assert session is not None
    assert [event.invocation_id for event in session.events] == ["other"]


async def test_the_log_tells_why_a_run_stores_no_message(caplog: pytest.LogCaptureFixture) -> None:
    class Sessions(InMemorySessionService):
        """Another run stores a message before ADK reads the session."""

        async def get_session(self, **of: Any) -> Session | None:
            session = await super().get_session(**of)
            if session is not None and not session.events:
                other = Event(author="user", invocation_id="other", content=UserContent("And?"))
                update_metadata(other, idempotency_key="other")
                await self.append_event(session, other)
            return await super().get_session(**of)

    model = ScriptedLlm(turns=["Hi."])
    service = InstrumentedService(LlmAgent(name="root", model=model), session_service=Sessions())
    with pytest.raises(ChatRequestError):
        await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    await service.runs.free()
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("stream_protocol")]
    assert "another run has stored a message in this chat" in line


async def test_a_request_that_has_lost_the_chat_meanwhile_rewinds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def is_lost(_lease: InstrumentedLease) -> bool:
        return False

    service = InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=["One.", "Two."])))
    async for _ in await service.respond(parse_chat_request(chat(said("hi"))), user_id="local"):
        pass
    await service.runs.free()
    with monkeypatch.context() as paused:
        paused.setattr(InstrumentedLease, "held", False)
        paused.setattr(InstrumentedLease, "confirm", is_lost)
        with pytest.raises(ChatRequestError) as refused:
            await service.respond(parse_chat_request(chat(said("hi"), trigger="regenerate-message")), user_id="local")
    assert refused.value.status == 503
    messages = await service.history("c1", user_id="local")
    assert messages is not None
    assert [part.get("text") for part in messages[-1]["parts"] if "text" in part] == ["One."]


async def test_a_deletion_that_has_lost_the_chat_meanwhile_deletes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def is_lost(_lease: InstrumentedLease) -> bool:
        return False

    service = InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."])))
    async for _ in await service.respond(parse_chat_request(chat(said("hi"))), user_id="local"):
        pass
    await service.runs.free()
    with monkeypatch.context() as paused:
        paused.setattr(InstrumentedLease, "held", False)
        paused.setattr(InstrumentedLease, "confirm", is_lost)
        with pytest.raises(ChatRequestError) as refused:
            await service.delete("c1", user_id="local")
    assert refused.value.status == 503
    assert await service.has_chat("c1", user_id="local")
    await service.delete("c1", user_id="local")
    assert not await service.has_chat("c1", user_id="local")
