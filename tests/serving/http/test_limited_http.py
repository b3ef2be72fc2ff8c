"""Deadlines and the limit of connections, with the real protocol and a transport without a network.

The protocol counts time in checks, which the tests call themselves: nothing here sleeps.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from stream_protocol.server import ServerLimits
from stream_protocol.server._limited_http import READ_BYTES, LimitedHttp, limited_http
from stream_protocol.server._uvicorn_server import BROKEN_OFF

pytestmark = pytest.mark.usefixtures("patient_clock")

LIMITS = ServerLimits(connections=2, head_seconds=3, body_seconds=3, body_bytes_per_second=10, write_seconds=4)

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


class Transport(asyncio.Transport):
    """Collects the written bytes. ``unread``: the bytes that wait for the client."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.unread = 0
        self.reading = True
        self.closing = False
        self.aborts = 0
        self.high: int | None = None
        self.reader: asyncio.BaseProtocol | None = None

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.reader = protocol

    def write(self, data: Any) -> None:
        assert not self.closing, "written after the end"
        self.written += data

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = True
        self.aborts += 1

    def is_closing(self) -> bool:
        return self.closing

    def is_reading(self) -> bool:
        return self.reading and not self.closing

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def get_write_buffer_size(self) -> int:
        return self.unread

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high

    @property
    def status(self) -> bytes:
        return bytes(self.written[9:12])


class Connection:
    """A client's connection: it sends bytes, and reads responses."""

    def __init__(self, protocol: LimitedHttp) -> None:
        self.protocol = protocol
        self.transport = Transport()
        protocol.connection_made(self.transport)

    def sends(self, data: bytes) -> None:
        """Passes bytes to the protocol, as the event loop does."""
        reader = self.transport.reader
        assert isinstance(reader, asyncio.BufferedProtocol)
        while data:
            room = memoryview(reader.get_buffer(-1))
            piece, data = data[: len(room)], data[len(room) :]
            room[: len(piece)] = piece
            reader.buffer_updated(len(piece))

    def waits(self, looks: int) -> None:
        for _ in range(looks):
            self.protocol.look()

    async def ends(self) -> None:
        self.transport.closing = True
        self.protocol.connection_lost(None)
        await asyncio.sleep(0)


