"""The look of the commands' help: colours, and columns that are the same in all of its sections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import click
from cloup import HelpFormatter, HelpSection, HelpTheme, Style

_MAX_WIDTH: Final = 100
"""Columns of the help on a wider terminal."""

_FIRST_COLUMN: Final = 26
"""The most columns of an option's name. The help of a longer one begins on the next line."""

_DEFAULT: Final = re.compile(r"\[(?:default|required|x?[<>0-9])[^\]]*\]")
"""The text of click about an option's value."""


def _dim_defaults(line: str) -> str:
    return _DEFAULT.sub(lambda found: click.style(found[0], dim=True), line)


_THEME: Final = HelpTheme(
    heading=Style(fg="green", bold=True), invoked_command=Style(bold=True), col1=Style(fg="cyan"), col2=_dim_defaults
)
"""Colours that can be read on a dark terminal and on a light one."""


class _Formatter(HelpFormatter):
    def __init__(self, width: int | None = None, max_width: int | None = None) -> None:
        super().__init__(width=width, max_width=max_width or _MAX_WIDTH, col1_max_width=_FIRST_COLUMN, theme=_THEME)


class HelpContext(click.Context):
    """The context of a command whose help has colours."""

    formatter_class = _Formatter


def write_sections(formatter: click.HelpFormatter, sections: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write sections by their headings, each a list of names with their help."""
    assert isinstance(formatter, _Formatter)
    formatter.write_aligned_sections([HelpSection(heading, rows) for heading, rows in sections.items()])
