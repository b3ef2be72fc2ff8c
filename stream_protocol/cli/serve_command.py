"""Command ``adk-ui-stream serve``: serves an agent or recordings at the chat endpoint."""

from time import monotonic
from typing import Any, Final

import click

from stream_protocol.cli._command_options import (
    FOLDER,
    refuse_combination,
    require_free_port,
    require_option,
    require_path,
)
from stream_protocol.cli._output import print_stopped, progress
from stream_protocol.cli._program import DocumentedCommand, refuse
from stream_protocol.cli._serve_options import (
    BESIDE_REPLAY,
    COMMON,
    ServeOptions,
    command_line_options,
    file_options,
    read_options,
    sections,
)

_EXAMPLES: Final = {
    "An agent folder; opens the page, and reloads the agent when its files change": (
        "adk-ui-stream serve my_agent --open --reload"
    ),
    "An agent by its Python name, with stored chats": (
        "adk-ui-stream serve my_package.agent:root_agent --session-service-uri sqlite:///chats.db"
    ),
    "An API for your own page at another address": "adk-ui-stream serve my_agent --no-page --cors-origin http://localhost:3000",
    "Recordings instead of an agent, at their recorded pace": "adk-ui-stream serve --replay recordings --pace recorded",
}


@click.command(
    cls=DocumentedCommand,
    short_help="Serve an agent, or recordings, to useChat.",
    examples=_EXAMPLES,
    sections=sections(),
    in_file=file_options(),
    common=COMMON,
    params=command_line_options(),
)
@click.argument("target", required=False, type=FOLDER)
@click.pass_context
def serve(context: click.Context, /, target: str | None, **command_line: Any) -> None:
    """Serve TARGET: an ADK agent folder, or module:attr (an agent, an App, a Runner, or a function that returns one of
    these).

    With --replay, serve recordings: a recorded request gets its recorded response, and any other request is refused.

    Further options are read from pyproject.toml in the current folder: see 'The command line' in the docs.
    """
    began = monotonic()
    options = read_options(context, command_line)
    if target is None:
        if options.recordings is None:
            refuse(
                "`serve` needs the folder of an agent, or --replay. Try: adk-ui-stream serve my_agent. "
                "Without an agent: adk-ui-stream demo"
            )
        refuse_combination("--replay", BESIDE_REPLAY)
        require_path(options.recordings)
        require_free_port(options.host, options.port)
        with progress("Loading ADK"):
            from stream_protocol.cli._serve_recordings import serve_recordings

        serve_recordings(options.recordings, options, began=began)
        print_stopped()
        return
    if options.recordings is not None:
        refuse(f"{target} and --replay cannot be combined: serve either the agent or the recordings")
    _check(options)
    require_free_port(options.host, options.port)
    if options.reload or options.workers > 1:
        from stream_protocol.cli._workers import prepare_processes

        prepare_processes()
    with progress("Loading ADK"):
        from stream_protocol.cli._serve_agent import AgentServer, bound_socket

    server = AgentServer(target, options, began)
    if options.reload:
        from stream_protocol.cli._reload import serve_with_reload

        serve_with_reload(server, bound_socket(options.host, options.port), opens_page=options.opens_page)
    elif options.workers > 1:
        from stream_protocol.cli._workers import serve_with_workers

        serve_with_workers(server, bound_socket(options.host, options.port), opens_page=options.opens_page)
    else:
        with progress(f"Loading {target}"):
            loaded = server.load()
        listener = bound_socket(options.host, options.port)
        server.serve(loaded, listener, shows="screen", opens_page=options.opens_page)
    print_stopped()


def _check(options: ServeOptions) -> None:
    require_option("--replay", {"session", "pace"})
    on_postgres = options.durable_url is not None and options.durable_url.startswith("postgres")
    if options.run_log_url is None and on_postgres and options.workers == 1:
        refuse("--durable on PostgreSQL needs --run-log: workers must see each other's runs")
    if options.workers > 1:
        _check_workers(options, has_durable_file=options.durable_url is not None and not on_postgres)


def _check_workers(options: ServeOptions, *, has_durable_file: bool) -> None:
    """If other options cannot be combined with ``--workers``, end the process with exit code 2. The error text contains
    a reason for each of them.
    """
    found: list[str] = []
    if options.run_log_url is None:
        # A Runner has its own session service. `AgentServer.load` refuses a Runner that stores chats in memory.
        sessions = " and --session-service-uri (or a Runner that stores its chats)"
        found.append(f"--workers needs --run-log{sessions if options.session_service_uri is None else ''}")
    if has_durable_file:
        found.append("--durable with a file cannot be combined with --workers: use a PostgreSQL URL")
    if options.metrics:
        found.append(
            "--metrics cannot be combined with --workers: set OTEL_EXPORTER_OTLP_ENDPOINT for metrics of all workers"
        )
    alone = [name for name, is_set in (("--reload", options.reload), ("--inspect", options.inspect)) if is_set]
    if alone:
        found.append(f"{' and '.join(alone)} cannot be combined with --workers: remove one of them")
    if found:
        refuse("; ".join(found))
