"""Hooks and stores of the app that never come back: the chat becomes free, and its next request is answered."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService

from stream_protocol import StreamProtocolError
from stream_protocol.serving import ChatService, ServiceLimits, create_app
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.engine import OrphanedRun, RunRecord
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.testing import ScriptedLlm, Wait
from tests.redis_server import RedisServer
from tests.serving.fake_engine import FakeEngine
from tests.serving.instrumented import InstrumentedService
from tests.serving.run_logs.redis_workers import Worker, fleet
from tests.serving.support import HANG, begin, chat, client, post, said, soon, stream, text, why

pytestmark = pytest.mark.usefixtures("patient_clock")

LIMIT = 0.05
"""Seconds. A hook that hangs is given up then."""

PATIENCE = 1.0
"""Seconds, where a thread or another process has work to do before the limit is over."""


def service_for(*turns: Any, **options: Any) -> InstrumentedService:
    return InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=list(turns))), **options)


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


@pytest.mark.parametrize(("hook", "limit"), [("awaits", LIMIT), ("swallows_cancellation", LIMIT), ("blocks", PATIENCE)])
async def test_an_on_finish_that_hangs_frees_its_chat(
    hook: str, limit: float, hanging: Hanging, caplog: pytest.LogCaptureFixture
) -> None:
    service = service_for("One.", "Two.", on_finish=getattr(hanging, hook), limits=ServiceLimits(hook_timeout=limit))
    app = create_app(service)
    assert text(await stream(app, chat(said("hi")))) == "One."
    assert text(await stream(app, chat(said("more", "u2")))) == "Two."
    await service.runs.free()
    assert hanging.called == 2
    assert said_by(caplog) == [f"`on_finish` was cancelled. It took longer than {limit} seconds."] * 2
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
        self.error: Exception | None = None

    async def get_session(self, **which: Any) -> Any:
        if self.error is not None:
            raise self.error
        if self.hangs:
            await asyncio.Event().wait()
        return await super().get_session(**which)


async def test_a_store_that_hangs_when_a_stopped_run_is_stored_frees_the_chat(caplog: pytest.LogCaptureFixture) -> None:
    store, told = Store(), list[str]()
    model = ScriptedLlm(turns=[["Half. ", Wait(asyncio.Event())], "Whole."])
    service = InstrumentedService(
        LlmAgent(name="root", model=model),
        session_service=store,
        limits=ServiceLimits(hook_timeout=LIMIT),
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
    assert told == ["abort"]
    assert said_by(caplog) == ["The end of a run was not stored. It took longer than 0.05 seconds."]
    assert text(await stream(app, chat(said("more", "u2")))) == "Whole."


async def test_a_store_that_hangs_before_a_run_refuses_the_request_and_frees_the_chat(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store()
    service = service_for("Well.", session_service=store, limits=ServiceLimits(hook_timeout=LIMIT))
    app = create_app(service)
    store.hangs = True
    refused = await post(app, chat(said("hi")))
    assert (refused.status_code, refused.text) == (503, "The server cannot reach its chats just now. Try again.")
    assert not service.runs.running
    assert len(said_by(caplog)) == 1
    store.hangs = False
    assert text(await stream(app, chat(said("hi")))) == "Well."


class InvalidatedError(Exception):
    """SQLAlchemy's error for a connection that broke off in the middle of a statement."""

    connection_invalidated = True


async def test_what_a_store_has_not_taken_when_the_server_ends_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    store, times = Store(), ServiceTimes(shutdown=LIMIT)
    service = service_for(["Half. ", Wait(asyncio.Event())], session_service=store, times=times)
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        store.hangs = True
        await service.aclose()
        await exchange.until("abort")
    assert said_by(caplog) == ["The end of 1 run may be lost: it was not stored within 0.05 seconds."]


AWAY = [
    ConnectionRefusedError("no route"),
    OSError("Multiple exceptions: no route, no route"),
    sqlite3.OperationalError("database is locked"),
    InvalidatedError("gone"),
]


