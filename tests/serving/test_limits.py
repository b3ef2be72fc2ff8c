"""Limits of a worker for one user, and for all together: plain refusals, and a slot that is always freed."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import fields
from typing import Any
from unittest import mock

import httpx
import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent
from google.adk.agents.run_config import RunConfig
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import ListSessionsResponse
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import START, Workflow
from hypothesis import given, strategies as st
from starlette.applications import Starlette
from starlette.requests import Request

from stream_protocol import StreamProtocolError, parse_chat_request
from stream_protocol.agents import emit_data
from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.serving import (
    ChatEndpoints,
    MemoryRunLog,
    RunLimitError,
    RunOverrides,
    ServiceLimits,
    create_app,
    default_run_config,
    explain_error,
    header_user,
)
from stream_protocol.serving.base._limits import RequestRates, RunSlot, RunSlots, UserReads
from stream_protocol.serving.run_logs import RunLogError
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import ChatRequestError
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import (
    HANG,
    Exchange,
    answered,
    begin,
    chat,
    chunks,
    client,
    only,
    post,
    said,
    soon,
    stream,
    text,
    types,
    why,
)

pytestmark = pytest.mark.usefixtures("patient_clock")

SECOND = 10**9
HALF: list[Any] = ["Half ", Wait(3600), "and whole."]
"""An answer that ends only when a test ends it."""

OWN = (429, "Too many of your messages are being answered at once. Wait for an answer, or stop one.", "5")
ALL = (503, "The server is busy with other chats. Try again in a moment.", "5")


def service_of(*turns: Any, tools: Any = (), slots: int | None = None, **options: Any) -> InstrumentedService:
    """``slots``: runs of a user."""
    options.setdefault("limits", ServiceLimits(max_runs_per_user=slots))
    return InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=list(tools)), **options)


def told(response: httpx.Response) -> tuple[int, str, str | None]:
    return response.status_code, why(response), response.headers.get("retry-after")


def words(chat_id: str, text: str = "hi", message_id: str = "u1") -> dict[str, Any]:
    return chat(said(text, message_id), chat_id=chat_id)


@asynccontextmanager
async def running(app: Any, *bodies: dict[str, Any], user: str = "local") -> AsyncIterator[list[Exchange]]:
    """These requests, each with a run that has begun to answer."""
    async with AsyncExitStack() as stack:
        exchanges = []
        for body in bodies:
            headers = {"content-type": "application/json", "x-user": user}
            exchange = await stack.enter_async_context(begin(app, body, headers))
            assert await exchange.status() == 200
            await exchange.until("text-delta")
            exchanges.append(exchange)
        yield exchanges


# The options


@pytest.mark.parametrize("name", [field.name for field in fields(ServiceLimits) if field.name.startswith("max_")])
@pytest.mark.parametrize("value", [0, -1, 1.5, float("nan"), float("inf"), True, "5"])
def test_a_limit_is_a_whole_number_from_one(name: str, value: Any) -> None:
    with pytest.raises(StreamProtocolError, match=f"`{name}` must be a whole number from 1, or None."):
        ServiceLimits(**{name: value})


# Requests of a user and minute


class Clock:
    def __init__(self) -> None:
        self.now = 7 * SECOND

    def __call__(self) -> int:
        return self.now


def refused_for(rates: RequestRates, user_id: str) -> int | None:
    """After how many seconds the user may ask again; ``None`` if the request is counted."""
    try:
        rates.count(user_id)
    except ChatRequestError as refusal:
        return refusal.retry_after
    return None


@given(st.integers(1, 5000), st.lists(st.integers(0, 5 * SECOND), max_size=60))
def test_a_minute_has_its_requests_and_whoever_waits_as_long_as_told_is_let_in(limit: int, pauses: list[int]) -> None:
    clock = Clock()
    rates = RequestRates(limit, clock)
    at_once = [refused_for(rates, "ann") for _ in range(limit + 1)]
    assert at_once[:-1] == [None] * limit
    for number, pause in enumerate(pauses):
        clock.now += pause
        if (seconds := refused_for(rates, "ann")) is not None:
            assert refused_for(rates, f"another {number}") is None
            clock.now += seconds * SECOND
            assert refused_for(rates, "ann") is None


def test_no_more_than_two_allowances_pass_in_any_minute() -> None:
    clock = Clock()
    rates = RequestRates(60, clock)
    passed = 0
    for _ in range(600):
        passed += refused_for(rates, "ann") is None
        clock.now += SECOND // 10
    assert passed == 60 + 59


def test_users_who_come_once_are_forgotten() -> None:
    clock = Clock()
    rates = RequestRates(60, clock)
    for _ in range(60):
        rates.count("busy")
    for number in range(10_000):
        clock.now += SECOND // 100
        rates.count(f"user {number}")
    assert len(rates) < 500


def test_without_a_limit_nobody_is_counted() -> None:
    rates = RequestRates(None)
    for _ in range(100):
        rates.count("ann")
    assert len(rates) == 0


ROUTES = [
    ("POST", "/api/chat"),
    ("GET", "/api/chat/c1"),
    ("GET", "/api/chats"),
    ("GET", "/api/chat/c1/stream"),
    ("PATCH", "/api/chat/c1"),
    ("DELETE", "/api/chat/c1"),
    ("GET", "/api/chat/c1/artifacts/a.txt"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_route_but_stop_counts_and_refuses_before_it_reads(method: str, path: str) -> None:
    limits = ServiceLimits(max_requests_per_minute=2)
    app = create_app(service_of("Well.", limits=limits), identify=header_user("X-User"))
    async with client(app) as http:
        ann, bob = {"x-user": "ann", "content-type": "application/json"}, {"x-user": "bob"}
        await http.post("/api/chat", content=b"no JSON", headers=ann)  # what is refused later counts, too
        assert (await http.request(method, path, content=b"no JSON", headers=ann)).status_code != 429
        refused = await http.request(method, path, content=b"no JSON", headers=ann)
        seconds = refused.headers["retry-after"]
        assert told(refused) == (429, f"Too many requests. Try again in {seconds} seconds.", seconds)
        assert 1 < int(seconds) <= 30
        assert (await http.request(method, path, headers=bob)).status_code != 429
        assert (await http.get("/healthz", headers=ann)).status_code == 200


FOREIGN = {"sec-fetch-site": "cross-site"}
READS = [path for method, path in ROUTES if method == "GET"]


@pytest.mark.parametrize("sent_by", [{}, FOREIGN])
async def test_a_stop_is_never_refused_for_the_rate(sent_by: dict[str, str]) -> None:
    app = create_app(service_of(HALF, limits=ServiceLimits(max_requests_per_minute=3)))
    async with begin(app, chat(said("hi"))) as exchange, client(app) as http:
        assert await exchange.status() == 200
        await exchange.until("text-delta")
        while (await http.get("/api/chats", headers=sent_by)).status_code != 429:
            pass
        stops = [await http.post(f"/api/chat/{name}/stop") for name in ["c1"] * 5 + ["none"] * 5]
        assert [stop.status_code for stop in stops] == [202] * 5 + [404] * 5
        assert (await exchange.until("abort"))["type"] == "abort"
        status = (await http.get("/api/chats")).status_code
        assert status == (200 if sent_by else 429)  # the stops have not used up what is left of the allowance


@pytest.mark.parametrize("path", READS)
async def test_a_page_of_another_site_uses_up_no_requests_of_its_user(path: str) -> None:
    app = create_app(service_of("Well.", limits=ServiceLimits(max_requests_per_minute=5)))
    async with client(app) as http:
        foreign = [(await http.get(path, headers=FOREIGN)).status_code for _ in range(6)]
        assert 429 not in foreign[:5]  # links lead here from other sites
        assert foreign[5] == 429
        assert (
            await http.get(path, headers=FOREIGN | {"sec-fetch-site": "same-origin, cross-site"})
        ).status_code == 429
        own = [(await http.get(path, headers=headers)).status_code for headers in ({}, {"sec-fetch-site": "none"})]
        assert 429 not in own
        assert (await post(app, chat(said("hi")))).status_code == 200


async def test_a_page_of_another_site_that_is_allowed_uses_the_requests_of_its_user() -> None:
    page = "https://page.example"
    service = service_of("Well.", limits=ServiceLimits(max_requests_per_minute=2))
    async with client(create_app(service, allow_origins=[page])) as http:
        assert [(await http.get("/api/chats", headers=FOREIGN)).status_code for _ in range(3)] == [200, 200, 429]
        allowed = [await http.get("/api/chats", headers={**FOREIGN, "origin": page}) for _ in range(3)]
        assert [answer.status_code for answer in allowed] == [200, 200, 429]


async def test_a_page_of_another_site_that_asks_the_inspector_uses_up_no_requests_of_its_user() -> None:
    service = service_of("Well.", limits=ServiceLimits(max_requests_per_minute=1))
    app = Starlette(routes=inspector_routes(Inspector(), service))
    async with client(app) as http:
        statuses = [(await http.get("/api/chat/c1/inspect", headers=headers)).status_code for headers in [FOREIGN] * 2]
        assert (statuses, (await http.get("/api/chat/c1/inspect")).status_code) == ([200, 429], 200)


async def test_the_body_of_a_refused_request_is_read_and_dropped() -> None:
    app = create_app(service_of("Well.", limits=ServiceLimits(max_requests_per_minute=1)))
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(10):
            yield b"[" * 1000
            sent += 1

    async with client(app) as http:
        for status in (415, 429):
            assert (await http.post("/api/chat", content=body())).status_code == status
            assert sent == 10
            sent = 0


async def test_a_request_without_a_user_counts_for_nobody() -> None:
    service = service_of("Well.", limits=ServiceLimits(max_requests_per_minute=1))
    app = create_app(service, identify=header_user("X-User"))
    assert [(await post(app, {})).status_code for _ in range(3)] == [401] * 3


async def test_routes_of_the_apps_own_count_once() -> None:
    service = service_of("Well.", limits=ServiceLimits(max_requests_per_minute=1))
    endpoints = ChatEndpoints(service)

    async def route(scope: Any, receive: Any, send: Any) -> None:
        await (await endpoints.chats(Request(scope, receive), user_id="ann"))(scope, receive, send)

    async with client(route) as http:
        assert [(await http.get("/")).status_code for _ in range(2)] == [200, 429]


async def turns(number: int) -> None:
    """Lets the loop turn so often."""
    for _ in range(number):
        await asyncio.sleep(0)


class CountingSessions(InMemorySessionService):
    """Knows how many read it at once."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = self.most = 0
        self.go_on = asyncio.Event()

    async def get_session(self, **about: Any) -> Session | None:
        async with self._counted():
            return await super().get_session(**about)

    async def list_sessions(self, **about: Any) -> ListSessionsResponse:
        async with self._counted():
            return await super().list_sessions(**about)

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self.reading += 1
        self.most = max(self.most, self.reading)
        try:
            await self.go_on.wait()
            yield
        finally:
            self.reading -= 1


