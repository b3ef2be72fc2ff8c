"""A Starlette response for a UI message stream. It is an ASGI app, as every Starlette response is."""

import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stream_protocol.convert import DEFAULT_ERROR_TEXT
from stream_protocol.serving.run_logs import RunReader
from stream_protocol.wire import (
    SSE_DONE,
    SSE_HEADERS,
    SSE_KEEP_ALIVE,
    AnyChunk,
    SseSink,
    StreamProtocolError,
    encode_sse,
)

logger = logging.getLogger(__name__)

KEEP_ALIVE = 15.0
"""Seconds of silence before a comment goes out. Proxies close idle connections after 30 to 100 seconds."""


class UIMessageStreamResponse(Response):
    """Sends a UI message stream: ``UIMessageStreamResponse(stream_sse(runner.run_async(...)))``.

    ``content`` gives bytes, sent as they are (``stream_sse``), or chunks, encoded here and ended with ``[DONE]``
    (``stream_chunks``). It is iterated in the task that serves the request, and closed there if the client leaves.
    If it raises, the client gets one masked ``error`` chunk and the server's log the exception.

    A ``RunReader`` that is cut off ends the connection, not the response: the client is to know that there is more.

    ``keep_alive``: seconds of silence before a comment is sent; ``None`` for never. ``headers`` win over the defaults.
    """

    def __init__(
        self,
        content: AsyncIterable[bytes | AnyChunk] | AsyncIterable[bytes] | AsyncIterable[AnyChunk],
        *,
        keep_alive: float | None = KEEP_ALIVE,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if keep_alive is not None and not keep_alive > 0:
            raise StreamProtocolError("`keep_alive` must be positive, or None.")
        self.content = content
        self.keep_alive = keep_alive
        self.status_code = 200
        self.background = None
        given = {name.lower(): value for name, value in (headers or {}).items()}
        self.init_headers({**SSE_HEADERS, **given})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire = _Wire(send)
        try:
            async with anyio.create_task_group() as tasks:

                async def until_done(activity: Callable[[], Awaitable[object]]) -> None:
                    await activity()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(until_done, partial(_disconnected, receive))
                if isinstance(self.content, RunReader):
                    tasks.start_soon(until_done, self.content.cut_off.wait)
                if self.keep_alive is not None:
                    tasks.start_soon(wire.keep_alive, self.keep_alive)
                await until_done(partial(self._stream, wire))
        except* OSError:  # how a server of ASGI 2.4 or later says that the client has left
            logger.debug("The client left in the middle of a stream.")

    async def _stream(self, wire: "_Wire") -> None:
        await wire.send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(_encoded(self.content)) as events:
            async for event in events:
                await wire.send_body(event)
        if isinstance(self.content, RunReader) and self.content.cut_off.is_set():
            return
        await wire.send({"type": "http.response.body", "body": b"", "more_body": False})


class _Wire:
    """The sending side of one connection: one message at a time, and a comment when it has been silent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = anyio.Lock()
        self._last = anyio.current_time()

    async def send(self, message: dict[str, object]) -> None:
        async with self._turn:
            await self._send(message)
            self._last = anyio.current_time()

    async def send_body(self, body: bytes) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": True})

    async def keep_alive(self, seconds: float) -> None:
        """Breaks every silence of this length. Bytes that wait for a slow client are not silence."""
        while True:
            left = self._last + seconds - anyio.current_time()
            if left > 0 or self._turn.locked():
                await anyio.sleep(max(left, seconds / 10))
            else:
                await self.send_body(SSE_KEEP_ALIVE)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _encoded(content: AsyncIterable[bytes | AnyChunk]) -> AsyncGenerator[bytes]:
    """The content as bytes. Closes it, if it is a generator, when this is closed."""
    iterator = aiter(content)
    chunks = False
    try:
        async for item in iterator:
            if isinstance(item, bytes):
                yield item
            else:
                chunks = True
                yield encode_sse(item)
    except Exception:
        logger.exception("The content of a stream failed.")
        sink = SseSink()
        sink.error(DEFAULT_ERROR_TEXT)
        for event in sink.take():
            yield event
        chunks = True
    finally:
        await _close(iterator)
    if chunks:
        yield SSE_DONE


async def _close(iterator: AsyncIterator[bytes | AnyChunk]) -> None:
    if isinstance(iterator, AsyncGenerator):
        await iterator.aclose()
