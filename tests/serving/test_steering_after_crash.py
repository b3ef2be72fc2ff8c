"""Steering messages of runs whose worker dies: nothing that was delivered is lost, and nothing is answered twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService

from stream_protocol.serving.base import NO_OVERRIDES
from stream_protocol.serving.base._tasks import cancel_and_wait
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.chats import rewind_session
from stream_protocol.serving.requests._chat_reads import claim_chat
from stream_protocol.serving.requests._context import begin_turn
from stream_protocol.serving.runs._steering_posts import NextTurn
from stream_protocol.session.transcript import AcceptedMessage, update_metadata
from stream_protocol.testing import Call, Wait
from tests.serving.keeping_engine import KeepingEngine, StoredRuns
from tests.serving.steering import SteeredApp, folded, rest
from tests.serving.support import HANG, begin, chat, client, only, said, soon, stream, text

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


async def left_unread(stores: Stores, *turns: Any) -> SteeredApp:
    """The next worker, without an engine, of a chat with two steering messages that no model call has read."""
    first = stores.worker(Call("dig", {}), "Never.", engine=False)
    async with begin(first.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(first.digging)
        for number, text_ in enumerate(("Stop at one.", "Or at two."), 1):
            assert (await first.steer(text_, f"s{number}"))["type"] == "delivered"
    return stores.worker(*turns, engine=False)


def edit(message_id: str, words: str, *before: Any) -> dict[str, Any]:
    return chat(*before, said(words, message_id), messageId=message_id, trigger="submit-message")


async def test_an_unread_message_is_edited_and_the_one_after_it_is_not_lost(stores: Stores) -> None:
    worker = await left_unread(stores, "Three.", "On.")
    assert [message["id"] for message in await worker.history()][-2:] == ["s1", "s2"]
    response = await stream(worker.app, edit("s1", "Stop at three.", said("Dig.")))
    assert text(response) == "Three."
    assert worker.model.read[0][-2:] == ["Stop at three.", "Or at two."]
    assert [part["id"] for part in only(response, "data-adk-steering")] == ["s2"]
    *_, user, reply = await worker.history()
    assert (user["id"], user["parts"]) == ("s1", said("Stop at three.")["parts"])
    assert reply == folded(response)
    assert text(await stream(worker.app, chat(said("And?", "u2")))) == "On."
    assert "Stop at one." not in worker.model.read[1]


async def test_of_two_unread_messages_the_newer_is_edited_and_the_older_read(stores: Stores) -> None:
    worker = await left_unread(stores, "Three.")
    assert text(await stream(worker.app, edit("s2", "Stop at three.", said("Dig."), said("Stop at one.", "s1"))))
    assert worker.model.read[0][-2:] == ["Stop at three.", "Stop at one."]
    assert "Or at two." not in worker.model.read[0]


async def test_another_reply_to_an_unread_message_reads_it_once(stores: Stores) -> None:
    worker = await left_unread(stores, "Both.")
    await stream(
        worker.app,
        chat(said("Dig."), said("Stop at one.", "s1"), said("Or at two.", "s2"), trigger="regenerate-message"),
    )
    assert sorted(worker.model.read[0][-2:]) == ["Or at two.", "Stop at one."]
    assert worker.model.read[0].count("Or at two.") == 1


async def test_a_message_that_a_run_has_read_is_not_edited(stores: Stores) -> None:
    worker = stores.worker(Call("dig", {}), "Dug one.", engine=False)
    async with begin(worker.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(worker.digging)
        assert await worker.steer("Stop at one.") == DELIVERED
        worker.may_end.set()
        await rest(answer)
    await worker.service.runs.free()
    async with client(worker.app) as http:
        assert (await http.post("/api/chat", json=edit("s1", "Stop at ten.", said("Dig.")))).status_code == 409


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


async def test_a_message_that_came_too_late_waits_for_a_request_that_begins_no_run() -> None:
    """For example, another tab gets a stored response, for which it claims the chat."""
    app = SteeredApp("One.", "Late is read.")
    assert text(await stream(app.app, chat(said("Count.")))) == "One."
    await app.service.runs.free()
    context = app.service._context  # noqa: SLF001 - as a run that has just ended does
    with await claim_chat(context, ("local", "c1"), "another tab", interrupts=False):
        turn = NextTurn(message=said("Late.", "s1"), context=None, overrides=NO_OVERRIDES, since_stop="")
        begin_turn(context, ("local", "c1"), turn)
        await asyncio.sleep(0.05)
    await app.service.drain()
    await app.service.aclose()
    assert [message["id"] for message in await app.history() if message["role"] == "user"] == ["u1", "s1"]
    assert app.model.read[-1][-1] == "Late."


async def left_read(stores: Stores, *turns: Any) -> SteeredApp:
    """The next worker, without an engine, of a chat whose worker died in the model call that read the message."""
    first = stores.worker(Call("dig", {}), ["Dug ", Wait(3600), "one."], engine=False)
    async with begin(first.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(first.digging)
        assert await first.steer("Stop at one.") == DELIVERED
        first.may_end.set()
        await answer.until("data-adk-steering")
    return stores.worker(*turns, engine=False)


def steering_in(history: list[dict[str, Any]]) -> list[str]:
    """The ids of all messages of the user after the first one, in replies and outside."""
    assert [message["id"] for message in history][:1] == ["u1"]
    inside = [part["id"] for each in history for part in only(each["parts"], "data-adk-steering")]
    return [*inside, *(message["id"] for message in history[1:] if message["role"] == "user")]


REPEATED = [chat(said("Dig."), trigger=trigger) for trigger in ("submit-message", "regenerate-message")]


@pytest.mark.parametrize("request_", REPEATED, ids=["retry", "another-reply"])
async def test_a_repeated_message_keeps_the_unread_messages_of_the_dead_run(
    stores: Stores, request_: dict[str, Any]
) -> None:
    worker = await left_unread(stores, "Both.")
    response = await stream(worker.app, request_)
    assert text(response) == "Both."
    assert worker.model.read == [["Dig.", "Stop at one.", "Or at two."]]
    assert [part["id"] for part in only(response, "data-adk-steering")] == ["s1", "s2"]
    assert steering_in(await worker.history()) == ["s1", "s2"]
    assert await worker.steer("Stop at one.") == DELIVERED


@pytest.mark.parametrize("request_", REPEATED, ids=["retry", "another-reply"])
async def test_a_repeated_message_keeps_what_the_dead_run_has_read(stores: Stores, request_: dict[str, Any]) -> None:
    worker = await left_read(stores, "One.")
    assert text(await stream(worker.app, request_)) == "One."
    assert worker.model.read == [["Dig.", "Stop at one."]]
    assert steering_in(await worker.history()) == ["s1"]


async def test_a_message_that_is_repeated_twice_keeps_the_steering_messages(stores: Stores) -> None:
    second = await left_unread(stores, ["One ", Wait(3600), "by one."])
    async with begin(second.app, REPEATED[0]) as answer:
        assert await answer.status() == 200
        await answer.until("data-adk-steering")
    third = stores.worker("Both.", "Next.", engine=False)
    assert text(await stream(third.app, REPEATED[0])) == "Both."
    assert third.model.read == [["Dig.", "Stop at one.", "Or at two."]]
    assert text(await stream(third.app, chat(said("On.", "u2")))) == "Next."
    assert [each for each in third.model.read[1] if each in ("Stop at one.", "Or at two.")] == [
        "Stop at one.",
        "Or at two.",
    ]
    assert steering_in(await third.history()) == ["s1", "s2", "u2"]


async def test_a_worker_that_dies_after_it_has_removed_the_reply_loses_no_steering_message(stores: Stores) -> None:
    second = await left_unread(stores, "Never.")
    session = await second.service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    await rewind_session(second.service.runner, session, session.events[0].invocation_id, kept_steering=("s1", "s2"))
    assert [message["id"] for message in await second.history()] == ["s1", "s2"]
    third = stores.worker("Both.", engine=False)
    assert text(await stream(third.app, REPEATED[0])) == "Both."
    assert third.model.read == [["Dig.", "Stop at one.", "Or at two."]]
    assert steering_in(await third.history()) == ["s1", "s2"]


async def test_an_edit_of_the_message_before_removes_the_steering_messages(stores: Stores) -> None:
    worker = await left_unread(stores, "Three.")
    assert text(await stream(worker.app, edit("u1", "Dig three."))) == "Three."
    assert worker.model.read == [["Dig three."]]
    assert steering_in(await worker.history()) == []


async def test_another_reply_in_place_of_a_finished_reply_does_not_read_its_steering_message(stores: Stores) -> None:
    worker = stores.worker(Call("dig", {}), "Dug one.", "Dug.", engine=False)
    async with begin(worker.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(worker.digging)
        assert await worker.steer("Stop at one.") == DELIVERED
        worker.may_end.set()
        await rest(answer)
    await worker.service.runs.free()
    assert text(await stream(worker.app, REPEATED[1])) == "Dug."
    assert worker.model.read[-1] == ["Dig."]
    assert steering_in(await worker.history()) == []


async def test_another_reply_in_place_of_a_finished_reply_keeps_the_unread_messages(stores: Stores) -> None:
    """The message came too late for the reply, and the turn that it would have begun was refused."""
    worker = stores.worker("Dug.", "Dug one.", engine=False)
    assert text(await stream(worker.app, chat(said("Dig.")))) == "Dug."
    service = worker.service.runner.session_service
    session = await service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    late = Event(author="user", invocation_id=session.events[0].invocation_id)
    update_metadata(late, accepted=AcceptedMessage(message={**said("Stop at one.", "s1")}, model_calls=1))
    await service.append_event(session, late)
    assert text(await stream(worker.app, REPEATED[1])) == "Dug one."
    assert worker.model.read[-1] == ["Dig.", "Stop at one."]
    assert steering_in(await worker.history()) == ["s1"]


async def test_the_versions_of_a_repeated_message_have_each_steering_message_once(stores: Stores) -> None:
    worker = await left_unread(stores, "Both.")
    await stream(worker.app, REPEATED[0])
    await worker.service.runs.free()
    async with client(worker.app) as http:
        (listed,) = (await http.get("/api/chat/c1")).json()["versions"]
        for version in (*listed["ids"], *listed["ids"]):
            assert (await http.post("/api/chat/c1/branch", json={"version": version})).status_code == 200
            assert steering_in(await worker.history()) == ["s1", "s2"]