async def test_what_one_user_asks_for_at_once_is_read_two_by_two_and_others_have_their_turn() -> None:
    sessions = CountingSessions()
    service = service_of("Well.", session_service=sessions)
    app = create_app(service, identify=lambda request: request.headers.get("x-user", "local"))
    paths = ["/api/chats", "/api/chat/a", "/api/chat/a/artifacts/b"] * 10
    async with client(app) as http:
        asked = [asyncio.create_task(http.get(path)) for path in paths]
        await turns(200)
        assert sessions.most == sessions.reading == 2
        other = asyncio.create_task(http.get("/api/chats", headers={"x-user": "bob"}))
        await turns(200)
        assert sessions.reading == 3
        sessions.go_on.set()
        assert (await other).status_code == 200
        assert {(await each).status_code for each in asked} == {200, 404}


async def test_who_leaves_before_it_is_his_turn_leaves_nothing_that_was_never_begun() -> None:
    sessions = CountingSessions()
    service = service_of("Well.", session_service=sessions)
    async with client(create_app(service)) as http:
        asked = [asyncio.create_task(http.get(path)) for path in ["/api/chats", "/api/chat/a"] * 3]
        await turns(200)
        assert sessions.reading == 2
        for each in asked:
            each.cancel()
        assert len(await asyncio.gather(*asked, return_exceptions=True)) == 6
    gc.collect()  # a coroutine that was never awaited fails this test, and not a later one


