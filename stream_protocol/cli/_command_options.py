"""What all commands of ``adk-ui-stream`` share."""

from collections.abc import Container, Iterator
from typing import Final, NoReturn

import click
from click.core import ParameterSource

from stream_protocol.wire import AiSdkVersion

AI_SDK_VERSIONS = click.Choice(["6", "7"])


HELD_OUTPUT: Final = 2**20
"""Bytes of output that are held in memory until the file has been read; more wait on disk."""


def ai_sdk_version(choice: str) -> AiSdkVersion:
    """The number of a choice among ``AI_SDK_VERSIONS``."""
    return 7 if choice == "7" else 6


def refuse(text: str) -> NoReturn:
    """Ends the command with one line on stderr and exit code 2: bad usage or unreadable input."""
    click.echo(f"adk-ui-stream: {text}", err=True)
    raise SystemExit(2)


def refuse_beside(option: str, allowed: Container[str]) -> None:
    """Ends the command as ``refuse`` does, if it was given an option that means nothing beside ``option``."""
    for parameter in _given():
        if parameter.name not in allowed:
            refuse(f"{parameter.opts[0]} means nothing beside {option}")


def refuse_without(option: str, needing: Container[str]) -> None:
    """Ends the command as ``refuse`` does, if it was given one of the options that mean nothing without ``option``."""
    for parameter in _given():
        if parameter.name in needing:
            refuse(f"{parameter.opts[0]} means nothing without {option}")


def _given() -> Iterator[click.Parameter]:
    """What stands on the command line."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            yield parameter