@pytest.mark.parametrize("error", AWAY, ids=lambda error: type(error).__name__)
async def test_a_store_that_is_away_refuses_every_request_and_the_log_says_why(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store()
    service = service_for("Well.", "More.", session_service=store)
    app = create_app(service)
    await stream(app, chat(said("hi")))
    store.error = error
    async with client(app) as http:
        answers = [
            await http.get("/api/chat/c1"),
            await http.post("/api/chat/c1/stop"),
            await http.delete("/api/chat/c1"),
        ]
        answers.append(await http.post("/api/chat", json=chat(said("more", "u2"))))
    sentence = "The server cannot reach its chats just now. Try again."
    assert {(answer.status_code, why(answer)) for answer in answers} == {(503, sentence)}
    assert {answer.headers["retry-after"] for answer in answers} == {"2"}
    away = "A request was refused: the session store cannot be reached."
    assert [line.partition(" (")[0] for line in said_by(caplog)] == 4 * [away, f"{type(error).__name__}: {error}"]
    store.error = None
    assert text(await stream(app, chat(said("more", "u2")))) == "More."


async def test_a_store_that_refuses_what_it_is_asked_is_not_away() -> None:
    store = Store()
    store.error = ValueError("wrong")
    assert (await post(create_app(service_for("Well.", session_service=store)), chat(said("hi")))).status_code == 500


async def test_an_engine_that_hangs_refuses_requests_and_keeps_nobody_from_stopping_a_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine, times = FakeEngine(), ServiceTimes(engine=LIMIT / 10)
    turns = ["Half. ", Wait(asyncio.Event())], "Well."
    limits = ServiceLimits(hook_timeout=LIMIT, stop_timeout=LIMIT)
    service = service_for(*turns, engine=engine, limits=limits, times=times)
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        engine.answers.clear()
        async with client(app) as http:
            answers = [await http.post("/api/chat/c1/stop")]
            await exchange.until("abort")
            # The chat stays busy: a worker that recovers the run needs its record.
            answers.append(await http.delete("/api/chat/c1"))
            answers.append(await http.post("/api/chat", json=chat(said("more", "u2"))))
    assert [answer.status_code for answer in answers] == [503, 503, 503]
    assert said_by(caplog)[0] == "A request was refused: the engine took longer than 0.05 seconds."
    engine.answers.set()
    assert text(await stream(app, chat(said("more", "u2")))) == "Well."
    await service.aclose()


async def test_a_run_frees_its_chat_although_one_call_of_the_engine_never_returns() -> None:
    class HangingOnce(FakeEngine):
        calls = 0

        async def cancel(self, _record: RunRecord, *, has_ended: bool = False) -> None:
            self.calls += 1
            if self.calls == 1:
                await asyncio.Event().wait()

    engine, times = HangingOnce(), ServiceTimes(shutdown=LIMIT, forgetting=LIMIT)
    service = service_for("Well.", "More.", engine=engine, times=times)
    app = create_app(service)
    assert text(await stream(app, chat(said("hi")))) == "Well."
    assert text(await stream(app, chat(said("more", "u2")))) == "More."
    await service.aclose()


async def test_a_refused_run_frees_its_chat_although_the_engine_never_records_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Recording(FakeEngine):
        async def unfinished(self, _chat: tuple[str, str] | None = None) -> list[OrphanedRun]:
            return []

    engine, times = Recording(), ServiceTimes(engine=LIMIT / 10, shutdown=LIMIT)
    service = service_for("Well.", engine=engine, limits=ServiceLimits(hook_timeout=LIMIT), times=times)
    app = create_app(service)
    engine.answers.clear()
    assert (await post(app, chat(said("hi")))).status_code == 503
    await service.runs.free()
    assert f"A stopped run frees its chat: the engine has not recorded it for {LIMIT} seconds." in said_by(caplog)
    engine.answers.set()
    assert text(await stream(app, chat(said("hi")))) == "Well."
    await service.aclose()


class ReadOnlyError(Exception):
    """The error of psycopg during a fail-over."""

    sqlstate = "25006"


@pytest.mark.parametrize(
    "error", [*AWAY, ReadOnlyError(), KeyError("whatever else it is")], ids=lambda error: type(error).__name__
)
async def test_an_engine_that_fails_refuses_requests_at_once_and_the_log_says_why(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    engine, times = FakeEngine(), ServiceTimes(forgetting=LIMIT / 10)
    service = service_for(["Half. ", Wait(asyncio.Event())], "Well.", engine=engine, times=times)
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as exchange, client(app) as http:
        await exchange.status()
        await exchange.until("text-delta")
        engine.error = error
        answers = [await http.post("/api/chat/c1/stop")]
        await exchange.until("abort")
        answers += [
            await http.get("/api/chat/c2/stream"),
            await http.post("/api/chat", json=chat(said("hi"), chat_id="c3")),
            await http.post("/api/chat/c1/stop"),
        ]
        await asyncio.sleep(LIMIT)
        assert service.runs.running, "another worker could take up the run that was stopped"
        engine.error = None
        await service.runs.free()
    assert [(answer.status_code, answer.headers["retry-after"]) for answer in answers] == 4 * [(503, "2")]
    sentences = [line for line in said_by(caplog) if not line.startswith(type(error).__name__)]
    refused = "A request was refused: the engine cannot be reached."
    kept = "A run that has ended keeps its chat until the engine has forgotten it."
    assert sorted(sentences) == [*4 * [refused], kept]
    assert text(await stream(app, chat(said("more", "u2")))) == "Well."
    await service.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("error", [*AWAY, RunLogError("redis://host: gone")], ids=lambda error: type(error).__name__)
async def test_looks_for_runs_go_on_when_a_store_was_away_and_the_log_says_so_once(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    engine = FakeEngine()
    engine.error = error
    service = service_for("Well.", engine=engine, times=ServiceTimes(look=LIMIT / 10))
    await service.start()
    await looked(engine, 5)
    engine.error = None
    await looked(engine, 2)
    engine.error = error
    await looked(engine, 5)
    await service.aclose()
    away = "Runs that were left by their worker cannot be looked for just now."
    assert [line for line in said_by(caplog) if not line.startswith(type(error).__name__)] == [away, away]
    assert "Traceback" not in caplog.text


async def looked(engine: FakeEngine, times: int) -> None:
    """Waits until the engine has been asked for runs so often from now on."""
    before = engine.looks
    async with asyncio.timeout(HANG):
        while engine.looks < before + times:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)


async def test_a_store_that_hangs_while_a_chat_is_deleted_frees_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    service = service_for("Well.", "More.", session_service=store, limits=ServiceLimits(hook_timeout=LIMIT))
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
    one = Worker(
        shared_redis.url, sessions, "One.", on_finish=hanging.awaits, limits=ServiceLimits(hook_timeout=PATIENCE)
    )
    two = Worker(shared_redis.url, sessions, "Two.")
    async with fleet(one, two):
        assert text(await stream(one.app, chat(said("hi"), chat_id="hanging"))) == "One."
        assert text(await stream(two.app, chat(said("more", "u2"), chat_id="hanging"))) == "Two."


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_limit_is_a_positive_number_or_none(seconds: float) -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Well."]))
    with pytest.raises(StreamProtocolError, match="hook_timeout"):
        ChatService(agent, limits=ServiceLimits(hook_timeout=seconds))
    ChatService(agent, limits=ServiceLimits(hook_timeout=None))


RECORDER_METHODS = ["begin", "event", "written", "end"]


class Broken:
    """A recorder of which one method raises."""

    def __init__(self, method: str) -> None:
        self._method = method
        self.called: list[str] = []

    def turn(self, *_: Any, **_how: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in RECORDER_METHODS:
            raise AttributeError(name)

        def call(*_: Any) -> None:
            self.called.append(name)
            if name == self._method:
                raise OSError("no disk")

        return call


@pytest.mark.parametrize("method", RECORDER_METHODS)
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