async def test_a_store_in_memory_gives_others_their_turn_between_two_reads() -> None:
    reads, seen = UserReads(1), list[int]()

    async def read(number: int) -> None:
        async with reads.turn("ann"):
            seen.append(number)

    tasks = [asyncio.create_task(read(number)) for number in range(3)]
    await turns(2)
    assert seen == [0]
    await asyncio.gather(*tasks)
    assert seen == [0, 1, 2]


# Runs


async def test_a_user_has_so_many_runs_and_others_have_theirs() -> None:
    service = service_of(HALF, HALF, HALF, "Whole.", slots=2)
    app = create_app(service, identify=lambda request: request.headers.get("x-user", "local"))
    async with running(app, words("a"), words("b")), running(app, words("a"), user="bob"):
        assert told(await post(app, words("c"))) == OWN
        assert await service.history("c", user_id="local") is None  # nothing was stored
        await service.stop("a", user_id="local")
        assert text(await stream(app, words("c"))) == "Whole."


async def test_a_worker_has_so_many_runs_and_who_has_too_many_of_them_is_told_so() -> None:
    service = service_of(HALF, HALF, "Whole.", limits=ServiceLimits(max_runs=2, max_runs_per_user=1))
    app = create_app(service, identify=lambda request: request.headers.get("x-user", "local"))
    async with running(app, words("a")), running(app, words("b"), user="bob"):
        assert told(await post(app, words("c"))) == OWN
        async with client(app) as http:
            assert told(await http.post("/api/chat", json=words("c"), headers={"x-user": "eve"})) == ALL
        await service.stop("b", user_id="bob")
        async with client(app) as http:
            response = await http.post("/api/chat", json=words("c"), headers={"x-user": "eve"})
        assert text(chunks(response.text)) == "Whole."


