"""Serves an app with uvicorn on a socket that is already bound."""

import asyncio
import errno
import logging
import math
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from types import FrameType
from typing import Any, Final, Protocol

import uvicorn
from starlette.types import ASGIApp

from stream_protocol._listener import WAITING_CONNECTIONS
from stream_protocol.server._allowed_hosts import check_listener
from stream_protocol.server._limited_http import ServerLimits, limited_http
from stream_protocol.serving.base import WARNING_SECONDS, RareWarning
from stream_protocol.wire import (
    check_callable,
    check_instance,
    check_interface,
    check_seconds,
)

if sys.platform != "win32":
    import resource

ACCEPTED_AT_ONCE = 32
"""The number of connections that asyncio accepts in one step, about a third of asyncio's default."""

BEING_REFUSED = 3 * ACCEPTED_AT_ONCE
"""The number of connections above the limit that may be open. The server refuses them two iterations of the event loop
later."""

OTHER_FILES = 50
"""Open files that the process needs besides its clients' connections, for example for stores and models."""

OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The error numbers of ``accept`` if no more files can be opened."""

DRAIN_SECONDS = 30.0
"""Seconds that runs may continue after SIGTERM. Kubernetes needs more than its default grace period of 30 seconds."""

FORCED_SECONDS = 1.0
"""Maximum number of seconds after a second signal for storing the output of runs."""

TICK_SECONDS = 0.05
"""Seconds between two checks during the shutdown, because a signal does not wake the event loop."""

GRACEFUL_SECONDS = 3
"""Seconds that uvicorn waits for open connections when it stops, after all streams have ended."""


logger = logging.getLogger(__name__)


class StreamingService(Protocol):
    """A service with open streams, such as ``ChatService``."""

    async def drain(self) -> None:
        """Refuses new streams. Returns when all streams of this process have ended."""

    async def aclose(self) -> None:
        """Ends the streams."""


class ChatServer(uvicorn.Server):
    """A uvicorn server that ends all streams before it waits for their connections to close.

    After SIGTERM, the server still accepts connections, and responses continue, for up to ``drain`` seconds. If another
    worker executes the run of a response, this response continues, too. As soon as no request is left, the server
    closes its sockets, its idle connections and the service.

    After SIGINT (Ctrl+C) or SIGHUP (a closed terminal), the server stops the runs immediately. After a second signal,
    it no longer waits for open connections, and the process ends soon.
    """

    ends_streams: Final = True
    """True, so that the app's lifespan does not close the service."""

    def __init__(
        self,
        config: uvicorn.Config,
        service: StreamingService,
        before_accepting: Callable[[], Awaitable[None]] | None = None,
        *,
        on_start: Callable[[], object] | None = None,
        drain: float = 0.0,
    ) -> None:
        super().__init__(config)
        self._service = service
        self._on_start = on_start
        self._before_accepting = before_accepting
        self._drain = drain
        self._out_of_files = RareWarning(logger)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Starts the shutdown. A second signal shortens it."""
        if self.should_exit:
            self.force_exit = True
        if sig == signal.SIGINT:
            self._drain = 0.0
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts the server. Also adds a log filter, so that asyncio does not repeat its record about too many open
        files.
        """
        asyncio.get_running_loop().set_exception_handler(self._handle_exception)
        if self._before_accepting is not None:
            await self._before_accepting()
        await super().startup(sockets)
        for listener in sockets or ():  # asyncio has just reduced the backlog to `ACCEPTED_AT_ONCE`
            listener.listen(WAITING_CONNECTIONS)
        if self.started and self._on_start is not None:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Waits until the runs have ended, at most ``drain`` seconds, and then stops the server.

        After this wait, the server refuses connections, so that no request arrives after the stores are closed. It then
        closes the service, and clients of unfinished runs get an ``abort`` chunk. uvicorn itself would close the
        service only after all responses have ended.
        """
        draining = asyncio.create_task(self._service.drain())
        await self._wait(lambda: draining.done() and not self.server_state.tasks, self._drain)
        draining.cancel()
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in [*self.server_state.connections]:
            connection.shutdown()  # closes idle connections now, and other connections after their response
        closing = asyncio.create_task(self._service.aclose())
        await self._wait(closing.done, math.inf, forced_seconds=FORCED_SECONDS)
        await super().shutdown(sockets)

    async def _wait(self, is_over: Callable[[], bool], seconds: float, *, forced_seconds: float = 0.0) -> None:
        """Wait until ``is_over()`` is true, for at most ``seconds``. After a second signal, wait for at most
        ``forced_seconds`` more.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not is_over() and loop.time() < deadline:
            if self.force_exit:
                deadline = min(deadline, loop.time() + forced_seconds)
            await asyncio.sleep(min(TICK_SECONDS, max(0.0, deadline - loop.time())))

    def _handle_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        # asyncio would log a traceback for each attempt to accept a connection, about a hundred per second.
        if "socket" in context and isinstance(error, OSError) and error.errno in OUT_OF_FILES:
            self._out_of_files.log("No connection can be accepted now: %s. Those that are open go on.", error.strerror)
        else:
            loop.default_exception_handler(context)


