"""What ``adk-ui-stream serve`` says when it is there: where, what, and what is missing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping

import click

from stream_protocol.cli._program import color_choice

_LABEL_WIDTH = 10


def show_screen(headline: str, rows: Mapping[str, str], *, missing: Iterable[str] = ()) -> None:
    """Prints the headline, then the rows: what each is about -> what it says. ``missing``: what an answer needs yet.

    On a terminal long lines are wrapped beside their label; elsewhere a row is one line.
    """
    color = color_choice()  # also in the processes of `--reload`, which have no command line
    click.echo(click.style(headline, bold=True), color=color)
    lines = [_row(label, text, "cyan") for label, text in rows.items()]
    lines += [_row("Missing", text, "yellow") for text in missing]
    click.echo("\n".join(["", *lines, "", click.style("Ctrl+C stops it.", dim=True)]), color=color)


def _row(label: str, text: str, color: str) -> str:
    indent = " " * (_LABEL_WIDTH + 2)
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns, len(indent) + 20)
        text = click.wrap_text(text, width, initial_indent=indent, subsequent_indent=indent).removeprefix(indent)
    return f"  {click.style(f'{label:{_LABEL_WIDTH}}', fg=color)}{text}"
