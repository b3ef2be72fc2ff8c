"""Prints docs/cli.md, the help of each command: ``python -m tests.cli.reference > docs/cli.md``."""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import click

from stream_protocol.cli import EXIT_CODES, main
from stream_protocol.cli._program import DocumentedCommand
from stream_protocol.cli._serve_options import SETTINGS, TABLE
from tests.processes import ROOT

BEGINNING: Final = """\
# The command line

Run a command as `adk-ui-stream COMMAND`, or as `python -m stream_protocol COMMAND`.

| Exit code | Meaning |
|---|---|
{exit_codes}

To complete commands in bash, add this line to `~/.bashrc`:

```sh
eval "$(_ADK_UI_STREAM_COMPLETE=bash_source adk-ui-stream)"
```

In zsh, use `zsh_source`. In fish, add `_ADK_UI_STREAM_COMPLETE=fish_source adk-ui-stream | source` to
`~/.config/fish/completions/adk-ui-stream.fish`.
""".format(exit_codes="\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()))


IN_FILE: Final = """\
`serve` reads further options from `pyproject.toml`. The file that `init` creates lists all of them. For example:

```toml
[tool.adk-ui-stream.serve]
max-runs = 100
log-whole = ["my_package"]
```
"""


EXAMPLES: Final = {
    "check": "[check a stream](check.md), [check a backend](check-backend.md)",
    "demo": "[quick start](quick-start.md#3-chat-without-your-own-frontend)",
    "init": "[quick start](quick-start.md#3-chat-without-your-own-frontend)",
    "record": "[recordings](recording.md)",
    "replay": "[recordings](recording.md#replay)",
    "serve": "[operations](operations.md#commands)",
    "types": "[types](types.md)",
}
"""Command -> pages with examples."""

"""Range of a number in click's help."""

_HELP: Final = ("-h", "--help")
"""Beginnings of options that every command has. The page begins with them."""


def reference() -> str:
    """Return the page."""
    return "\n".join([BEGINNING, *map(_section, sorted(main.commands))])


def documented(name: str) -> DocumentedCommand:
    """Return a command of ours."""
    command = main.commands[name]
    assert isinstance(command, DocumentedCommand)
    return command


def _section(name: str) -> str:
    command = documented(name)
    context = _context(command)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"## {name}", "", f"`{usage}`", "", _linked(inspect.cleandoc(command.help or "")), ""]
    lines += [f"Examples: {EXAMPLES[name]}.", "", *_options(command, context), *_in_file(command, context)]
    return "\n".join(lines)


def _context(command: DocumentedCommand) -> click.Context:
    return click.Context(command, info_name=f"adk-ui-stream {command.name}", **command.context_settings)


def _options(command: DocumentedCommand, context: click.Context) -> Iterator[str]:
    """Yield a table for each section, and the names of the options that are explained at ``serve``."""
    explained = _records_of_serve() if command.name != "serve" else frozenset()
    repeated: list[str] = []
    for heading, records in command.options_by_section(context).items():
        own = [record for record in records if not record[0].startswith(_HELP)]
        repeated += [f"`{option.partition(' ')[0]}`" for option, meaning in own if (option, meaning) in explained]
        rows = [
            f"| `{_cell(option)}` | {_linked(_plain(_cell(meaning)))} |"
            for option, meaning in own
            if (option, meaning) not in explained
        ]
        if rows:
            yield from (f"| {heading} | Effect |", "|---|---|", *rows, "")
    if repeated:
        yield from (f"{', '.join(repeated)}: as in [`serve`](#serve).", "")


@cache
def _records_of_serve() -> frozenset[tuple[str, str]]:
    """Return the options of ``serve`` with their texts."""
    command = documented("serve")
    return frozenset(record for records in command.options_by_section(_context(command)).values() for record in records)


def _in_file(command: DocumentedCommand, context: click.Context) -> Iterator[str]:
    if not command.in_file:
        return
    yield IN_FILE
    yield f"| In `{SETTINGS}`, `[{'.'.join(TABLE)}]` | Effect |"
    yield "|---|---|"
    for key, option in command.in_file.items():
        _, meaning = option.get_help_record(context) or ("", "")
        yield f"| `{key}` | {_linked(_plain(_cell(meaning)))} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _plain(text: str) -> str:
    """Escape click's brackets, such as ``[default: 1]``, which are not links."""
    return text.replace("[", "\\[")


def _linked(text: str) -> str:
    """The text with a link for each page that it names. This page has the further options of ``serve`` below."""
    text = text.replace("'The command line' in the docs", "below")
    return re.sub(r"'([^']+)' in the docs", lambda found: f"[{found[1]}]({_pages()[found[1]]})", text)


@cache
def _pages() -> dict[str, str]:
    """Title of a page -> its file. This page is being written, and may be empty."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "docs").glob("*.md")}
    texts["cli.md"] = BEGINNING
    return {text.partition("\n")[0].removeprefix("# "): name for name, text in texts.items()}


if __name__ == "__main__":
    click.echo(reference(), nl=False)
