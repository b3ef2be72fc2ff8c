"""Serving an app with uvicorn, from a socket that is bound already."""

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
"""How long uvicorn waits for open connections when it stops: by then every stream has been ended."""


class Streaming(Protocol):
    """What has open streams, such as a ``ChatService``."""

    async def aclose(self) -> None:
        """Ends them."""


class ChatServer(uvicorn.Server):
    """Ends the streams before uvicorn waits for the connections that carry them."""

    def __init__(self, config: uvicorn.Config, service: Streaming) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stops all runs, so that clients read an ``abort``, then the server."""
        await self._service.aclose()
        await super().shutdown(sockets)


class AddressError(OSError):
    """The address cannot be had. ``str(error)`` is one line that says why."""


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises ``AddressError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0]  # Python says the address once more behind it
        raise AddressError(f"cannot listen on {host}:{port}: {reason}") from error


def server_address(listener: socket.socket) -> str:
    """The URL under which a browser on this machine finds the socket."""
    host, port = listener.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(app: ASGIApp, service: Streaming, listener: socket.socket, announce: Callable[[str], None]) -> None:
    """Serves until the process is told to stop. ``announce`` gets the address first."""
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACEFUL_SECONDS)
    announce(server_address(listener))
    with suppress(KeyboardInterrupt):  # uvicorn raises it again once it has stopped
        ChatServer(config, service).run(sockets=[listener])