async def test_of_two_who_come_at_once_one_has_the_last_slot() -> None:
    service = service_of(HALF, HALF, slots=1)
    app = create_app(service)
    tasks = [asyncio.create_task(post(app, words(chat_id))) for chat_id in ("a", "b")]
    done, waiting = await asyncio.wait(tasks, timeout=HANG, return_when=asyncio.FIRST_COMPLETED)
    assert [told(task.result()) for task in done] == [OWN]
    service.runs.run.stop()
    assert [(await task).status_code for task in waiting] == [200]


async def test_new_messages_take_over_the_slot_of_the_run_that_they_interrupt() -> None:
    service = service_of(HALF, "Whole.", slots=1)
    app = create_app(service)
    async with running(app, words("a")) as (first,):
        refused = asyncio.create_task(post(app, words("b")))
        assert text(await stream(app, chat(said("hi"), said("and?", "u2"), chat_id="a"))) == "Whole."
        assert told(await refused) == OWN
        await first.until("abort")


async def test_messages_that_are_refused_interrupt_nothing() -> None:
    """The run is another worker's: its slot is not this one's to take over."""
    log, sessions = MemoryRunLog(), InMemorySessionService()
    one = service_of(HALF, run_log=log, session_service=sessions)
    full = service_of(HALF, slots=1, run_log=log, session_service=sessions)
    async with running(create_app(one), words("a")) as (goes_on,), running(create_app(full), words("b")):
        assert told(await post(create_app(full), words("a", "other", "u2"))) == OWN
        assert not one.runs.run.log.closed
        goes_on.leave()
        await one.stop("a", user_id="local")


