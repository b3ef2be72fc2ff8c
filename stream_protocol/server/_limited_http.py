"""uvicorn's HTTP/1.1 protocol, extended with deadlines and a connection limit.

The extension uses these parts of uvicorn's ``H11Protocol``:

- ``server_state``: the open connections.
- ``transport`` and ``conn``: the connection's transport, and h11's connection.
- ``send_400_response``: uvicorn calls it for invalid HTTP.
- ``_unsupported_upgrade_warning``: uvicorn calls it for requests of other protocols.

``docs/decisions/server-limits.md`` explains why the server uses h11.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from stream_protocol.server._strict_connection import StrictConnection
from stream_protocol.serving.base import RareWarning
from stream_protocol.serving.telemetry import count_cut_reader, count_refusal
from stream_protocol.wire import check_count, check_seconds

READ_BYTES: Final = 4 * 1024
"""Maximum number of bytes that are read and parsed in one step. By default, asyncio reads 256 KiB."""

LOOK_SECONDS: Final = 1.0
"""Seconds between two checks of a connection. Times are counted in checks, so that a busy event loop does not shorten
them."""

RETRY_AFTER_SECONDS: Final = 5
"""The ``Retry-After`` of a 503, in seconds."""

logger = logging.getLogger(__name__)


def _response(status: str, text: str, headers: str = "") -> bytes:
    length = f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(text)}\r\n"
    return f"HTTP/1.1 {status}\r\n{length}{headers}Connection: close\r\n\r\n{text}".encode("ascii")


BAD_REQUEST: Final = _response("400 Bad Request", "Invalid HTTP request received.")

REQUEST_TIMEOUT: Final = _response("408 Request Timeout", "The request did not arrive in time.")

SERVICE_UNAVAILABLE: Final = _response(
    "503 Service Unavailable",
    "The server has too many connections. Try again in a moment.",
    f"Retry-After: {RETRY_AFTER_SECONDS}\r\n",
)


REASONS: Final = {BAD_REQUEST: "bad_http", REQUEST_TIMEOUT: "slow_request", SERVICE_UNAVAILABLE: "connections"}
"""Error response -> the reason that ``count_refusal`` counts."""


@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    """Limits of ``run_server`` for clients. Raises ``StreamProtocolError`` for a value that is not positive."""

    connections: int = 1000
    """Maximum number of open connections. The limit is lower if the process may not open so many files.

    An additional connection replaces the connection that has been idle for the longest time. If no connection is idle,
    the additional connection gets 503.
    """
    head_seconds: float = 20.0
    """Time limit for all headers of a request.

    The time starts when the client connects, or after the previous response. A slower client gets 408. uvicorn closes
    an idle connection 5 s after a response.
    """
    body_seconds: float = 20.0
    """Time in which a body must arrive. Otherwise the client gets 408."""
    body_bytes_per_second: int = 500
    """Each time this many bytes of a body arrive, the body's time limit grows by a second. A body that
    always arrives at this rate never times out."""
    write_seconds: float = 60.0
    """Time after which the server disconnects a client that reads none of the waiting data.

    A client that reads has no time limit.
    """

    def __post_init__(self) -> None:
        check_count("connections", self.connections)
        check_seconds("head_seconds", self.head_seconds)
        check_seconds("body_seconds", self.body_seconds)
        check_count("body_bytes_per_second", self.body_bytes_per_second)
        check_seconds("write_seconds", self.write_seconds)


class _InPieces(asyncio.BufferedProtocol):
    """asyncio protocol that reads at most ``READ_BYTES`` in one step, and passes the bytes to a ``LimitedHttp``.

    uvicorn's own protocol is not an ``asyncio.BufferedProtocol``, so it cannot limit the bytes of one step.
    """

    def __init__(self, connection: LimitedHttp) -> None:
        self._connection = connection
        self._buffer = bytearray()

    def get_buffer(self, sizehint: int) -> bytearray:
        self._buffer = bytearray(READ_BYTES)
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data, self._buffer = self._buffer[:nbytes], bytearray()
        self._connection.data_received(bytes(data))

    def eof_received(self) -> None:
        self._connection.eof_received()

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)


class LimitedHttp(H11Protocol):
    """One HTTP connection that enforces ``ServerLimits``."""

    limits: ClassVar = ServerLimits()
    too_many: ClassVar = RareWarning(logger)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = StrictConnection()
        self._requested = False
        """True if a request has arrived on this connection."""
        self._phase: object = h11.IDLE
        """The part of the request that is being read, as a state of h11: ``IDLE`` (head) or ``SEND_BODY``."""
        self._phase_seconds = 0.0
        """Seconds that the client has had for the current part of its request."""
        self._phase_bytes = 0
        """The received bytes of the current part of the request."""
        self._unread_bytes = 0
        """The written bytes that the client had not read at the last check."""
        self._unread_seconds = 0.0
        """Seconds for which the client has read none of the written bytes."""
        self._next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Accepts the connection. If the server then has too many connections, closes the one that has been idle for
        the longest time.

        If none is idle, the new connection gets 503.
        """
        super().connection_made(transport)
        transport.set_protocol(_InPieces(self))
        # uvicorn writes only while the buffer is empty. So the number of buffered bytes can only fall: see
        # `_look_at_writing`.
        transport.set_write_buffer_limits(high=0)
        self._next_look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self.look)
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._see_phase()
        self._phase_bytes += len(data)
        super().data_received(data)
        self._see_phase()

    def _unsupported_upgrade_warning(self) -> None:
        """Logs nothing, because a request for another protocol is not an error."""

    def send_400_response(self, msg: str) -> None:
        """Sends a 400 for invalid HTTP, and closes the connection. uvicorn's own method fails if a response has already
        begun.
        """
        self._close(BAD_REQUEST)

    def look(self) -> None:
        """Closes the connection if the client is too slow. Called every ``LOOK_SECONDS``."""
        self._next_look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self.look)
        self._see_phase()
        self._look_at_writing()
        self._look_at_reading()

    def _see_phase(self) -> None:
        phase = self.conn.their_state
        if phase is not h11.IDLE:
            self._requested = True
        if phase is not self._phase:
            self._phase, self._phase_seconds, self._phase_bytes = phase, 0.0, 0

    def _look_at_reading(self) -> None:
        # A client cannot send while the server does not read, or while the client waits for a 100 (Continue).
        if not self.transport.is_reading() or self.conn.they_are_waiting_for_100_continue:
            return
        self._phase_seconds += LOOK_SECONDS
        if self._phase is h11.IDLE:
            if self._phase_seconds >= self.limits.head_seconds:
                self._close(REQUEST_TIMEOUT if self._phase_bytes else None)
        elif self._phase is h11.SEND_BODY:
            allowed = self.limits.body_seconds + self._phase_bytes / self.limits.body_bytes_per_second
            if self._phase_seconds >= allowed:
                self._close(REQUEST_TIMEOUT)

    def _look_at_writing(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._unread_seconds = self._unread_seconds + LOOK_SECONDS if unread and unread == self._unread_bytes else 0.0
        self._unread_bytes = unread
        if self._unread_seconds >= self.limits.write_seconds:
            count_cut_reader("stalled")
            self.transport.abort()

    def _make_room(self) -> None:
        self.too_many.log("All of the %d connections that the server may have are open.", self.limits.connections)
        others = [other for other in self.connections if isinstance(other, LimitedHttp) and other is not self]
        waiting = {other: seconds for other in others if (seconds := other.waiting_seconds()) is not None}
        if waiting:
            max(waiting, key=waiting.__getitem__).give_way()
        else:
            self._close(SERVICE_UNAVAILABLE)

    def waiting_seconds(self) -> float | None:
        """Returns the seconds for which the server has waited for the headers of a request. Returns ``None`` if it is
        not waiting for headers.
        """
        waits = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        return self._phase_seconds if waits else None

    def give_way(self) -> None:
        """Closes this connection to make room for another. If the connection is idle after a response, it is closed
        without a response. Otherwise, the client gets 503.
        """
        self._close(None if self._requested and not self._phase_bytes else SERVICE_UNAVAILABLE)

    def _close(self, response: bytes | None) -> None:
        if response is not None:
            count_refusal(REASONS[response])
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):  # no other response has begun
                self.transport.write(response)
        self.transport.close()


def limited_http(limits: ServerLimits) -> type[LimitedHttp]:
    """Returns a protocol class for ``uvicorn.Config(http=…)``."""
    return type("LimitedHttp", (LimitedHttp,), {"limits": limits, "too_many": RareWarning(logger)})