class Server:
    """The connections of one app, which share uvicorn's state."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], limits: ServerLimits = LIMITS) -> None:
        self.config = uvicorn.Config(app, http=limited_http(limits), ws="none", log_config=None, lifespan="off")
        self.config.load()
        self.state = ServerState()

    def connects(self) -> Connection:
        protocol = self.config.http_protocol_class(
            config=self.config,  # type: ignore[call-arg] # as uvicorn calls it
            server_state=self.state,
            app_state={},
        )
        assert isinstance(protocol, LimitedHttp)
        return Connection(protocol)


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def _length(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        body = await Request(scope, receive).body()
    except ClientDisconnect:
        return
    await PlainTextResponse(str(len(body)))(scope, receive, send)


async def _answer_at_once(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("no")(scope, receive, send)


async def _stream(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while (await receive())["type"] != "http.disconnect":
        pass


@pytest.mark.parametrize("head", [b"G", b"GET / HT", GET[:-2]])
async def test_a_head_that_stops_gets_408(head: bytes) -> None:
    client = Server(_length).connects()
    client.sends(head)
    client.waits(2)
    assert not client.transport.is_closing()
    client.waits(1)
    assert client.transport.status == b"408"
    assert client.transport.is_closing()
    client.waits(5)  # the warning is logged only once


async def test_a_head_byte_by_byte_gets_no_more_time() -> None:
    client = Server(_length).connects()
    for byte in GET[:3]:
        client.sends(bytes([byte]))
        client.waits(1)
    assert client.transport.status == b"408"


async def test_a_connection_that_sends_nothing_just_closes() -> None:
    client = Server(_length).connects()
    client.waits(3)
    assert client.transport.is_closing()
    assert not client.transport.written


async def test_the_head_of_each_request_has_its_own_time() -> None:
    client = Server(_length).connects()
    for _ in range(5):
        client.waits(2)
        client.sends(GET)
        await _settled()
    assert client.transport.written.count(b"200 OK") == 5
    client.sends(GET[:5])
    client.waits(3)
    assert client.transport.written.count(b"408 Request Timeout") == 1


@pytest.mark.parametrize("sent", [0, 1, 20])
async def test_a_body_that_stops_gets_408_and_the_app_is_told(sent: int, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(_length)
    client = server.connects()
    client.sends(POST)
    client.sends(b"x" * sent)
    await _settled()
    client.waits(3 + sent // 10 + 1)
    assert client.transport.status == b"408"
    await client.ends()
    await _settled()
    assert not server.state.tasks
    assert not caplog.records


async def test_a_body_that_trickles_gets_408() -> None:
    client = Server(_length).connects()
    client.sends(POST)
    for _ in range(4):
        client.sends(b"x")
        client.waits(1)
    assert client.transport.status == b"408"


async def test_a_slow_body_may_take_any_time() -> None:
    client = Server(_length).connects()
    client.sends(POST)
    for _ in range(100):
        client.sends(b"x" * 10)
        await _settled()
        client.waits(1)
    assert client.transport.written.endswith(b"1000")


async def test_a_body_that_the_app_does_not_read_yet_costs_the_client_nothing() -> None:
    client = Server(_stream).connects()
    client.sends(POST)
    client.transport.pause_reading()
    client.waits(50)
    assert not client.transport.is_closing()


async def test_who_waits_for_100_continue_has_time() -> None:
    server = Server(_length)
    client = server.connects()
    client.sends(POST[:-2] + b"Expect: 100-continue\r\n\r\n")
    client.waits(50)
    assert not client.transport.is_closing()
    await _settled()
    assert client.transport.written == b"HTTP/1.1 100 \r\n\r\n" or client.transport.status == b"100"
    client.waits(4)
    assert b"408" in client.transport.written
    await client.ends()


async def test_a_body_that_trickles_after_its_response_is_cut_off_without_a_second_one() -> None:
    client = Server(_answer_at_once).connects()
    client.sends(POST)
    await _settled()
    assert client.transport.status == b"200"
    client.waits(4)
    assert client.transport.is_closing()
    assert b"408" not in client.transport.written


async def test_a_stream_is_never_cut_off_while_it_is_read() -> None:
    client = Server(_stream).connects()
    client.sends(GET)
    await _settled()
    for look in range(500):
        client.transport.unread = 100 + look % 2  # the client reads a part now and then
        client.waits(1)
    client.transport.unread = 0
    client.waits(500)
    assert not client.transport.is_closing()
    await client.ends()


async def test_who_reads_nothing_of_what_waits_is_cut_off() -> None:
    client = Server(_stream).connects()
    client.sends(GET)
    await _settled()
    client.transport.unread = 100
    client.waits(4)
    assert client.transport.aborts == 0
    client.waits(1)
    assert client.transport.aborts == 1
    await client.ends()


async def test_who_reads_nothing_is_cut_off_after_the_end_of_a_response_too() -> None:
    client = Server(_length).connects()
    client.sends(GET)
    await _settled()
    client.transport.unread = 100
    client.transport.close()  # asyncio then waits until the client has read everything
    client.waits(5)
    assert client.transport.aborts == 1


async def test_uvicorn_writes_only_what_the_client_has_room_for() -> None:
    client = Server(_length).connects()
    assert client.transport.high == 0


async def test_one_connection_more_closes_the_one_that_waits_longest(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(_stream)
    busy, idle = server.connects(), server.connects()
    busy.sends(GET)
    busy.waits(1)
    idle.sends(b"GET")
    newest = server.connects()
    assert idle.transport.status == b"503"
    assert b"Retry-After: 5\r\n" in idle.transport.written
    assert idle.transport.is_closing()
    assert not busy.transport.is_closing()
    assert not newest.transport.is_closing()
    server.connects()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    await busy.ends()


async def test_of_many_that_wait_the_oldest_goes_and_a_kept_one_goes_silently() -> None:
    server = Server(_length)
    kept, younger = server.connects(), server.connects()
    kept.sends(GET)
    await _settled()
    kept.waits(2)
    written = bytes(kept.transport.written)
    server.connects()
    assert kept.transport.is_closing()
    assert kept.transport.written == written
    assert not younger.transport.is_closing()


async def test_a_connection_more_is_refused_if_all_are_in_a_request() -> None:
    server = Server(_stream)
    busy = [server.connects(), server.connects()]
    for client in busy:
        client.sends(GET)
    await _settled()
    refused = server.connects()
    assert refused.transport.status == b"503"
    assert refused.transport.is_closing()
    assert not any(client.transport.is_closing() for client in busy)
    for client in busy:
        await client.ends()


async def test_little_is_parsed_at_once() -> None:
    client = Server(_length).connects()
    assert isinstance(client.transport.reader, asyncio.BufferedProtocol)
    assert len(memoryview(client.transport.reader.get_buffer(256 * 1024))) == READ_BYTES


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 1_000_000,
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 65536,
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: x\r\n" * 10_000,
    ],
    ids=["line", "header", "headers"],
)
async def test_a_head_that_is_too_long_is_refused(head: bytes) -> None:
    client = Server(_length).connects()
    while head and not client.transport.is_closing():
        client.sends(head[:READ_BYTES])
        head = head[READ_BYTES:]
    assert client.transport.status == b"400"
    assert client.transport.is_closing()


async def test_requests_in_a_row_are_answered_one_after_the_other() -> None:
    server = Server(_length)
    client = server.connects()
    client.sends(GET * 300)
    assert len(server.state.tasks) == 1
    while server.state.tasks:
        await _settled()
    assert client.transport.written.count(b"200 OK") == 300


async def test_a_request_with_two_lengths_is_refused_with_all_that_follows() -> None:
    server = Server(_length)
    client = server.connects()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    client.sends(head + b"0\r\n\r\n" + GET)
    await _settled()
    assert (client.transport.status, client.transport.written.count(b"HTTP/1.1")) == (b"400", 1)
    assert client.transport.is_closing()
    assert not server.state.tasks


async def test_a_protocol_that_the_server_does_not_speak_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    client = Server(_length).connects()
    client.sends(GET[:-2] + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n")
    await _settled()
    assert (client.transport.status, caplog.messages) == (b"200", [])


async def test_a_response_that_is_broken_off_closes_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def break_off(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})

    client = Server(break_off).connects()
    client.sends(GET)
    await _settled()
    assert client.transport.is_closing()
    assert caplog.messages == [BROKEN_OFF]


CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("app", "status"), [(_length, b"400"), (_answer_at_once, b"200"), (_stream, b"200")], ids=["none", "whole", "begun"]
)
async def test_a_body_that_is_no_http_ends_the_connection_with_at_most_one_response(
    app: Callable[[Scope, Receive, Send], Awaitable[None]], status: bytes
) -> None:
    client = Server(app).connects()
    client.sends(CHUNKED)
    await _settled()
    client.sends(b"zz\r\n")
    assert (client.transport.status, client.transport.written.count(b"HTTP/1.1")) == (status, 1)
    assert client.transport.is_closing()
    await client.ends()


def test_a_connection_is_read_in_pieces() -> None:
    read: list[int] = []
    ended = asyncio.Event()

    class Measured(LimitedHttp):
        def data_received(self, data: bytes) -> None:
            read.append(len(data))
            super().data_received(data)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            ended.set()

    async def send() -> None:
        config = uvicorn.Config(_length, ws="none", log_config=None, lifespan="off")
        config.load()
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: Measured(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        body = b"x" * (10 * READ_BYTES)
        writer.write(
            b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        assert (await reader.read()).endswith(b"\r\n%d" % len(body))
        writer.close()
        await ended.wait()
        server.close()

    with asyncio.Runner() as runner:
        runner.run(send())
    assert max(read) == READ_BYTES
