"""Opens the socket on which a server listens. This module loads neither ADK nor a server."""

import errno
import socket
from contextlib import suppress

from stream_protocol.wire import check_count, check_text, printable, shown

WAITING_CONNECTIONS = 2048
"""Number of connections that may wait to be accepted."""

MAX_PORT = 65535

PORTS_TRIED = 20
"""The number of higher ports that the search for a free port tries."""


class AddressError(OSError):
    """Raised if a server cannot listen on an address. ``str(error)``: one line with the reason."""


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 selects a free port. Raises ``AddressError`` if the address cannot be used."""
    check_text("host", host, empty=False, expected="an address or a host name")
    check_count("port", port, minimum=0, maximum=MAX_PORT)
    if not _can_be_host(host):
        raise AddressError(f"cannot listen on {shown(host)}: it is not a host name")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=WAITING_CONNECTIONS)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]  # without the address, which Python appends again
        free = _free_port(host, port, family) if error.errno == errno.EADDRINUSE else None
        offer = f"; --port {free} is free" if free is not None else ""
        raise AddressError(f"cannot listen on {printable(host)}:{port}: {reason}{offer}") from error
    # Accepted connections inherit TCP_NODELAY. asyncio does not set it here, because this socket does not name its
    # protocol. Without TCP_NODELAY, each later chunk waits some 40 ms until the client has acknowledged the chunk
    # before it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _can_be_host(host: str) -> bool:
    """Return False for a text that cannot be encoded as a host name. For such a text, Python raises errors of several
    classes, and does not close the socket.
    """
    try:
        return b"\0" not in host.encode("idna")
    except UnicodeError:
        return False


def _free_port(host: str, port: int, family: socket.AddressFamily) -> int | None:
    for other in range(port + 1, min(port + PORTS_TRIED, MAX_PORT) + 1):
        with suppress(OSError), socket.create_server((host, other), family=family):
            return other
    return None
