"""``python -m server``: the demo on this machine."""

import dataclasses

import click

from server.app import chat_service, create_app
from server.settings import Settings
from stream_protocol.serving import AddressError, bind_socket, log_to_terminal, run_server


@click.command()
@click.option("--host", help="Instead of HOST from the environment.")
@click.option("--port", type=click.IntRange(0, 65535), help="Instead of PORT from the environment.")
@click.option("--show-errors", is_flag=True, help="Show the cause of an error on the page, as SHOW_ERRORS=1.")
@click.option("--verbose", is_flag=True, help="Print the tracebacks of errors, not only their causes.")
def main(host: str | None, port: int | None, *, show_errors: bool, verbose: bool) -> None:
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
    )
    service = chat_service(settings)
    try:
        listener = bind_socket(settings.host, settings.port)
    except AddressError as error:
        raise click.UsageError(str(error)) from None
    log_to_terminal(verbose=verbose)
    app = create_app(settings, service)
    run_server(app, service, listener, announce=lambda url: click.echo(f"Talk with the demo agent at {url}"))


if __name__ == "__main__":
    main()
