"""Layout and colours of the commands' help."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import click
from cloup import HelpFormatter, HelpSection, HelpTheme, Style

_MAX_WIDTH: Final = 100
"""Columns of the help on a wider terminal."""

_FIRST_COLUMN: Final = 26
"""Maximum width of the column with the options. The help of a longer option begins on the next line."""

_DEFAULT: Final = re.compile(r"\[(?:default|required|x?[<>0-9])[^\]]*\]")
"""Click's note about a value, such as ``[default: 8000]``."""


def _dim_defaults(line: str) -> str:
    return _DEFAULT.sub(lambda found: click.style(found[0], dim=True), line)


_THEME: Final = HelpTheme(
    heading=Style(fg="green", bold=True), invoked_command=Style(bold=True), col1=Style(fg="cyan"), col2=_dim_defaults
)
"""Colours that are readable on a dark terminal and on a light one."""


class _Formatter(HelpFormatter):
    def __init__(self, width: int | None = None, max_width: int | None = None) -> None:
        super().__init__(width=width, max_width=max_width or _MAX_WIDTH, col1_max_width=_FIRST_COLUMN, theme=_THEME)


class HelpContext(click.Context):
    """Click context whose help uses our layout and colours."""

    formatter_class = _Formatter


def write_sections(formatter: click.HelpFormatter, sections: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write sections in aligned columns. ``sections``: heading -> pairs of a name and its help."""
    assert isinstance(formatter, _Formatter)
    formatter.write_aligned_sections([HelpSection(heading, rows) for heading, rows in sections.items()])
