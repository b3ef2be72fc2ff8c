"""A Starlette response for a UI message stream, with keep-alive comments."""

import logging
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from contextlib import aclosing
from functools import partial
from time import monotonic
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stream_protocol.serving.http._client_connection import (
    ClientConnection,
    ReaderCutOffError,
    send_head,
    send_while_connected,
)
from stream_protocol.serving.run_logs import RunReader
from stream_protocol.serving.telemetry import count_cut_reader
from stream_protocol.stream import DEFAULT_ERROR_TEXT
from stream_protocol.wire import (
    SSE_DONE,
    SSE_HEADERS,
    AnyChunk,
    ChatRequestError,
    SseSink,
    check_iterable,
    check_mapping,
    check_seconds,
    encode_sse,
    shown,
)

logger = logging.getLogger(__name__)

KEEP_ALIVE = 15.0
"""Seconds without data after which a stream sends a comment. Proxies close idle connections after 30 to 100 seconds."""

UNCOUNTED_SECONDS: Final = 10.0
"""Seconds after the end of a response in which its memory is not counted for a client that still reads it. Nearly all
clients need less time."""


HINT: Final = "`stream_sse(events)` makes them of the events of a run"


class UIMessageStreamResponse(Response):
    """Sends a UI message stream: ``UIMessageStreamResponse(stream_sse(runner.run_async(...)))``.

    ``content``: an asynchronous iterable of bytes or chunks. Bytes, as from ``stream_sse``, are sent unchanged. Chunks,
    as from ``stream_chunks``, are encoded, and ``[DONE]`` is added. ``content`` is iterated in the task of the request.
    If the client disconnects, ``content`` is closed. If ``content`` raises, the exception is logged, and the client
    gets one ``error`` chunk without the exception's text. If the client reads nothing for ``STALLED_SECONDS``, its
    connection is closed. ``keep_alive``: as in ``chat_router``. ``headers``: additional headers, which override the
    defaults.

    Raises ``TypeError`` if ``content`` is not asynchronous, and ``StreamProtocolError`` for other wrong values.
    """

    def __init__(
        self,
        content: AsyncIterable[bytes | AnyChunk] | AsyncIterable[bytes] | AsyncIterable[AnyChunk],
        *,
        keep_alive: float | None = KEEP_ALIVE,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        check_iterable("UIMessageStreamResponse", content, "bytes or chunks", is_async=True, otherwise=HINT)
        check_seconds("keep_alive", keep_alive, or_none=True)
        check_mapping("headers", headers, of_texts=True, or_none=True)
        self.content = content
        self.keep_alive = keep_alive
        self.status_code = 200
        self.background = None
        self._kept_since: float | None = None
        """The time at which the response ended. From then on, the response is in memory only for this client."""
        self._is_counted = False
        given = {name.lower(): value for name, value in (headers or {}).items()}
        self.init_headers({**SSE_HEADERS, **given})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reader = self.content if isinstance(self.content, RunReader) else None
        try:
            if scope["method"] == "HEAD":
                await send_head(self, send)
                return
            await send_while_connected(
                self._stream,
                receive,
                send,
                keep_alive=self.keep_alive,
                cut_off=None if reader is None else reader.cut_off,
                look=None if reader is None else partial(self._count_kept, reader),
            )
        finally:
            if isinstance(self.content, AsyncGenerator):
                await self.content.aclose()
            if reader is not None and reader.memory is not None:
                reader.memory.release()

    async def _stream(self, connection: ClientConnection) -> None:
        await connection.start(self.status_code, self.raw_headers)
        async with aclosing(_encoded(self.content)) as events:
            async for event in events:
                await connection.send(event)
        if isinstance(self.content, RunReader) and self.content.cut_off.is_set():
            return
        await connection.end()

    def _count_kept(self, reader: RunReader) -> None:
        """Wait ``UNCOUNTED_SECONDS`` after the response has ended. If the client still reads the response, count its
        memory.

        Raises ``ReaderCutOffError`` if all counted memory exceeds the limit.
        """
        if reader.memory is None or not (size := reader.kept_bytes()):
            return
        now = monotonic()
        if self._kept_since is None:
            self._kept_since = now
        elif not self._is_counted and now - self._kept_since >= UNCOUNTED_SECONDS:
            self._is_counted = True
            try:
                reader.memory.take(size)
            except ChatRequestError:
                count_cut_reader("memory")
                logger.warning("A reader was cut off: the responses that are being read take too much memory.")
                raise ReaderCutOffError from None


async def _encoded(content: AsyncIterable[bytes | AnyChunk]) -> AsyncGenerator[bytes]:
    """Yield ``content`` as SSE bytes. Closing this generator also closes ``content``."""
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
        raise TypeError(f"`UIMessageStreamResponse` sends bytes or chunks, not {shown(item)}: {HINT}.")
