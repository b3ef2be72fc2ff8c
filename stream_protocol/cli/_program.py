"""Base classes of all commands of ``adk-ui-stream``. They define exit codes, error lines and the help."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import IO, Any, Final, NoReturn

import click
from cloup import HelpFormatter, HelpSection, HelpTheme, Style

from stream_protocol.wire import printable

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as in shells: 128 plus the number of SIGINT."""


_EMPTY_LINE: Final = "\r\x1b[K"

_MAX_WIDTH: Final = 100
"""The maximum width of the help, in columns."""

_FIRST_COLUMN: Final = 26
"""The maximum width of the options' column. After a longer option, the help text begins on the next line."""

_DEFAULT: Final = re.compile(r"\[(?:default|required)[^\]]*\]")
"""Pattern for Click's note about a value, such as ``[default: 8000]``."""


_NO_BREAK: Final = "\u2011"
"""Hyphen at which no line is broken. It is replaced with a plain one after the lines are broken."""

_OPTION: Final = re.compile(r"--[a-z][a-z-]+")


def _unbroken(text: str) -> str:
    return _OPTION.sub(lambda option: option[0].replace("-", _NO_BREAK), text)


def _dim_defaults(line: str) -> str:
    return _DEFAULT.sub(lambda found: click.style(found[0], dim=True), line)


_THEME: Final = HelpTheme(
    heading=Style(fg="green", bold=True), invoked_command=Style(bold=True), col1=Style(fg="cyan"), col2=_dim_defaults
)


class _Formatter(HelpFormatter):
    """Formatter of the help that does not break a line inside the name of an option, such as ``--log-format``."""

    def __init__(self, width: int | None = None, max_width: int | None = None) -> None:
        super().__init__(width=width, max_width=max_width or _MAX_WIDTH, col1_max_width=_FIRST_COLUMN, theme=_THEME)

    def write(self, string: str = "", *strings: str) -> None:
        super().write(*(each.replace(_NO_BREAK, "-") for each in (string, *strings)))

    def write_text(self, text: str, *style: Any) -> None:
        super().write_text(_unbroken(text), *style)

    def write_dl(self, rows: Iterable[tuple[str, Any]], *widths: Any, **other_widths: Any) -> None:
        super().write_dl([(name, _unbroken(str(text))) for name, text in rows], *widths, **other_widths)


class HelpContext(click.Context):
    """Click context whose help has this program's layout and colors."""

    formatter_class = _Formatter


