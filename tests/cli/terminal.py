"""A command in a terminal of its own."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.processes import COMMAND, ENV, HANG

COLUMNS: Final = 100


class Terminal:
    """``adk-ui-stream``, with stdin, stdout and stderr on one terminal."""

    def __init__(self, *arguments: str, cwd: Path, env: dict[str, str]) -> None:
        self._screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=terminal, stdout=terminal, stderr=terminal, cwd=cwd, env=env
        )
        os.close(terminal)
        self._unread = b""

    def read_until(self, text: str) -> str:
        """What was shown since the last call, up to this text and to the end of its line."""
        deadline = time.monotonic() + HANG
        while not (
            found := text.encode() in self._unread and self._unread[self._unread.index(text.encode()) :].count(b"\n")
        ):
            assert time.monotonic() < deadline, f"no {text!r} in {self._unread!r}"
            assert self._read_some() or found, f"it ended without {text!r}: {self._unread!r}"
        end = self._unread.index(b"\n", self._unread.index(text.encode())) + 1
        shown, self._unread = self._unread[:end], self._unread[end:]
        return shown.decode().replace("\r\n", "\n")

    def read(self) -> str:
        """What else is shown until the command has ended."""
        while self._read_some():
            pass
        return self._unread.decode().replace("\r\n", "\n")

    def _read_some(self) -> bool:
        if not select.select([self._screen], [], [], HANG)[0]:
            raise TimeoutError(self._unread)
        try:
            piece = os.read(self._screen, 65536)
        except OSError:  # the terminal has no process any more
            return False
        self._unread += piece
        return bool(piece)

    def close(self) -> None:
        """Kill the command."""
        self.process.kill()
        self.process.wait(HANG)
        os.close(self._screen)


@contextmanager
def terminal(*arguments: str, cwd: Path, **variables: str) -> Iterator[Terminal]:
    """The command, which is killed at the end. ``variables``: of its environment."""
    without = {key: value for key, value in ENV.items() if key not in ("NO_COLOR", "FORCE_COLOR", "GOOGLE_API_KEY")}
    running = Terminal(*arguments, cwd=cwd, env={**without, "PYTHONUTF8": "1", "COLUMNS": str(COLUMNS), **variables})
    try:
        yield running
    finally:
        running.close()
