"""Chooses ports for servers that cannot choose one."""

import socket
from random import SystemRandom
from typing import Final

PORTS: Final = range(20_000, 32_000)
"""Ports below the range that systems give to connections (from 32,768 on Linux). So no client can take the port before
the server listens.
"""


def free_port() -> int:
    """Return a free port of loopback."""
    while True:
        port = SystemRandom().choice(PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