async def test_what_begins_no_run_takes_no_slot() -> None:
    service = service_of("Done.", HALF, slots=1)
    app = create_app(service)
    await stream(app, words("done"))
    async with running(app, words("a")):
        async with begin(app, words("a")) as retry:
            assert await retry.status() == 200
            assert (await retry.until("text-delta"))["delta"] == "Half "
        assert text(await stream(app, words("done") | {"trigger": "submit-message"})) == "Done."  # what is stored
        async with client(app) as http:
            async with Exchange(app, "/api/chat/a/stream", method="GET").begin(b"") as resumed:
                assert await resumed.status() == 200
            assert (await http.get("/api/chat/a")).status_code == 200
            assert (await http.patch("/api/chat/done", json={"title": "Rome"})).status_code == 200
            assert (await http.delete("/api/chat/done")).status_code == 204
        assert told(await post(app, words("b"))) == OWN
        async with client(app) as http:
            assert (await http.post("/api/chat/a/stop")).status_code == 202


async def test_who_has_read_an_answer_to_its_end_may_begin_the_next_one() -> None:
    stored = asyncio.Event()

    async def on_finish(*_: Any, **__: Any) -> None:
        await stored.wait()

    service = service_of("One.", "Two.", slots=1, on_finish=on_finish)
    app = create_app(service)
    assert text(await stream(app, words("a"))) == "One."
    waiting = asyncio.create_task(stream(app, words("b")))
    await asyncio.sleep(0)
    stored.set()
    assert text(await waiting) == "Two."


async def test_a_run_that_does_not_end_in_time_keeps_its_slot() -> None:
    never = asyncio.Event()

    async def on_finish(*_: Any, **__: Any) -> None:
        await never.wait()

    service = service_of("One.", on_finish=on_finish, limits=ServiceLimits(max_runs_per_user=1, stop_timeout=0))
    app = create_app(service)
    await stream(app, words("a"))
    assert told(await post(app, words("b"))) == OWN
    never.set()


# A slot is given back


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.booleans()), max_size=40))
def test_whatever_comes_and_goes_no_more_are_taken_than_may_be_and_none_is_left(
    deeds: list[tuple[str, int, bool]],
) -> None:
    async def live() -> None:
        slots = RunSlots(per_user=3, per_worker=4)
        taken: list[RunSlot] = []
        for user_id, number, takes in deeds:
            if not takes and taken:
                taken.pop(number % len(taken)).free()
                continue
            slot = RunSlot(slots, (user_id, number))
            before = {each.key for each in taken}
            of_user = [key for key in before if key[0] == user_id]
            status = 0 if slot.key in before else 429 if len(of_user) == 3 else 503 if len(before) == 4 else 0
            if status:
                with pytest.raises(ChatRequestError) as refusal:
                    await slot.take()
                assert refusal.value.status == status
                slot.free()  # as the request does
            else:
                await slot.take()
                taken.append(slot)
            assert len(slots) == len({each.key for each in taken})
        for slot in taken:
            slot.free()
            slot.free()
        assert len(slots) == 0

    asyncio.run(live())


class Sessions(InMemorySessionService):
    """A store that fails on demand."""

    fails = False
    holds: asyncio.Event | None = None

    async def create_session(self, **about: Any) -> Session:
        if self.holds is not None:
            await self.holds.wait()
        if self.fails:
            raise OSError("the disk is full")
        return await super().create_session(**about)


async def refuse_plan(service: InstrumentedService, _sessions: Sessions) -> None:
    output = {"type": "tool-x", "toolCallId": "x", "state": "output-available", "input": {}, "output": 1}
    assert (await post(create_app(service), answered("m1", output, chat_id="a"))).status_code in (409, 422)


async def fail_to_store(service: InstrumentedService, sessions: Sessions) -> None:
    sessions.fails = True
    assert (await post(create_app(service), words("a"))).status_code == 503
    sessions.fails = False


async def fail_to_claim(service: InstrumentedService, _sessions: Sessions) -> None:
    with mock.patch.object(service.runs, "claim", side_effect=RunLogError("Redis is gone")):
        assert (await post(create_app(service), words("a"))).status_code == 503


