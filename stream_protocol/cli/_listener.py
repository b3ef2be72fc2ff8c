"""The socket of ``serve``. A module of its own, since importing it loads ADK."""

from __future__ import annotations

import errno
import socket

from stream_protocol.cli._program import refuse
from stream_protocol.serving.http import AddressError, bind_socket


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Ends the process with exit code 2 if there can be none."""
    try:
        return bind_socket(host, port)
    except AddressError as error:
        cause = error.__cause__
        is_taken = isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE
        refuse(f"{error}; --port 0 takes a free port" if is_taken else str(error))
