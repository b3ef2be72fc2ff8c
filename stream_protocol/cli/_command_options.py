"""What the commands of ``adk-ui-stream`` share: types of options, and functions that refuse a command."""

import math
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click
from click.core import ParameterSource

from stream_protocol.wire import AiSdkVersion

if TYPE_CHECKING:
    FloatParam = click.ParamType[float]
else:
    FloatParam = click.ParamType  # generic only for type checkers before click 8.4

AI_SDK_VERSIONS = click.Choice(["6", "7"])

SPOOL_BYTES: Final = 2**20
"""Bytes of output that are kept in memory until the whole file is read. More output is kept on disk."""


def ai_sdk_version(choice: str) -> AiSdkVersion:
    """Returns the number of a choice of ``AI_SDK_VERSIONS``."""
    return 7 if choice == "7" else 6


class Pace(FloatParam):
    """``--pace``: ``instant``, ``recorded`` or a factor (4, 4x, 0.5).

    The value is how many times as fast as recorded. The values of ``INSTANT`` and ``HELD`` are written here again:
    importing them would load ADK.
    """

    name = "pace"

    def __init__(self, **others: float) -> None:
        """``others``: further paces by name."""
        self._named = {"instant": math.inf, "recorded": 1.0, **others}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the pace as a factor. Raises ``click.BadParameter`` for a value that is not a pace."""
        if isinstance(value, float):
            return value
        try:
            speed = self._named[value] if value in self._named else float(str(value).removesuffix("x"))
        except ValueError:
            speed = math.nan
        if value not in self._named and (not speed > 0 or speed == math.inf):
            names = ", nor ".join(self._named)
            self.fail(f"{value!r} is neither {names}, nor a factor such as 4 or 0.5", param, ctx)
        return speed


def refuse(text: str) -> NoReturn:
    """Ends the command with one line on stderr and exit code 2: bad usage or unreadable input."""
    warn(text)
    raise SystemExit(2)


def warn(text: str) -> None:
    """Prints one line on stderr."""
    click.echo(f"adk-ui-stream: {text}", err=True)


def refuse_beside(option: str, allowed: Container[str]) -> None:
    """Refuses the command if it has an option or argument that is not ``allowed`` together with ``option``."""
    for parameter in _parameters_on_command_line():
        if parameter.name not in allowed:
            refuse(f"{parameter.opts[0]} means nothing beside {option}")


def refuse_without(option: str, needing: Container[str]) -> None:
    """Refuses the command if it has one of the options that need ``option``."""
    for parameter in _parameters_on_command_line():
        if parameter.name in needing:
            refuse(f"{parameter.opts[0]} means nothing without {option}")


def _parameters_on_command_line() -> Iterator[click.Parameter]:
    context = click.get_current_context()
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            yield parameter
