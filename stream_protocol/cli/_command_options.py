"""Parameter types and checks that several commands of ``adk-ui-stream`` use."""

import math
import socket
import sys
from collections.abc import Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from stream_protocol._listener import MAX_PORT, AddressError, bind_socket
from stream_protocol._origins import check_origins
from stream_protocol.cli._program import refuse
from stream_protocol.wire import (
    MAX_SECONDS,
    AiSdkOption,
    AiSdkVersion,
    StreamProtocolError,
    check_header_name,
    client_version,
    shown,
)

if TYPE_CHECKING:
    AiSdkParam = click.ParamType[AiSdkOption]
    FloatParam = click.ParamType[float]
    IntParam = click.ParamType[int]
    TextParam = click.ParamType[str]
else:
    AiSdkParam = FloatParam = IntParam = TextParam = click.ParamType  # generic only for type checkers before click 8.4

AI_SDK_MAJORS: Final = click.Choice(["6", "7"])

AI_SDK_HELP: Final = "Version of the client's `ai`: 6 (also works with 7), 7 or a full version."
"""Help of ``--ai-sdk`` in the commands that write a stream."""


class AiSdk(AiSdkParam):
    """Parameter type: a version of the client's package ``ai``. A major version becomes an ``int``, a full version a
    ``str``.
    """

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> AiSdkOption:
        ai_sdk: AiSdkOption = major_version(value) if value in AI_SDK_MAJORS.choices else value
        try:
            client_version(ai_sdk)
        except StreamProtocolError:
            self.fail(
                f"{shown(value)} is not a version of `ai`: use 6, 7 or a full version such as 7.0.120.", param, ctx
            )
        return ai_sdk


class PathText(TextParam):
    """Parameter type: a path, which the shell completes. The path need not exist."""

    name = "path"

    def __init__(self, kind: Literal["file", "dir"], *, or_url: bool = False) -> None:
        """``or_url``: True if a URL is also allowed."""
        self._kind = kind
        self._or_url = or_url

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path. An empty path is refused. A URL is refused unless ``or_url`` is True."""
        if not value:
            self.fail("The path must not be empty.", param, ctx)
        if not self._or_url and str(value).startswith(("http://", "https://")):
            self.fail(f"{shown(value)} is a URL. Only `adk-ui-stream check` takes a URL.", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self._kind)]


PROBE_SECONDS: Final = 0.2
"""Seconds within which a server on this machine accepts a connection."""

_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - an address to connect to
"""Address that accepts connections from all machines -> address at which this machine reaches the server."""

FILE: Final = PathText("file")
FILE_OR_URL: Final = PathText("file", or_url=True)
FOLDER: Final = PathText("dir")


def major_version(choice: str) -> AiSdkVersion:
    return 7 if choice == "7" else 6


class AttributeName(TextParam):
    """Parameter type: the name of an attribute of a module, as ``module:attr``."""

    name = "attribute"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        module, _, attribute = str(value).partition(":")
        if not all(word.isidentifier() for word in (*module.split("."), attribute)):
            self.fail(f"{shown(value)} is not module:attr, such as my_package.agent:screen", param, ctx)
        return str(value)


class Origin(TextParam):
    """Parameter type: the origin of a page, as in the ``Origin`` header of a browser."""

    name = "origin"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            (origin,) = check_origins("--cors-origin", [value])
        except StreamProtocolError as error:
            raise click.UsageError(str(error), ctx) from None  # the text names the option
        return origin


class Host(TextParam):
    """Parameter type: an address or a host name to listen on."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value) or self.fail("The address must not be empty.", param, ctx)


