"""Output of commands: data without other text in it, output that starts only when it is complete, and progress."""

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

from stream_protocol.cli._program import drop_output
from stream_protocol.wire import printable

STDOUT: Final = 1
STDERR: Final = 2

SPOOL_BYTES: Final = 2**20
"""Bytes of output in memory until the whole file is read. More output goes to disk."""

SECONDS_BETWEEN: Final = 1.0
"""Seconds between two updates of the progress line."""


def print_at_once(output: Iterable[bytes | str]) -> None:
    """Prints each piece when it comes; text has colours if stdout supports them.

    Stops silently when the reader has closed the pipe, as `head` does.
    """
    try:
        for piece in output:
            click.echo(piece, nl=False)
    except BrokenPipeError:
        drop_output()


def shown_on_terminal(output: Iterable[bytes]) -> Iterable[bytes]:
    """The lines of JSON in the output. On a terminal, control characters are written as JSON escapes.

    A pipe and a file get each byte unchanged.
    """
    return map(_printable_lines, output) if sys.stdout.isatty() else output


def _printable_lines(lines: bytes) -> bytes:
    return "\n".join(map(printable, lines.decode().split("\n"))).encode()


@contextmanager
def data_on_stdout() -> Iterator[Callable[[str], None]]:
    """Reserve stdout for the command's own output. The context's value is the function that prints there.

    All other output of the process goes to stderr: a loaded agent may print, also from C code, threads and
    subprocesses. This stays so until the process ends, since an agent may print then as well.
    """
    stdout = sys.stdout
    if not _is_stdout_of_process(stdout):  # somebody in this process reads it
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


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Shows the current work and its seconds on stderr, if that is a terminal, from the second second on.

    ``doing``: such as ``Checking big.sse``. The line is gone at the end.
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    teller = threading.Thread(target=_tell, args=(doing, ended), daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def _tell(doing: str, ended: threading.Event) -> None:
    began = time.monotonic()
    told = ""
    while not ended.wait(SECONDS_BETWEEN):
        seconds = f" … {time.monotonic() - began:.0f} s"
        told = doing[: shutil.get_terminal_size().columns - len(seconds) - 1] + seconds
        click.echo(f"\r{told}", err=True, nl=False)
    click.echo(f"\r{'':{len(told)}}\r", err=True, nl=False)