BROKEN_OFF: Final = "ASGI callable returned without completing response."
"""The text that uvicorn logs for a response that ends before its body is complete."""


CANCELLED: Final = "CancelledError"
"""The last words of the traceback that Starlette logs when a second signal ends the server."""


class RareRecords(logging.Filter):
    """Filter for uvicorn's log. Each message is logged at most once in ``WARNING_SECONDS``. Without this filter,
    uvicorn logs a line for each request with invalid HTTP.

    Records with a traceback are always logged. If the server has cut off a response, uvicorn's record about this is
    dropped, because this library logs the reason.
    """

    def __init__(self) -> None:
        super().__init__()
        self._not_before: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info:
            return True
        if record.msg == BROKEN_OFF or str(record.msg).rstrip().endswith(CANCELLED):
            return False
        is_due = record.created >= self._not_before.get(record.msg, 0.0)
        if is_due:
            self._not_before[record.msg] = record.created + WARNING_SECONDS
        return is_due


def server_address(listener: socket.socket) -> str:
    """Return the server's URL for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(
    app: ASGIApp,
    service: StreamingService,
    listener: socket.socket,
    announce: Callable[[str], None],
    limits: ServerLimits | None = None,
    *,
    before_accepting: Callable[[], Awaitable[None]] | None = None,
    drain: float = DRAIN_SECONDS,
) -> None:
    """Serves ``app`` until the process gets SIGINT or SIGTERM.

    ``announce``: called once with the server's URL, as soon as the server accepts connections.

    ``limits``: the limits for clients. The default is ``ServerLimits()``.

    ``before_accepting``: coroutine function that is awaited before connections are accepted, for example ``tune_gc``.
    New connections wait until it has returned.

    ``drain``: how many seconds runs may continue after SIGTERM. No new runs start in this time. SIGINT, SIGHUP, or a
    second signal of any kind stops the runs immediately.
    """
    check_callable("app", app, ("scope", "receive", "send"), expected="an ASGI app")
    check_interface("service", service, StreamingService, "a ChatService")
    check_listener(listener)
    check_callable("announce", announce, ("url",), plain=True)
    check_instance("limits", limits, ServerLimits, "a ServerLimits", or_none=True)
    check_callable("before_accepting", before_accepting, (), or_none=True)
    check_seconds("drain", drain, zero=True)
    limits = limits or ServerLimits()
    limits = replace(limits, connections=connections_within_files(limits.connections))
    config = uvicorn.Config(
        app,
        http=limited_http(limits),
        loop="asyncio",
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        log_config=None,  # uvicorn's warnings and errors then go to the log of the process
        log_level="warning",
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )
    # uvicorn raises KeyboardInterrupt again at its end.
    with suppress(KeyboardInterrupt), ending_with_terminal(), rare_records():
        on_start = partial(announce, server_address(listener))
        ChatServer(config, service, before_accepting, on_start=on_start, drain=drain).run(sockets=[listener])


@contextmanager
def rare_records() -> Iterator[None]:
    """Context manager: adds the filter ``RareRecords`` to the log of uvicorn's server."""
    uvicorns, rare = logging.getLogger("uvicorn.error"), RareRecords()
    uvicorns.addFilter(rare)
    try:
        yield
    finally:
        uvicorns.removeFilter(rare)


@contextmanager
def ending_with_terminal() -> Iterator[None]:
    """Context manager: handles SIGHUP, the signal of a closed terminal, like Ctrl+C. If the process already ignores
    SIGHUP, for example because of ``nohup``, it still ignores the signal.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not in_main_thread or signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGHUP, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def connections_within_files(wanted: int) -> int:
    """Return the number of connections that the limit of open files allows, but at most ``wanted``.

    If necessary, raises the process's soft limit of open files.
    """
    if sys.platform == "win32":  # sockets do not count as files on Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + BEING_REFUSED + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - BEING_REFUSED - OTHER_FILES, allowed // 4)
