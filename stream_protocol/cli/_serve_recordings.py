"""The server of ``adk-ui-stream serve --replay``. Importing this module loads ADK."""

from __future__ import annotations

from time import monotonic

import click

from stream_protocol.cli._program import refuse, warn
from stream_protocol.cli._serve_options import ServeOptions
from stream_protocol.cli._serve_screen import show_screen
from stream_protocol.inspector import InspectedChats, replay_inspector_routes
from stream_protocol.recording import RecordingError
from stream_protocol.replay_server import create_replay_app, load_library
from stream_protocol.server import (
    AddressError,
    ServerLimits,
    bind_socket,
    exposure_warning,
    log_to_terminal,
    only_allowed_hosts,
    run_server,
)
from stream_protocol.wire import StreamProtocolError


def serve_recordings(path: str, options: ServeOptions, *, began: float) -> None:
    """Serve recordings until the process is stopped. ``began``: the time at which the command was started."""
    try:
        library = load_library(path, session=options.session)
        chats = InspectedChats(library, options.pace, options.ai_sdk, session=options.session)
        listener = bind_socket(options.host, options.port)
        app = create_replay_app(chats, allow_origins=options.origins, page=options.page)
        if options.inspect:
            app.routes[:0] = replay_inspector_routes(chats)
        guarded = only_allowed_hosts(app, listener, options.allowed_hosts)
    except RecordingError as error:
        refuse(f"{path}: {error}")
    except (AddressError, StreamProtocolError) as error:
        refuse(str(error))
    if (meaning := exposure_warning(listener)) is not None:
        warn(f"{meaning}.")
    log_to_terminal(verbose=options.verbosity == "verbose")

    def announce(url: str) -> None:
        links = {**({"Page": url} if options.page else {}), "API": f"{url}/api/chat"}
        rows = {"Chats": f"{len([*library])} recorded"}
        show_screen(f"Replaying {path}", url, links, rows, seconds=monotonic() - began, missing=())
        if options.opens_page:
            click.launch(url)

    limits = ServerLimits(connections=options.max_connections)
    run_server(guarded, chats, listener, announce=announce, limits=limits, drain=0)
