"""Responses that a client does not read: their memory is bounded, and freed when the client disconnects."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import socket
import tracemalloc
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any
from weakref import ref

import pytest
import uvicorn
from google.adk.agents import LlmAgent
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import ToolContext
from google.genai import types
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message
from uvicorn.server import ServerState

from stream_protocol.server import ServerLimits
from stream_protocol.server._limited_http import limited_http
from stream_protocol.serving import ChatService, ServiceLimits
from stream_protocol.serving.base._byte_budget import UNCOUNTED_BYTES
from stream_protocol.serving.base._limits import HISTORIES_AT_ONCE, response_budget
from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.serving.http._sliced_response import SlicedResponse, history_json
from stream_protocol.serving.http._stream_response import UIMessageStreamResponse
from stream_protocol.serving.run_logs import EventBuffer, RunReader
from stream_protocol.testing import Call, ScriptedLlm, Turn
from stream_protocol.wire import SSE_KEEP_ALIVE
from tests.serving.support import HANG, chat, said

MIB = 2**20
FILE = 3 * MIB
IN_BASE64 = FILE * 4 // 3


def who(request: Request) -> str:
    return request.headers.get("x-user", "ann")


def answer(request: LlmRequest) -> Turn:
    """Script of the model: ``text`` for a long text, ``file`` for an artifact, anything else for one word."""
    last = request.contents[-1].parts or []
    if any(part.function_response for part in last):
        return "Saved."
    words = next((part.text for part in last if part.text), "")
    return Call("save", {}) if words == "file" else "x" * FILE if words == "text" else "Seen."


async def save(tool_context: ToolContext) -> str:
    """Saves a file."""
    part = types.Part(inline_data=types.Blob(data=bytes(FILE), mime_type="application/pdf"))
    await tool_context.save_artifact("big.pdf", part)
    return "saved"


class Server:
    """A real server on loopback, in this event loop."""

    def __init__(self, port: int, state: ServerState) -> None:
        self.port = port
        self._state = state

    async def asks(
        self, path: str, body: Any = None, *, user: str = "ann", method: str = "", receive: int = 4096
    ) -> Reader:
        """Sends a request on a new connection, and reads the first bytes of the response."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, ("127.0.0.1", self.port))
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method or ('POST' if body else 'GET')} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-User: {user}\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n" if body else ""
        await loop.sock_sendall(connection, f"{head}{kind}Connection: close\r\n\r\n".encode() + content)
        return Reader(connection, await asyncio.wait_for(loop.sock_recv(connection, 300), HANG))

    async def has_ended_all(self) -> None:
        """Waits until the server has finished every request."""
        async with asyncio.timeout(HANG):
            while self._state.tasks:  # noqa: ASYNC110 - uvicorn tells nobody
                await asyncio.sleep(0.01)


class ChatServer(Server):
    """A chat endpoint in this process."""

    def __init__(self, service: ChatService, server: Server) -> None:
        super().__init__(server.port, server._state)  # noqa: SLF001 - of its own class
        self.service = service

    async def says(self, words: str, chat_id: str = "big", user: str = "ann") -> bytes:
        body = chat(said(words), chat_id=chat_id, trigger="submit-message")
        reader = await self.asks("/api/chat", body, user=user, receive=MIB)
        return await reader.rest()

    def room(self, user: str = "ann") -> bool:
        """True if the memory budget is empty, so every byte was released."""
        limit = 256 * MIB
        with self.service.hold_memory(user) as share, self.service.hold_memory("another") as other:
            share.take(limit // 2)
            other.take(limit // 2)
        return True


class Reader:
    """A client that has read the first bytes of its response."""

    def __init__(self, connection: socket.socket, first: bytes) -> None:
        self._connection = connection
        self._first = first

    @property
    def status(self) -> int:
        return int(self._first.split()[1])

    async def rest(self) -> bytes:
        """Reads the response to its end."""
        read = self._first
        while piece := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self._connection, 2**18), HANG):
            read += piece
        self._connection.close()
        return read

    def leaves(self) -> None:
        """Closes the connection with most of the response unread."""
        self._connection.close()


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[Server]:
    config = uvicorn.Config(app, http=limited_http(ServerLimits()), ws="none", log_config=None, lifespan="off")
    config.load()
    state = ServerState()
    protocol: Any = config.http_protocol_class
    server = await asyncio.get_running_loop().create_server(
        lambda: protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield Server(server.sockets[0].getsockname()[1], state)
    finally:
        server.close()
        for connection in [*state.connections]:
            connection.transport.abort()
        while state.connections:  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.01)