def write_sections(formatter: click.HelpFormatter, sections: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write sections of the help in aligned columns. ``sections``: the rows below each heading. The keys are the
    headings. A row is a pair of a name and its help text.
    """
    assert isinstance(formatter, _Formatter)
    formatter.write_aligned_sections([HelpSection(heading, rows) for heading, rows in sections.items()])


class Program(click.Group):
    """Command group that reports wrong usage as a line ``error: …`` on stderr, with exit code 2.

    After Ctrl-C, the exit code is 130. If the reader of stdout closes the pipe, as ``head`` does, the exit code is 0.
    In both cases, no error is printed.

    ``headings``: the sections of the help. The key is a heading, and the value has the names of the commands below it.
    ``exit_codes``: the meaning of each exit code, for the help.
    """

    context_class = HelpContext

    def __init__(
        self, *args: Any, headings: Mapping[str, Sequence[str]], exit_codes: Mapping[int, str], **others: Any
    ) -> None:
        super().__init__(*args, **others)
        self._headings = headings
        self._exit_codes = exit_codes

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_sections(
            formatter,
            {
                heading: [(name, self.commands[name].get_short_help_str(formatter.width)) for name in names]
                for heading, names in self._headings.items()
            }
            | {"Exit status": [(str(code), meaning.replace("`", "")) for code, meaning in self._exit_codes.items()]},
        )

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002  # click's signature
        **extra: Any,
    ) -> Any:
        """Run a command and exit. If ``standalone_mode`` is False, do not exit: return the command's value, or raise
        Click's exceptions.
        """
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
        """Parse the arguments. The colors depend on ``NO_COLOR`` and ``FORCE_COLOR``."""
        extra.setdefault("color", color_choice())
        with exit_on_closed_pipe():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with exit_on_closed_pipe():
            return super().invoke(ctx)


class DocumentedCommand(click.Command):
    """Command whose help ends with examples, and may have its options in sections.

    ``examples``: a command line for each task; the task is the key. ``sections``: the headings in the list of options;
    the key is the option that comes first below the heading. ``in_file``: the options in ``pyproject.toml``; the key is
    the option's key in the file. ``common``: the names of the options that ``-h`` shows; if empty, ``-h`` shows all
    options. ``always_on``: options that other commands have, such as ``--inspect``. This command does not have them,
    and always behaves as if they were set.
    """

    context_class = HelpContext

    def __init__(
        self,
        *args: Any,
        examples: Mapping[str, str],
        sections: Mapping[str, str] | None = None,
        in_file: Mapping[str, click.Option] | None = None,
        common: Collection[str] = (),
        always_on: Collection[str] = (),
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
        self.always_on = always_on

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
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
        """Return the options below each heading. The keys are the headings. Each option is a pair of its name and its
        help text.
        """
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
        write_sections(formatter, self.options_by_section(ctx))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples. Lines are not wrapped, so that each command line can be copied."""
        with formatter.section("Examples"):
            for meaning, line in self.examples.items():
                formatter.write(f"{'':{formatter.current_indent}}{click.style(f'# {meaning}', dim=True)}\n")
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def color_choice() -> bool | None:
    """Return True if the environment variable ``FORCE_COLOR`` is set. Return False if ``NO_COLOR`` is set, or if the
    terminal is ``dumb``. Otherwise, return ``None``.

    With ``None``, Click prints colors only on a terminal.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if _is_dumb() else None


def can_move_cursor(stream: IO[str]) -> bool:
    """Return True if the stream is a terminal on which a line can be overwritten."""
    return stream.isatty() and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM") == "dumb"


def glyph(character: str, plain: str) -> str:
    """Return ``character``, or ``plain`` if stdout cannot print the character."""
    try:
        character.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return plain
    return character


class Refusal(SystemExit):
    """Exception that ends the process with exit code 2. ``text``: the reason, which is printed on stderr.

    ``is_fixable``: True if a change of the agent's files may solve the problem.
    """

    def __init__(self, text: str, *, is_fixable: bool) -> None:
        super().__init__(2)
        self.text = text
        self.is_fixable = is_fixable


def refuse(text: str, *, lines: Sequence[str] = (), is_fixable: bool = False) -> NoReturn:
    """End the command with exit code 2 and a line ``error: …`` on stderr.

    ``lines``: names to choose from, each on an indented line below.
    """
    _print_line("error", "red", text, lines)
    raise Refusal(" ".join([text, ", ".join(lines)]) if lines else text, is_fixable=is_fixable)


def warn(text: str) -> None:
    """Print a line ``warning: …`` on stderr."""
    _print_line("warning", "yellow", text)


@contextmanager
def exit_on_closed_pipe() -> Iterator[None]:
    """Context manager that exits with code 0 if the reader of stdout closes the pipe."""
    try:
        yield
    except BrokenPipeError:
        drop_output()
        raise SystemExit(0) from None


def drop_output() -> None:
    """Discard all later output to stdout, and the output that is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_line(kind: str, color: str, text: str, below: Sequence[str] = ()) -> None:
    # file names may contain line breaks and control characters
    line, *others = (printable(" ".join(each.splitlines())) for each in (text, *below))
    if can_move_cursor(sys.stderr):
        # A progress line may still be on the terminal. `color=True` keeps click from removing the sequence.
        click.echo(_EMPTY_LINE, err=True, nl=False, color=True)
    label = click.style(f"{kind}:", fg=color, bold=True)
    shown = "\n  ".join([f"{label} {line}", *others])
    click.echo(shown, err=True, color=color_choice())


def _place_of(option: str, context: click.Context) -> str:
    """Return the end of the error text for an unknown option. If another command or a file has this option, the text
    names this command or file. Otherwise, the text suggests a similar option.
    """
    command, group = context.command, context.parent.command if context.parent is not None else None
    if isinstance(command, DocumentedCommand):
        if option in command.always_on:
            return f": {context.command_path} always does this."
        if option.removeprefix("--") in command.in_file:
            return f": set `{option.removeprefix('--')}` in [tool.adk-ui-stream.{context.info_name}] of pyproject.toml."
    others = group.commands if isinstance(group, click.Group) else {}
    owners = [name for name, each in sorted(others.items()) if any(option in own.opts for own in each.params)]
    if owners:
        return f": it is an option of {', '.join(owners)}."
    own = [name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)]
    similar = get_close_matches(option, own, n=1, cutoff=0.7)
    if len(option) == len("-p"):
        similar = [name for name in own if name.startswith(f"-{option}")]
    return f". Did you mean '{similar[0]}'?" if similar else "."


def _usage_text(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.NoSuchOption) and context is not None:
        text = f"No such option '{error.option_name}'{_place_of(error.option_name, context)}"
    sentence = text if text.endswith("?") else f"{text.removesuffix('.')}."
    return f"{sentence} See {context.command_path} --help" if context is not None else text
