"""Ports for servers that cannot choose their own."""

import socket
from random import SystemRandom
from typing import Final

PORTS: Final = range(20_000, 32_000)
"""Below the ports that systems give to connections (from 32,768 on Linux). So no client can take one of them in the
moment before the server listens.
"""


def free_port() -> int:
    """A free port of loopback."""
    while True:
        port = SystemRandom().choice(PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
