"""Parameter types and checks that several commands of ``adk-ui-stream`` share."""

import math
import socket
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from stream_protocol._listener import MAX_PORT, AddressError, bind_socket
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
    """Version of the client's ``ai`` package: a major version as an ``int``, or a full version as a ``str``."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> AiSdkOption:
        """Return the version. Raises ``click.BadParameter`` for a text that is not a version."""
        ai_sdk: AiSdkOption = major_version(value) if value in AI_SDK_MAJORS.choices else value
        try:
            client_version(ai_sdk)
        except StreamProtocolError:
            self.fail(f"{value!r} is not a version of `ai`: use 6, 7 or a full version such as 7.0.120.", param, ctx)
        return ai_sdk


class PathText(TextParam):
    """Path that the shell completes. The path need not exist: the command checks it when it opens the file."""

    name = "path"

    def __init__(self, kind: Literal["file", "dir"]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path. Raises ``click.BadParameter`` for an empty path."""
        if not value:
            self.fail("The path must not be empty.", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return one item that tells the shell to complete paths."""
        return [CompletionItem(incomplete, type=self._kind)]


PROBE_SECONDS: Final = 0.2
"""Seconds in which a server on this machine accepts a connection."""

_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - an address to connect to
"""Address that accepts all machines -> an address that reaches this machine."""

FILE: Final = PathText("file")
FOLDER: Final = PathText("dir")


def major_version(choice: str) -> AiSdkVersion:
    """Return the number of a choice of ``AI_SDK_MAJORS``."""
    return 7 if choice == "7" else 6


class AttributeName(TextParam):
    """Name of a module's attribute: ``module:attr``."""

    name = "attribute"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. Raises ``click.BadParameter`` for a text that does not have this form."""
        module, _, attribute = str(value).partition(":")
        if not all(word.isidentifier() for word in (*module.split("."), attribute)):
            self.fail(f"{value!r} is not module:attr, such as my_package.agent:screen", param, ctx)
        return str(value)


class Origin(TextParam):
    """Origin of a page, as a browser sends it in the ``Origin`` header."""

    name = "origin"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the origin. Raises ``click.BadParameter`` for a text that is not an origin."""
        try:
            (origin,) = check_origins("--cors-origin", [value])
        except StreamProtocolError as error:
            self.fail(str(error), param, ctx)
        return origin


class HeaderName(TextParam):
    """Name of an HTTP header."""

    name = "header"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; an empty text means no header. Raises ``click.BadParameter`` for an invalid name."""
        try:
            if value:
                check_header_name("--user-header", value)
        except StreamProtocolError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Pace(FloatParam):
    """Pace of a replay, as a factor of the recorded speed: ``instant``, ``recorded`` or a number (4, 4x, 0.5).

    The values of ``INSTANT`` and ``HELD`` are repeated here, because an import of these constants would load ADK.
    """

    name = "pace"

    def __init__(self, **others: float) -> None:
        """``others``: maps additional names of paces to their factors."""
        self._named = {"instant": math.inf, "recorded": 1.0, **others}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the factor. Raises ``click.BadParameter`` for a value that is not a pace."""
        if isinstance(value, float):
            return value
        try:
            speed = self._named[value] if value in self._named else float(str(value).removesuffix("x"))
        except ValueError:
            speed = math.nan
        if value not in self._named and (not speed > 0 or speed == math.inf):
            names = ", ".join(self._named)
            self.fail(f"{value!r} is not a pace: use {names} or a factor such as 4 or 0.5", param, ctx)
        return speed


class Seconds(click.FloatRange):
    """Number of seconds, 0 or more. ``FloatRange`` alone would accept NaN."""

    name = "seconds"

    def __init__(self, *, min_open: bool = False) -> None:
        """``min_open``: True if the minimum, 0, is also refused."""
        super().__init__(min=0, min_open=min_open)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds. Raises ``click.BadParameter`` for a negative number and for NaN."""
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


class Port(click.IntRange):
    """Port to listen on. 0 means a free port."""

    name = "port"

    def __init__(self) -> None:
        super().__init__(0, MAX_PORT)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Raises ``click.BadParameter`` for a value that is not a port."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"{value!r} is not a port: use a number from 0 to {MAX_PORT}", param, ctx)


def require_free_port(host: str, port: int) -> None:
    """End the command with exit code 2 if another server listens on the port.

    Commands call this before they load ADK.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            is_free = port == 0 or probe.connect_ex((_ANY_ADDRESS.get(host, host), port)) != 0
        except OSError:  # an unknown host: the server reports it
            is_free = True
    if is_free:
        return
    try:
        bind_socket(host, port).close()
    except AddressError as error:
        refuse(str(error))


def refuse_combination(option: str, allowed: Container[str]) -> None:
    """End the command with exit code 2 if its command line has an option that is neither ``option`` nor in
    ``allowed``.
    """
    for parameter in _parameters_on_command_line():
        if parameter.name not in allowed:
            refuse(f"{parameter.opts[0]} cannot be combined with {option}")


def require_option(option: str, needing: Container[str]) -> None:
    """End the command with exit code 2 if its command line has an option of ``needing``.

    These options need ``option``, so call this function only if ``option`` is missing.
    """
    for parameter in _parameters_on_command_line():
        if parameter.name in needing:
            refuse(f"{parameter.opts[0]} needs {option}")


def _parameters_on_command_line() -> Iterator[click.Parameter]:
    context = click.get_current_context()
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            yield parameter
