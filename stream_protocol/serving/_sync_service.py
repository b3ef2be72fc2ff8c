"""The chat service for servers without an event loop: Flask, Django under WSGI, any thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from stream_protocol.serving._overrides import NO_OVERRIDES, RunOverrides
from stream_protocol.serving._service import ChatService
from stream_protocol.serving.http import KEEP_ALIVE
from stream_protocol.wire import SSE_HEADERS, SSE_KEEP_ALIVE

if TYPE_CHECKING:
    from stream_protocol.wire import ChatRequest

T = TypeVar("T")

WSGI_SSE_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {name: value for name, value in SSE_HEADERS.items() if name != "connection"}
)
"""``SSE_HEADERS`` without ``connection``, which is the WSGI server's own (PEP 3333)."""


class SyncChatService:
    """A ``ChatService`` that lives on an event loop of its own, in one background thread per process.

    One, because the connections of a model's client belong to the loop that made them; all requests share it. ``make``
    builds the service; it is called on that loop when the first request comes, and once more in a process that was
    forked after that, so a server may fork whenever it likes.

    ``keep_alive``: seconds of silence in a stream before a comment goes out; ``None`` for never. Only a write tells a
    WSGI server that its client has left.
    """

    def __init__(self, make: Callable[[], ChatService], *, keep_alive: float | None = KEEP_ALIVE) -> None:
        self._make = make
        self._keep_alive = keep_alive
        self._lock = threading.Lock()
        self._home: _Home | None = None
        os.register_at_fork(after_in_child=self._forget)

    def respond(
        self, request: ChatRequest, *, user_id: str, overrides: RunOverrides = NO_OVERRIDES
    ) -> Generator[bytes, None, None]:
        """``ChatService.respond``: the response's SSE events. Closing the iterator, as every WSGI server does when the
        client leaves, counts as a disconnect. ``parse_sse`` makes chunks of them.

        Raises ``ChatRequestError`` at once for a request that is refused.
        """
        events = self.run(lambda service: service.respond(request, user_id=user_id, overrides=overrides))
        return self._iterate(events)

    def run(self, do: Callable[[ChatService], Awaitable[T]]) -> T:
        """Waits for anything else of the service: ``run(lambda service: service.chats(user_id="ann"))``."""
        home = self._started()
        return home.submit(do(home.service)).result()

    def close(self) -> None:
        """Stops all runs, whose streams end with ``abort``, and waits for them; requests that come later are refused.

        The thread stays for those who still read. It is a daemon: it keeps no process alive.
        """
        self.run(ChatService.aclose)

    def _iterate(self, events: AsyncIterator[bytes]) -> Generator[bytes, None, None]:
        home = self._started()
        coming: Future[bytes] | None = None
        try:
            while True:
                coming = coming or home.submit(anext(events, b""))
                try:
                    batch = coming.result(self._keep_alive)
                except TimeoutError:
                    yield SSE_KEEP_ALIVE
                    continue
                coming = None
                if not batch:
                    return
                yield batch
        finally:
            if coming is not None:
                coming.cancel()
            if isinstance(events, AsyncGenerator):
                home.submit(events.aclose()).result()

    def _started(self) -> _Home:
        with self._lock:
            if self._home is None:
                self._home = _Home(self._make)
            return self._home

    def _forget(self) -> None:
        """A forked process has neither the thread nor, perhaps, a lock that somebody could release."""
        self._lock = threading.Lock()
        self._home = None


class _Home:
    """The loop, its thread, and the service that was made there."""

    def __init__(self, make: Callable[[], ChatService]) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="adk-ui-stream", daemon=True).start()
        self.service = self.submit(_made(make)).result()

    def submit(self, awaitable: Awaitable[T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._loop)


async def _made(make: Callable[[], ChatService]) -> ChatService:
    return make()


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable
