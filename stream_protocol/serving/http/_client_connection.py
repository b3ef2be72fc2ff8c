"""Sends a response in slices. Waits while the client reads slowly, and stops when the client disconnects."""

from __future__ import annotations

import logging
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from stream_protocol.serving.telemetry import count_cut_reader
from stream_protocol.wire import SSE_KEEP_ALIVE

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Awaitable, Callable

    from starlette.responses import Response
    from starlette.types import Receive, Send

logger = logging.getLogger(__name__)

SLICE_BYTES: Final = 2**16
"""The maximum number of bytes that are passed to the ASGI server in one step. The server buffers the bytes that the
client does not read."""

STALLED_SECONDS: Final = 60.0
"""The maximum number of seconds that a response waits for a client that reads nothing, like nginx's ``send_timeout``. A
client that reads 2 KB per second is still served."""

SENDS_AT_ONCE: Final = 4
"""The number of sends after which other tasks run. Then asyncio can report a lost connection. Otherwise, asyncio logs a
warning for each write after the fourth."""


class ReaderCutOffError(Exception):
    """Raised to end a response in the middle of its body. The reason is already logged."""


class ClientConnection:
    """Sends a response over one HTTP connection."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sends_comment = anyio.Lock()
        self._sends_since: float | None = None
        """The time at which the current send began; ``None`` if no send is waiting for the client."""
        self._last_sent = monotonic()
        self._sends = 0
        self._sent_bytes = 0
        """The number of bytes sent since other tasks last ran."""

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send_message({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, body: bytes) -> None:
        """Send a part of the body, in slices. If the client reads slowly, waits until it has read most of the previous
        parts.
        """
        for begin in range(0, len(body), SLICE_BYTES):
            piece = body if len(body) <= SLICE_BYTES else body[begin : begin + SLICE_BYTES]
            await self._send_message({"type": "http.response.body", "body": piece, "more_body": True})
            self._sends += 1
            self._sent_bytes += len(piece)
            if self._sends >= SENDS_AT_ONCE or self._sent_bytes >= SLICE_BYTES:
                self._sends = self._sent_bytes = 0
                await checkpoint()

    async def end(self) -> None:
        await self._send_message({"type": "http.response.body", "body": b"", "more_body": False})

    async def watch(self, keep_alive: float | None, look: Callable[[], None] | None) -> None:
        """Send keep-alive comments, and check that the client reads. Runs until it is cancelled.

        ``keep_alive``: if no data was sent for this number of seconds, a comment is sent. ``None`` for no comments. No
        comment is sent while data waits for a slow client. ``look``: function that is called at least every
        ``STALLED_SECONDS``. To end the response, ``look`` raises an exception.

        Raises ``TimeoutError`` if the client reads nothing for ``STALLED_SECONDS``.
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
            if look is not None:
                look()
            await anyio.sleep(max(pause, 0))

    async def _send_message(self, message: dict[str, object]) -> None:
        if self._sends_comment.locked():
            async with self._sends_comment:
                pass
        self._sends_since = monotonic()
        await self._send(message)
        self._last_sent, self._sends_since = monotonic(), None

    async def _comment(self) -> None:
        async with self._sends_comment:
            with anyio.fail_after(STALLED_SECONDS):
                await self._send({"type": "http.response.body", "body": SSE_KEEP_ALIVE, "more_body": True})
        self._last_sent = monotonic()


async def send_while_connected(
    work: Callable[[ClientConnection], Awaitable[None]],
    receive: Receive,
    send: Send,
    *,
    keep_alive: float | None = None,
    cut_off: Event | None = None,
    look: Callable[[], None] | None = None,
) -> None:
    """Call ``work``, which sends a response over the client's connection.

    ``work`` is cancelled if the client disconnects, if the client reads nothing for ``STALLED_SECONDS``, or if
    ``cut_off`` is set. ``keep_alive`` and ``look``: see ``ClientConnection.watch``. ``look`` may raise
    ``ReaderCutOffError``.
    """
    connection = ClientConnection(send)
    try:
        async with anyio.create_task_group() as tasks:

            async def until_done(activity: Callable[[], Awaitable[object]]) -> None:
                await activity()
                tasks.cancel_scope.cancel()

            tasks.start_soon(until_done, partial(_disconnected, receive))
            if cut_off is not None:
                tasks.start_soon(until_done, cut_off.wait)
            tasks.start_soon(connection.watch, keep_alive, look)
            await until_done(partial(work, connection))
    except* TimeoutError:
        count_cut_reader("stalled")
        logger.warning("A client was cut off: it took nothing of its response for %s seconds.", STALLED_SECONDS)
    except* ReaderCutOffError:
        pass
    except* OSError:  # raised by servers of ASGI 2.4 or later when the client has disconnected
        logger.debug("The client left in the middle of a response.")


async def send_head(response: Response, send: Send) -> None:
    """Send only the status and the headers of ``response``. This is the response to a ``HEAD`` request, which Starlette
    allows on each ``GET`` route.
    """
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
