"""Command ``python -m server``: serves the demo with settings from environment variables."""

import dataclasses

import click

from server.app import create_demo
from server.settings import Settings
from stream_protocol import StreamProtocolError
from stream_protocol.server import (
    AddressError,
    bind_socket,
    exposure_warning,
    log_to_terminal,
    only_allowed_hosts,
    run_server,
    tune_gc,
)


@click.command()
@click.option("--host", help="Address to listen on.  [default: HOST of the environment, else 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port; 0 chooses a free port.  [default: PORT of the environment, else 8000]",
)
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, help="Accepted Host header besides localhost; repeatable."
)
@click.option("--verbose", is_flag=True, help="Print the tracebacks of errors, not only their causes.")
def main(
    host: str | None,
    port: int | None,
    allowed_hosts: tuple[str, ...],
    *,
    verbose: bool,
) -> None:
    """Serve the demo agent and its page. `adk-ui-stream demo` serves the same demo to one developer."""
    try:
        settings = Settings.from_env()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    settings = dataclasses.replace(
        settings,
        host=host or settings.host,
        port=settings.port if port is None else port,
    )
    log_to_terminal(verbose=verbose)
    app, service = create_demo(settings)
    try:
        listener = bind_socket(settings.host, settings.port)
        guarded = only_allowed_hosts(app, listener, allowed_hosts)
    except (AddressError, StreamProtocolError) as error:
        raise click.UsageError(str(error)) from None
    if (meaning := exposure_warning(listener)) is not None:
        click.echo(f"The demo is open: {meaning}.", err=True)
    run_server(
        guarded,
        service,
        listener,
        announce=lambda url: click.echo(f"Talk with the demo agent at {url}"),
        before_accepting=tune_gc,
        drain=settings.drain,
    )


if __name__ == "__main__":
    main()
