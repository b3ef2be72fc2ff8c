"""Requests that would cost h11 much time: they are refused after little work, and ordinary requests pass."""

from __future__ import annotations

import random
from collections.abc import Iterable

import h11
import pytest

from stream_protocol.server._strict_connection import CHUNKS_AT_ONCE, MAX_HEADERS, StrictConnection

POST = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def sent(pieces: Iterable[bytes]) -> list[h11.Event]:
    """Return the server's events for these pieces, each of which arrives separately.

    Raises the exceptions of ``next_event``.
    """
    connection, events = StrictConnection(), list[h11.Event]()
    for piece in pieces:
        connection.receive_data(piece)
        while (event := connection.next_event()) is not h11.NEED_DATA and event is not h11.PAUSED:
            events.append(event)
            if isinstance(event, h11.EndOfMessage):
                connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                connection.send(h11.EndOfMessage())
                connection.start_next_cycle()
    return events


def cut(request: bytes, size: int) -> list[bytes]:
    return [request[begin : begin + size] for begin in range(0, len(request), size)]


def bodies(events: Iterable[h11.Event]) -> list[bytes]:
    """Return the bodies of the requests."""
    whole, body = [], b""
    for event in events:
        body += event.data if isinstance(event, h11.Data) else b""
        if isinstance(event, h11.EndOfMessage):
            whole.append(body)
            body = b""
    return whole


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 4096])
@pytest.mark.parametrize("data", [b" ", b"ab", b"x" * 10, b"0\r\n", b"\n"])
def test_a_body_in_tiny_chunks_is_refused_after_a_hundred_of_them(data: bytes, size: int) -> None:
    connection = StrictConnection()
    parsed = 0
    with pytest.raises(h11.RemoteProtocolError, match="too many chunks"):  # noqa: PT012 - it comes some time
        for piece in cut(POST + chunk(data) * 10_000, size):
            connection.receive_data(piece)
            while (event := connection.next_event()) is not h11.NEED_DATA:
                parsed += isinstance(event, h11.Data)
    assert parsed <= CHUNKS_AT_ONCE * 2 * len(data)


@pytest.mark.parametrize("size", [3, 4096])
def test_a_large_chunk_buys_no_more_than_a_hundred_tiny_ones(size: int) -> None:
    tiny = chunk(b" ") * (CHUNKS_AT_ONCE - 2)
    ordinary = chunk(b"x" * 2**20)
    (whole,) = bodies(sent(cut(POST + (ordinary + tiny) * 3 + END, 4096)))
    assert len(whole) == 3 * (2**20 + CHUNKS_AT_ONCE - 2)
    with pytest.raises(h11.RemoteProtocolError, match="too many chunks"):
        sent(cut(POST + ordinary * 2 + tiny * 2 + END, 4096))


def test_bodies_of_all_ordinary_sizes_pass_however_they_arrive() -> None:
    rng = random.Random(1)
    for _ in range(20):
        chunks = [rng.randbytes(rng.choice([32, 40, 100, 1000])) for _ in range(rng.randint(0, 300))]
        chunks += [rng.randbytes(rng.randint(1, 8)) for _ in range(rng.randint(0, 90))]
        request = POST + b"".join(map(chunk, chunks)) + END
        assert bodies(sent(cut(request * 2, rng.choice([100, 4096])))) == [b"".join(chunks)] * 2


def test_a_body_whose_chunks_look_like_trailers_passes() -> None:
    data = b"\r\n0\r\n" + b"a: b\r\n" * 200
    for size in (1, 5, 4096):
        assert bodies(sent(cut(POST + chunk(data) * 3 + b"000;last\r\n\r\n", size))) == [data * 3]
    # The chunk size 0A begins with a zero, as the last chunk does.
    assert bodies(sent([POST + b"0A\r\n" + b"\n" * 10 + b"\r\n" + END])) == [b"\n" * 10]


def test_a_body_of_a_known_length_may_come_byte_by_byte() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n"
    assert bodies(sent(cut(head + b"\n" * 5000, 1))) == [b"\n" * 5000]


def head_of(headers: int) -> bytes:
    return b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * (headers - 1) + b"\r\n"


def trailed(trailers: int) -> bytes:
    return POST + chunk(b"x" * 40) + b"0\r\n" + b"a:\r\n" * trailers + b"\r\n"


@pytest.mark.parametrize("size", [1, 3, 100, 10_000])
def test_a_hundred_headers_and_as_many_trailers_pass(size: int) -> None:
    requests = head_of(MAX_HEADERS) + trailed(MAX_HEADERS) + head_of(MAX_HEADERS) + trailed(0) + head_of(MAX_HEADERS)
    assert len(bodies(sent(cut(requests, size)))) == 5


@pytest.mark.parametrize("size", [1, 3, 100, 20_000])
@pytest.mark.parametrize("count", [MAX_HEADERS + 1, 3000])
@pytest.mark.parametrize("request_of", [head_of, trailed])
def test_one_header_or_trailer_more_is_refused_before_it_is_parsed(request_of: type, count: int, size: int) -> None:
    with pytest.raises(h11.RemoteProtocolError, match="too many headers"):
        sent(cut(request_of(count), size))


def test_many_headers_without_an_end_are_refused() -> None:
    for request in (head_of(3000), trailed(3000)):
        with pytest.raises(h11.RemoteProtocolError, match="too many headers"):
            sent([request[:-2]])
