"""Reads the files of ``examples/deploy``."""

import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
import yaml

from stream_protocol.cli import main
from stream_protocol.server._uvicorn_server import GRACEFUL_SECONDS
from stream_protocol.serving.base._times import DEFAULT_TIMES
from tests.processes import ROOT

FOLDER: Final = ROOT / "examples" / "deploy"

STORING: Final = DEFAULT_TIMES.shutdown + GRACEFUL_SECONDS
"""Seconds that a worker may take to end after ``--drain``."""


@cache
def documents(name: str) -> tuple[dict[str, Any], ...]:
    """Return the documents of a YAML file. They are cached, so do not change them."""
    return tuple(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))


def compose() -> dict[str, Any]:
    (whole,) = documents("compose.yaml")
    return whole


def entrypoint() -> list[str]:
    """Return the part of a container's command before its arguments."""
    return _instruction("ENTRYPOINT")


def _instruction(name: str) -> list[str]:
    (line,) = [line for line in lines(FOLDER / "Dockerfile") if line.startswith(f"{name} ")]
    words: list[str] = yaml.safe_load(line.partition(" ")[2])
    return words


def lines(dockerfile: Path) -> list[str]:
    return dockerfile.read_text(encoding="utf-8").splitlines()


def serve_options(words: Sequence[str]) -> dict[str, Any]:
    """Return the options that ``adk-ui-stream serve`` reads from this command line. Fails the test if it is refused."""
    program, command, *arguments = words
    assert (program, command) == ("adk-ui-stream", "serve")
    try:
        return main.commands["serve"].make_context("serve", arguments).params
    except click.UsageError as error:
        raise AssertionError(error.format_message()) from error


def words_of(command: str) -> list[str]:
    """Return the arguments of a shell command."""
    return shlex.split(command)
