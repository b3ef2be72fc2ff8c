"""The command line in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
HANG = 60
"""Seconds."""


def command(*arguments: str) -> list[str]:
    """The command line of ``adk-ui-stream``."""
    return [sys.executable, "-m", "stream_protocol.cli", *arguments]


def cli(*arguments: str, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, env=ENV, cwd=cwd, timeout=HANG, input=stdin, check=False
    )


@contextmanager
def serving(command: list[str], cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address, which it prints."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, cwd=cwd)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, process.stderr.read() if process.stderr else ""
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.communicate(timeout=HANG)


def serve(*arguments: str) -> list[str]:
    """The command line of a server on a free port."""
    return command("serve", *arguments, "--port", "0")
