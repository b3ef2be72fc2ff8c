import asyncio
import errno
import logging
import resource
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from stream_protocol.server import bind_socket
from stream_protocol.server._uvicorn_server import (
    ACCEPTED_AT_ONCE,
    BROKEN_OFF,
    ChatServer,
    RareRecords,
    connections_within_files,
    ending_with_terminal,
    run_server,
    server_address,
)

SERVER = "stream_protocol.server._uvicorn_server"


@pytest.fixture(autouse=True)
def streams_of_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the state of sse-starlette, which ADK's A2A servers use.

    sse-starlette ends its streams at the shutdown of any server in the process.
    """
    monkeypatch.setattr("sse_starlette.sse.AppStatus.should_exit", False)


class _Service:
    async def drain(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    pass


def test_a_chunk_does_not_wait_until_the_one_before_is_acknowledged() -> None:
    with bind_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_connections_leave_files_for_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: set_to.append(limits))

    def connections(soft: int, hard: int) -> int:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
        return connections_within_files(1000)

    assert connections(resource.RLIM_INFINITY, resource.RLIM_INFINITY) == 1000
    assert connections(4096, 4096) == 1000
    assert connections(1024, 4096) == 1000
    assert connections(256, resource.RLIM_INFINITY) == 1000
    assert set_to == [(1146, 4096), (1146, resource.RLIM_INFINITY)]
    assert connections(256, 256) == 110
    assert connections(64, 64) == 16


async def test_a_server_without_files_logs_one_line(caplog: pytest.LogCaptureFixture) -> None:
    config = uvicorn.Config(_app, lifespan="off", ws="none", log_config=None)
    config.load()
    server = ChatServer(config, _Service())
    server.lifespan = config.lifespan_class(config)
    loop = asyncio.get_running_loop()
    with bind_socket("127.0.0.1", 0) as listener:
        try:
            await server.startup(sockets=[listener])
            for _ in range(3):
                error = OSError(errno.EMFILE, "Too many open files")
                loop.call_exception_handler({"message": "accept", "exception": error, "socket": listener})
            assert [(record.name, record.exc_info) for record in caplog.records] == [(SERVER, None)]
            loop.call_exception_handler({"message": "another", "exception": OSError(errno.EMFILE, "of a task")})
            assert [record.name for record in caplog.records] == [SERVER, "asyncio"]
        finally:
            loop.set_exception_handler(None)
            await server.shutdown(sockets=[listener])


async def test_hundreds_of_connections_may_wait_to_be_accepted() -> None:
    config = uvicorn.Config(_app, lifespan="off", ws="none", log_config=None, backlog=ACCEPTED_AT_ONCE)
    config.load()
    server = ChatServer(config, _Service())
    server.lifespan = config.lifespan_class(config)
    with ExitStack() as clients, bind_socket("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        try:
            await server.startup(sockets=[listener])  # from here on the event loop cannot accept a connection
            waiting = [clients.enter_context(socket.socket()) for _ in range(3 * ACCEPTED_AT_ONCE)]
            for client in waiting:
                client.setblocking(False)
                client.connect_ex(address)
            assert all(client.connect_ex(address) in (0, errno.EISCONN) for client in waiting)
        finally:
            asyncio.get_running_loop().set_exception_handler(None)
            await server.shutdown(sockets=[listener])


def test_no_connection_is_accepted_before_the_server_is_prepared() -> None:
    happened: list[str] = []

    class Prepared(ChatServer):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            happened.append("accepting")
            self.should_exit = True

    async def prepare() -> None:
        happened.append("prepared")

    config = uvicorn.Config(_app, lifespan="off", ws="none", log_config=None)
    with bind_socket("127.0.0.1", 0) as listener:
        Prepared(config, _Service(), prepare).run(sockets=[listener])
    assert happened == ["prepared", "accepting"]


def test_the_event_loop_is_asyncios_whatever_is_installed() -> None:
    loops: list[str] = []

    async def look() -> None:
        loops.append(type(asyncio.get_running_loop()).__module__)
        raise KeyboardInterrupt

    with bind_socket("127.0.0.1", 0) as listener:
        run_server(_app, _Service(), listener, lambda _url: None, before_accepting=look)
    assert loops == ["asyncio.unix_events"]


def test_the_address_is_announced_once_the_server_accepts_connections() -> None:
    happened: list[str] = []

    async def prepare() -> None:
        happened.append("prepared")

    def announce(url: str) -> None:
        happened.append(url)
        signal.raise_signal(signal.SIGINT)

    with bind_socket("127.0.0.1", 0) as listener:
        address = server_address(listener)
        run_server(_app, _Service(), listener, announce, before_accepting=prepare)
    assert happened == ["prepared", address]


@pytest.mark.usefixtures("_in_a_terminal")
def test_a_terminal_that_is_closed_ends_the_server_as_ctrl_c_does() -> None:
    async def hang_up() -> None:
        signal.raise_signal(signal.SIGHUP)

    with bind_socket("127.0.0.1", 0) as listener:
        run_server(_app, _Service(), listener, lambda _url: None, before_accepting=hang_up)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


@pytest.mark.usefixtures("_in_a_terminal")
def test_after_nohup_a_terminal_that_is_closed_ends_nothing() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ending_with_terminal():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_sentence_that_clients_can_cause_is_logged_once_a_minute_and_a_traceback_always() -> None:
    records = RareRecords()

    def passes(text: str, second: float, error: Exception | None = None) -> bool:
        record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, text, (), None)
        record.created = second
        record.exc_info = (type(error), error, None) if error is not None else None
        return records.filter(record)

    assert [passes("no HTTP", second) for second in (1000, 1001, 1059, 1060, 1061)] == [True, False, False, True, False]
    assert passes("another", 1001)
    assert all(passes("failed", 1001, ValueError("x")) for _ in range(3))
    assert not passes(BROKEN_OFF, 1001)


def test_a_server_that_has_ended_filters_no_log() -> None:
    filters: list[int] = []

    async def look() -> None:
        filters.append(len(logging.getLogger("uvicorn.error").filters))
        raise KeyboardInterrupt

    before = len(logging.getLogger("uvicorn.error").filters)
    with bind_socket("127.0.0.1", 0) as listener:
        run_server(_app, _Service(), listener, lambda _url: None, before_accepting=look)
    assert filters == [before + 1]
    assert len(logging.getLogger("uvicorn.error").filters) == before


async def _nothing() -> None:
    pass


class _Busy:
    """A service that writes streams until a test ends them. Its ``aclose`` may hang."""

    def __init__(self, happened: list[str], *, hangs: bool = False) -> None:
        self.ended, self.drained = asyncio.Event(), asyncio.Event()
        self._happened = happened
        self.before_closing: Callable[[], Awaitable[None]] = _nothing
        self._closed = asyncio.Event()
        if not hangs:
            self._closed.set()

    async def drain(self) -> None:
        self._happened.append("draining")
        await self.ended.wait()
        self._happened.append("drained")
        self.drained.set()

    async def aclose(self) -> None:
        self._happened.append("closing")
        await self.before_closing()
        await self._closed.wait()
        self._happened.append("closed")


@pytest.mark.parametrize(
    ("signals", "drain", "hangs", "expected"),
    [
        ((signal.SIGTERM,), 0.01, False, ["draining", "closing", "closed"]),
        ((signal.SIGTERM, signal.SIGTERM), 3600, False, ["draining", "closing", "closed"]),
        ((signal.SIGTERM, signal.SIGINT), 3600, False, ["draining", "closing", "closed"]),
        ((signal.SIGTERM, signal.SIGTERM), 3600, True, ["draining", "closing"]),
        ((signal.SIGINT,), 3600, False, ["closing", "closed"]),
    ],
    ids=["grace is over", "second signal", "and of another kind", "store hangs", "at a terminal"],
)
async def test_what_ends_the_grace(
    signals: tuple[signal.Signals, ...], drain: float, hangs: bool, expected: list[str]
) -> None:
    happened: list[str] = []
    server = _server(_Busy(happened, hangs=hangs), drain)
    with bind_socket("127.0.0.1", 0) as listener:
        await server.startup(sockets=[listener])
        first, *others = signals
        server.handle_exit(first, None)
        ending = asyncio.create_task(server.shutdown(sockets=[listener]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for other in others:
            server.handle_exit(other, None)
        await ending
    assert happened == expected


async def test_the_listener_stays_open_until_all_streams_have_ended() -> None:
    happened: list[str] = []
    service = _Busy(happened)
    server = _server(service, 3600)
    with bind_socket("127.0.0.1", 0) as listener:
        await server.startup(sockets=[listener])
        server.handle_exit(signal.SIGTERM, None)
        ending = asyncio.create_task(server.shutdown(sockets=[listener]))
        await asyncio.sleep(0)
        _, writer = await asyncio.open_connection(*listener.getsockname())
        writer.close()
        reading = asyncio.create_task(asyncio.sleep(3600))
        server.server_state.tasks.add(reading)  # a client reads the run of another worker
        service.ended.set()
        await service.drained.wait()
        assert "closing" not in happened
        server.server_state.tasks.discard(reading)
        reading.cancel()
        await ending
    assert happened == ["draining", "drained", "closing", "closed"]


async def test_no_request_can_come_when_the_service_is_closed() -> None:
    service = _Busy([])
    server = _server(service, 0.0)
    refused = []
    with bind_socket("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        await server.startup(sockets=[listener])
        idle, idle_writer = await asyncio.open_connection(*address)
        while not server.server_state.connections:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)

        async def look() -> None:
            assert await idle.read() == b"", "an idle connection is closed"
            try:
                await asyncio.open_connection(*address)
            except ConnectionRefusedError:
                refused.append(address)

        service.before_closing = look
        server.handle_exit(signal.SIGTERM, None)
        await server.shutdown(sockets=[listener])
        idle_writer.close()
    assert refused == [address]


def _server(service: _Busy, drain: float) -> ChatServer:
    config = uvicorn.Config(_app, lifespan="off", ws="none", log_config=None)
    config.load()
    server = ChatServer(config, service, drain=drain)
    server.lifespan = config.lifespan_class(config)
    return server
