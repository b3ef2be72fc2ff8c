"""Output of commands: data on stdout, and progress on stderr."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from stream_protocol.cli._program import can_move_cursor, drop_output
from stream_protocol.wire import printable

STDOUT: Final = 1
STDERR: Final = 2

SPOOL_BYTES: Final = 2**20
"""Maximum number of bytes of output that wait in memory. More output goes to a temporary file."""

SECONDS_BETWEEN: Final = 1.0


def print_at_once(output: Iterable[bytes | str]) -> None:
    """Print each part of the output immediately. If stdout is a pipe and its reader closes it, as ``head`` does, stops
    without an error.
    """
    try:
        for piece in output:
            click.echo(piece, nl=False)
    except BrokenPipeError:
        drop_output()


def shown_on_terminal(output: Iterable[bytes]) -> Iterable[bytes]:
    """Return the output for stdout. On a terminal, control characters are replaced with JSON escapes."""
    return map(_printable_lines, output) if sys.stdout.isatty() else output


def _printable_lines(lines: bytes) -> bytes:
    return "\n".join(map(printable, lines.decode().split("\n"))).encode()


@contextmanager
def data_on_stdout() -> Iterator[Callable[[str], None]]:
    """Context manager that reserves stdout for the command's data. Yields a function that prints data on stdout.

    All other output goes to stderr until the process ends, because a loaded agent may print text at any time.
    """
    stdout = sys.stdout
    if not _is_stdout_of_process(stdout):  # a test has replaced it
        sys.stdout = sys.stderr
        try:
            yield lambda text: click.echo(text, file=stdout, nl=False)
        finally:
            sys.stdout = stdout
        return
    stdout.flush()
    data = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    yield lambda text: _write(data, text.encode())


def _is_stdout_of_process(stream: Any) -> bool:
    try:
        return bool(stream.fileno() == STDOUT)
    except (AttributeError, OSError, ValueError):
        return False


def _write(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


def print_stopped() -> None:
    """Print that the server has stopped, if stderr is a terminal. The text begins on a new line, after the ``^C`` of
    Ctrl-C.
    """
    if sys.stderr.isatty():
        click.echo("\nStopped.", err=True)


@contextmanager
def progress(doing: str | Callable[[], str]) -> Iterator[None]:
    """Context manager that shows a line with the elapsed seconds on stderr, if stderr is a terminal. The line appears
    after one second.

    ``doing``: the text of the line, such as ``Checking big.sse``, or a function that returns the text.
    """
    if not can_move_cursor(sys.stderr):
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show_progress, args=(doing, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show_progress(doing: str | Callable[[], str], ended: threading.Event) -> None:
    began = time.monotonic()
    line = ""
    while not ended.wait(SECONDS_BETWEEN):
        seconds = f" … {time.monotonic() - began:.0f} s"
        text = doing if isinstance(doing, str) else doing()
        shown, line = len(line), text[: shutil.get_terminal_size().columns - len(seconds) - 1] + seconds
        click.echo(f"\r{line:{shown}}", err=True, nl=False)
    click.echo(f"\r{'':{len(line)}}\r", err=True, nl=False)
