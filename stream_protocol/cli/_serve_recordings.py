"""``adk-ui-stream serve --replay``: the replay server. A module of its own, since importing it loads ADK."""

from __future__ import annotations

from collections.abc import Sequence

import click

from stream_protocol.cli._command_options import refuse
from stream_protocol.recording import RecordingError
from stream_protocol.replay_server import Chats, create_replay_app, load_library
from stream_protocol.serving import log_to_terminal
from stream_protocol.serving.http import AddressError, bind_socket, run_server
from stream_protocol.wire import AiSdkVersion


def serve_recordings(
    path: str,
    *,
    session: str | None,
    pace: float,
    ai_sdk: AiSdkVersion,
    host: str,
    port: int,
    origins: Sequence[str],
    page: bool,
    verbose: bool,
) -> None:
    """Serves the recordings in a file or folder until the process is stopped."""
    try:
        chats = Chats(load_library(path, session=session), pace, ai_sdk)
        listener = bind_socket(host, port)
    except RecordingError as error:
        refuse(f"{path}: {error}")
    except AddressError as error:
        refuse(str(error))
    log_to_terminal(verbose=verbose)
    app = create_replay_app(chats, allow_origins=origins, page=page)
    run_server(app, chats, listener, announce=lambda url: click.echo(f"Replaying {path} at {url}"))
