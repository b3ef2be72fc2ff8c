"""A client steers at another worker than the run's, through each kind of run log that workers share."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest
from google.adk.sessions import InMemorySessionService

from stream_protocol.serving import PostgresRunLog, RedisRunLog
from stream_protocol.serving.run_logs import RunLog
from stream_protocol.testing import Call, Wait
from tests.serving.steering import SteeredApp, folded, rest, steer
from tests.serving.support import begin, chat, client, only, said, soon, stream, text, types

DELIVERED = {"type": "delivered", "id": "s1"}

Workers = Callable[..., tuple[SteeredApp, SteeredApp]]


@pytest.fixture(params=["redis", "postgres"])
async def workers(request: pytest.FixtureRequest) -> AsyncIterator[Workers]:
    """Makes two workers that share a run log and a session service."""
    if request.param == "redis":
        url = request.getfixturevalue("shared_redis").url
        new_log: Callable[[], RunLog] = partial(RedisRunLog, url, lease=8.0, prefix=f"steering-{id(request)}")
    else:
        new_log = partial(PostgresRunLog, request.getfixturevalue("postgres").new_database(), lease=8.0)
    stack = AsyncExitStack()

    def make(*turns: Any, **options: Any) -> tuple[SteeredApp, SteeredApp]:
        sessions = InMemorySessionService()
        made = [SteeredApp(*turns, session_service=sessions, run_log=new_log(), **options) for _ in "ab"]
        for worker in made:
            stack.push_async_callback(worker.service.aclose)
        return made[0], made[1]

    async with stack:
        yield make


async def test_a_message_reaches_the_run_at_another_worker(workers: Workers) -> None:
    first, second = workers(Call("dig", {}), "Dug one.")
    async with begin(first.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(first.digging)
        outcomes = await asyncio.gather(*(steer(second.app, "Stop at one.") for _ in range(3)))
        assert outcomes == [DELIVERED] * 3
        assert "Stop at one." in str([event.custom_metadata for event in await second.stored()])
        first.may_end.set()
        response = await rest(answer)
    assert first.model.read[1][-2:] == ["result dig", "Stop at one."]
    assert len(only(response, "data-adk-steering")) == 1
    assert await steer(second.app, "Stop at one.") == DELIVERED
    assert second.model.read == []


async def test_one_that_comes_too_late_begins_the_next_turn_at_the_runs_worker(workers: Workers) -> None:
    may_end = asyncio.Event()
    first, second = workers(["One ", Wait(may_end), "two."], "Stopped.")
    async with begin(first.app, chat(said("Count."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        assert await steer(second.app, "Stop at one.") == DELIVERED
        may_end.set()
        await rest(answer)
    await first.service.drain()
    assert [message["id"] for message in await second.history()][::2] == ["u1", "s1"]
    assert first.model.read[1] == ["Count.", "One two.", "Stop at one."]
    assert len(first.model.read) == 2


async def test_a_stock_client_at_another_worker_gets_the_response_of_the_run(workers: Workers) -> None:
    first, second = workers(Call("dig", {}), "Dug one.", on_busy="steer")
    async with begin(first.app, chat(said("Dig two."))) as answer:
        await answer.status()
        await soon(first.digging)
        posted = asyncio.create_task(stream(second.app, chat(said("Dig two."), said("Stop at one.", "s1"))))
        await second.accepted(1)
        first.may_end.set()
        response = await rest(answer)
        assert folded(await posted) == folded(response)
    assert len(only(response, "data-adk-steering")) == 1


async def test_a_late_one_of_a_stock_client_at_another_worker_is_answered_once(workers: Workers) -> None:
    may_end = asyncio.Event()
    first, second = workers(["One ", Wait(may_end), "two."], "Stopped.", on_busy="steer")
    async with begin(first.app, chat(said("Count."))) as answer:
        await answer.status()
        await answer.until("text-delta")
        posted = asyncio.create_task(stream(second.app, chat(said("Count."), said("Stop at one.", "s1"))))
        await second.accepted(1)
        may_end.set()
        assert "data-adk-steering" not in types(await rest(answer))
        assert text(await posted) in ("Stopped.", "One two.")  # whichever worker answers has a model of its own
    await first.service.drain()
    await second.service.drain()
    assert len(first.model.read) + len(second.model.read) == 2
    assert [message["id"] for message in await second.history()][::2] == ["u1", "s1"]


async def test_a_stop_at_another_worker_loses_no_message(workers: Workers) -> None:
    first, second = workers(Call("dig", {}), "Never.")
    async with begin(first.app, chat(said("Dig."))) as answer:
        await answer.status()
        await soon(first.digging)
        assert await steer(second.app, "Stop at one.") == DELIVERED
        async with client(second.app) as http:
            await http.post("/api/chat/c1/stop")
        assert types(await rest(answer))[-1] == "abort"
        first.may_end.set()
    await first.service.drain()
    assert len(first.model.read) == 1
    assert [message["id"] for message in await second.history() if message["role"] == "user"] == ["u1", "s1"]