async def cancel_request(service: InstrumentedService, sessions: Sessions) -> None:
    sessions.holds = asyncio.Event()
    request = parse_chat_request(words("a"))
    task = asyncio.create_task(service.respond(request, user_id="local"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    sessions.holds = None


async def leave_early(service: InstrumentedService, _sessions: Sessions) -> None:
    async with running(create_app(service), words("a")) as (exchange,):
        exchange.leave()
        await exchange.gone()
    await service.stop("a", user_id="local")
    await service.runs.free()


async def lose_lease(service: InstrumentedService, _sessions: Sessions) -> None:
    async with running(create_app(service), words("a")) as (exchange,):
        service.runs.run.lease_lost()
        await exchange.until("error")
    await service.runs.free()


async def fail_in_run(service: InstrumentedService, _sessions: Sessions) -> None:
    broken = LlmAgent(name="root", model=ScriptedLlm(respond=lambda _: OSError("no model")))
    app = create_app(service, prepare=lambda *_: RunOverrides(agent=broken))
    assert types(await stream(app, words("a", "again", "u2")))[-1] == "error"


async def interrupt_twice(service: InstrumentedService, _sessions: Sessions) -> None:
    app = create_app(service)
    async with running(app, words("a")), running(app, words("a", "and?", "u2")):
        await service.stop("a", user_id="local")
    await service.runs.free()


ENDS: list[Callable[[InstrumentedService, Sessions], Any]] = [
    refuse_plan,
    fail_to_store,
    fail_to_claim,
    cancel_request,
    leave_early,
    lose_lease,
    fail_in_run,
    interrupt_twice,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_the_slot_is_given_back(end: Callable[[InstrumentedService, Sessions], Any]) -> None:
    sessions = Sessions()
    model = ScriptedLlm(respond=lambda request: ["Whole."] if "Last" in str(request.contents) else HALF)
    service = InstrumentedService(
        LlmAgent(name="root", model=model), session_service=sessions, limits=ServiceLimits(max_runs=1)
    )
    for _ in range(2):
        await end(service, sessions)
        await service.runs.free()
    assert text(await stream(create_app(service), words("b", "Last"))) == "Whole."


async def test_a_closed_service_gives_its_slots_back_and_refuses() -> None:
    service = service_of(HALF, slots=1)
    app = create_app(service)
    async with running(app, words("a")) as (exchange,):
        waiting = asyncio.create_task(post(app, words("a", "and?", "u2")))
        await asyncio.gather(exchange.until("abort"), service.aclose())
        assert (await waiting).status_code in (200, 503)
        assert (await post(app, words("b"))).status_code == 503


# Answers that wait


def where(question: str) -> None:
    """Only the page knows."""


class BusyChat:
    """A chat whose agent asks the page and digs: an answer to the question has to wait for the end of the run."""

    def __init__(self, *turns: Any, limits: dict[str, Any] | None = None, **options: Any) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        both = [Call("dig"), Call("where", {"question": "Where?"})]
        tools = [self.dig, LongRunningFunctionTool(where)]
        self.service = service_of(
            both, *turns, tools=tools, limits=ServiceLimits(stop_timeout=0.01, **(limits or {})), **options
        )
        self.app = create_app(self.service)

    async def dig(self) -> str:
        """Digs."""
        self.begun.set()
        await self.may_end.wait()
        return "dug"

    @asynccontextmanager
    async def ask(self) -> AsyncIterator[Callable[[str], dict[str, Any]]]:
        """Begins the chat. Yields the function that makes an answer to its question."""
        async with begin(self.app, words("c1")) as exchange:
            assert await exchange.status() == 200
            start = await exchange.until("start")
            while (call := await exchange.until("tool-input-available"))["toolName"] != "where":
                pass
            await soon(self.begun)

            def answer(output: str) -> dict[str, Any]:
                given = {"state": "output-available", "input": call["input"], "output": output}
                part = {"type": "tool-where", "toolCallId": call["toolCallId"], **given}
                return answered(start["messageId"], part)

            yield answer
            self.may_end.set()


async def test_an_answer_that_waits_takes_no_slot_and_is_refused_in_its_response() -> None:
    """The run continues on another worker, which has a slot. This worker has no slot, and gets the answer."""
    log, sessions = MemoryRunLog(), InMemorySessionService()
    busy_chat = BusyChat(HALF, "I dug.", "Oslo, then.", run_log=log, session_service=sessions)
    agent: Any = busy_chat.service.runner.agent
    limits = ServiceLimits(max_runs_per_user=1, stop_timeout=0.01)
    full = InstrumentedService(agent, run_log=log, session_service=sessions, limits=limits)
    async with busy_chat.ask() as answer, running(create_app(full), words("b")):
        async with begin(create_app(full), answer("Oslo")) as waiting:
            assert await waiting.status() == 200
            busy_chat.may_end.set()
            assert await waiting.chunk() == {"type": "error", "errorText": OWN[1]}
        assert text(await stream(busy_chat.app, answer("Oslo"))) == "Oslo, then."
        await full.stop("b", user_id="local")


async def test_so_many_requests_of_a_user_wait() -> None:
    busy_chat = BusyChat("I dug.", "Oslo, then.", limits={"max_runs_per_user": 1, "max_waiting_per_user": 2})
    async with busy_chat.ask() as answer, AsyncExitStack() as stack:
        for city in ("Oslo", "Rome"):
            waiting = await stack.enter_async_context(begin(busy_chat.app, answer(city)))
            assert await waiting.status() == 200
        assert told(await post(busy_chat.app, answer("Bonn"))) == OWN
    await busy_chat.service.runs.free()


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_so_many_wait_for_a_run_that_is_stopping(method: str) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def stubborn() -> str:
        """Does not let itself be stopped."""
        begun.set()
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):
                await may_end.wait()
        return "at last"

    limits = ServiceLimits(max_waiting_per_user=2)
    service = service_of(Call("stubborn"), *["Whole."] * 2, tools=[stubborn], limits=limits)
    app = create_app(service)
    async with begin(app, words("a")) as first:
        assert await first.status() == 200
        await soon(begun)
        waiting = [asyncio.create_task(post(app, words("a", "and?", f"w{number}"))) for number in range(2)]
        await first.until("abort")
        async with client(app) as http:
            path = {"POST": "/api/chat", "DELETE": "/api/chat/a"}[method]
            assert told(await http.request(method, path, json=words("a", "more", "w3"))) == OWN
            assert (await http.get("/api/chats")).status_code == 200
        may_end.set()
        assert [(await each).status_code for each in waiting] == [200, 200]


# The limits of a run's output


def endless_text(_request: Any) -> Any:
    return ["x"] * 100


def endless_data(tool_context: ToolContext) -> str:
    """Shows a lot."""
    for number in range(20):
        emit_data(tool_context, "point", number)
    return "shown"


def look() -> str:
    """Looks."""
    return "nothing"


async def goes_on(app: Any, agent: list[Any]) -> None:
    """The page shows the stored part of the answer, and the next message is answered."""
    page = Page(app)
    page.messages = await page.stored()
    assert [message["role"] for message in page.messages] == ["user", "assistant"]
    agent.append(LlmAgent(name="root", model=ScriptedLlm(turns=["Whole."])))
    await page.send("and?")
    assert page.messages[-1]["parts"][-1]["text"] == "Whole."
    assert await page.stored() == page.messages


LOOPS: dict[str, Callable[[], BaseAgent]] = {
    "words": lambda: LlmAgent(name="root", model=ScriptedLlm(respond=endless_text)),
    "an agent in a loop": lambda: LoopAgent(
        name="root", sub_agents=[LlmAgent(name="a", model=ScriptedLlm(respond=lambda _: "hi"))]
    ),
    "data": lambda: LlmAgent(
        name="root", model=ScriptedLlm(respond=lambda _: Call("endless_data")), tools=[endless_data]
    ),
    "calls": lambda: LlmAgent(name="root", model=ScriptedLlm(respond=lambda _: Call("look")), tools=[look]),
}


@pytest.mark.filterwarnings("ignore:LoopAgent is deprecated:DeprecationWarning")  # people have them
@pytest.mark.parametrize("make", LOOPS.values(), ids=LOOPS)
async def test_a_run_that_says_too_much_ends_in_one_plain_error_and_the_chat_goes_on(
    make: Callable[[], BaseAgent],
) -> None:
    agent: list[BaseAgent] = [make()]
    service = InstrumentedService(agent[0], limits=ServiceLimits(max_chunks=50))
    app = create_app(service, prepare=lambda *_: RunOverrides(agent=agent[-1]))
    response = chunks((await post(app, words("c1"))).text)
    assert response[-1] == {
        "type": "error",
        "errorText": "The answer became too long and was ended. Ask for less at once.",
    }
    assert len(only(response, "error")) == 1
    await service.runs.free()
    await goes_on(app, agent)


async def test_a_response_may_have_as_many_chunks_as_it_may() -> None:
    service = service_of("Whole.")
    whole = await stream(create_app(service), words("a"))
    for limit, ending in ((len(whole), "finish"), (2, "error")):
        limited = service_of("Whole.", limits=ServiceLimits(max_chunks=limit))
        assert types(await stream(create_app(limited), words("a")))[-1] == ending


def scripted(name: str, call: Call, tools: Any = (look,), **more: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedLlm(respond=lambda _: call), tools=list(tools), **more)


ASKING: dict[str, Callable[[], Any]] = {
    "an agent": lambda: scripted("root", Call("look")),
    "its sub-agent": lambda: scripted(
        "root", Call("transfer_to_agent", {"agent_name": "sub"}), sub_agents=[scripted("sub", Call("look"))]
    ),
    "an agent as a tool": lambda: scripted(
        "root", Call("inner", {"request": "?"}), [AgentTool(scripted("inner", Call("look"), description="Looks."))]
    ),
    "a loop": lambda: LoopAgent(name="root", sub_agents=[scripted("sub", Call("look"))]),
    "a workflow": lambda: Workflow(name="root", edges=[(START, scripted("sub", Call("look"), mode="single_turn"))]),
}


@pytest.mark.filterwarnings("ignore:LoopAgent is deprecated:DeprecationWarning")  # people have them
@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")  # AgentTool's own
@pytest.mark.parametrize("make", ASKING.values(), ids=ASKING)
async def test_a_run_that_asks_its_models_too_often_ends_in_one_plain_error_and_the_chat_goes_on(
    make: Callable[[], Any],
) -> None:
    config = default_run_config().model_copy(update={"max_llm_calls": 3})
    agent: list[Any] = [make()]
    service = InstrumentedService(agent[0], run_config=config)
    app = create_app(service, prepare=lambda *_: RunOverrides(agent=agent[-1]))
    response = chunks((await post(app, words("c1"))).text)
    assert only(response, "error") == [
        {"type": "error", "errorText": "The answer needed too many steps and was ended. Ask for less at once."}
    ]
    await goes_on(app, agent)


async def test_the_calls_that_an_app_allows_for_one_request_count() -> None:
    service = service_of(Call("look"), Call("look"), "Whole.", tools=[look])
    app = create_app(service, prepare=lambda *_: RunOverrides(run_config=RunConfig(max_llm_calls=2)))
    assert types(await stream(app, words("c1")))[-1] == "error"


async def test_the_apps_own_words_for_an_error_count_for_a_limit_too() -> None:
    errors: list[BaseException] = []

    def on_error(error: BaseException) -> str:
        errors.append(error)
        return "Zu lang."

    service = service_of(["x"] * 50, limits=ServiceLimits(max_chunks=10), on_error=on_error)
    assert (await stream(create_app(service), words("c1")))[-1]["errorText"] == "Zu lang."
    (error,) = errors
    assert isinstance(error, RunLimitError)
    assert explain_error(error) == "The answer became too long and was ended. Ask for less at once."