@asynccontextmanager
async def opened(limits: ServiceLimits | None = None, **times: float) -> AsyncIterator[ChatServer]:
    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="root", model=ScriptedLlm(respond=answer), tools=[save]),
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService(),
    )
    service = ChatService(runner, limits=limits, times=ServiceTimes(**times))
    async with listening(Starlette(routes=chat_routes(service, identify=who))) as server:
        yield ChatServer(service, server)
    await service.aclose()


def attached(name: str = "u1", files: int = 1) -> dict[str, Any]:
    url = "data:application/pdf;base64," + b64encode(bytes(FILE)).decode()
    part = {"type": "file", "mediaType": "application/pdf", "url": url}
    return {"id": name, "role": "user", "parts": [{"type": "text", "text": "Look."}, *[part] * files]}


@contextmanager
def without_collection() -> Iterator[Callable[[], int]]:
    """Turn off garbage collection in this block. Yields a function that returns the number of allocated bytes."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()


async def history(chat_server: ChatServer) -> tuple[str, Any]:
    await (await chat_server.asks("/api/chat", chat(attached(), chat_id="big"), receive=MIB)).rest()
    return "/api/chat/big", None


async def artifact(chat_server: ChatServer) -> tuple[str, Any]:
    await chat_server.says("file")
    return "/api/chat/big/artifacts/big.pdf", None


async def stored_response(chat_server: ChatServer) -> tuple[str, Any]:
    whole = await chat_server.says("text")
    body = chat(said("text"), chat_id="big", trigger="submit-message")
    again = await (await chat_server.asks("/api/chat", body, receive=MIB)).rest()
    assert len(again) > FILE
    assert answered_runs(whole) == answered_runs(again)
    return "/api/chat", body


def answered_runs(response: bytes) -> list[bytes]:
    """Return the id of the message, which is also the id of its run."""
    return re.findall(rb'"messageId":"([^"]+)"', response)


KINDS = [history, artifact, stored_response]


@pytest.mark.parametrize("prepare", KINDS)
async def test_a_response_drops_what_it_holds_when_its_client_leaves(prepare: Any) -> None:
    async with opened() as chat_server:
        path, body = await prepare(chat_server)
        (await chat_server.asks(path, body)).leaves()  # loads modules, fills caches
        await chat_server.has_ended_all()
        with without_collection() as allocated:
            before = allocated()
            readers = [await chat_server.asks(path, body) for _ in range(3)]
            assert [reader.status for reader in readers] == [200] * 3
            for reader in readers:
                reader.leaves()
            await chat_server.has_ended_all()
            assert allocated() - before < FILE
        assert chat_server.room()


async def test_the_memory_of_histories_that_nobody_reads_is_that_of_the_budget() -> None:
    limit = 4 * IN_BASE64 + MIB
    async with opened(ServiceLimits(max_response_bytes=limit)) as chat_server:
        path, _ = await history(chat_server)
        with without_collection() as allocated, ExitStack() as leaving:
            before = allocated()
            readers = await asyncio.gather(*(chat_server.asks(path) for _ in range(40)))
            for reader in readers:
                leaving.callback(reader.leaves)
            statuses = sorted(reader.status for reader in readers)
            assert (statuses.count(200), statuses.count(429)) == (2, 38)
            assert b"retry-after: 5" in await readers[[one.status for one in readers].index(429)].rest()
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < limit + 2 * IN_BASE64
        await chat_server.has_ended_all()
        assert len(await (await chat_server.asks(path, receive=MIB)).rest()) > IN_BASE64


async def test_no_user_takes_the_room_of_another_and_small_chats_are_served_at_any_time() -> None:
    async with opened(ServiceLimits(max_response_bytes=2 * IN_BASE64 + MIB), response_patience=0) as chat_server:
        for user in ("ann", "bob", "eve"):
            await (await chat_server.asks("/api/chat", chat(attached(), chat_id="big"), user=user, receive=MIB)).rest()
            await chat_server.says("hi", "small", user)
        slow = [await chat_server.asks("/api/chat/big", user=user) for user in ("ann", "bob")]
        assert [reader.status for reader in slow] == [200, 200]
        for user, status in {"ann": 429, "eve": 503}.items():
            refused = await chat_server.asks("/api/chat/big", user=user, receive=MIB)
            assert (refused.status, b"retry-after: 5" in await refused.rest()) == (status, True)
            small = await chat_server.asks("/api/chat/small", user=user, receive=MIB)
            assert json.loads((await small.rest()).partition(b"\r\n\r\n")[2].split(b"\r\n")[1])["messages"]
        for reader in slow:
            reader.leaves()
        await chat_server.has_ended_all()
        whole = await (await chat_server.asks("/api/chat/big", user="eve", receive=MIB)).rest()
        assert len(whole) > IN_BASE64


async def test_two_tabs_that_open_a_large_chat_get_it_one_after_the_other() -> None:
    async with opened(ServiceLimits(max_response_bytes=2 * IN_BASE64 + MIB)) as chat_server:
        path, _ = await history(chat_server)
        tabs = [await chat_server.asks(path, receive=MIB)]
        second = asyncio.create_task(chat_server.asks(path, receive=MIB))
        read = [len(await tabs[0].rest()), len(await (await second).rest())]
        assert min(read) > IN_BASE64


async def test_a_chat_that_is_larger_than_the_budget_is_served_while_no_other_is_open() -> None:
    async with opened(ServiceLimits(max_response_bytes=MIB), response_patience=0) as chat_server:
        path, _ = await history(chat_server)
        first = await chat_server.asks(path)
        refused = await chat_server.asks(path)
        assert (refused.status, b"retry-after: 5" in await refused.rest()) == (429, True)
        assert len(await first.rest()) > IN_BASE64
        await chat_server.has_ended_all()
        assert len(await (await chat_server.asks(path, receive=MIB)).rest()) > IN_BASE64


async def test_head_holds_nothing() -> None:
    async with opened() as chat_server:
        for prepare in (history, artifact):
            path, _ = await prepare(chat_server)
            head = await (await chat_server.asks(path, method="HEAD")).rest()
            assert head.startswith(b"HTTP/1.1 200")
            assert head.endswith(b"\r\n\r\n")
        await chat_server.has_ended_all()
        assert chat_server.room()


@pytest.mark.parametrize("prepare", KINDS)
async def test_a_client_that_leaves_writes_nothing_into_the_log(prepare: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with opened() as chat_server:
        path, body = await prepare(chat_server)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                (await chat_server.asks(path, body)).leaves()
                await chat_server.has_ended_all()
    assert caplog.messages == []


async def events(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


@pytest.mark.parametrize("kind", ["a large event", "small events", "events of the size of a slice", "a history"])
async def test_at_most_four_writes_follow_the_loss_of_a_connection(kind: str) -> None:
    # asyncio logs each further write, and reports the loss to uvicorn in the next iteration of the loop.
    writes, left, told = 0, asyncio.Event(), asyncio.Event()

    async def receive() -> Message:
        await told.wait()
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        nonlocal writes
        if left.is_set() and not told.is_set():
            writes += 1
        if not left.is_set() and _message.get("body"):
            left.set()
            asyncio.get_running_loop().call_soon(told.set)

    responses: dict[str, Response] = {
        "a large event": UIMessageStreamResponse(events(1, 25 * MIB)),
        "small events": UIMessageStreamResponse(events(10_000, 20)),
        "events of the size of a slice": UIMessageStreamResponse(events(400, 2**16)),
        "a history": SlicedResponse(history_json(["x" * MIB] * 25), memory=response_budget().share("ann"), headers={}),
    }
    await asyncio.wait_for(responses[kind]({"type": "http", "method": "GET"}, receive, send), HANG)
    assert left.is_set()
    assert writes < 4


async def test_a_stream_of_small_events_stops_when_its_client_leaves(caplog: pytest.LogCaptureFixture) -> None:
    sent = 0

    async def braces() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"data: {}\n\n"

    async def endless(_request: Request) -> UIMessageStreamResponse:
        return UIMessageStreamResponse(braces())

    async with listening(Starlette(routes=[Route("/", endless)])) as server:
        (await server.asks("/")).leaves()
        await server.has_ended_all()
        before = sent
        await asyncio.sleep(0)
    assert sent == before
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def ended(size: int) -> EventBuffer:
    log = EventBuffer()
    log.append(b"data: 1\n\n", *[b"x" * 1000] * (size // 1000))
    log.close()
    return log


class SlowClient:
    """Reads the head of a response, and then one piece per call."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.may_send = asyncio.Semaphore(1)

    async def receive(self) -> Message:
        return await asyncio.Future[Message]()

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if message.get("body") != SSE_KEEP_ALIVE:
            await self.may_send.acquire()

    def reads(self, reader: RunReader) -> asyncio.Task[None]:
        response = UIMessageStreamResponse(reader, keep_alive=0.001)
        return asyncio.create_task(response({"type": "http", "method": "GET"}, self.receive, self.send))


