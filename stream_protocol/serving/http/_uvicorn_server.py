"""Serves an app with uvicorn on a socket that is already bound."""

import socket
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Protocol

import uvicorn
from starlette.types import ASGIApp

BACKLOG = 2048
"""Connections that may wait to be accepted: uvicorn's own default."""

GRACEFUL_SECONDS = 3
"""How long uvicorn waits for open connections when it stops. Every stream has ended before that."""


class StreamingService(Protocol):
    """A service with open streams, which must end before the server stops. ``ChatService`` is one."""

    async def aclose(self) -> None:
        """Ends the streams."""


class ChatServer(uvicorn.Server):
    """A uvicorn server that ends the streams before it waits until their connections close."""

    def __init__(self, config: uvicorn.Config, service: StreamingService) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Closes the service, so that clients read an ``abort``; then stops the server."""
        await self._service.aclose()
        await super().shutdown(sockets)


class AddressError(OSError):
    """The server cannot listen on the address. ``str(error)`` is one line that says why."""


def bind_socket(host: str, port: int) -> socket.socket:
    """Returns a listening socket; port 0 takes a free port. Raises ``AddressError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]  # Python appends the address again
        raise AddressError(f"cannot listen on {host}:{port}: {reason}") from error
    # Its connections inherit it. asyncio sets it only where the socket names its protocol, which this one does not:
    # without it each chunk but the first waits until the client has acknowledged the one before, some 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def server_address(listener: socket.socket) -> str:
    """Returns the server's URL for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(
    app: ASGIApp, service: StreamingService, listener: socket.socket, announce: Callable[[str], None]
) -> None:
    """Serves until the process gets SIGINT or SIGTERM. ``announce`` is called first, with the server's URL."""
    # Without a logging of its own, uvicorn's warnings and errors are printed as all others of the process.
    config = uvicorn.Config(app, log_config=None, log_level="warning", timeout_graceful_shutdown=GRACEFUL_SECONDS)
    announce(server_address(listener))
    with suppress(KeyboardInterrupt):  # uvicorn raises it again once it has stopped
        ChatServer(config, service).run(sockets=[listener])
