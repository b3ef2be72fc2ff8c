"""``adk-ui-stream serve``: serves an agent, or recordings, at the chat endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import click

from stream_protocol.cli._command_options import (
    AI_SDK_VERSIONS,
    FILE,
    FOLDER,
    HeaderName,
    Origin,
    Pace,
    Seconds,
    ai_sdk_version,
    refuse_beside,
    refuse_without,
)
from stream_protocol.cli._output import progress
from stream_protocol.cli._program import DocumentedCommand, refuse

if TYPE_CHECKING:
    from stream_protocol.session import HistoryCut


_BESIDE_REPLAY: Final = frozenset(
    {
        "recordings",
        "session",
        "pace",
        "ai_sdk",
        "host",
        "port",
        "origins",
        "allowed_hosts",
        "max_connections",
        "page",
        "opens_page",
        "verbose",
    }
)
"""The options that ``--replay`` has, too."""


SECTIONS: Final = {
    "--host": "Address and users",
    "--page": "Page",
    "--reload": "While you work on the agent",
    "--session-service-uri": "Chats",
    "--workers": "Many workers",
    "--max-runs": "Limits",
    "--record": "What is written down",
    "--metrics": "What operators see",
    "--replay": "Recordings instead of an agent",
    "--help": "Help",
}
"""The first option of each section of the help -> its heading."""


_EXAMPLES: Final = {
    "An ADK agent folder, and its page in the browser; anew whenever its files change": (
        "adk-ui-stream serve my_agent --open --reload"
    ),
    "An agent by its name, with chats that are kept": (
        "adk-ui-stream serve my_package.agent:root_agent --session-service-uri sqlite:///chats.db"
    ),
    "For a page of your own at another address": "adk-ui-stream serve my_agent --no-page --cors-origin http://localhost:3000",
    "Recordings instead of an agent, as fast as they were": "adk-ui-stream serve --replay recordings --pace recorded",
}


@click.command(
    cls=DocumentedCommand,
    short_help="Serve an agent, or recordings, to useChat.",
    examples=_EXAMPLES,
    sections=SECTIONS,
)
@click.argument("target", required=False, type=FOLDER)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0 lets other machines in.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option(
    "--user-header",
    type=HeaderName(),
    metavar="NAME",
    help="Header in which a proxy in front names the user; 401 without it.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="Host name to answer to, besides loopback's: chat.example, or .chat.example for all below it; repeatable."
    "  [default: none on a loopback --host without --user-header, else any]",
)
@click.option(
    "--cors-origin",
    "origins",
    type=Origin(),
    metavar="ORIGIN",
    multiple=True,
    help="Origin of a page elsewhere that may chat: https://app.example; repeatable.",
)
@click.option("--page/--no-page", default=True, show_default=True, help="Serve the chat page at /.")
@click.option("--open", "opens_page", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--ai-sdk", type=AI_SDK_VERSIONS, default="6", show_default=True, help="Major version of the client's `ai`."
)
@click.option(
    "--show-errors", is_flag=True, help="Show the cause of an error on the page, too. Whoever chats reads it."
)
@click.option(
    "--inspect",
    is_flag=True,
    help="Show on the page how an answer came to be: each ADK event and its chunks. For developers.",
)
@click.option(
    "--reload",
    is_flag=True,
    help="Load the agent anew when one of its files changes. Chats in memory are gone then. While the agent cannot be "
    "loaded, requests get 503 with the reason.",
)
@click.option(
    "--session-service-uri",
    help="Where chats are kept: sqlite:///chat.db, postgresql://user@host/db, …  [default: memory]",
)
@click.option(
    "--history-cut",
    type=click.Choice(["append", "rewind"]),
    default="append",
    show_default=True,
    help="Words with a history that ends before the stored one: append them, or first take back what they leave out.",
)
@click.option(
    "--disconnect-grace",
    type=Seconds(),
    help="How long a run goes on after its last reader has left; 0 stops it at once.  [default: to its end]",
)
@click.option(
    "--drain",
    type=Seconds(),
    default=30.0,
    show_default=True,
    help="How long runs go on after SIGTERM, while no new ones begin; a second signal ends them.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes that serve at one address; one that dies is replaced. Several need --run-log and a store of chats.",
)
@click.option(
    "--run-log",
    "--redis",
    "run_log_url",
    metavar="URL",
    help="Keep what runs where all workers find it: redis://host:6379/0, postgresql://user@host/db, …",
)
@click.option(
    "--run-log-prefix",
    "--redis-prefix",
    metavar="TEXT",
    help="Begins all names there. Deployments that share a Redis or a database need one each."
    "  [default: adk-ui-stream, in PostgreSQL adk_ui_stream]",
)
@click.option(
    "--durable",
    "durable_url",
    metavar="URL",
    help="Execute again what a dead worker has left, kept by DBOS: postgresql://user@host/db, sqlite:///runs.db.",
)
@click.option(
    "--idempotent-tool",
    "idempotent_tools",
    multiple=True,
    metavar="NAME",
    help="With --durable: a tool that may run again if it began and did not end. Can be given several times.",
)
@click.option(
    "--lease",
    type=Seconds(min_open=True),
    default=15.0,
    show_default=True,
    help="How long until a worker that is dead loses its chats.",
)
@click.option(
    "--max-runs",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Runs that go on at once, of all users; one more is refused (503).",
)
@click.option(
    "--max-runs-per-user",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Runs that go on at once, of one user; one more is refused (429).",
)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(min=1),
    default=1200,
    show_default=True,
    help="Requests of one user, of all kinds; more are refused (429).",
)
@click.option(
    "--max-connections",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="The most connections at once; fewer if the process may open fewer files.",
)
@click.option(
    "--record",
    "record_folder",
    metavar="DIR",
    type=FOLDER,
    help="Record each chat in a file in DIR: see docs/recording.md. They are people's words.",
)
@click.option(
    "--audit",
    "audit_file",
    metavar="FILE",
    type=FILE,
    help="Append a line for each approval, denial, answer, sign-in, stop and deletion to FILE: see docs/trust.md.",
)
@click.option(
    "--metrics",
    is_flag=True,
    help="Numbers for Prometheus at /metrics, for whoever reaches the server: see docs/operations.md.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: a line of JSON each, with the ids of chat, run, user and trace, and no word of a message.",
)
@click.option(
    "--log-whole",
    metavar="LOGGER",
    multiple=True,
    help="Logger whose records the log in JSON has with all that they say: my_package; repeatable.",
)
@click.option("--verbose", is_flag=True, help="Print the tracebacks of errors, not only their causes.")
@click.option("--replay", "recordings", metavar="FILE|DIR", type=FILE, help="Answer from recordings, without an agent.")
@click.option("--session", metavar="ID", help="Which session, in a store or an evalset that has several.")
@click.option(
    "--pace",
    type=Pace(held=0.0),
    default="instant",
    show_default=True,
    help="instant; recorded; a factor such as 4 or 0.5; or held until /__replay/CHAT/step.",
)
def serve(
    target: str | None,
    *,
    recordings: str | None,
    session: str | None,
    pace: float,
    host: str,
    port: int,
    ai_sdk: str,
    origins: tuple[str, ...],
    allowed_hosts: tuple[str, ...],
    max_connections: int,
    disconnect_grace: float | None,
    drain: float,
    max_runs: int,
    max_runs_per_user: int,
    requests_per_minute: int,
    history_cut: HistoryCut,
    session_service_uri: str | None,
    workers: int,
    run_log_url: str | None,
    lease: float,
    run_log_prefix: str | None,
    durable_url: str | None,
    idempotent_tools: tuple[str, ...],
    user_header: str | None,
    record_folder: str | None,
    audit_file: str | None,
    show_errors: bool,
    inspect: bool,
    metrics: bool,
    log_format: Literal["text", "json"],
    log_whole: tuple[str, ...],
    verbose: bool,
    page: bool,
    opens_page: bool,
    reload: bool,
) -> None:
    """Serve TARGET: module:attr (an agent, App or Runner, or a callable that gives one) or an ADK agent folder.

    Or, with --replay, recordings: every chat is answered as it was recorded, turn by turn, and nothing else is.
    """
    if recordings is not None and target is None:
        from stream_protocol.cli._serve_recordings import serve_recordings

        refuse_beside("--replay", _BESIDE_REPLAY)
        serve_recordings(
            recordings,
            session=session,
            pace=pace,
            ai_sdk=ai_sdk_version(ai_sdk),
            host=host,
            port=port,
            origins=origins,
            allowed_hosts=allowed_hosts,
            max_connections=max_connections,
            page=page,
            opens_page=opens_page,
            verbose=verbose,
        )
        return
    if target is None or recordings is not None:
        refuse("serve takes a TARGET or --replay, one of them")
    refuse_without("--replay", {"session", "pace"})
    if run_log_url is None:
        refuse_without("--run-log", {"lease", "run_log_prefix", *({"workers"} if workers > 1 else ())})
    if durable_url is None:
        refuse_without("--durable", {"idempotent_tools"})
    if log_format == "text":
        refuse_without("--log-format json", {"log_whole"})
    if workers > 1 and metrics:
        refuse("--metrics takes one worker: each has its own numbers; OTEL_EXPORTER_OTLP_ENDPOINT sends those of all")
    if workers > 1 and (reload or inspect):
        refuse(f"{'--reload' if reload else '--inspect'} takes one worker")
    if reload or workers > 1:
        from stream_protocol.cli._workers import prepare_processes

        prepare_processes()
    with progress("Loading ADK"):
        from stream_protocol.cli._serve_agent import AgentServer, bound_socket
        from stream_protocol.serving import ServiceLimits

    server = AgentServer(
        target=target,
        ai_sdk=ai_sdk_version(ai_sdk),
        show_errors=show_errors,
        session_service_uri=session_service_uri,
        history_cut=history_cut,
        disconnect_grace=disconnect_grace,
        run_log_url=run_log_url,
        run_log_prefix=run_log_prefix,
        durable_url=durable_url,
        idempotent_tools=idempotent_tools,
        lease=lease,
        limits=ServiceLimits(
            max_runs=max_runs, max_runs_per_user=max_runs_per_user, max_requests_per_minute=requests_per_minute
        ),
        max_connections=max_connections,
        drain=0 if reload else drain,  # who has changed a file waits for the new agent
        workers=workers,
        record_folder=record_folder,
        audit_file=audit_file,
        user_header=user_header,
        origins=origins,
        allowed_hosts=allowed_hosts,
        inspect=inspect,
        page=page,
        metrics=metrics,
        log_format=log_format,
        log_whole=log_whole,
        verbose=verbose,
    )
    if reload:
        from stream_protocol.cli._reload import serve_with_reload

        serve_with_reload(server, bound_socket(host, port), opens_page=opens_page)
    elif workers > 1:
        from stream_protocol.cli._workers import serve_with_workers

        serve_with_workers(server, bound_socket(host, port), opens_page=opens_page)
    else:
        with progress(f"Loading {target}"):
            loaded = server.load()
        server.serve(loaded, bound_socket(host, port), shows="screen", opens_page=opens_page)
