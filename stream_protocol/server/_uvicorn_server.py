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
from ipaddress import ip_address
from types import FrameType
from typing import Any, Final, Protocol

import uvicorn
from starlette.types import ASGIApp

from stream_protocol.server._allowed_hosts import check_listener
from stream_protocol.server._limited_http import ServerLimits, limited_http
from stream_protocol.serving.base import WARNING_SECONDS, RareWarning
from stream_protocol.wire import (
    check_callable,
    check_count,
    check_instance,
    check_interface,
    check_seconds,
    check_text,
)

if sys.platform != "win32":
    import resource

WAITING_CONNECTIONS = 2048
"""Connections that may wait to be accepted, uvicorn's own default. One more is dropped: its client tries again after 1,
3 and 7 seconds."""

ACCEPTED_AT_ONCE = 32
"""Connections that asyncio accepts in one go: a third of its default."""

BEING_REFUSED = 3 * ACCEPTED_AT_ONCE
"""Connections beyond the limit that may be open: each is refused two iterations of the event loop after its accept."""

MAX_PORT = 65535

PORTS_TRIED = 20
"""Ports that are looked at behind one that is taken."""

OTHER_FILES = 50
"""Files that the process opens beside its connections: stores, connections to Redis and to models."""

OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The errors of ``accept`` when the process or the machine has no more files."""

DRAIN_SECONDS = 30.0
"""Seconds that runs go on after SIGTERM. Kubernetes gives a process 30 seconds in all by default: set a longer
grace period."""

FORCED_SECONDS = 1.0
"""Seconds in which a server that gets a second signal still stores the output of its runs."""

TICK_SECONDS = 0.05
"""Between two looks of a server that ends. A signal wakes nobody."""

GRACEFUL_SECONDS = 3
"""Seconds that uvicorn waits for open connections when it stops. Every stream has ended before that."""


logger = logging.getLogger(__name__)


class StreamingService(Protocol):
    """A service with open streams, which must end before the server stops. ``ChatService`` is one."""

    async def drain(self) -> None:
        """Begins no more streams, and returns when those that are written here have ended."""

    async def aclose(self) -> None:
        """Ends the streams."""


class ChatServer(uvicorn.Server):
    """A uvicorn server that ends the streams before it waits until their connections close.

    SIGTERM: for ``drain`` seconds the listeners stay open, what runs goes on, and so does who reads here what another
    worker runs. It is over when no request is being answered any more. Then the listeners and idle connections are
    closed, and after them the service. SIGINT, of a person
    at a terminal, and SIGHUP, of a terminal that is closed: the service is closed at once. A second signal ends the
    grace, and soon after it the process.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        service: StreamingService,
        before_accepting: Callable[[], Awaitable[None]] | None = None,
        *,
        drain: float = 0.0,
    ) -> None:
        super().__init__(config)
        self._service = service
        self._before_accepting = before_accepting
        self._drain = drain
        self._out_of_files = RareWarning(logger)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called for each signal, between any two steps of the loop."""
        if self.should_exit:
            self.force_exit = True
        if sig == signal.SIGINT:
            self._drain = 0.0
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts the server. From then on, asyncio's reports of its connections are handled here."""
        asyncio.get_running_loop().set_exception_handler(self._handle_exception)
        if self._before_accepting is not None:
            await self._before_accepting()
        await super().startup(sockets)
        for listener in sockets or ():  # asyncio has just limited both to `ACCEPTED_AT_ONCE`
            listener.listen(WAITING_CONNECTIONS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Lets the runs end, refuses connections, closes the service, so that clients read an ``abort``; then stops.

        The service closes its stores, so no request may come after that: uvicorn's own order is the other way round.
        """
        draining = asyncio.create_task(self._service.drain())
        await self._wait(lambda: draining.done() and not self.server_state.tasks, self._drain)
        draining.cancel()
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in [*self.server_state.connections]:
            connection.shutdown()  # closes an idle connection; another one is closed after its response
        closing = asyncio.create_task(self._service.aclose())
        await self._wait(closing.done, math.inf, forced_seconds=FORCED_SECONDS)
        await super().shutdown(sockets)

    async def _wait(self, is_over: Callable[[], bool], seconds: float, *, forced_seconds: float = 0.0) -> None:
        """Waits until it is over, up to so many seconds; after a second signal only ``forced_seconds`` more."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not is_over() and loop.time() < deadline:
            if self.force_exit:
                deadline = min(deadline, loop.time() + forced_seconds)
            await asyncio.sleep(min(TICK_SECONDS, max(0.0, deadline - loop.time())))

    def _handle_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        # asyncio reports each of its attempts with a traceback, some hundred in a second, and tries again.
        if "socket" in context and isinstance(error, OSError) and error.errno in OUT_OF_FILES:
            self._out_of_files.log("No connection can be accepted now: %s. Those that are open go on.", error.strerror)
        else:
            loop.default_exception_handler(context)


BROKEN_OFF: Final = "ASGI callable returned without completing response."
"""uvicorn's error for a response that has no end."""


CANCELLED: Final = "CancelledError"
"""The end of the traceback that Starlette reports when a second signal ends the server: what it waited for is over."""


class RareRecords(logging.Filter):
    """Lets each sentence of uvicorn's pass at most once in ``WARNING_SECONDS``; tracebacks pass always.

    uvicorn logs one for each request that is not HTTP. Its records of a reader that is cut off do not pass: the code
    that cuts a reader off logs the reason.
    """

    def __init__(self) -> None:
        super().__init__()
        self._not_before: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the record is logged."""
        if record.exc_info:
            return True
        if record.msg == BROKEN_OFF or str(record.msg).rstrip().endswith(CANCELLED):
            return False
        is_due = record.created >= self._not_before.get(record.msg, 0.0)
        if is_due:
            self._not_before[record.msg] = record.created + WARNING_SECONDS
        return is_due


class AddressError(OSError):
    """The server cannot listen on the address. ``str(error)`` is one line that says why."""


def bind_socket(host: str, port: int) -> socket.socket:
    """Returns a listening socket; port 0 takes a free port. Raises ``AddressError``."""
    check_text("host", host, empty=False, expected="an address or a host name")
    check_count("port", port, minimum=0, maximum=MAX_PORT)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=WAITING_CONNECTIONS)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]  # Python appends the address again
        free = _free_port(host, port, family) if error.errno == errno.EADDRINUSE else None
        offer = f"; --port {free} is free" if free is not None else ""
        raise AddressError(f"cannot listen on {host}:{port}: {reason}{offer}") from error
    # Its connections inherit it. asyncio sets it only where the socket names its protocol, which this one does not:
    # without it each chunk but the first waits until the client has acknowledged the one before, some 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _free_port(host: str, port: int, family: socket.AddressFamily) -> int | None:
    """Return one of the next ports that is free; ``None`` if all are taken."""
    for other in range(port + 1, min(port + PORTS_TRIED, MAX_PORT) + 1):
        with suppress(OSError), socket.create_server((host, other), family=family):
            return other
    return None


def server_address(listener: socket.socket) -> str:
    """Returns the server's URL for a browser on this machine."""
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
    """Serves until the process gets SIGINT or SIGTERM. ``announce`` is called first, with the server's URL.

    ``limits``: what clients may take; by default ``ServerLimits()``.
    ``before_accepting``: awaited while connections wait to be accepted. ``tune_gc`` is meant for it.
    ``drain``: seconds that runs go on after SIGTERM, while no new ones begin. SIGINT, SIGHUP, and any second
    signal, end them.
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
        log_config=None,  # without a logging of its own, uvicorn's warnings and errors are printed as all others are
        log_level="warning",
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )
    announce(server_address(listener))
    with suppress(KeyboardInterrupt), ending_with_terminal(), rare_records():  # uvicorn raises it again at its end
        ChatServer(config, service, before_accepting, drain=drain).run(sockets=[listener])


@contextmanager
def rare_records() -> Iterator[None]:
    """Log records of uvicorn's server pass ``RareRecords`` in this block."""
    uvicorns, rare = logging.getLogger("uvicorn.error"), RareRecords()
    uvicorns.addFilter(rare)
    try:
        yield
    finally:
        uvicorns.removeFilter(rare)


@contextmanager
def ending_with_terminal() -> Iterator[None]:
    """A terminal that is closed ends this process as Ctrl+C there does, unless that is ignored, as after ``nohup``."""
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
    """Returns how many connections the files allow that the process may open, at most ``wanted``.

    Raises the soft limit as far as is needed and allowed, as nginx, Go and the JVM do.
    """
    if sys.platform == "win32":  # sockets are no files there
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + BEING_REFUSED + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - BEING_REFUSED - OTHER_FILES, allowed // 4)
