"""Two workers with one Redis and one session service, without sticky sessions: each serves any request of a chat."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import pytest
from google.adk.sessions import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types as genai

from stream_protocol.serving import ServiceLimits
from stream_protocol.testing import Call, Wait
from stream_protocol.testing._fake_runs import eventually
from stream_protocol.wire import AiSdkVersion, parse_chat_request
from stream_protocol.wire.client import MessageReducer
from tests.redis_server import RedisServer
from tests.serving.chat_client import Page
from tests.serving.run_logs.redis_workers import LEASE, Worker, fleet, resumed, wires
from tests.serving.support import (
    HANG,
    Exchange,
    answered,
    begin,
    chat,
    chunks,
    client,
    post,
    said,
    soon,
    stream,
    text,
    types,
)


class Pen:
    """A tool that counts its calls. It takes as long as a test wants."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def note(self, text: str) -> str:
        """Writes a note."""
        self.started.set()
        await self.may_end.wait()
        self.notes.append(text)
        return "noted"


def where(question: str) -> None:
    """A client tool."""


def half_an_argument(go_on: asyncio.Event) -> list[Any]:
    """A tool call whose streamed argument stops in the middle."""

    def fragment(text: str) -> genai.Part:
        arg = genai.PartialArg(json_path="$.text", string_value=text, will_continue=bool(text))
        return genai.Part(function_call=genai.FunctionCall(partial_args=[arg], will_continue=True))

    opening = genai.Part(function_call=genai.FunctionCall(name="note", will_continue=True))
    closing = genai.Part(function_call=genai.FunctionCall())
    return [opening, fragment("to be "), Wait(go_on), fragment("or not"), fragment(""), closing]


async def drained(exchange: Exchange) -> list[dict[str, Any]]:
    """Return the rest of a response, which must end with ``[DONE]``."""
    read = []
    while (event := await exchange.event()) != "data: [DONE]":
        assert event, "the response broke off"
        read.append(event)
    return chunks("".join(f"{event}\n\n" for event in [*read, "data: [DONE]"]))


@pytest.mark.parametrize("ai_sdk", [6, 7])
async def test_a_run_of_one_worker_is_resumed_on_another_in_the_middle_of_an_argument(
    shared_redis: RedisServer, ai_sdk: AiSdkVersion
) -> None:
    go_on, pen, sessions = asyncio.Event(), Pen(), InMemorySessionService()
    turns = (half_an_argument(go_on), "Noted.")
    one = Worker(shared_redis.url, sessions, *turns, tools=[pen.note], ai_sdk=ai_sdk)
    two = Worker(shared_redis.url, sessions, ai_sdk=ai_sdk)
    chat_id = f"resume-{ai_sdk}"
    async with fleet(one, two), begin(one.app, chat(said("note"), chat_id=chat_id)) as first:
        assert await first.status() == 200
        start = await first.until("start")
        await first.until("tool-input-delta")
        async with resumed(two.app, chat_id) as second:
            assert await second.status() == 200
            reducer = MessageReducer(ai_sdk=ai_sdk, replay=True)
            chunk: Any = start
            while chunk["type"] != "tool-input-delta":
                chunk = await second.chunk()
                reducer.apply(chunk)
            assert reducer.message["id"] == start["messageId"]
            go_on.set()
            for chunk in await drained(second):
                reducer.apply(chunk)
        whole = await drained(first)
        assert text(whole) == "Noted."
        assert pen.notes == ["to be or not"]
        page = Page(two.app, chat_id=chat_id, ai_sdk=ai_sdk)
        assert (await page.stored())[-1] == reducer.message


async def test_a_run_of_one_worker_is_stopped_by_another(shared_redis: RedisServer) -> None:
    sessions = InMemorySessionService()
    records: list[tuple[str, str]] = []
    one = Worker(
        shared_redis.url,
        sessions,
        ["Half. ", Wait(asyncio.Event())],
        on_audit=lambda record: records.append(("one", record.action)),
    )
    two = Worker(shared_redis.url, sessions, "Whole.", on_audit=lambda record: records.append(("two", record.action)))
    async with fleet(one, two), client(two.app) as http:
        async with begin(one.app, chat(said("hi"), chat_id="stop")) as exchange:
            await exchange.status()
            await exchange.until("text-delta")
            assert (await http.post("/api/chat/stop/stop")).status_code == 202
            await exchange.until("abort")
        again = await stream(two.app, chat(said("go on", "u2"), chat_id="stop"))
        assert text(again) == "Whole."
    assert records == [("two", "stop")]


