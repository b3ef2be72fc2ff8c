"""The common part of all commands of ``adk-ui-stream``: how they end, and the contents of their help."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import click

from stream_protocol.cli._help import HelpContext, write_sections
from stream_protocol.wire import printable

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it."""


_EMPTY_LINE: Final = "\r\x1b[K"
"""Clears the terminal's line."""


class Program(click.Group):
    """A group whose commands end with one line on stderr and exit code 2 if they were called wrongly.

    ``headings``: a heading in the help -> the names of the commands below it.

    Ctrl-C ends them with exit code 130. A reader of stdout that closes its pipe, as ``head`` does, ends them with 0.
    Both print nothing.
    """

    context_class = HelpContext

    def __init__(self, *args: Any, headings: Mapping[str, Sequence[str]], **others: Any) -> None:
        super().__init__(*args, **others)
        self._headings = headings

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands, heading by heading."""
        write_sections(
            formatter,
            {
                heading: [(name, self.commands[name].get_short_help_str(formatter.width)) for name in names]
                for heading, names in self._headings.items()
            },
        )

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002  # as click has it
        **extra: Any,
    ) -> Any:
        """Runs a command and, unless ``standalone_mode`` is false, ends the process."""
        try:
            value = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            if not standalone_mode:
                raise
            refuse(_usage_text(error))
        except click.Abort:
            if not standalone_mode:
                raise
            sys.exit(INTERRUPTED)
        if not standalone_mode:
            return value
        sys.exit(value if isinstance(value, int) else 0)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parses the arguments. All commands use the colours that the environment requests."""
        extra.setdefault("color", color_choice())
        with reader_may_leave():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command that the arguments name."""
        with reader_may_leave():
            return super().invoke(ctx)


class DocumentedCommand(click.Command):
    """A command whose help ends with examples, and may have its options in sections.

    ``examples``: a task -> its command line. ``sections``: the first option of a section -> its heading.
    ``in_file``: the options that it reads from a file, by their keys. ``common``: the names of the options that ``-h``
    shows; by default it shows all, as ``--help`` does.
    """

    context_class = HelpContext

    def __init__(
        self,
        *args: Any,
        examples: Mapping[str, str],
        sections: Mapping[str, str] | None = None,
        in_file: Mapping[str, click.Option] | None = None,
        common: Collection[str] = (),
        **others: Any,
    ) -> None:
        names = ["--help"] if common else ["-h", "--help"]
        super().__init__(*args, **{"context_settings": {"help_option_names": names}, **others})
        self._common = common
        self._short_help = click.Option(
            ["-h"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=self._show_short_help,
            help="Show the common options and exit.",
        )
        self.examples = examples
        self.sections = sections
        self.in_file = in_file or {}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with those that show help."""
        *own, help_option = super().get_params(ctx)
        return [*own, *([self._short_help] if self._common else ()), help_option]

    def _show_short_help(self, ctx: click.Context, _option: click.Parameter, value: object) -> None:
        if not value or ctx.resilient_parsing:
            return
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        first, _, _ = inspect.cleandoc(self.help or "").partition("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(first)
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        records = [each.get_help_record(ctx) for each in options if each.name in self._common]
        write_sections(formatter, {"Common options": [record for record in records if record is not None]})
        formatter.write(f"\n{ctx.command_path} --help shows all options, with examples.\n")
        click.echo(formatter.getvalue().rstrip("\n"), color=ctx.color)
        ctx.exit()

    def options_by_section(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Heading -> the options below it, each with its help; in the order of the command."""
        headings = self.sections or {}
        sections: dict[str, list[tuple[str, str]]] = {}
        heading = "Options"
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                heading = headings.get(parameter.opts[0], heading)
                sections.setdefault(heading, []).append(record)
        return sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, section by section."""
        write_sections(formatter, self.options_by_section(ctx))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples, each on a line of its own that can be copied, however narrow the terminal is."""
        with formatter.section("Examples"):
            for meaning, line in self.examples.items():
                formatter.write(f"{'':{formatter.current_indent}}{click.style(f'# {meaning}', dim=True)}\n")
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def color_choice() -> bool | None:
    """The environment's choice of colours: none (``NO_COLOR``), always (``FORCE_COLOR``), or ``None``: on a
    terminal.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def glyph(character: str, plain: str) -> str:
    """Return the character, or the plain text where stdout cannot print it."""
    try:
        character.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return plain
    return character


class Refusal(SystemExit):
    """The end of a command that has printed the reason, ``text``, on stderr. Its exit code is 2.

    ``is_fixable``: a change of the agent's files can make the same command work.
    """

    def __init__(self, text: str, *, is_fixable: bool) -> None:
        super().__init__(2)
        self.text = text
        self.is_fixable = is_fixable


def refuse(text: str, *, is_fixable: bool = False) -> NoReturn:
    """End the command with one line on stderr and exit code 2: bad usage or unreadable input."""
    _say(text, "red")
    raise Refusal(text, is_fixable=is_fixable)


def warn(text: str) -> None:
    """Prints one line on stderr."""
    _say(text, "yellow")


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Ends the command, as one that went well, if the reader of stdout has closed the pipe."""
    try:
        yield
    except BrokenPipeError:
        drop_output()
        raise SystemExit(0) from None


def drop_output() -> None:
    """Discards all further output on stdout, also at the end of the process: nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str, color: str) -> None:
    line = printable(" ".join(text.splitlines()))  # names of files may have several lines, and any characters
    if sys.stderr.isatty():
        click.echo(
            _EMPTY_LINE, err=True, nl=False, color=True
        )  # the progress line is written there; it is not a colour
    click.echo(f"{click.style('adk-ui-stream:', fg=color)} {line}", err=True, color=color_choice())


def _usage_text(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{text.rstrip('.')}. See {context.command_path} --help" if context is not None else text
