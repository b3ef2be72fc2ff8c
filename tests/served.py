"""An app behind a real socket."""

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
"""Seconds after which a server that should stop hangs."""


POLL_SECONDS: Final = 0.01
"""Between two looks of a ``socketserver`` whether it should stop: its own half a second is waited for by each test."""


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address of the app, served by a thread."""
    with bind_socket("127.0.0.1", 0) as listener, serving(app, listener):
        yield server_address(listener)


@contextmanager
def serving(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """Serves the app there, by a thread."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(STOPPING)
