"""Requests of one chat that meet at a bad moment, and readers that come and go."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from stream_protocol import parse_chat_request
from stream_protocol.serving import ServiceLimits, create_app
from stream_protocol.serving.adk_runner import ObservedSessions
from stream_protocol.serving.base._times import DEFAULT_TIMES, ServiceTimes
from stream_protocol.testing import ScriptedLlm, Wait
from stream_protocol.testing._fake_runs import eventually
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import HANG, begin, chat, chunks, client, post, said, soon, stream, types

pytestmark = pytest.mark.usefixtures("patient_clock")


class Gated(InMemorySessionService):
    """A store whose answers wait until ``gate`` is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()

    async def get_session(self, **which: Any) -> Session | None:
        self.asked.set()
        await self.gate.wait()
        return await super().get_session(**which)

    async def delete_session(self, **which: Any) -> None:
        await asyncio.sleep(0.05)
        await super().delete_session(**which)


def service_for(*turns: Any, **options: Any) -> InstrumentedService:
    return InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=list(turns))), **options)


async def test_a_chat_that_is_deleted_several_times_at_once_is_deleted_once() -> None:
    service = service_for("Hello.", session_service=Gated())
    app = create_app(service)
    await stream(app, chat(said("hi")))
    async with client(app) as http:
        answers = await asyncio.gather(*(http.delete("/api/chat/c1") for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [204, 404, 404, 404]
    assert not service.runs.running


async def test_a_request_that_is_stopped_before_its_run_begins_ends_in_abort_for_all_who_sent_it() -> None:
    sessions, told = Gated(), list[str]()
    service = service_for("Never said.", session_service=sessions, on_finish=lambda *how: told.append(how[2].kind))
    app = create_app(service)
    sessions.gate.clear()
    first = asyncio.create_task(post(app, chat(said("hi"))))
    await asyncio.wait_for(sessions.asked.wait(), HANG)
    async with client(app) as http:
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
    second = asyncio.create_task(post(app, chat(said("hi"))))
    await asyncio.sleep(0)
    sessions.gate.set()
    for answer in (await first, await second):
        assert types(chunks(answer.text)) == ["start", "abort"]  # of the run, or of what it has stored
    await service.runs.free()
    assert told == ["abort"]


async def test_a_reader_that_comes_before_the_run_has_begun_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()
    service = service_for(["Half ", Wait(go_on), "and whole."], limits=ServiceLimits(disconnect_grace=0))
    events = await service.respond(parse_chat_request(chat(said("hi"))), user_id="local")
    heard = await anext(events)
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + DEFAULT_TIMES.first_reader + 1)  # its timer would be due
    await asyncio.sleep(0.01)
    go_on.set()
    heard += b"".join([batch async for batch in events])
    assert b'"finish"' in heard
    assert b'"abort"' not in heard


async def test_who_leaves_with_the_whole_response_cancels_nothing() -> None:
    told = list[str]()

    async def store(*how: Any) -> None:
        await asyncio.sleep(0.3)
        told.append(how[2].kind)

    service = service_for(
        "Hello.", limits=ServiceLimits(disconnect_grace=0), on_finish=store, times=ServiceTimes(stop=0.05)
    )
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("finish")
    await service.runs.free()
    assert told == ["finish"]


async def test_a_run_that_has_lost_its_chat_frees_nothing_of_its_successor() -> None:
    """If the run log is lost, as with a killed Redis, a worker has two runs of one chat for a moment."""
    first_ends, second_ends = asyncio.Event(), asyncio.Event()
    service = service_for(["One ", Wait(first_ends)], ["Two ", Wait(second_ends)], on_busy="reject")
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
        service.runs.forget()
        async with begin(app, chat(said("again", "u2"))) as second:
            assert await second.status() == 200
            await second.until("text-delta")
            first_ends.set()
            await first.until("finish")

            async def alone() -> bool:
                return service.runs.running == 1

            await eventually(alone)
            assert (await post(app, chat(said("and a third", "u3")))).status_code == 409
            second_ends.set()
            await second.until("finish")


async def test_a_run_that_ends_while_the_history_is_read_is_in_it() -> None:
    asked, answered, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class SlowAnswers(InMemorySessionService):
        async def get_session(self, **which: Any) -> Session | None:
            session = await super().get_session(**which)
            if "half" in told and not asked.is_set():
                asked.set()
                await soon(answered)
            return session

    told = set[str]()
    told = set[str]()
    service = service_for(["Half ", Wait(go_on), "and whole."], session_service=SlowAnswers())
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        told.add("half")
        history = asyncio.create_task(service.history("c1", user_id="local"))
        await soon(asked)
        go_on.set()
        await service.runs.free()
        answered.set()
        messages = await history
    assert "Half and whole." in str(messages)


class SlowToCommit(InMemorySessionService):
    """A store that refuses an event if the session lacks a stored event, as a database does."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[Event] = []
        self.has_stored, self.answers = asyncio.Event(), asyncio.Event()

    async def append_event(self, session: Session, event: Event) -> Event:
        assert session.events == self.stored, "the session is outdated"
        self.stored.append(event)
        self.has_stored.set()
        await self.answers.wait()
        session.events.append(event)
        return event


async def test_an_event_whose_storing_is_cancelled_does_not_outdate_the_session() -> None:
    """ADK cancels a stopped agent, which may be storing a steering message, and then stores the end itself."""
    store = SlowToCommit()
    session = await store.create_session(app_name="root", user_id="ann", session_id="c1")
    reported: list[Event] = []
    sessions = ObservedSessions(store, lambda *_: None, reported.append)
    storing = asyncio.create_task(sessions.append_event(session, Event(author="user")))
    await soon(store.has_stored)
    storing.cancel()
    ending = asyncio.create_task(sessions.append_event(session, Event(author="root")))
    await asyncio.sleep(0)
    store.answers.set()
    await ending
    assert storing.cancelled()
    assert [event.author for event in session.events] == ["user", "root"]
    assert reported == session.events


async def test_events_keep_their_order_in_a_store_that_sorts_them_by_time(tmp_path: Path) -> None:
    """ADK sets the time of a model's answer before the model call, so before the steering message that it reads."""
    store = SqliteSessionService(str(tmp_path / "chats.db"))
    key: Any = {"app_name": "root", "user_id": "ann", "session_id": "c1"}
    session = await store.create_session(**key)
    sessions = ObservedSessions(store, lambda *_: None, lambda _: None)
    answer = Event(author="root")
    message = Event(author="user", timestamp=answer.timestamp + 0.5)
    for event in (message, answer):
        await sessions.append_event(session, event)
    reloaded = await store.get_session(**key)
    assert reloaded is not None
    assert [event.author for event in reloaded.events] == ["user", "root"]


async def test_a_store_that_does_not_answer_is_left_at_the_second_cancellation() -> None:
    store = SlowToCommit()
    session = await store.create_session(app_name="root", user_id="ann", session_id="c1")
    storing = asyncio.create_task(
        ObservedSessions(store, lambda *_: None, lambda _: None).append_event(session, Event(author="user"))
    )
    await soon(store.has_stored)
    for _ in range(2):
        storing.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(storing, HANG)
    assert session.events == []
