"""Attacks that never send a complete request."""

import socket
import time
from contextlib import ExitStack, suppress
from typing import Final

from tests.attacks.attacker import Answer, Attacker
from tests.attacks.registry import attack

DEADLINE: Final = 30.0
"""Seconds in which an incomplete request must be closed. The server's own deadline is 20."""

SECONDS: Final = 4.0
"""Seconds during which connections are opened again and again."""

HALVES: Final = 15
"""Connections of each kind."""


@attack("60 connections with an incomplete request, or without a request", files=200)
def half_requests(attacker: Attacker) -> None:
    halves = [
        b"GET /healthz HT",
        b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-",
        attacker.head("POST", "/api/chat", "content-type: application/json", "content-length: 1000") + b'{"id":',
        attacker.head("POST", "/api/chat", "content-type: application/json", "transfer-encoding: chunked") + b"5\r\n{",
        b"",
    ]
    until = time.monotonic() + DEADLINE
    with ExitStack() as stack:
        connections = [stack.enter_context(attacker.connect()) for _ in range(HALVES * len(halves))]
        for number, connection in enumerate(connections):
            connection.sendall(halves[number % len(halves)])
        while connections and time.monotonic() < until:
            time.sleep(1)
            for connection in connections[:]:
                connection.settimeout(0.001)
                with suppress(TimeoutError):
                    answer = _end(connection)
                    connections.remove(connection)
                    attacker.note(answer, (0, 408, 400), "a half request")
            # One byte a second is no request either.
            for connection in connections[1::5]:
                with suppress(OSError):
                    connection.sendall(b"x")
        attacker.expect(not connections, f"{len(connections)} half requests are open after {DEADLINE:.0f} s")


def _end(connection: socket.socket) -> Answer:
    """Return the bytes before the server closed the connection. Raises ``TimeoutError`` if it stays open."""
    received = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(4096):
            received += piece
    return Answer(int(received.split(maxsplit=2)[1]) if received else 0, received)


@attack("400 connections with an incomplete request", ["256 files"], files=256)
def few_files(attacker: Attacker) -> None:
    with ExitStack() as stack:
        for _ in range(400):
            with suppress(OSError):
                connection = stack.enter_context(attacker.connect(patience=2))
                connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        time.sleep(3)
        answer = attacker.ask("GET", "/healthz", patience=10)
        attacker.note(answer, (200, 503), "somebody beside 400 half requests")
    attacker.note(attacker.ask("GET", "/healthz", patience=5), [200], "somebody after them")


@attack("1,300 connections without a request, more than the server accepts", files=1200)
def idle_connections(attacker: Attacker) -> None:
    with ExitStack() as stack:
        for _ in range(1300):
            with suppress(OSError):
                stack.enter_context(attacker.connect(patience=1))
        answer = attacker.ask("GET", "/healthz", patience=5)
        attacker.note(answer, (200, 503), "somebody beside them")
    attacker.note(attacker.ask("GET", "/healthz"), [200], "somebody after them")


@attack("1,000 pipelined requests on each of ten connections")
def pipelining(attacker: Attacker) -> None:
    def pipe() -> int:
        answered = 0
        with attacker.connect() as connection, suppress(OSError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 1000)
            connection.settimeout(5)
            while answered < 1000 and (piece := connection.recv(2**16)):
                answered += piece.count(b"HTTP/1.1 200")
        return answered

    answered = attacker.together([pipe] * 10)
    attacker.expect(all(answered), "a connection got no answer at all")


@attack("Heads of 1 MiB: one header, 100,000 headers, a path, or an endless line")
def huge_heads(attacker: Attacker) -> None:
    line = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    for head in (
        line + b"x-long: " + b"a" * 2**20 + b"\r\n\r\n",
        line + b"x-a: 1\r\n" * 100_000 + b"\r\n",
        b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"a" * 2**20,
        b"GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\ncontent-length: -1\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ):
        with attacker.connect(patience=5) as connection:
            with suppress(OSError):
                connection.sendall(head)
            attacker.note(
                attacker.read_status(connection), (0, 400, 401, 404, 411, 413, 414, 415, 422, 431), "a huge head"
            )


@attack("Long bodies in chunks of one byte, on four connections")
def tiny_pieces(attacker: Attacker) -> None:
    def send() -> None:
        with attacker.connect() as connection:
            with suppress(OSError):
                head = attacker.head(
                    "POST", "/api/chat", "content-type: application/json", "transfer-encoding: chunked"
                )
                connection.sendall(head + b"1\r\n \r\n" * 2**18 + b"0\r\n\r\n")
            attacker.note(attacker.read_status(connection), (0, 400, 408, 413, 422), "a body in bytes")

    attacker.together([send] * 4)


@attack("Endless chunks of one byte, on twenty connections, for four seconds")
def endless_pieces(attacker: Attacker) -> None:
    until = time.monotonic() + SECONDS

    def send() -> None:
        while time.monotonic() < until:
            with attacker.connect(patience=5) as connection:
                with suppress(OSError):
                    head = attacker.head("POST", "/api/chat", "transfer-encoding: chunked", "connection: close")
                    connection.sendall(head + b"1\r\n \r\n" * 2**14)
                attacker.note(attacker.read_status(connection), (0, 400), "a body in bytes")

    attacker.together([send] * 20)


@attack("3,000 headers and 3,000 trailers per request, on twenty connections, for four seconds")
def many_headers(attacker: Attacker) -> None:
    until = time.monotonic() + SECONDS
    tiny = b"a:\r\n" * 3000
    chunked = attacker.head("POST", "/api/chat", "transfer-encoding: chunked") + b"1\r\n \r\n0\r\n" + tiny + b"\r\n"

    def send() -> None:
        while time.monotonic() < until:
            for request in (b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n" + tiny + b"\r\n", chunked):
                with attacker.connect(patience=5) as connection:
                    with suppress(OSError):
                        connection.sendall(request)
                    attacker.note(attacker.read_status(connection), (0, 400), "many headers")

    attacker.together([send] * 20)


@attack("Other protocols: HTTP/2, TLS, WebSocket, CONNECT, TRACE, HTTP/0.9, `Expect: 100-continue`")
def other_protocols(attacker: Attacker) -> None:
    upgrade = ("connection: upgrade", "upgrade: websocket", "sec-websocket-key: AAAA", "sec-websocket-version: 13")
    for first in (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        attacker.head("GET", "/api/chats", "connection: close", *upgrade),
        attacker.head("CONNECT", "127.0.0.1:9", "connection: close"),
        attacker.head("TRACE", "/api/chats", "connection: close"),
        attacker.head("GET", "http://evil.example/healthz", "connection: close"),
        b"GET /healthz\r\n\r\n",
        attacker.head("PUT", "/api/chat", "connection: close", "expect: 100-continue", "content-length: 0"),
    ):
        with attacker.connect(patience=5) as connection:
            with suppress(OSError):
                connection.sendall(first)
            attacker.note(attacker.read_status(connection), (0, 200, 400, 404, 405, 421, 426, 501), f"{first[:40]!r}")
