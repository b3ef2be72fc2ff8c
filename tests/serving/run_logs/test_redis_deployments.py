"""Two deployments with one Redis, each with its own session store: neither reads nor ends the other's runs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.sessions import InMemorySessionService, Session

from stream_protocol.serving import RedisRunLog, ServiceLimits
from stream_protocol.testing import Wait
from stream_protocol.wire import StreamProtocolError
from tests.batch import batch
from tests.redis_server import RedisServer
from tests.serving.run_logs.redis_workers import Worker, command, fleet, resumed
from tests.serving.support import begin, chat, chunks, client, post, said, soon, text, types


async def test_what_another_deployment_runs_under_the_same_prefix_is_not_here(
    shared_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = asyncio.Event()
    theirs = Worker(shared_redis.url, InMemorySessionService(), ["Half ", Wait(go_on), "and whole."])
    ours = Worker(shared_redis.url, InMemorySessionService(), "Mine.", limits=ServiceLimits(stop_timeout=0.05))
    body = chat(said("hi"), chat_id="foreign")
    async with fleet(theirs, ours), begin(theirs.app, body) as run, client(ours.app) as http:
        await run.status()
        await run.until("text-delta")
        assert (await http.get("/api/chat/foreign/stream")).status_code == 204
        refused = [
            await http.post("/api/chat/foreign/stop"),
            await http.get("/api/chat/foreign"),
            await http.patch("/api/chat/foreign", json={"title": "Mine"}),
            await http.delete("/api/chat/foreign"),
        ]
        assert [answer.status_code for answer in refused] == [404] * 4
        same = await post(ours.app, body)
        other = await post(ours.app, chat(said("and?", "u2"), chat_id="foreign"))
        assert [answer.status_code for answer in (same, other)] == [503] * 2
        assert "Half" not in same.text
        assert "give each deployment its own prefix" in caplog.text
        assert (await http.get("/api/chats")).json()["chats"] == []
        go_on.set()
        assert (await run.until("finish"))["finishReason"] == "stop"
        await theirs.service.runs.free()
        while (answer := await post(ours.app, body)).status_code == 503:
            assert answer.headers["retry-after"]  # Redis does not have the end of the other run yet
        assert text(chunks(answer.text)) == "Mine."


async def test_with_a_prefix_each_the_same_chat_runs_in_both(shared_redis: RedisServer) -> None:
    go_on = asyncio.Event()
    theirs, ours = (
        Worker(shared_redis.url, InMemorySessionService(), [words, Wait(go_on), "."], prefix=f"deployment-{words}")
        for words in ("Theirs", "Ours")
    )
    body = chat(said("hi"), chat_id="both")
    async with fleet(theirs, ours), begin(theirs.app, body) as run, begin(ours.app, body) as own:
        assert [await each.status() for each in (run, own)] == [200] * 2
        assert [(await each.until("text-delta"))["delta"] for each in (run, own)] == ["Theirs", "Ours"]
        async with client(ours.app) as http, resumed(ours.app, "both") as again:
            await again.status()
            assert (await again.until("text-delta"))["delta"] == "Ours"
            assert (await http.post("/api/chat/both/stop")).status_code == 202
            await own.until("abort")
        go_on.set()
        assert (await run.until("finish"))["finishReason"] == "stop"


class SlowSessions(InMemorySessionService):
    """Creates a session only after ``gate`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def create_session(self, **whose: Any) -> Session:
        self.asked.set()
        await self.may_answer.wait()
        return await super().create_session(**whose)


async def test_a_chat_that_another_worker_is_about_to_store_is_resumed_and_stopped(shared_redis: RedisServer) -> None:
    sessions = SlowSessions()
    one = Worker(shared_redis.url, sessions, ["Half. ", Wait(asyncio.Event())])
    two = Worker(shared_redis.url, sessions)
    async with fleet(one, two), client(two.app) as http:
        answer = asyncio.create_task(post(one.app, chat(said("hi"), chat_id="new")))
        await soon(sessions.asked)
        early = [
            asyncio.create_task(http.get("/api/chat/new/stream")),
            asyncio.create_task(http.post("/api/chat/new/stop")),
        ]
        await asyncio.sleep(0)
        sessions.may_answer.set()
        read, stopped = await asyncio.gather(*early)
        assert stopped.status_code == 202
        assert types(chunks((await answer).text))[-1] == "abort"
        assert read.status_code in (200, 204)  # the run may be over before the next look


@pytest.mark.parametrize("history", ["client", "text"])
async def test_where_clients_have_the_history_other_workers_resume_and_stop_as_before(
    shared_redis: RedisServer, history: str
) -> None:
    one = Worker(shared_redis.url, InMemorySessionService(), ["Half. ", Wait(asyncio.Event())], history=history)
    two = Worker(shared_redis.url, InMemorySessionService(), history=history)
    async with fleet(one, two), begin(one.app, chat(said("hi"), chat_id=f"own-{history}")) as run:
        await run.status()
        async with client(two.app) as http, resumed(two.app, f"own-{history}") as again:
            assert await again.status() == 200
            await again.until("text-delta")
            assert (await http.post(f"/api/chat/own-{history}/stop")).status_code == 202
            await run.until("abort")
            assert (await http.post("/api/chat/never/stop")).status_code == 404


@pytest.fixture
async def tagged(shared_redis: RedisServer) -> AsyncIterator[Worker]:
    worker = Worker(shared_redis.url, InMemorySessionService(), ["Half ", Wait(asyncio.Event())], prefix="x/y@z:1")
    async with fleet(worker):
        yield worker


async def test_every_key_and_channel_begins_with_the_prefix(shared_redis: RedisServer, tagged: Worker) -> None:
    async def keys() -> set[bytes]:
        return set(await command(shared_redis, "KEYS", "*")) | set(await command(shared_redis, "PUBSUB", "CHANNELS"))

    before = await keys()
    async with begin(tagged.app, chat(said("hi"), chat_id="tagged")) as run:
        await run.status()
        await run.until("text-delta")
        async with client(tagged.app) as http:
            await http.post("/api/chat/tagged/stop")
        await run.until("abort")
        made = await keys() - before
    assert made
    assert {key for key in made if not key.startswith(b"x/y@z:1:")} == set()


@batch(
    prefix=[
        "",
        "a{b",
        "a}b",
        "{}",
        "a b",
        " a",
        "a\n",
        "a\0b",
        "a\x7fb",
        "a*",
        "a?",
        "[a]",
        "a\\b",
        "ä",
        "a\u200bb",
        "x" * 65,
    ]
)
def test_a_prefix_that_redis_would_read_as_more_than_a_name_is_refused(prefix: str) -> None:
    with pytest.raises(StreamProtocolError) as refused:
        RedisRunLog("redis://127.0.0.1:1/0", prefix=prefix)
    assert str(refused.value).startswith("The prefix in Redis must be 1 to 64")
    assert "\n" not in str(refused.value)


@batch(prefix=["a", "adk-ui-stream", "team/app:blue@2.0_x", "x" * 64])
def test_a_prefix_that_names_a_deployment_is_taken(prefix: str) -> None:
    RedisRunLog("redis://127.0.0.1:1/0", prefix=prefix)
