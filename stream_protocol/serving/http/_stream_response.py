"""A Starlette response for a UI message stream, with keep-alive comments."""

import logging
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from time import monotonic
from typing import Final

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stream_protocol.convert import DEFAULT_ERROR_TEXT
from stream_protocol.serving.run_logs import RunReader
from stream_protocol.serving.telemetry import count_cut_reader
from stream_protocol.wire import (
    SSE_DONE,
    SSE_HEADERS,
    SSE_KEEP_ALIVE,
    AnyChunk,
    SseSink,
    check_iterable,
    check_mapping,
    check_seconds,
    encode_sse,
    shown,
)

logger = logging.getLogger(__name__)

KEEP_ALIVE = 15.0
"""Seconds of silence before a comment goes out. Proxies close idle connections after 30 to 100 seconds."""

SLICE_BYTES: Final = 2**16
"""The most bytes that the server is given at once: it copies what a client does not take."""

STALLED_SECONDS: Final = 60.0
"""How long one slice may wait for a client that takes nothing: nginx has the same ``send_timeout``. A client on a line
of 2 KB a second is still served."""


OF_EVENTS: Final = "`stream_sse(events)` makes them of the events of a run"


class UIMessageStreamResponse(Response):
    """Sends a UI message stream: ``UIMessageStreamResponse(stream_sse(runner.run_async(...)))``.

    ``content``: yields bytes, which are sent as they are (``stream_sse``); or chunks, which are encoded here and ended
    with ``[DONE]`` (``stream_chunks``). It is iterated in the task that serves the request, and closed there if the
    client leaves. If it raises, the client gets one masked ``error`` chunk, and the exception is logged. If a
    ``RunReader`` is cut off, the connection is closed in the middle of the response, so that the client knows of it. So
    it is if the client takes nothing for ``STALLED_SECONDS``.
    ``keep_alive``: seconds of silence before a comment is sent; ``None`` for never.
    ``headers``: more headers, which win over the defaults.

    Raises ``TypeError`` for a content that is not asynchronous, and ``StreamProtocolError`` for other wrong values.
    """

    def __init__(
        self,
        content: AsyncIterable[bytes | AnyChunk] | AsyncIterable[bytes] | AsyncIterable[AnyChunk],
        *,
        keep_alive: float | None = KEEP_ALIVE,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        check_iterable("UIMessageStreamResponse", content, "bytes or chunks", is_async=True, otherwise=OF_EVENTS)
        check_seconds("keep_alive", keep_alive, or_none=True)
        check_mapping("headers", headers, of_texts=True, or_none=True)
        self.content = content
        self.keep_alive = keep_alive
        self.status_code = 200
        self.background = None
        given = {name.lower(): value for name, value in (headers or {}).items()}
        self.init_headers({**SSE_HEADERS, **given})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":  # a route of GET answers it, too
            await self._send_headers_alone(send)
            return
        connection = _Connection(send)
        try:
            async with anyio.create_task_group() as tasks:

                async def until_done(activity: Callable[[], Awaitable[object]]) -> None:
                    await activity()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(until_done, partial(_disconnected, receive))
                if isinstance(self.content, RunReader):
                    tasks.start_soon(until_done, self.content.cut_off.wait)
                tasks.start_soon(connection.watch, self.keep_alive)
                await until_done(partial(self._stream, connection))
        except* TimeoutError:
            count_cut_reader("stalled")
            logger.warning("A client was cut off: it took nothing of its response for %s seconds.", STALLED_SECONDS)
        except* OSError:  # how a server of ASGI 2.4 or later says that the client has left
            logger.debug("The client left in the middle of a stream.")

    async def _send_headers_alone(self, send: Send) -> None:
        """Ends at once: the client reads nothing of the content, and would hold its run for nobody."""
        if isinstance(self.content, AsyncGenerator):
            await self.content.aclose()
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, connection: "_Connection") -> None:
        await connection.send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(_encoded(self.content)) as events:
            async for event in events:
                await connection.send_body(event)
        if isinstance(self.content, RunReader) and self.content.cut_off.is_set():
            return
        await connection.send({"type": "http.response.body", "body": b"", "more_body": False})


class _Connection:
    """The sending side of one HTTP connection. What one chunk costs is here: one call of the server, and no timer."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sends_comment = anyio.Lock()
        self._sends_since: float | None = None
        """When the send began that waits for the client now."""
        self._last_sent = monotonic()

    async def send(self, message: dict[str, object]) -> None:
        """Sends one message, and waits until the client has taken most of those before."""
        if self._sends_comment.locked():
            async with self._sends_comment:
                pass
        self._sends_since = monotonic()
        await self._send(message)
        self._last_sent, self._sends_since = monotonic(), None

    async def send_body(self, body: bytes) -> None:
        """Sends a part of the body, in slices."""
        if len(body) <= SLICE_BYTES:
            await self.send({"type": "http.response.body", "body": body, "more_body": True})
            return
        for begin in range(0, len(body), SLICE_BYTES):
            await self.send_body(body[begin : begin + SLICE_BYTES])

    async def watch(self, keep_alive: float | None) -> None:
        """Sends a comment after each silence of ``keep_alive`` seconds; a send that waits for a slow client is none.

        Raises ``TimeoutError`` if the client takes nothing for ``STALLED_SECONDS``.
        """
        while True:
            now = monotonic()
            pause = STALLED_SECONDS if keep_alive is None else min(STALLED_SECONDS, keep_alive)
            if self._sends_since is not None:
                pause = min(pause, self._sends_since + STALLED_SECONDS - now)
                if pause <= 0:
                    raise TimeoutError
            elif keep_alive is not None:
                pause = min(pause, self._last_sent + keep_alive - now)
                if pause <= 0:
                    await self._comment()
            await anyio.sleep(max(pause, 0))

    async def _comment(self) -> None:
        async with self._sends_comment:
            with anyio.fail_after(STALLED_SECONDS):
                await self._send({"type": "http.response.body", "body": SSE_KEEP_ALIVE, "more_body": True})
        self._last_sent = monotonic()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _encoded(content: AsyncIterable[bytes | AnyChunk]) -> AsyncGenerator[bytes]:
    """The content as SSE bytes. Closes the content, if it is a generator, when this is closed."""
    iterator = aiter(content)
    chunks = False
    try:
        async for item in iterator:
            if isinstance(item, bytes):
                yield item
            else:
                _check_chunk(item)
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
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()
    if chunks:
        yield SSE_DONE


def _check_chunk(item: object) -> None:
    if not isinstance(item, dict):
        raise TypeError(f"`UIMessageStreamResponse` sends bytes or chunks, not {shown(item)}: {OF_EVENTS}.")
