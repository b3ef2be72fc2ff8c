"""Hooks and stores of the app that never come back: the chat becomes free, and its next request is answered."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService

from stream_protocol import StreamProtocolError
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import ScriptedLlm, Wait
from tests.redis_server import RedisServer
from tests.serving.run_logs.redis_workers import Worker, fleet
from tests.serving.support import HANG, begin, chat, client, post, said, soon, stream, text
from tests.serving.watched import WatchedService

LIMIT = 0.05
"""Seconds. A hook that hangs is given up then."""


def service_for(*turns: Any, **options: Any) -> WatchedService:
    return WatchedService(LlmAgent(name="root", model=ScriptedLlm(turns=list(turns))), **options)


def said_by(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name.startswith("stream_protocol")]


class Hanging:
    """Hooks that hang until the test is over."""

    def __init__(self) -> None:
        self.called = 0
        self._thread_may_end = threading.Event()

    async def awaits(self, *_: Any) -> None:
        self.called += 1
        await asyncio.Event().wait()

    async def swallows_cancellation(self, *_: Any) -> None:
        self.called += 1
        while not self._thread_may_end.is_set():
            try:
                await asyncio.sleep(HANG)
            except asyncio.CancelledError:
                continue

    def blocks(self, *_: Any) -> None:
        self.called += 1
        self._thread_may_end.wait(HANG)

    def end(self) -> None:
        self._thread_may_end.set()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    hooks = Hanging()
    yield hooks
    hooks.end()


@pytest.mark.parametrize("hook", ["awaits", "swallows_cancellation", "blocks"])
async def test_an_on_finish_that_hangs_frees_its_chat(
    hook: str, hanging: Hanging, caplog: pytest.LogCaptureFixture
) -> None:
    service = service_for("One.", "Two.", on_finish=getattr(hanging, hook), hook_timeout=LIMIT)
    app = create_app(service)
    assert text(await stream(app, chat(said("hi")))) == "One."
    assert text(await stream(app, chat(said("more", "u2")))) == "Two."
    await service.runs.free()
    assert hanging.called == 2
    assert said_by(caplog) == ["`on_finish` was cancelled. It took longer than 0.05 seconds."] * 2
    hanging.end()
    await let_end()


async def let_end() -> None:
    """Lets tasks that were given up come to their end, so that none of them outlives its loop."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=HANG) if tasks else None


async def test_a_plain_on_finish_that_is_slow_blocks_no_other_chat(hanging: Hanging) -> None:
    service = service_for("One.", "Two.", on_finish=hanging.blocks)
    app = create_app(service)
    assert text(await stream(app, chat(said("hi")))) == "One."
    assert text(await stream(app, chat(said("hi"), chat_id="c2"))) == "Two."
    hanging.end()
    await service.runs.free()


async def test_a_request_waits_for_a_slow_on_finish_as_for_a_run_that_stops() -> None:
    called, may_end = asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def store(*_: Any) -> None:
        called.set()
        await may_end.wait()
        order.append("stored")

    service = service_for("One.", "Two.", on_finish=store)
    app = create_app(service)
    await stream(app, chat(said("hi")))
    await soon(called)
    second = asyncio.create_task(stream(app, chat(said("more", "u2"))))
    await asyncio.sleep(0)
    assert not second.done()
    may_end.set()
    assert text(await second) == "Two."
    assert order[0] == "stored"
    await service.runs.free()


class Store(InMemorySessionService):
    """A session store that stops answering, from one moment on."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs = False

    async def get_session(self, **which: Any) -> Any:
        if self.hangs:
            await asyncio.Event().wait()
        return await super().get_session(**which)


async def test_a_store_that_hangs_when_a_stopped_run_is_stored_frees_the_chat(caplog: pytest.LogCaptureFixture) -> None:
    store, told = Store(), list[str]()
    model = ScriptedLlm(turns=[["Half. ", Wait(asyncio.Event())], "Whole."])
    service = WatchedService(
        LlmAgent(name="root", model=model),
        session_service=store,
        hook_timeout=LIMIT,
        on_finish=lambda *how: told.append(how[2].kind),
    )
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        store.hangs = True
        await service.stop("c1", user_id="local")
        await exchange.until("abort")
        await service.runs.free()
    store.hangs = False
    assert told == ["aborted"]
    assert said_by(caplog) == ["What a run has shown was not stored. It took longer than 0.05 seconds."]
    assert text(await stream(app, chat(said("more", "u2")))) == "Whole."


async def test_a_store_that_hangs_before_a_run_refuses_the_request_and_frees_the_chat(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store()
    service = service_for("Well.", session_service=store, hook_timeout=LIMIT)
    app = create_app(service)
    store.hangs = True
    refused = await post(app, chat(said("hi")))
    assert (refused.status_code, refused.text) == (503, "The server cannot reach its chats just now. Try again.")
    assert not service.runs.running
    assert len(said_by(caplog)) == 1
    store.hangs = False
    assert text(await stream(app, chat(said("hi")))) == "Well."


async def test_a_store_that_hangs_while_a_chat_is_deleted_frees_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    service = service_for("Well.", "More.", session_service=store, hook_timeout=LIMIT)
    app = create_app(service)
    await stream(app, chat(said("hi")))
    with monkeypatch.context() as broken:

        async def hang(**_: Any) -> None:
            await asyncio.Event().wait()

        broken.setattr(store, "delete_session", hang)
        async with client(app) as http:
            assert (await http.delete("/api/chat/c1")).status_code == 503
    assert not service.runs.running
    assert text(await stream(app, chat(said("more", "u2")))) == "More."


async def test_an_on_finish_that_hangs_at_one_worker_frees_the_chat_for_another(
    shared_redis: RedisServer, hanging: Hanging
) -> None:
    sessions = InMemorySessionService()
    one = Worker(shared_redis.url, sessions, "One.", on_finish=hanging.awaits, hook_timeout=LIMIT)
    two = Worker(shared_redis.url, sessions, "Two.")
    async with fleet(one, two):
        assert text(await stream(one.app, chat(said("hi"), chat_id="hanging"))) == "One."
        assert text(await stream(two.app, chat(said("more", "u2"), chat_id="hanging"))) == "Two."


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_limit_is_a_positive_number_or_none(seconds: float) -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Well."]))
    with pytest.raises(StreamProtocolError, match="hook_timeout"):
        ChatService(agent, hook_timeout=seconds)
    ChatService(agent, hook_timeout=None)


class Broken:
    """A recorder of which one method raises."""

    def __init__(self, method: str) -> None:
        self._method = method
        self.called: list[str] = []

    def turn(self, *_: Any, **_how: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any) -> None:
            self.called.append(name)
            if name == self._method:
                raise OSError("no disk")

        return call


@pytest.mark.parametrize("method", ["begin", "event", "written", "end"])
async def test_a_recorder_that_fails_keeps_no_run_from_being_stopped(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Broken(method)
    service = service_for(["Half. ", Wait(asyncio.Event())], "Whole.", recorder=recorder)
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        await service.stop("c1", user_id="local")
        await exchange.until("abort")
        await service.runs.free()
    assert recorder.called[-1] == method
    assert said_by(caplog) == ["The recorder failed: this run is not recorded any further."]
    assert text(await stream(app, chat(said("more", "u2")))) == "Whole."
