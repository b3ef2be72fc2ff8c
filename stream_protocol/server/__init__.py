"""What makes a server process: its socket, the limits of its connections, its log, and its end."""

from stream_protocol.server._allowed_hosts import exposure_warning, only_allowed_hosts
from stream_protocol.server._limited_http import ServerLimits
from stream_protocol.server._startup_objects import freeze_startup_objects
from stream_protocol.server._terminal_log import log_to_terminal
from stream_protocol.server._uvicorn_server import (
    AddressError,
    bind_socket,
    ending_with_terminal as ending_with_terminal,
    run_server,
)

__all__ = [
    "AddressError",
    "ServerLimits",
    "bind_socket",
    "exposure_warning",
    "freeze_startup_objects",
    "log_to_terminal",
    "only_allowed_hosts",
    "run_server",
]