async def test_a_response_that_has_ended_counts_while_a_slow_client_keeps_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stream_protocol.serving.http._stream_response.UNCOUNTED_SECONDS", 0)
    budget = response_budget(10 * MIB)
    first, second = SlowClient(), SlowClient()
    logs = [ended(3 * MIB), ended(3 * MIB)]
    reads = []
    for log, one in zip(logs, (first, second), strict=True):
        reader = log.read()
        reader.count_in(budget.share("ann"))
        reads.append(one.reads(reader))
        if one is first:
            while not budget.taken:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.001)
            assert budget.taken > 2 * MIB
    await asyncio.wait_for(reads[1], HANG)  # its response exceeds the memory limit
    assert second.sent[-1]["more_body"]
    assert logs[1].readers == 0
    assert "take too much memory" in caplog.text
    for _ in range(1000):
        first.may_send.release()
    await asyncio.wait_for(reads[0], HANG)
    assert not first.sent[-1]["more_body"]
    assert sum(len(message.get("body", b"").replace(SSE_KEEP_ALIVE, b"")) for message in first.sent) > 3 * MIB - 1000
    assert budget.taken == 0


async def test_a_response_that_goes_on_counts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budget = response_budget(MIB)
    going_on = EventBuffer()
    going_on.append(b"data: 1\n\n", *[b"x" * 1000] * 5000)
    monkeypatch.setattr("stream_protocol.serving.http._stream_response.UNCOUNTED_SECONDS", 0)
    looks = 0

    def watched_bytes() -> int:
        nonlocal looks
        looks += 1
        return kept_bytes()

    reader = going_on.read()
    kept_bytes, reader.kept_bytes = reader.kept_bytes, watched_bytes
    reader.count_in(budget.share("ann"))
    reading = SlowClient().reads(reader)
    while looks < 5:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0.001)
    assert budget.taken == 0
    reading.cancel()
    await asyncio.wait({reading})


