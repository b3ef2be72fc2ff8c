"""Command ``adk-ui-stream demo``: serves the demo agent and its page."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

import click

from stream_protocol.cli._command_options import require_free_port
from stream_protocol.cli._output import print_stopped, progress
from stream_protocol.cli._program import DocumentedCommand
from stream_protocol.cli._serve_options import command_line_options, default_options

_EXAMPLES: Final = {
    "Open the page in the browser": "adk-ui-stream demo --open",
    "Use another port": "adk-ui-stream demo --port 8001",
}


@click.command(
    cls=DocumentedCommand,
    short_help="Talk with a demo agent that shows each feature.",
    examples=_EXAMPLES,
    always_on={"--inspect"},
    params=command_line_options({"host", "port", "allowed_hosts", "opens_page", "verbosity"}),
)
def demo(**command_line: Any) -> None:
    """Serve a demo agent, with the Inspector and a page that suggests one prompt per feature.

    With GOOGLE_API_KEY, Gemini replies. Without this key, a script replies. Chats are stored in memory.
    """
    began = monotonic()
    options = default_options(inspect=True, show_errors=True, **command_line)
    require_free_port(options.host, options.port)
    with progress("Loading ADK"):
        from stream_protocol.cli._serve_agent import AgentServer, bound_socket
        from stream_protocol.demo import SUGGESTIONS, demo_agent

    target = f"{demo_agent.__module__}:{demo_agent.__name__}"
    server = AgentServer(target, options, began, is_demo=True, suggestions=SUGGESTIONS)
    loaded = server.load()
    listener = bound_socket(options.host, options.port)
    server.serve(loaded, listener, shows="screen", opens_page=options.opens_page)
    print_stopped()
