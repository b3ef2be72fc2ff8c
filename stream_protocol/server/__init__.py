"""Runs a server process: its socket, connection limits, log, and shutdown.

Where to change what:

- ``_uvicorn_server``: start and shutdown of the server.
- ``stream_protocol._listener``: creates the socket of a server.
- ``_limited_http``: limits for connections and slow clients.
- ``_strict_connection``: limits for the headers of a request, and for the chunks of its body.
- ``_allowed_hosts``: host names, and the warning for servers that other machines can reach.
- ``_json_lines``: log lines in JSON, without texts of chats.
- ``_terminal_log``: prints the log on the terminal.
- ``_gc``: excludes long-lived objects from garbage collection.
"""

from stream_protocol._listener import AddressError, bind_socket
from stream_protocol.server._allowed_hosts import exposure_warning, only_allowed_hosts
from stream_protocol.server._gc import tune_gc
from stream_protocol.server._limited_http import ServerLimits
from stream_protocol.server._terminal_log import log_to_terminal
from stream_protocol.server._uvicorn_server import (
    ending_with_terminal as ending_with_terminal,
    run_server,
)

__all__ = [
    "AddressError",
    "ServerLimits",
    "bind_socket",
    "exposure_warning",
    "log_to_terminal",
    "only_allowed_hosts",
    "run_server",
    "tune_gc",
]
