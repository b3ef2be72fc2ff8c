"""The response class alone, over content of a test's own."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.events import Event
from starlette.types import Message

from stream_protocol import AnyChunk, stream_sse
from stream_protocol.serving import UIMessageStreamResponse
from stream_protocol.serving.http._client_connection import SLICE_BYTES
from stream_protocol.serving.run_logs import EventBuffer
from stream_protocol.wire import SSE_KEEP_ALIVE, StreamProtocolError
from tests.serving.support import HANG, Exchange, client

START: AnyChunk = {"type": "start", "messageId": "m1"}


async def chunks() -> AsyncIterator[AnyChunk]:
    yield START
    yield {"type": "finish"}


async def test_chunks_are_encoded_and_ended_with_done() -> None:
    async with client(UIMessageStreamResponse(chunks())) as http:
        response = await http.get("/")
    assert response.text == ('data: {"type":"start","messageId":"m1"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n')


async def test_bytes_go_out_as_they_are() -> None:
    async def nothing() -> AsyncIterator[Any]:
        return
        yield

    async with client(UIMessageStreamResponse(stream_sse(nothing()))) as http:
        response = await http.get("/")
    assert response.text.startswith('data: {"type":"start"}')
    assert response.text.count("[DONE]") == 1


async def test_the_headers_are_those_of_the_protocol_and_an_apps_own_win() -> None:
    async with client(UIMessageStreamResponse(chunks(), headers={"X-Chat": "c1", "Cache-Control": "no-store"})) as http:
        response = await http.get("/")
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["x-chat"] == "c1"
    assert response.headers.get_list("cache-control") == ["no-store"]
    assert "content-length" not in response.headers


async def test_head_gets_the_headers_at_once_and_nothing_is_read() -> None:
    asked = []

    async def content() -> AsyncIterator[AnyChunk]:
        asked.append("a chunk")
        yield START

    stream = content()
    async with client(UIMessageStreamResponse(stream)) as http:
        head = await http.head("/")
    assert (head.status_code, head.headers["content-type"], head.content) == (200, "text/event-stream", b"")
    assert asked == []
    assert [chunk async for chunk in stream] == []  # the content is closed


async def test_a_silence_is_broken_by_comments_and_talk_is_not() -> None:
    speak = asyncio.Event()

    async def slow() -> AsyncIterator[AnyChunk]:
        yield START
        await speak.wait()
        yield {"type": "finish"}

    async with Exchange(UIMessageStreamResponse(slow(), keep_alive=0.01)).begin(b"") as exchange:
        await exchange.status()
        assert await exchange.event() == 'data: {"type":"start","messageId":"m1"}'
        assert await exchange.event() == ": keep-alive"
        assert await exchange.event() == ": keep-alive"
        speak.set()
        while (event := await exchange.event()) == ": keep-alive":
            pass
        assert event == 'data: {"type":"finish"}'
        assert await exchange.event() == "data: [DONE]"
        assert await exchange.event() == ""


async def test_keep_alive_can_be_turned_off() -> None:
    async def slow() -> AsyncIterator[AnyChunk]:
        yield START
        await asyncio.sleep(0.05)

    async with client(UIMessageStreamResponse(slow(), keep_alive=None)) as http:
        assert "keep-alive" not in (await http.get("/")).text


async def test_no_comment_goes_out_while_the_client_does_not_read() -> None:
    sent: list[Message] = []
    stuck = asyncio.Event()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)
        if message.get("body"):
            await stuck.wait()

    response = UIMessageStreamResponse(chunks(), keep_alive=0.001)
    task = asyncio.create_task(response({"type": "http", "method": "GET"}, receive, send))
    await asyncio.sleep(0.05)
    assert len(sent) == 2
    stuck.set()
    await asyncio.wait_for(task, HANG)
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_what_is_said_waits_for_a_comment_that_is_being_sent() -> None:
    sent: list[bytes] = []
    speak, taken = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        await speak.wait()
        yield b"data: 1\n\n"

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))
        if sent[-1] == SSE_KEEP_ALIVE and not speak.is_set():
            speak.set()
            await taken.wait()

    response = UIMessageStreamResponse(slow(), keep_alive=0.001)
    task = asyncio.create_task(response({"type": "http", "method": "GET"}, receive, send))
    await asyncio.wait_for(speak.wait(), HANG)
    await asyncio.sleep(0.01)
    assert sent == [b"", SSE_KEEP_ALIVE]
    taken.set()
    await asyncio.wait_for(task, HANG)
    assert [body for body in sent if body != SSE_KEEP_ALIVE] == [b"", b"data: 1\n\n", b""]


async def test_a_client_that_takes_no_comment_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_protocol.serving.http._client_connection.STALLED_SECONDS", 0.01)
    never = asyncio.Event()

    async def silent() -> AsyncIterator[bytes]:
        await never.wait()
        yield b""

    async def receive() -> Message:
        await never.wait()
        raise AssertionError

    async def send(message: Message) -> None:
        if message.get("body"):
            await never.wait()

    response = UIMessageStreamResponse(silent(), keep_alive=0.001)
    await asyncio.wait_for(response({"type": "http", "method": "GET"}, receive, send), HANG)


async def test_a_large_event_goes_out_in_slices() -> None:
    sent: list[Message] = []
    event = b"data: " + bytes(range(33, 120)) * 5000 + b"\n\n"

    async def large() -> AsyncIterator[bytes]:
        yield event

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await asyncio.wait_for(UIMessageStreamResponse(large())({"type": "http", "method": "GET"}, receive, send), HANG)
    bodies = [message["body"] for message in sent[1:]]
    assert b"".join(bodies) == event
    assert max(map(len, bodies)) == SLICE_BYTES


async def test_a_client_that_takes_nothing_for_long_is_cut_off_and_the_content_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("stream_protocol.serving.http._client_connection.STALLED_SECONDS", 0.01)
    sent: list[Message] = []
    log = EventBuffer()
    log.append(b"data: 1\n\n")
    log.close()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)
        if message.get("body"):
            await asyncio.Event().wait()

    await asyncio.wait_for(UIMessageStreamResponse(log.read())({"type": "http", "method": "GET"}, receive, send), HANG)
    assert sent[-1]["more_body"]
    assert log.readers == 0
    assert "took nothing of its response" in caplog.text


async def test_a_client_that_leaves_closes_the_content() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[AnyChunk]:
        try:
            yield START
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with Exchange(UIMessageStreamResponse(endless())).begin(b"") as exchange:
        await exchange.status()
        await exchange.event()
    assert closed.is_set()


async def test_a_server_that_says_so_by_an_error_of_send_closes_the_content_too() -> None:
    closed = False

    async def endless() -> AsyncIterator[AnyChunk]:
        nonlocal closed
        try:
            while True:
                yield START
        finally:
            closed = True

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise BrokenPipeError

    await asyncio.wait_for(UIMessageStreamResponse(endless())({"type": "http", "method": "GET"}, receive, send), HANG)
    assert closed


async def test_content_that_raises_ends_in_one_masked_error(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> AsyncIterator[AnyChunk]:
        yield START
        raise RuntimeError("the secret is 42")

    async with client(UIMessageStreamResponse(broken())) as http:
        response = await http.get("/")
    assert response.text.endswith('data: {"type":"error","errorText":"An error occurred."}\n\ndata: [DONE]\n\n')
    assert "the secret is 42" in caplog.text
    assert caplog.records[-1].levelno == logging.ERROR


@pytest.mark.parametrize(
    "item", [Event(author="root"), "data: {}", None, [START]], ids=lambda item: type(item).__name__
)
async def test_what_is_neither_bytes_nor_a_chunk_is_a_failure_and_the_log_says_what_to_do(
    item: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def events() -> AsyncIterator[Any]:
        yield item

    async with client(UIMessageStreamResponse(events())) as http:
        response = await http.get("/")
    assert response.text == 'data: {"type":"error","errorText":"An error occurred."}\n\ndata: [DONE]\n\n'
    assert "`UIMessageStreamResponse` sends bytes or chunks, not " in caplog.text
    assert "`stream_sse(events)` makes them of the events of a run." in caplog.text


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_keep_alive_without_a_pause_is_refused(seconds: float) -> None:
    with pytest.raises(StreamProtocolError):
        UIMessageStreamResponse(chunks(), keep_alive=seconds)
