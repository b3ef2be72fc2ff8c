"""``python -m server``: the demo on this machine."""

import dataclasses

import click

from server.app import create_demo
from server.settings import Settings
from stream_protocol import StreamProtocolError
from stream_protocol.server import (
    AddressError,
    bind_socket,
    exposure_warning,
    freeze_startup_objects,
    log_to_terminal,
    only_allowed_hosts,
    run_server,
)


@click.command()
@click.option("--host", help="Instead of HOST from the environment.")
@click.option("--port", type=click.IntRange(0, 65535), help="Instead of PORT from the environment.")
@click.option("--allowed-host", "allowed_hosts", multiple=True, help="Host name to answer to, besides loopback's.")
@click.option("--show-errors", is_flag=True, help="Show the cause of an error on the page, as SHOW_ERRORS=1.")
@click.option("--inspect", is_flag=True, help="Show on the page how an answer came to be, as INSPECT=1.")
@click.option("--verbose", is_flag=True, help="Print the tracebacks of errors, not only their causes.")
def main(
    host: str | None,
    port: int | None,
    allowed_hosts: tuple[str, ...],
    *,
    show_errors: bool,
    inspect: bool,
    verbose: bool,
) -> None:
    """Serve the demo agent and its page."""
    try:
        settings = Settings.from_env()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    settings = dataclasses.replace(
        settings,
        host=host or settings.host,
        port=settings.port if port is None else port,
        show_errors=show_errors or settings.show_errors,
        inspect=inspect or settings.inspect,
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
        before_accepting=freeze_startup_objects,
        drain=settings.drain,
    )


if __name__ == "__main__":
    main()
