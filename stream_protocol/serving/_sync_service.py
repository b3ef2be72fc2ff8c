"""The chat service for servers without an event loop, such as Flask and Django under WSGI."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from stream_protocol._origins import check_origins
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.base import NO_OVERRIDES, RunOverrides, closing_refusal
from stream_protocol.serving.http import KEEP_ALIVE, admit_headers
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
"""``SSE_HEADERS`` without ``connection``. Only the WSGI server may set that header (PEP 3333)."""


class SyncChatService:
    """A ``ChatService`` for servers without an event loop. It runs on an event loop in one background thread for each
    process.

    All requests share this event loop. The client libraries of models keep connections open, and each connection works
    only on one event loop.

    ``make``: a function that creates the service. The first request calls ``make`` on the event loop. If ``make``
    raises, the next request calls it again. A forked process also calls ``make`` again, so the server can fork at any
    time.

    ``keep_alive``: after this number of seconds without data, the stream sends a comment; ``None`` for no comments. A
    WSGI server detects a disconnected client only when it sends data, such as a comment.

    ``allow_origins``: other origins whose pages may change data, in addition to this server's pages. The method
    ``admit`` refuses requests from all other origins.

    When the process exits, ``close`` is called. If a signal kills the process, ``close`` is not called. So install a
    handler for the signal.
    """

    def __init__(
        self,
        make: Callable[[], ChatService],
        *,
        keep_alive: float | None = KEEP_ALIVE,
        allow_origins: Sequence[str] = (),
    ) -> None:
        check_callable("make", make, (), plain=True, expected="a function that makes the service")
        check_seconds("keep_alive", keep_alive, or_none=True)
        self._make = make
        self._keep_alive = keep_alive
        self._trusted_origins = check_origins("allow_origins", allow_origins)
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._service: ChatService | None = None
        self._closed = False
        """True if ``close`` was called before the service was created."""
        self._closing: set[asyncio.Future[None]] = set()
        os.register_at_fork(after_in_child=self._forget)
        # Functions of ``atexit`` run later: after the executors of asyncio are closed, which stores need, and after
        # the server's threads have ended, which may read streams.
        threading._register_atexit(_close, weakref.ref(self))  # type: ignore[attr-defined]  # noqa: SLF001

    def admit(self, method: str, headers: Iterable[tuple[str, str]]) -> None:
        """Refuses a request that changes data if a page of another site has sent it. Call ``admit`` at the start of
        each request.

        ``headers``: pairs of name and value, such as ``request.headers.items()`` of Flask and Django. Raises
        ``ChatRequestError`` (403).
        """
        check_text("method", method)
        admit_headers(method, headers, self._trusted_origins)

    def respond(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> Generator[bytes, None, None]:
        """Returns the SSE events of the response: see ``ChatService.respond``. ``parse_sse`` parses the events into
        chunks.

        The call counts toward the user's ``max_requests_per_minute``: see ``ChatService.count_request``. If the client
        disconnects, the WSGI server closes the returned iterator. A refused request raises ``ChatRequestError`` from
        this call, before the first event is read.
        """
        check_text("user_id", user_id)
        check_request(request, overrides)

        async def respond(service: ChatService) -> AsyncIterator[bytes]:
            note_chat(user_id, request.id)
            service.count_request(user_id)
            return await service.respond(request, user_id=user_id, overrides=overrides)

        return self._iterate(self.run(respond))

    def run(self, do: Callable[[ChatService], Awaitable[T]]) -> T:
        """Calls any method of the service, and returns its result: ``run(lambda service:
        service.chats(user_id="ann"))``.
        """
        check_callable("do", do, ("service",))
        portal, service = self._start()
        try:
            return portal.call(do, service)
        except ChatRequestError as refusal:
            count_refusal(refusal.reason)
            raise

    def close(self) -> None:
        """Stops all runs, and waits until they have ended. The responses of these runs end with ``abort``. Later
        requests are refused (503).

        The background thread continues, because clients may still read responses. It is a daemon thread, so the process
        can exit.
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
            if portal is self._portal:  # a forked process has no such thread
                if coming is not None:
                    coming.cancel()
                if isinstance(events, AsyncGenerator):
                    self._leave(portal, events)

    def _leave(self, portal: BlockingPortal, events: AsyncGenerator[bytes]) -> None:
        try:
            closing = portal.start_task_soon(events.aclose)
        except RuntimeError:  # called by the garbage collector, in the thread of the event loop
            task = asyncio.ensure_future(events.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        else:
            closing.result()

    def _start(self) -> tuple[BlockingPortal, ChatService]:
        """Return anyio's portal to the event loop, and the service. The first call creates both."""
        with self._lock:
            if self._closed:
                raise closing_refusal()
            if self._portal is None:
                self._portal = _start_portal()
            if self._service is None:
                self._service = self._portal.call(self._make)
            return self._portal, self._service

    def _forget(self) -> None:
        """Reset this object in a forked process, which has no background thread."""
        self._lock = threading.Lock()
        self._portal = self._service = None
        self._closed = False


def _close(made: weakref.ref[SyncChatService]) -> None:
    if (service := made()) is not None:
        service.close()


def _start_portal() -> BlockingPortal:
    """Start an event loop in a daemon thread that never ends, and return its portal."""
    # anyio's `start_blocking_portal` would wait forever for its thread in a forked process.
    portal: Future[BlockingPortal] = Future()

    async def serve() -> None:
        async with BlockingPortal() as opened:
            portal.set_result(opened)
            await opened.sleep_until_stopped()

    threading.Thread(target=anyio.run, args=(serve,), name="adk-ui-stream", daemon=True).start()
    return portal.result()


async def _next(events: AsyncIterator[bytes]) -> bytes:
    """Return the next SSE events, or empty bytes at the end of the response."""
    return await anext(events, b"")
