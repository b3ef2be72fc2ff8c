"""Help is there at once: it loads neither ADK nor a server."""

import json
import subprocess
import sys

import click
import pytest

from stream_protocol.cli._serve_options import sections
from stream_protocol.cli.serve_command import serve
from tests.processes import ENV, HANG

PROGRAM = """
import json, sys
from contextlib import redirect_stdout
from io import StringIO
from stream_protocol.cli import main
for command in json.loads(sys.argv[1]):
    with redirect_stdout(StringIO()) as help:
        main([*command, "--help"], standalone_mode=False)
    print(json.dumps([help.getvalue(), [*sys.modules]]))
"""
COMMANDS = [(), ("check",), ("demo",), ("init",), ("record",), ("replay",), ("serve",), ("types",)]


@pytest.fixture(scope="module")
def told() -> dict[tuple[str, ...], tuple[str, list[str]]]:
    """Command -> its help, and the modules that are loaded behind it, by one Python for all of them."""
    program = [sys.executable, "-c", PROGRAM, json.dumps(COMMANDS)]
    done = subprocess.run(program, check=True, capture_output=True, text=True, env=ENV, timeout=HANG)
    return dict(zip(COMMANDS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_neither_adk_nor_a_server(
    command: tuple[str, ...], told: dict[tuple[str, ...], tuple[str, list[str]]]
) -> None:
    shown, loaded = told[command]
    assert shown.startswith("Usage: ")
    assert not {*loaded} & {"google.adk", "google.genai", "pydantic", "starlette", "uvicorn"}


def test_serve_has_its_options_in_sections(told: dict[tuple[str, ...], tuple[str, list[str]]]) -> None:
    shown, _ = told["serve",]
    for first, heading in sections().items():
        assert f"\n{heading}:\n  {first}" in shown
    options = {option.opts[0] for option in serve.params if isinstance(option, click.Option)}
    assert {
        words[0].rstrip(",") for line in shown.splitlines() if (words := line.split()) and words[0].startswith("--")
    } == {
        *options,
        "--help",
    }
    assert len(options) == 22, "options that one user in a hundred sets are in the file"