async def test_a_reader_drops_the_response_of_an_ended_run_without_a_collection() -> None:
    with without_collection():
        log = ended(MIB)
        dropped = ref(log)
        one = SlowClient()
        reader = log.read()
        reading = one.reads(reader)
        del log, reader
        while not one.may_send.locked():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
        assert dropped() is not None
        reading.cancel()
        await asyncio.wait({reading})
        del reading
        assert dropped() is None


class InstrumentedSessions(InMemorySessionService):
    """Session service that tracks which of its returned sessions are still in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.returned: list[ref[Session]] = []
        self.most = 0

    @property
    def in_memory(self) -> int:
        return sum(session() is not None for session in self.returned)

    async def get_session(self, **which: Any) -> Session | None:
        session = await super().get_session(**which)
        assert session is not None
        self.returned.append(ref(session))
        self.most = max(self.most, self.in_memory)
        return session


async def test_histories_that_wait_for_memory_hold_no_session() -> None:
    users, sessions = [f"user{number}" for number in range(3 * HISTORIES_AT_ONCE)], InstrumentedSessions()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Seen."]))
    limits = ServiceLimits(max_response_bytes=MIB)
    times = ServiceTimes(response_patience=HANG)
    service = ChatService(agent, session_service=sessions, limits=limits, times=times)
    file = types.Part(inline_data=types.Blob(data=bytes(MIB // 4), mime_type="image/png"))
    for user in users:
        session = await sessions.create_session(app_name="root", user_id=user, session_id="c1")
        content = types.Content(role="user", parts=[file])
        await sessions.append_event(session, Event(author="user", invocation_id="i", content=content))
    del session

    async def opened_by(user: str) -> int:
        with service.hold_memory(user) as memory:
            messages = await service.history("c1", user_id=user, memory=memory)
        return len(messages or [])

    with service.hold_memory("other") as other:
        other.take(MIB + UNCOUNTED_BYTES)
        opening = [asyncio.create_task(opened_by(user)) for user in users]
        for _ in range(100_000):
            if len(sessions.returned) >= len(users) and not sessions.in_memory:
                break
            await asyncio.sleep(0)
        assert (len(sessions.returned), sessions.in_memory) == (len(users), 0)
        assert sessions.most <= HISTORIES_AT_ONCE
    assert await asyncio.gather(*opening) == [1] * len(users)
    assert sessions.most < 2 * HISTORIES_AT_ONCE  # the result of a thread may stay in memory a little longer
