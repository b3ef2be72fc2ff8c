"""Runs ``adk-ui-stream`` on a terminal, in a process that is forked as in ``tests/processes.py``."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from tests.processes import FORKS, HANG, run_forked

COLUMNS: Final = 100

_COLORS: Final = ("FORCE_COLOR", "NO_COLOR")


class Terminal:
    r"""Terminal of a running command. Each line end in its output is ``\n``."""

    def __init__(self, *arguments: str, cwd: Path, env: Mapping[str, str]) -> None:
        self._screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        with Connection(terminal) as shared:
            self._process = FORKS.Process(
                target=_become_in_terminal, args=(arguments, str(cwd), env, shared), daemon=True
            )
            self._process.start()
        self._shown = b""

    def read_until(self, text: str) -> str:
        """Return the output since the last call, to the end of the line with this text."""
        while (found := self._shown.find(text.encode())) < 0 or (end := self._shown.find(b"\n", found)) < 0:
            assert self._read_some(), f"it ended without {text!r}: {self._shown!r}"
        shown, self._shown = self._shown[: end + 1], self._shown[end + 1 :]
        return _text(shown)

    def read(self) -> str:
        """Return the rest of the output, until the command has ended."""
        while self._read_some():
            pass
        return _text(self._shown)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl+C does."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGINT)

    def wait(self) -> int:
        """Wait for the end. Returns the exit code."""
        self._process.join(HANG)
        assert self._process.exitcode is not None, "it hangs"
        return self._process.exitcode

    def close(self) -> None:
        """Kill the command."""
        self._process.kill()
        self._process.join(HANG)
        os.close(self._screen)

    def _read_some(self) -> bool:
        ready, _, _ = select.select([self._screen], [], [], HANG)
        assert ready, f"it hangs: {self._shown!r}"
        try:
            piece = os.read(self._screen, 65536)
        except OSError:  # Linux says so that the terminal has no other end any more
            return False
        self._shown += piece
        return bool(piece)


@contextmanager
def terminal(*arguments: str, cwd: Path, **env: str) -> Iterator[Terminal]:
    """Start the command. Kills it at the end of the block. ``env``: added to the environment."""
    outer = {name: value for name, value in os.environ.items() if name not in _COLORS}
    shown = Terminal(*arguments, cwd=cwd, env={**outer, "COLUMNS": str(COLUMNS), "TERM": "xterm", **env})
    try:
        yield shown
    finally:
        shown.close()


def in_terminal(*arguments: str, cwd: Path, **env: str) -> tuple[int, str]:
    """Run ``adk-ui-stream``. Returns the exit code, and its output on a terminal."""
    with terminal(*arguments, cwd=cwd, **env) as shown:
        text = shown.read()
        return shown.wait(), text


def _text(shown: bytes) -> str:
    return shown.decode().replace("\r\n", "\n")


def _become_in_terminal(arguments: Sequence[str], cwd: str, env: Mapping[str, str], terminal: Connection) -> None:
    run_forked("stream_protocol", arguments, cwd, env, terminal, Connection(os.dup(terminal.fileno())))
