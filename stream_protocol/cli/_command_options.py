"""Shared parts of the commands of ``adk-ui-stream``: types of arguments, and the options that can be combined."""

import math
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from stream_protocol._origins import check_origins
from stream_protocol.cli._program import refuse
from stream_protocol.wire import AiSdkOption, AiSdkVersion, StreamProtocolError, check_header_name, client_version

if TYPE_CHECKING:
    AiSdkParam = click.ParamType[AiSdkOption]
    FloatParam = click.ParamType[float]
    TextParam = click.ParamType[str]
else:
    AiSdkParam = FloatParam = TextParam = click.ParamType  # generic only for type checkers before click 8.4

AI_SDK_MAJORS: Final = click.Choice(["6", "7"])


class AiSdk(AiSdkParam):
    """A major version of the client's ``ai`` package as a number, or a full version as a text."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> AiSdkOption:
        """Returns the version. Raises ``click.BadParameter`` for another text."""
        ai_sdk: AiSdkOption = major_version(value) if value in AI_SDK_MAJORS.choices else value
        try:
            client_version(ai_sdk)
        except StreamProtocolError:
            self.fail(f'{value!r} is not 6, 7 or a full version such as "7.0.120".', param, ctx)
        return ai_sdk


class PathText(TextParam):
    """The text of a path, which the shell completes. The path need not exist: the code that opens it checks it."""

    name = "path"

    def __init__(self, kind: Literal["file", "dir"]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the path. Raises ``click.BadParameter`` for an empty one."""
        if not value:
            self.fail("The path must not be empty.", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leaves it to the shell."""
        return [CompletionItem(incomplete, type=self._kind)]


FILE: Final = PathText("file")
FOLDER: Final = PathText("dir")


def major_version(choice: str) -> AiSdkVersion:
    """Returns the number of a choice of ``AI_SDK_MAJORS``."""
    return 7 if choice == "7" else 6


class Origin(TextParam):
    """The origin of a page, as a browser sends it."""

    name = "origin"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the origin. Raises ``click.BadParameter`` for one that no browser sends."""
        try:
            (origin,) = check_origins("--cors-origin", [value])
        except StreamProtocolError as error:
            self.fail(str(error), param, ctx)
        return origin


class HeaderName(TextParam):
    """The name of an HTTP header."""

    name = "header"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the name; an empty one means no header. Raises ``click.BadParameter`` for an invalid name."""
        try:
            if value:
                check_header_name("--user-header", value)
        except StreamProtocolError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Pace(FloatParam):
    """``--pace``: ``instant``, ``recorded`` or a factor (4, 4x, 0.5).

    The value is a factor of the recorded speed. The values of ``INSTANT`` and ``HELD`` are repeated here: importing
    them would load ADK.
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


class Seconds(click.FloatRange):
    """A time from 0 on. ``FloatRange`` takes NaN for a number in any range."""

    name = "seconds"

    def __init__(self, *, min_open: bool = False) -> None:
        """``min_open``: 0 is not allowed."""
        super().__init__(min=0, min_open=min_open)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the seconds. Raises ``click.BadParameter`` for a value that is not a time."""
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a time", param, ctx)
        return seconds


def refuse_combination(option: str, allowed: Container[str]) -> None:
    """Refuses the command if it has an option or argument that is not ``allowed`` together with ``option``."""
    for parameter in _parameters_on_command_line():
        if parameter.name not in allowed:
            refuse(f"{parameter.opts[0]} cannot be combined with {option}")


def require_option(option: str, needing: Container[str]) -> None:
    """Refuses the command if it has one of the options that need ``option``."""
    for parameter in _parameters_on_command_line():
        if parameter.name in needing:
            refuse(f"{parameter.opts[0]} needs {option}")


def _parameters_on_command_line() -> Iterator[click.Parameter]:
    context = click.get_current_context()
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            yield parameter
