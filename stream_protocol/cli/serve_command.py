"""``adk-ui-stream serve``: serves an agent, or recordings, at the chat endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from stream_protocol.cli._command_options import (
    AI_SDK_VERSIONS,
    Pace,
    ai_sdk_version,
    refuse,
    refuse_beside,
    refuse_without,
    warn,
)

if TYPE_CHECKING:
    from stream_protocol.convert import ConverterOptions
    from stream_protocol.serving import OnAudit
    from stream_protocol.serving.run_logs import RunLog
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
        "verbose",
    }
)
"""The options that ``--replay`` has, too."""


SECTIONS: Final = {
    "--host": "Address and users",
    "--page": "Page",
    "--session-service-uri": "Chats",
    "--redis": "Many workers",
    "--max-runs": "Limits",
    "--record": "What is written down",
    "--replay": "Recordings instead of an agent",
    "--help": "Help",
}
"""The first option of each section of the help -> its heading."""


class _Serve(click.Command):
    """A command whose help has its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, in their order."""
        sections: list[tuple[str, list[tuple[str, str]]]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is None:
                continue
            if heading := SECTIONS.get(parameter.opts[0]):
                sections.append((heading, []))
            sections[-1][1].append(record)
        for heading, records in sections:
            with formatter.section(heading):
                formatter.write_dl(records)


@click.command(cls=_Serve)
@click.argument("target", required=False)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0 lets other machines in.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--user-header", help="Header in which a proxy in front names the user; 401 without it.")
@click.option(
    "--allowed-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="Host name to answer to, besides loopback's: chat.example, or .chat.example for all below it; repeatable."
    "  [default: none on a loopback --host without --user-header, else any]",
)
@click.option("--cors-origin", "origins", multiple=True, help="Origin of a page elsewhere that may chat; repeatable.")
@click.option("--page/--no-page", default=True, show_default=True, help="Serve the chat page at /.")
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
    type=click.FloatRange(min=0),
    help="Seconds that a run goes on after its last reader has left; 0 stops it at once.  [default: to its end]",
)
@click.option("--redis", "redis_url", help="Keep what runs where all workers find it: redis://host:6379/0.")
@click.option(
    "--redis-prefix",
    metavar="TEXT",
    default="adk-ui-stream",
    show_default=True,
    help="Begins all keys in Redis. Deployments that share a Redis need one each.",
)
@click.option(
    "--lease",
    type=click.FloatRange(min=0, min_open=True),
    default=15.0,
    show_default=True,
    help="Seconds until a worker that is dead loses its chats.",
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
    help="Record each chat in a file in DIR: see docs/recording.md. They are people's words.",
)
@click.option(
    "--audit",
    "audit_file",
    metavar="FILE",
    help="Append a line for each approval, denial, answer, sign-in, stop and deletion to FILE: see docs/trust.md.",
)
@click.option("--verbose", is_flag=True, help="Print the tracebacks of errors, not only their causes.")
@click.option("--replay", "recordings", metavar="FILE|DIR", help="Answer from recordings, without an agent.")
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
    max_runs: int,
    max_runs_per_user: int,
    requests_per_minute: int,
    history_cut: HistoryCut,
    session_service_uri: str | None,
    redis_url: str | None,
    lease: float,
    redis_prefix: str,
    user_header: str | None,
    record_folder: str | None,
    audit_file: str | None,
    show_errors: bool,
    inspect: bool,
    verbose: bool,
    page: bool,
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
            verbose=verbose,
        )
        return
    if target is None or recordings is not None:
        refuse("serve takes a TARGET or --replay, one of them")
    refuse_without("--replay", {"session", "pace"})
    if redis_url is None:
        refuse_without("--redis", {"lease", "redis_prefix"})
    from stream_protocol.inspector import Inspector, inspector_routes
    from stream_protocol.recording.write import ChatRecorder
    from stream_protocol.serving import ChatService, ServiceLimits, SeveralRecorders, explain_error, log_to_terminal
    from stream_protocol.serving.adk_runner import SessionServiceError, TargetError, load_session_service, load_target
    from stream_protocol.serving.http import (
        AddressError,
        ServerLimits,
        bind_socket,
        create_app,
        exposure_warning,
        header_user,
        local_user,
        only_allowed_hosts,
        run_server,
    )
    from stream_protocol.wire import StreamProtocolError

    options: ConverterOptions = {"ai_sdk": ai_sdk_version(ai_sdk)}
    if show_errors:
        options["on_error"] = explain_error
    inspector = Inspector() if inspect else None
    try:
        service = ChatService(
            load_target(target),
            session_service=load_session_service(session_service_uri) if session_service_uri else None,
            run_log=_run_log(redis_url, redis_prefix, lease) if redis_url else None,
            disconnect_grace=disconnect_grace,
            limits=ServiceLimits(
                max_runs=max_runs,
                max_runs_per_user=max_runs_per_user,
                max_requests_per_minute=requests_per_minute,
            ),
            history_cut=history_cut,
            on_audit=_audit_file(audit_file) if audit_file else None,
            recorder=SeveralRecorders(
                *([ChatRecorder(record_folder)] if record_folder else ()), *([inspector] if inspector else ())
            ),
            **options,
        )
    except OSError as error:
        refuse(f"cannot record into {record_folder}: {error.strerror}")
    except (TargetError, SessionServiceError, StreamProtocolError) as error:
        refuse(str(error))
    identify = header_user(user_header) if user_header else local_user
    app = create_app(service, identify=identify, allow_origins=origins, page=page)
    if inspector is not None:  # before the page's own files
        app.routes[:0] = inspector_routes(inspector, service, identify=identify, allow_origins=origins)
    try:
        listener = bind_socket(host, port)
        guarded = only_allowed_hosts(app, listener, allowed_hosts, behind_proxy=bool(user_header))
    except (AddressError, StreamProtocolError) as error:
        refuse(str(error))
    if not user_header and (meaning := exposure_warning(listener)) is not None:
        warn(f"{meaning}; behind a proxy that signs users in, take --user-header.")
    log_to_terminal(verbose=verbose)
    limits = ServerLimits(connections=max_connections)
    run_server(guarded, service, listener, announce=lambda url: click.echo(f"Serving {target} at {url}"), limits=limits)


def _audit_file(path: str) -> OnAudit:
    from stream_protocol.serving import AuditFile

    try:
        return AuditFile(path)
    except OSError as error:
        refuse(f"cannot write {path}: {error.strerror}")


def _run_log(url: str, prefix: str, lease: float) -> RunLog:
    try:
        from stream_protocol.serving.run_logs import RunLogError
        from stream_protocol.serving.run_logs.redis import load_redis_run_log
    except ImportError as error:  # the extra `redis` is not installed
        refuse(str(error))
    try:
        return load_redis_run_log(url, prefix=prefix, lease=lease)
    except RunLogError as error:
        refuse(str(error))