class HeaderName(TextParam):
    """Parameter type: the name of an HTTP header."""

    name = "header"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. An empty name is also valid: then no header is used."""
        try:
            if value:
                check_header_name("--user-header", value)
        except StreamProtocolError as error:
            raise click.UsageError(str(error), ctx) from None  # the text names the option
        return str(value)


class Pace(FloatParam):
    """Parameter type: the speed of a replay: ``instant``, ``recorded``, or a factor for the recorded speed."""

    name = "pace"

    def __init__(self, **others: float) -> None:
        """``others``: more names that the user may give, with their factors, such as ``held=0.0``."""
        self._named = {"instant": math.inf, "recorded": 1.0, **others}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            speed = self._named[value] if value in self._named else float(str(value).removesuffix("x"))
        except ValueError:
            speed = math.nan
        if value not in self._named and (not speed > 0 or speed == math.inf):
            names = ", ".join(self._named)
            self.fail(f"{shown(value)} is not a pace: use {names} or a factor such as 4 or 0.5", param, ctx)
        return speed


class Seconds(FloatParam):
    """Parameter type: a number of seconds, 0 or more."""

    name = "seconds"

    def __init__(self, *, min_open: bool = False) -> None:
        """``min_open``: True if 0 is refused."""
        self._min_open = min_open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except (ValueError, OverflowError):
            seconds = math.nan
        if not (seconds > 0 or (seconds == 0 and not self._min_open)):
            least = "a number above 0" if self._min_open else "0 or more"
            self.fail(f"{shown(value)} is not a number of seconds: use {least}", param, ctx)
        if seconds > MAX_SECONDS:
            self.fail(f"{shown(value)} is too many seconds: use at most {MAX_SECONDS:,}", param, ctx)
        return seconds


class Count(IntParam):
    """Parameter type: a whole number, 1 or more."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        count = _whole_number(value, 1, sys.maxsize)
        return count or self.fail(f"{shown(value)} is not a whole number from 1", param, ctx)


class Port(IntParam):
    """Parameter type: a port to listen on. 0 means a free port."""

    name = "port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        port = _whole_number(value, 0, MAX_PORT)
        if port is None:
            self.fail(f"{shown(value)} is not a port: use a number from 0 to {MAX_PORT}", param, ctx)
        return port


def _whole_number(value: Any, least: int, most: int) -> int | None:
    try:
        number = int(value)
        return number if number == float(value) and least <= number <= most else None
    except (ValueError, OverflowError):  # also an infinite number, and a number with thousands of digits
        return None


def require_path(path: str) -> None:
    """End the command with exit code 2 if there is no such file or folder. Call this function before ADK is loaded."""
    try:
        Path(path).stat()
    except OSError as error:
        refuse(f"{click.format_filename(path)}: {error.strerror}")
    except ValueError:  # the path has a null character
        refuse(f"{shown(path)} is not a valid path")


def require_free_port(host: str, port: int) -> None:
    """End the command with exit code 2 if a server already listens on the port. Call this function before ADK is
    loaded, because loading ADK takes seconds.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            is_free = port == 0 or probe.connect_ex((_ANY_ADDRESS.get(host, host), port)) != 0
        except (OSError, TypeError, ValueError):  # an unknown host, or no host name: the server reports it
            is_free = True
    if is_free:
        return
    try:
        bind_socket(host, port).close()
    except AddressError as error:
        refuse(str(error))


def refuse_combination(option: str, allowed: Container[str]) -> None:
    """End the command with exit code 2 if the user has set an option that cannot be combined with ``option``.

    ``allowed``: the names of the options that can be combined with ``option``.
    """
    for parameter in _parameters_on_command_line():
        if parameter.name not in allowed:
            refuse(f"{parameter.opts[0]} cannot be combined with {option}")


def require_option(option: str, needing: Container[str]) -> None:
    """The options ``needing`` can be used only together with ``option``. If the user has set one of them, end the
    command with exit code 2.

    Call this function only if the user has not set ``option``.
    """
    for parameter in _parameters_on_command_line():
        if parameter.name in needing:
            refuse(f"{parameter.opts[0]} needs {option}")


def _parameters_on_command_line() -> Iterator[click.Parameter]:
    context = click.get_current_context()
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            yield parameter
