"""Command ``adk-ui-stream types``: prints the TypeScript types of an agent's chats.

Exit code 1 means that the file of ``--check`` is outdated. Exit code 2 means that the agent cannot be read.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from stream_protocol.cli._command_options import FOLDER
from stream_protocol.cli._output import data_on_stdout, progress
from stream_protocol.cli._program import DocumentedCommand, refuse

_EXAMPLES: Final = {
    "The types of an agent's chats": "adk-ui-stream types my_agent > chat-types.ts",
    "Check that the file is up to date, for CI": "adk-ui-stream types my_agent --check chat-types.ts",
    "With zod schemas for validation": "adk-ui-stream types my_agent --schemas > chat-schemas.ts",
}


@click.command(cls=DocumentedCommand, short_help="Print TypeScript types of an agent's chats.", examples=_EXAMPLES)
@click.argument("target", type=FOLDER)
@click.option("--schemas", is_flag=True, help="Also print zod schemas, for useChat and validateUIMessages.")
@click.option(
    "--check",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Compare FILE with the types, and exit with 1 if FILE is outdated.",
)
def types(target: str, *, schemas: bool, file: Path | None) -> None:
    """Print TypeScript types for TARGET (as in `serve`): its tools, data parts and metadata."""
    found = _read(file) if file is not None else ""
    with data_on_stdout() as print_data:
        text = _types(target, schemas=schemas)
        if file is None:
            print_data(text)
        elif (difference := _difference(found, text)) is not None:
            print_data(f"{file}: {difference}\n")
            sys.exit(1)
        else:
            print_data(f"{file}: up to date\n")


def _types(target: str, *, schemas: bool) -> str:
    from stream_protocol.cli._targets import load_or_refuse
    from stream_protocol.typescript import ToolsError, chat_types, declared_page_values, declared_parts

    try:
        with _without_warnings(), progress(f"Loading {target}"):
            loaded = load_or_refuse(target, "types {}")
            values = declared_page_values()
            return asyncio.run(chat_types(loaded, declared_parts(), schemas=schemas, page_values=values))
    except ToolsError as error:
        refuse(str(error))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Context manager that hides ADK's warnings about parameter types that cannot be declared to the model."""
    logger = logging.getLogger("google_adk")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        refuse(f"{file}: {error.strerror if isinstance(error, OSError) else 'it is not UTF-8 text'}")


def _difference(found: str, expected: str) -> str | None:
    changes = [*difflib.unified_diff(found.splitlines(), expected.splitlines(), n=0, lineterm="")][2:]
    if not changes:
        return None
    added, removed = (sum(line.startswith(sign) for line in changes) for sign in "+-")
    first = next(line for line in changes if line[0] in "+-")
    return f"not up to date: {added} lines to add, {removed} to remove, the first is `{first[0]} {first[1:].strip()}`"