async def test_turns_go_round_the_workers_as_fast_as_they_come(shared_redis: RedisServer) -> None:
    sessions = InMemorySessionService()
    workers = [Worker(shared_redis.url, sessions, *(f"{turn}" for turn in range(6))) for _ in range(2)]
    async with fleet(*workers):
        for turn in range(12):
            body = chat(said("hi", f"u{turn}"), chat_id="round")
            assert text(await stream(workers[turn % 2].app, body)) == f"{turn // 2}"


async def test_the_same_request_attaches_and_where_an_app_says_so_another_one_is_refused(
    shared_redis: RedisServer,
) -> None:
    go_on, sessions = asyncio.Event(), InMemorySessionService()
    one = Worker(shared_redis.url, sessions, ["Half ", Wait(go_on), "and whole."])
    two = Worker(shared_redis.url, sessions, on_busy="reject")
    body = chat(said("hi"), chat_id="same")
    async with fleet(one, two), begin(one.app, body) as first:
        await first.status()
        await first.until("text-delta")
        async with begin(two.app, body) as second:
            assert await second.status() == 200
            assert (await second.until("text-delta"))["delta"].strip() == "Half"
            other = await post(two.app, chat(said("something else", "u2"), chat_id="same"))
            assert other.status_code == 409
            go_on.set()
            assert text(await drained(second)).strip() == "and whole."


async def test_a_new_turn_at_another_worker_ends_the_run_and_is_answered(shared_redis: RedisServer) -> None:
    sessions = InMemorySessionService()
    one = Worker(shared_redis.url, sessions, ["Half ", Wait(asyncio.Event())], "Whole.")
    two = Worker(shared_redis.url, sessions, "Whole.")
    first_body, second_body = (chat(said(words, words), chat_id="turn") for words in ("hi", "and?"))
    async with fleet(one, two), begin(one.app, first_body) as first:
        await first.status()
        await first.until("text-delta")
        async with resumed(two.app, "turn") as watching:
            await watching.status()
            await watching.until("text-delta")
            twins = await asyncio.gather(*(stream(worker.app, second_body) for worker in (one, two, two)))
            assert types(await drained(watching))[-1] == types(await drained(first))[-1] == "abort"
        assert [text(twin) for twin in twins] == ["Whole."] * 3
        assert len(one.model.requests) + len(two.model.requests) == 2
        stored = await Page(one.app, chat_id="turn").stored()
    texts = [part["text"] for message in stored for part in message["parts"] if part["type"] == "text"]
    assert texts == ["hi", "Half ", "and?", "Whole."]


async def test_messages_at_two_workers_at_once_are_all_stored_and_the_last_are_answered(
    shared_redis: RedisServer,
) -> None:
    sessions = InMemorySessionService()
    workers = [Worker(shared_redis.url, sessions, *["Well."] * 4) for _ in range(2)]
    async with fleet(*workers):
        tabs = await asyncio.gather(
            *(stream(workers[n % 2].app, chat(said(f"hi {n}", f"u{n}"), chat_id="tabs-at-once")) for n in range(4))
        )
        stored = await Page(workers[0].app, chat_id="tabs-at-once").stored()
    words = [message["parts"][0]["text"] for message in stored if message["role"] == "user"]
    assert sorted(words) == ["hi 0", "hi 1", "hi 2", "hi 3"]
    assert types(tabs[int(words[-1][-1])])[-1] == "finish"


@asynccontextmanager
async def writing(worker: Worker, pen: Pen, chat_id: str) -> AsyncIterator[tuple[Exchange, dict[str, Any]]]:
    """A run that still writes while the page must execute a client tool, and the page's output for the tool."""
    async with begin(worker.app, chat(said("hi"), chat_id=chat_id)) as run:
        await run.status()
        start = await run.until("start")
        asked = await run.until("tool-input-available")
        await soon(pen.started)
        call = {"type": "tool-where", "toolCallId": asked["toolCallId"], "state": "output-available", "input": {}}
        yield run, answered(start["messageId"], {**call, "output": "Oslo"}, chat_id=chat_id)


async def test_an_answer_at_another_worker_waits_for_the_end_of_the_run(shared_redis: RedisServer) -> None:
    pen, sessions = Pen(), InMemorySessionService()
    pen.may_end.clear()
    tools = [pen.note, LongRunningFunctionTool(where)]
    turns = [Call("where", {"question": "city"}), Call("note", {"text": "a"})], "Noted."
    one = Worker(shared_redis.url, sessions, *turns, tools=tools)
    two = Worker(shared_redis.url, sessions, "Oslo, then.", tools=tools)
    async with fleet(one, two), writing(one, pen, "answer") as (first, body):
        waiting = asyncio.create_task(stream(two.app, body))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        pen.may_end.set()
        assert types(await drained(first))[-1] == "finish"
        assert text(await waiting) == "Oslo, then."


