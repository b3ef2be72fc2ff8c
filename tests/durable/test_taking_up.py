"""A server that ends leaves its runs, and the next server recovers them."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any, cast

import pytest
from google.adk.agents import BaseAgent, LlmAgent

from stream_protocol.serving import ChatService, RunOverrides
from stream_protocol.serving.base._times import DEFAULT_TIMES
from stream_protocol.serving.engine import LiveState
from stream_protocol.serving.engine._engine import ToldEnd
from stream_protocol.serving.engine._records import OVERRIDDEN_TEXT
from stream_protocol.serving.engine._recovery import OTHER_VERSION_TEXT
from stream_protocol.serving.engine._run_ends import end_of_orphan
from stream_protocol.serving.errors import is_unreachable
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import ChatRequestError, StreamProtocolError, parse_chat_request
from tests.durable.shared_state import USER, Gate, SharedState, begin, ended, history, outline, read, taken_up
from tests.serving.support import chat, said, soon


@pytest.fixture
def shared(tmp_path: Path, engine_url: str) -> SharedState:
    return SharedState(tmp_path, engine_url)


async def test_a_run_goes_on_in_the_next_server(shared: SharedState) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent) as service:
        first = await begin(service)
        await soon(shared.reached)
        await asyncio.sleep(0.1)  # the model's text is being sent to the reader
    before = await first
    assert before[-1]["type"] == "text-delta"
    async with shared.service(agent) as service:
        resumed = asyncio.create_task(taken_up(service))
        while shared.asked < 2:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
        await asyncio.sleep(2 * DEFAULT_TIMES.recovery_check)  # the client has noticed the disconnect
        shared.gate.set()
        chunks = await resumed
        assert chunks[0] == before[0]  # the message has the same id
        assert chunks[-1]["type"] == "finish"
        await ended(service)
        question, answer = await history(service)
        assert question["id"] == "u1"
        assert answer["id"] == before[0]["messageId"]
        assert outline(answer)[-1] == "Hello there."


async def test_the_app_goes_on_when_the_server_has_ended(shared: SharedState) -> None:
    async with shared.service(shared.agent("Hello.")) as service:
        await (await begin(service))
        await ended(service)
    assert await asyncio.to_thread(len, "threads") == 7


@pytest.mark.parametrize(
    ("tool", "times", "result"),
    [
        ("look", 2, ("tool-look", "output-available", {"result": "seen"})),
        ("book", 1, ("tool-book", "output-error", None)),
    ],
    ids=["idempotent", "not idempotent"],
)
async def test_a_tool_that_did_not_end_runs_again_only_if_it_may(
    tool: str, times: int, result: tuple[Any, ...], shared: SharedState
) -> None:
    agent = shared.agent(["First. ", Call("quick", {})], Call(tool, {}), "Done.")
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
        shared.gate.clear()
    shared.gate.set()
    async with shared.service(agent) as service:
        await ended(service)
        _, answer = await history(service)
    first, quick, other, done = outline(answer)
    assert (first, quick, done) == ("First. ", ("tool-quick", "output-available", {"result": "noted"}), "Done.")
    assert other[:2] == result[:2]
    if result[2] is None:
        assert "broke down while this tool was running" in other[2]
    else:
        assert other[2] == result[2]
    assert shared.ran == {"quick": 1, tool: times}
    assert shared.asked == 3  # a stored model response is not requested again


async def test_state_that_a_tool_has_set_is_there_once(shared: SharedState) -> None:
    agent = shared.agent(Call("quick", {}), Call("look", {}), "Done.")
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
    shared.gate.set()
    async with shared.service(agent) as service:
        await ended(service)
        session = await service.runner.session_service.get_session(
            app_name=service.runner.app_name, user_id=USER, session_id="c1"
        )
    assert session is not None
    assert session.state["noted"] == 1
    said_by_model = [event for event in session.events if event.author == "root" and event.content]
    assert len({event.id for event in session.events}) == len(session.events)
    assert len(said_by_model) == 5  # two calls, two results, the end


async def test_a_run_that_was_stopped_is_not_executed_again(shared: SharedState) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
        await service.stop("c1", user_id=USER)
    async with shared.service(agent) as service:
        assert await taken_up(service) == []
        _, answer = await history(service)
    assert outline(answer) == ["Hello "]
    assert shared.asked == 1


async def test_a_run_of_which_a_newer_release_has_noted_more_is_left_alone(shared: SharedState) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
    engine = shared.engine()
    async with shared.service(agent, engine=engine, launched=False) as service:
        await engine.start()
        (orphan,) = await engine.unfinished()
        assert end_of_orphan(orphan, []) is None
        await engine.mark(orphan.record, orphan.log_id, ToldEnd("timeout", "It took too long.", ("e1", "e2"), "We"))
        (orphan,) = await engine.unfinished()
        assert end_of_orphan(orphan, []) == ToldEnd("timeout", "It took too long.", ("e1", "e2"), "We")
        await engine.mark(orphan.record, orphan.log_id, cast("LiveState", "ended by a vote"))
        assert await engine.unfinished() == []
        assert await taken_up(service) == []
    assert shared.asked == 1


async def test_new_messages_are_answered_in_place_of_a_run_that_was_left(shared: SharedState) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
    shared.gate.set()
    async with shared.service(agent) as service:
        body = chat(said("go"), {"id": "a1", "role": "assistant", "parts": []}, said("again", "u2"))
        events = await service.respond(parse_chat_request(body), user_id=USER)
        assert (await read(events))[-1]["type"] == "finish"
        await ended(service)
        words = [outline(message) for message in await history(service) if message["role"] == "user"]
    assert words == [["go"], ["again"]]


async def test_a_chat_that_is_deleted_leaves_no_run(shared: SharedState) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
        await service.delete("c1", user_id=USER)
    async with shared.service(agent) as service:
        assert await taken_up(service) == []
        with pytest.raises(ChatRequestError, match="no such chat"):
            await service.stop("c1", user_id=USER)


async def test_another_version_ends_the_run_with_an_error_that_says_so(shared: SharedState) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
    async with shared.service(agent, version="2", launched=False) as service:
        again = await begin(service)  # the retry recovers the run before the periodic search does
        assert (await again)[-1] == {"type": "error", "errorText": OTHER_VERSION_TEXT}
        await ended(service)
        assert [message["role"] for message in await history(service)] == ["user"]
    assert shared.asked == 1


async def test_a_run_with_secrets_is_not_executed_again_and_says_so(shared: SharedState) -> None:
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    async with shared.service(agent) as service:
        _ = await begin(service, overrides=RunOverrides(secrets={"token": "t0p"}))
        await soon(shared.reached)
    if (file := shared.folder / "runs.db").exists():
        assert b"t0p" not in file.read_bytes()
    async with shared.service(agent, launched=False) as service:
        again = await begin(service)
        assert (await again)[-1] == {"type": "error", "errorText": OVERRIDDEN_TEXT}
    assert shared.asked == 1


def test_a_file_needs_a_newer_sqlite_on_a_newer_python(monkeypatch: pytest.MonkeyPatch) -> None:
    from stream_protocol.durable import DbosEngine, _dbos_engine, _store  # noqa: PLC0415 - may be missing

    monkeypatch.setattr(_store, "NEEDING_PYTHON", (3, 0))
    for module in (_dbos_engine, _store):
        monkeypatch.setattr(module, "NEEDED_SQLITE", (99, 0))
    with pytest.raises(StreamProtocolError, match=r"needs SQLite 99\.0 or later, and this is 3"):
        DbosEngine("sqlite:///runs.db")
    DbosEngine("postgresql://db/runs")


def test_a_store_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_protocol.durable._store.CONNECT_SECONDS", 2)  # the smallest timeout that libpq accepts
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = DbosEngine(f"postgresql://ann:hunter2@127.0.0.1:{silent.getsockname()[1]}/engine")
        with pytest.raises(StreamProtocolError, match=r"The engine.s store cannot be used: .*timeout") as refused:
            engine.prepare()
    assert "hunter2" not in str(refused.value)


async def test_a_store_that_says_nothing_keeps_no_probe_waiting_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_protocol.durable._store.CONNECT_SECONDS", 2)  # the smallest timeout that libpq accepts
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = DbosEngine(f"postgresql+asyncpg://ann@127.0.0.1:{silent.getsockname()[1]}/engine")
        with pytest.raises(Exception, match="timeout") as failed:
            await engine.ping()
    assert is_unreachable(failed.value)
    await engine.aclose()


async def test_a_store_that_is_there_answers_before_and_after_the_launch(engine_url: str) -> None:
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    engine = DbosEngine(engine_url)
    await engine.ping()
    await engine.start()
    await engine.ping()
    await engine.aclose()


def test_limits_that_the_url_has_stay() -> None:
    from stream_protocol.durable._store import with_timeouts  # noqa: PLC0415 - may be missing

    url = with_timeouts("postgresql://ann:hunter2@db/engine?connect_timeout=3&keepalives_idle=60&tcp_user_timeout=0")
    assert url.startswith("postgresql://ann:hunter2@db/engine?")
    limits = "connect_timeout=3", "keepalives_idle=60", "keepalives_interval=10", "tcp_user_timeout=0"
    assert sorted(url.partition("?")[2].split("&")) == [*limits]
    assert with_timeouts("sqlite:///runs.db") == "sqlite:///runs.db"


def test_an_engine_needs_the_servers_history(engine_url: str) -> None:
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]))
    with pytest.raises(StreamProtocolError, match="history"):
        ChatService(agent, history="client", engine=DbosEngine(engine_url))


def test_agents_of_an_apps_own_class_run_as_without_an_engine(
    engine_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    class Own(BaseAgent):
        pass

    ChatService(Own(name="own"), engine=DbosEngine(engine_url))
    assert "Runs of this service end with their worker: the engine does not support `own` (`Own`)." in caplog.text
