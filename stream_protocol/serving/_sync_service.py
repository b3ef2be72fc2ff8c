"""The chat service for servers without an event loop: Flask, Django under WSGI, any thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from stream_protocol.serving._service import ChatService
from stream_protocol.serving.base import NO_OVERRIDES, RunOverrides, closing_refusal
from stream_protocol.serving.http import KEEP_ALIVE
from stream_protocol.serving.requests import check_request
from stream_protocol.serving.telemetry import count_refusal, note_chat
from stream_protocol.wire import (
    SSE_HEADERS,
    SSE_KEEP_ALIVE,
    ChatRequestError,
    check_callable,
    check_seconds,
    check_text,
)

if TYPE_CHECKING:
    from stream_protocol.wire import ChatRequest

T = TypeVar("T")

WSGI_SSE_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {name: value for name, value in SSE_HEADERS.items() if name != "connection"}
)
"""``SSE_HEADERS`` without ``connection``: PEP 3333 leaves that header to the WSGI server."""


class SyncChatService:
    """A ``ChatService`` on an event loop of its own, in one background thread per process.

    All requests share this loop, because the connections of a model's client belong to the loop that made them.

    ``make``: builds the service. It is called on the loop when the first request comes. If it raises, the next request
    calls it again. A forked process calls it once more, so a server may fork at any time.
    ``keep_alive``: seconds of silence in a stream before a comment is sent; ``None`` for never. A WSGI server notices
    that its client has left only when it writes.
    """

    def __init__(self, make: Callable[[], ChatService], *, keep_alive: float | None = KEEP_ALIVE) -> None:
        check_callable("make", make, (), plain=True, expected="a function that makes the service")
        check_seconds("keep_alive", keep_alive, or_none=True)
        self._make = make
        self._keep_alive = keep_alive
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._service: ChatService | None = None
        self._closed = False
        """True if it was closed before there was a service."""
        self._closing: set[asyncio.Future[None]] = set()
        os.register_at_fork(after_in_child=self._forget)

    def respond(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> Generator[bytes, None, None]:
        """``ChatService.respond``: the SSE events of the response. ``parse_sse`` makes chunks of them. Counts as a
        request of the user.

        Closing the iterator counts as a disconnect: every WSGI server closes it when the client leaves. Raises
        ``ChatRequestError`` at once for a request that is refused.
        """
        check_text("user_id", user_id)
        check_request(request, overrides)

        async def respond(service: ChatService) -> AsyncIterator[bytes]:
            note_chat(user_id, request.id)
            service.count_request(user_id)
            return await service.respond(request, user_id=user_id, overrides=overrides)

        return self._iterate(self.run(respond))

    def run(self, do: Callable[[ChatService], Awaitable[T]]) -> T:
        """Calls and awaits anything else of the service: ``run(lambda service: service.chats(user_id="ann"))``."""
        check_callable("do", do, ("service",))
        portal, service = self._start()
        try:
            return portal.call(do, service)
        except ChatRequestError as refusal:
            count_refusal(refusal.reason)
            raise

    def close(self) -> None:
        """Stops all runs and waits for them. Their streams end with ``abort``; later requests are refused (503).

        The background thread goes on, for streams that are still read. It is a daemon: it does not keep the process.
        """
        with self._lock:
            self._closed = self._service is None
        if not self._closed:
            self.run(ChatService.aclose)

    def _iterate(self, events: AsyncIterator[bytes]) -> Generator[bytes, None, None]:
        portal, _ = self._start()
        coming: Future[bytes] | None = None
        try:
            while True:
                coming = coming or portal.start_task_soon(_next, events)
                try:
                    piece = coming.result(self._keep_alive)
                except TimeoutError:
                    yield SSE_KEEP_ALIVE
                    continue
                coming = None
                if not piece:
                    return
                yield piece
        finally:
            if portal is self._portal:  # not in a process that was forked since: nobody would answer there
                if coming is not None:
                    coming.cancel()
                if isinstance(events, AsyncGenerator):
                    self._leave(portal, events)

    def _leave(self, portal: BlockingPortal, events: AsyncGenerator[bytes]) -> None:
        """Closes a stream that nobody reads any more."""
        try:
            closing = portal.start_task_soon(events.aclose)
        except RuntimeError:  # the garbage collector has found that out, in the loop's own thread
            task = asyncio.ensure_future(events.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        else:
            closing.result()

    def _start(self) -> tuple[BlockingPortal, ChatService]:
        """Starts the loop and makes the service, unless that has been done."""
        with self._lock:
            if self._closed:
                raise closing_refusal()
            if self._portal is None:
                self._portal = _start_portal()
            if self._service is None:
                self._service = self._portal.call(self._make)
            return self._portal, self._service

    def _forget(self) -> None:
        """Starts anew in a forked process: it has no such thread, and nobody there may ever release the lock."""
        self._lock = threading.Lock()
        self._portal = self._service = None
        self._closed = False


def _start_portal() -> BlockingPortal:
    """A portal to a new event loop in a daemon thread, which never ends.

    anyio's own ``start_blocking_portal`` waits for its thread when it is left or collected. In a forked process, which
    has no such thread, that would take for ever.
    """
    portal: Future[BlockingPortal] = Future()

    async def serve() -> None:
        async with BlockingPortal() as opened:
            portal.set_result(opened)
            await opened.sleep_until_stopped()

    threading.Thread(target=anyio.run, args=(serve,), name="adk-ui-stream", daemon=True).start()
    return portal.result()


async def _next(events: AsyncIterator[bytes]) -> bytes:
    """Returns the next piece; an empty one at the end."""
    return await anext(events, b"")