async def test_an_answer_does_not_keep_a_worker_that_shuts_down(shared_redis: RedisServer) -> None:
    pen, sessions = Pen(), InMemorySessionService()
    pen.may_end.clear()
    tools = [pen.note, LongRunningFunctionTool(where)]
    turns = [Call("where", {"question": "city"}), Call("note", {"text": "a"})], "Noted.", "Oslo, then."
    one = Worker(shared_redis.url, sessions, *turns, tools=tools)
    two = Worker(shared_redis.url, sessions, tools=tools)
    async with fleet(one, two), writing(one, pen, "leaving") as (first, body):
        waiting = asyncio.create_task(post(two.app, body))
        await asyncio.sleep(0.05)
        await two.service.aclose()
        assert (await asyncio.wait_for(waiting, HANG)).status_code == 503
        pen.may_end.set()
        assert types(await drained(first))[-1] == "finish"
        assert text(await stream(one.app, body)) == "Oslo, then."


async def test_messages_at_a_worker_that_shuts_down_interrupt_nothing(shared_redis: RedisServer) -> None:
    sessions, go_on = InMemorySessionService(), asyncio.Event()
    one = Worker(shared_redis.url, sessions, ["Half ", Wait(go_on), "and whole."])
    two = Worker(shared_redis.url, sessions)
    async with fleet(one, two), begin(one.app, chat(said("hi"), chat_id="drained")) as first:
        await first.status()
        await first.until("text-delta")
        await two.service.aclose()
        assert (await post(two.app, chat(said("and?", "u2"), chat_id="drained"))).status_code == 503
        go_on.set()
        assert types(await drained(first))[-1] == "finish"


async def test_messages_for_the_run_of_a_worker_that_hangs_get_503_and_later_an_answer(
    shared_redis: RedisServer,
) -> None:
    sessions = InMemorySessionService()
    async with wires(shared_redis.url, 1) as [wire]:
        one = Worker(wire, sessions, ["Half ", Wait(asyncio.Event())], lease=LEASE)
        two = Worker(shared_redis.url, sessions, "Whole.", lease=LEASE, limits=ServiceLimits(stop_timeout=0.1))
        body = chat(said("and?", "u2"), chat_id="hangs")
        async with fleet(one, two):
            first = await one.service.respond(parse_chat_request(chat(said("hi"), chat_id="hangs")), user_id="local")
            await anext(first)
            wire.cut()
            refused = await post(two.app, body)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")

            async def answered_at_last() -> bool:
                response = await post(two.app, body)
                return response.status_code == 200 and text(chunks(response.text)) == "Whole."

            await eventually(answered_at_last)


async def test_what_one_worker_asked_is_approved_on_another(shared_redis: RedisServer) -> None:
    pen, sessions = Pen(), InMemorySessionService()
    tools = [FunctionTool(pen.note, require_confirmation=True)]
    one = Worker(shared_redis.url, sessions, Call("note", {"text": "a"}), tools=tools)
    two = Worker(shared_redis.url, sessions, "Done.", tools=tools)
    async with fleet(one, two):
        page = Page(one.app, chat_id="approve")
        await page.send("note")
        page.approve(True)
        page.app = two.app
        await page.submit()
        assert pen.notes == ["a"]
        assert page.messages[-1]["parts"][-1]["text"] == "Done."


async def test_a_denial_at_another_worker_is_refused_while_the_approved_call_runs(shared_redis: RedisServer) -> None:
    pen, sessions = Pen(), InMemorySessionService()
    pen.may_end.clear()
    tools = [FunctionTool(pen.note, require_confirmation=True)]
    one = Worker(shared_redis.url, sessions, Call("note", {"text": "a"}), "Done.", tools=tools)
    two = Worker(shared_redis.url, sessions, tools=tools)
    async with fleet(one, two):
        page, other = Page(one.app, chat_id="tabs"), Page(two.app, chat_id="tabs")
        await page.send("note")
        other.messages = deepcopy(page.messages)
        page.approve(True)
        other.approve(False)
        newer = {"id": "a2", "role": "assistant", "parts": []}
        yes, no = (tab.body(messages=[*tab.messages, newer]) for tab in (page, other))
        async with begin(one.app, yes) as approved:
            assert await approved.status() == 200
            await soon(pen.started)
            assert (await post(two.app, no)).status_code == 409
            async with begin(two.app, yes) as same:
                assert await same.status() == 200
                pen.may_end.set()
                assert text(await drained(same)) == "Done."
        assert pen.notes == ["a"]


