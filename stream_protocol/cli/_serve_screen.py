"""Prints the start screen of ``adk-ui-stream serve``: address, settings and missing API keys."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping

import click

from stream_protocol.cli._program import color_choice, glyph

_LABEL_WIDTH = 11


def show_screen(
    headline: str,
    url: str,
    links: Mapping[str, str],
    rows: Mapping[str, str],
    *,
    seconds: float,
    missing: Iterable[str],
) -> None:
    """Print the headline, the links and the rows. In ``links`` and ``rows``, the key is the label of a row, and the
    value is its text.

    ``missing``: a sentence for each missing API key or package. If stdout is not a terminal, each row is one line, and
    the headline ends with the server's ``url``.
    """
    color = color_choice()  # child processes of `--reload` have no click context with this choice
    on_terminal = sys.stdout.isatty()
    headline = click.style(headline if on_terminal else f"{headline} at {url}", bold=True)
    if on_terminal:
        headline += click.style(f"  ready in {seconds:.1f} s", dim=True)
    arrow = glyph("\N{HEAVY ROUND-TIPPED RIGHTWARDS ARROW}", ">")
    lines = [headline, ""]
    lines += [
        _row(f"{click.style(arrow, fg='green')} ", label, click.style(text, fg="cyan")) for label, text in links.items()
    ]
    lines += ["", *(_row("  ", label, text) for label, text in rows.items())]
    lines += [_row("  ", "Missing", text, fg="yellow") for text in missing]
    click.echo("\n".join([*lines, "", click.style("Ctrl+C stops it.", dim=True)]), color=color)


def _row(mark: str, label: str, text: str, fg: str | None = None) -> str:
    indent = " " * (_LABEL_WIDTH + 4)
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns, len(indent) + 20)
        text = click.wrap_text(text, width, initial_indent=indent, subsequent_indent=indent).removeprefix(indent)
    return f"  {mark}{click.style(f'{label:{_LABEL_WIDTH}}', fg=fg, bold=fg is None)}{text}"
