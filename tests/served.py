"""Serves an app on a real socket."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from stream_protocol.server import bind_socket
from stream_protocol.server._uvicorn_server import server_address

STOPPING: Final = 300.0
"""Seconds after which a stopped server that still runs fails the test."""


POLL_SECONDS: Final = 0.01
"""Seconds between two checks of a ``socketserver`` for its stop. Its default of 0.5 would delay each test."""


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve the app in a thread. Yields its address."""
    with bind_socket("127.0.0.1", 0) as listener, serving(app, listener):
        yield server_address(listener)


@contextmanager
def serving(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """Serve the app with this listener, in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(STOPPING)