async def test_a_worker_that_dies_frees_its_chat_and_its_readers_are_told(shared_redis: RedisServer) -> None:
    pen, sessions = Pen(), InMemorySessionService()
    pen.may_end.clear()
    async with wires(shared_redis.url, 1) as [wire]:
        one = Worker(wire, sessions, ["I write. ", Call("note", {"text": "a"})], tools=[pen.note], lease=LEASE)
        two = Worker(shared_redis.url, sessions, "Here again.", lease=LEASE)
        first = await one.service.respond(parse_chat_request(chat(said("hi"), chat_id="die")), user_id="local")
        await anext(first)
        async with fleet(one, two), resumed(two.app, "die") as second:
            assert await second.status() == 200
            await soon(pen.started)
            read = [await second.until("tool-input-available")]
            wire.cut()
            read += await drained(second)
            assert types(read)[-3:] == ["tool-output-error", "finish-step", "error"]
            assert read[-1]["errorText"] == "An error occurred."
            async with client(two.app) as http:
                stored = (await http.get("/api/chat/die")).json()["messages"]
            assert stored[0]["parts"][0]["text"] == "hi"
            again = await stream(two.app, chat(said("go on", "u2"), chat_id="die"))
            assert text(again) == "Here again."
            assert pen.notes == []


async def test_a_chat_is_renamed_at_another_worker_while_it_is_answered_and_after_that_worker_has_died(
    shared_redis: RedisServer,
) -> None:
    sessions = InMemorySessionService()
    async with wires(shared_redis.url, 1) as (wire,):
        one = Worker(wire, sessions, ["Half ", Wait(asyncio.Event())], lease=LEASE)
        two = Worker(shared_redis.url, sessions, lease=LEASE)
        async with fleet(one, two), client(two.app) as http, begin(one.app, chat(said("hi"), chat_id="named")) as first:
            await first.status()
            await first.until("text-delta")
            renamed = (await http.patch("/api/chat/named", json={"title": "Rome"})).json()
            assert (renamed["title"], renamed["running"]) == ("Rome", True)
            assert (await http.get("/api/chats")).json()["chats"] == [renamed]
            wire.cut()
            await first.until("error")

            async def is_over() -> bool:
                (listed,) = (await http.get("/api/chats")).json()["chats"]
                return listed["title"] == "Rome" and not listed["running"]

            await eventually(is_over)


async def test_without_grace_a_run_that_is_read_elsewhere_goes_on(shared_redis: RedisServer) -> None:
    go_on, sessions = asyncio.Event(), InMemorySessionService()
    turns = ["Half ", Wait(go_on), "and whole."]
    one = Worker(shared_redis.url, sessions, turns, limits=ServiceLimits(disconnect_grace=0), lease=LEASE)
    two = Worker(shared_redis.url, sessions, lease=LEASE)
    async with fleet(one, two), begin(one.app, chat(said("hi"), chat_id="grace")) as first:
        await first.status()
        await first.until("text-delta")
        async with resumed(two.app, "grace") as second:
            assert await second.status() == 200
            await second.until("text-delta")

            async def watched() -> bool:
                return one.service.runs.lease.read_elsewhere

            await eventually(watched)
            first.leave()
            await asyncio.sleep(LEASE)
            go_on.set()
            assert text(await drained(second)).strip() == "and whole."


async def test_a_redis_that_is_away_refuses_requests_and_says_so(redis: RedisServer) -> None:
    one = Worker(redis.url, InMemorySessionService())
    async with fleet(one), client(one.app) as http:
        redis.kill()
        answers = [
            await post(one.app, chat(said("hi"))),
            await http.get("/api/chat/c1/stream"),
            await http.post("/api/chat/c1/stop"),
        ]
        assert {answer.status_code for answer in answers} == {503}


async def test_a_redis_that_is_lost_ends_the_response_with_an_error(redis: RedisServer) -> None:
    pen = Pen()
    go_on = asyncio.Event()
    turns = ["Half ", Wait(go_on), Call("note", {"text": "a"})]
    one = Worker(redis.url, InMemorySessionService(), turns, tools=[pen.note], lease=LEASE)
    async with fleet(one), begin(one.app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        redis.kill()
        assert types(await drained(exchange))[-1] == "error"
        go_on.set()
        assert pen.notes == []


async def test_a_blip_of_redis_is_not_seen(redis: RedisServer) -> None:
    go_on = asyncio.Event()
    one = Worker(redis.url, InMemorySessionService(), ["Half ", Wait(go_on), "and whole."])
    async with fleet(one), begin(one.app, chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        redis.kill()
        redis.start()
        await asyncio.sleep(LEASE)
        go_on.set()
        rest = await drained(exchange)
        assert types(rest)[-1] == "finish"
        assert text(rest).strip() == "and whole."
