"""Provides ``response_body``: the body of a response as an iterator, for frameworks such as Django."""

import asyncio
from collections.abc import AsyncGenerator

import anyio
from starlette.types import ASGIApp, Message

from stream_protocol.wire import check_callable


def response_body(response: ASGIApp) -> AsyncGenerator[bytes]:
    """Returns an asynchronous iterator over the body of a Starlette response.

    The response runs in a separate task. After each part of the body, this task waits until the caller has taken the
    part. Closing the iterator cancels the response, as if the client had disconnected. Raises ``ConnectionError`` if
    the response ends before its body is complete. Do not catch this exception: it must close the connection, so that
    the client notices that the body is incomplete.
    """
    check_callable("response", response, ("scope", "receive", "send"), expected="a response of Starlette")
    return _body(response)


async def _body(response: ASGIApp) -> AsyncGenerator[bytes]:
    writer, reader = anyio.create_memory_object_stream[bytes](0)
    is_complete = False

    async def send(message: Message) -> None:
        nonlocal is_complete
        if message["type"] == "http.response.body":
            await writer.send(message["body"])
            is_complete = not message.get("more_body", False)

    async def serve() -> None:
        with writer:
            await response({"type": "http", "method": "GET", "headers": []}, _wait_for_ever, send)

    with writer, reader:
        serving = asyncio.create_task(serve())
        try:
            async for piece in reader:
                if piece:
                    yield piece
            await serving
        finally:
            serving.cancel()
            await asyncio.wait({serving})
    if not is_complete:
        raise ConnectionError("The response ended before its body was complete.")


async def _wait_for_ever() -> Message:
    return await asyncio.Future[Message]()
