"""The memory limit of all request bodies: refusals, and the release of memory."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request

from stream_protocol.serving.base._byte_budget import UNCOUNTED_BYTES
from stream_protocol.serving.http import RequestBodies
from stream_protocol.serving.http._request_body import BUSY_SECONDS
from stream_protocol.wire import ChatRequestError
from tests.serving.support import JSON_TYPE, chat, said

KIB = 1024
BOUND = 1024 * KIB


def post(*pieces: bytes, then: Callable[[], Awaitable[Any]] | None = None, **headers: str) -> Request:
    """Return a request whose body arrives in these pieces, after which the client disconnects.

    ``then``: awaited before the disconnect.
    """
    messages: list[Any] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if then is None:
        messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        if messages:
            return messages.pop(0)
        if then is not None:
            await then()
        return {"type": "http.disconnect"}

    fields = {**JSON_TYPE, **headers}
    return Request(
        {
            "type": "http",
            "method": "POST",
            "path": "/",
            "headers": [(name.replace("_", "-").encode(), text.encode()) for name, text in fields.items()],
        },
        receive,
    )


def body_of(size: int) -> bytes:
    return json.dumps(chat(said("x" * size))).encode()


async def read(bodies: RequestBodies, request: Request, user: str = "ann") -> int:
    """Return the number of bytes in flight while the request is planned."""
    async with bodies.read_chat_request(request, user) as chat_request:
        assert chat_request.id == "c1"
        return bodies.bytes_in_flight


async def test_a_body_counts_from_its_arrival_until_it_is_planned() -> None:
    bodies, body, seen = RequestBodies(), body_of(200 * KIB), []

    async def look() -> None:
        seen.append(bodies.bytes_in_flight)

    assert await read(bodies, post(body[: 100 * KIB], body[100 * KIB :])) >= len(body) - UNCOUNTED_BYTES
    with pytest.raises(ClientDisconnect):
        await read(bodies, post(body[: 100 * KIB], then=look))
    assert seen == [100 * KIB - UNCOUNTED_BYTES]
    assert bodies.bytes_in_flight == 0


async def test_what_a_client_announces_counts_for_nothing() -> None:
    bodies = RequestBodies(max_bytes_in_flight=BOUND)
    arriving = asyncio.Event()
    left = asyncio.Event()

    async def wait() -> None:
        arriving.set()
        await left.wait()

    slow = asyncio.create_task(read(bodies, post(b"{", then=wait, content_length=str(30 * BOUND))))
    await arriving.wait()
    assert bodies.bytes_in_flight == 0
    left.set()
    with pytest.raises(ClientDisconnect):
        await slow


async def test_values_count_as_they_are_parsed() -> None:
    bodies, values = (
        RequestBodies(),
        b'{"id":"c1","messages":[{"role":"user","parts":[]}],"x":[%b1]}' % (b"{}," * 30_000),
    )
    assert await read(bodies, post(values)) > 30 * len(values)
    assert bodies.bytes_in_flight == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{" + b" " * 100 * KIB, 400), (b'{"id":"c1","x":"%b"}' % (b"x" * 100 * KIB), 422), (b"x" * 2 * BOUND, 413)],
    ids=["no JSON", "no messages", "too large"],
)
async def test_a_refused_body_is_given_back(body: bytes, status: int) -> None:
    bodies = RequestBodies(max_body_bytes=BOUND)
    with pytest.raises(ChatRequestError) as refused:
        await read(bodies, post(body[: 90 * KIB], body[90 * KIB :]))
    assert (refused.value.status, bodies.bytes_in_flight) == (status, 0)


async def test_a_failure_while_it_is_planned_gives_it_back() -> None:
    bodies = RequestBodies()
    with pytest.raises(ZeroDivisionError):
        async with bodies.read_chat_request(post(body_of(100 * KIB)), "ann"):
            raise ZeroDivisionError
    assert bodies.bytes_in_flight == 0


async def test_what_does_not_fit_is_refused_and_small_requests_never_are() -> None:
    bodies = RequestBodies(max_bytes_in_flight=BOUND)
    large, small = body_of(500 * KIB), body_of(60 * KIB)
    async with bodies.read_chat_request(post(large), "ann"), bodies.read_chat_request(post(large), "bob"):
        for user, status in {"ann": 429, "eve": 503}.items():
            with pytest.raises(ChatRequestError) as refused:
                await read(bodies, post(large), user)
            assert (refused.value.status, refused.value.retry_after) == (status, BUSY_SECONDS)
            before = bodies.bytes_in_flight
            assert await read(bodies, post(small), user) == before
    assert await read(bodies, post(large)) >= len(large) - UNCOUNTED_BYTES


async def test_one_user_gets_at_most_half() -> None:
    bodies = RequestBodies(max_bytes_in_flight=BOUND)
    with pytest.raises(ChatRequestError) as refused:
        await read(bodies, post(body_of(600 * KIB)))
    assert (refused.value.status, bodies.bytes_in_flight) == (429, 0)


async def test_bodies_are_parsed_a_slice_at_a_time_in_turn_and_others_work_between() -> None:
    bodies = RequestBodies()
    done: list[str] = []
    large = b'{"id":"c1","messages":[{"role":"user","parts":[]}],"x":[%b1]}' % (b"1," * 40_000)

    async def parse(name: str, body: bytes) -> None:
        await read(bodies, post(body))
        done.append(name)

    others = 0

    async def work() -> None:
        nonlocal others
        while len(done) < 3:
            others += 1
            await asyncio.sleep(0)

    await asyncio.gather(parse("large", large), parse("as large", large), parse("small", body_of(1)), work())
    assert done[0] == "small"
    assert others > 2 * len(large) // 10_000


async def test_a_compressed_body_is_refused() -> None:
    with pytest.raises(ChatRequestError, match="must not be compressed") as refused:
        await read(RequestBodies(), post(b"\x1f\x8b", content_encoding="gzip"))
    assert refused.value.status == 415
    await read(RequestBodies(), post(body_of(1), content_encoding="identity"))
