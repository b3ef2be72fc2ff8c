"""Help is there at once: it loads neither ADK nor a server."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stream_protocol.cli import EXIT_CODES, main
from stream_protocol.cli._serve_options import COMMON, sections
from stream_protocol.cli.serve_command import serve
from tests.processes import ENV, HANG
from tests.terminals import terminal

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


def test_the_short_help_of_serve_has_its_common_options_alone() -> None:
    done = CliRunner().invoke(main, ["serve", "-h"], prog_name="adk-ui-stream")
    assert (done.exit_code, done.stderr) == (0, "")
    shown = {each.opts[0] for each in serve.params if each.name in COMMON}
    assert len(shown) == 10
    assert {*re.findall(r"^  (--[\w-]+)", done.stdout, re.MULTILINE)} == shown
    assert done.stdout.startswith("Usage: adk-ui-stream serve [OPTIONS] [TARGET]\n\n  Serve TARGET: ")
    assert done.stdout.endswith("\nadk-ui-stream serve --help shows all options, with examples.\n")


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != ("serve",)])
def test_the_short_help_of_other_commands_is_their_help(command: tuple[str, ...]) -> None:
    short, long = (CliRunner().invoke(main, [*command, option]).stdout for option in ("-h", "--help"))
    assert short == long


def test_each_command_stands_below_a_heading() -> None:
    shown = CliRunner().invoke(main, ["--help"]).stdout
    commands, _, exit_codes = shown.partition("Talk with an agent:\n")[2].partition("Exit status:\n")
    assert re.findall(r"^  (\w+)  ", commands, re.MULTILINE) == [
        *("demo", "serve", "init", "record", "replay", "check", "types"),
    ]
    assert "\n\nRecord, replay and check:\n  record  Talk" in shown
    assert [*map(int, re.findall(r"^  (\d+)  ", exit_codes, re.MULTILINE))] == [*EXIT_CODES]


@pytest.mark.parametrize("name", main.commands)
def test_the_help_of_a_command_names_no_option_of_another_command(name: str) -> None:
    shown, _, _ = CliRunner().invoke(main, [name, "--help"]).stdout.partition("Examples:")
    own = {option for each in main.commands[name].params for option in (*each.opts, *each.secondary_opts)}
    assert {*re.findall(r"--[a-z][a-z-]*", shown)} <= {*own, "--help"}


@pytest.mark.processes
def test_on_a_terminal_the_help_has_colours(tmp_path: Path) -> None:
    with terminal("serve", "--help", cwd=tmp_path) as colored:
        shown = colored.read()
    assert "\x1b[32m\x1b[1mAddress and users:\x1b[0m\n  \x1b[36m--host ADDRESS\x1b[0m  " in shown
    assert "\x1b[2m[default: 8000]\x1b[0m" in shown
    assert "  \x1b[2m# " in shown
    with terminal("serve", "--help", cwd=tmp_path, NO_COLOR="1") as plain:
        assert plain.read() == click.unstyle(shown)
