"""Runs ``python -m`` in a separate process that starts fast: forked from a process that has imported the servers'
modules.
"""

import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.serve_settings import on_command_line

ROOT: Final = Path(__file__).parents[1]

HANG: Final = 60.0
"""Seconds after which any wait of a test fails."""

COMMAND: Final = [sys.executable, "-m", "stream_protocol"]
"""``adk-ui-stream`` in a new Python process, for tests that need one. Importing ADK takes more than a second."""

ENV: Final = {**os.environ, "PYTHONPATH": str(ROOT)}
"""Environment of such a process, in any folder."""

FORKS: Final = multiprocessing.get_context("forkserver")
PRELOADED: Final = [
    "google.adk.runners",
    "redis.asyncio.cluster",
    "sqlalchemy.ext.asyncio",
    "stream_protocol.recording",
    "stream_protocol.replay_server",
    "stream_protocol.server",
    "stream_protocol.serving._service",
    "stream_protocol.serving.adk_runner._load_target",
    "stream_protocol.serving.adk_runner._session_services",
    "stream_protocol.testing",
    "tests.frozen_imports",
]
"""Modules that servers need, and then one that excludes them from garbage collection."""

FORKS.set_forkserver_preload(PRELOADED)


class PythonModule:
    """Running ``python -m MODULE ARGUMENTS``. The test must kill it. ``log``: file for its stderr."""

    def __init__(self, module: str, *arguments: str, cwd: Path, log: Path, env: Mapping[str, str] = os.environ) -> None:
        self.log = log
        output, writer = FORKS.Pipe(duplex=False)
        command = (module, arguments, str(cwd), dict(env), writer, str(log))
        self._process = FORKS.Process(target=_become, args=command, daemon=True)
        self._process.start()
        writer.close()
        self._output = os.fdopen(os.dup(output.fileno()))
        output.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.exitcode is not None

    def read_line(self) -> str:
        """Return the next line of stdout; empty at the end."""
        return self._output.readline()

    def read(self) -> str:
        """Wait for the end. Returns the rest of stdout."""
        return self._output.read()

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, and wait until the process is gone."""
        self._process.kill()
        self.wait()
        self._output.close()

    def wait(self) -> int:
        """Wait for the end. Returns the exit code."""
        self._process.join(HANG)
        assert self._process.exitcode is not None, "it hangs"
        return self._process.exitcode


def _become(
    module: str, arguments: Sequence[str], cwd: str, env: Mapping[str, str], output: Connection, log: str
) -> None:
    with Path(log).open("ab") as file:
        run_forked(module, arguments, cwd, env, output, file)


def run_forked(
    module: str, arguments: Sequence[str], cwd: str, env: Mapping[str, str], stdout: Connection, stderr: Any
) -> None:
    """Turn this process into the program, with its output in these files."""
    multiprocessing.current_process().daemon = False  # as every program it may start processes
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    os.dup2(stdout.fileno(), sys.stdout.fileno())
    os.dup2(stderr.fileno(), sys.stderr.fileno())
    stdout.close()
    stderr.close()
    sys.argv[1:] = arguments
    sys.path.insert(0, cwd)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


@dataclass(frozen=True)
class Done:
    """Result of a command."""

    exit_code: int
    stdout: str
    stderr: str


@contextmanager
def started(module: str, *arguments: str, cwd: Path, env: Mapping[str, str] = os.environ) -> Iterator[PythonModule]:
    """Start the process. Kills it at the end of the block."""
    with TemporaryDirectory() as folder:
        process = PythonModule(module, *arguments, cwd=cwd, log=Path(folder, "stderr"), env=env)
        try:
            yield process
        finally:
            process.kill()


def cli(*arguments: str, cwd: Path) -> Done:
    """Run ``adk-ui-stream`` in this folder."""
    with started("stream_protocol", *arguments, cwd=cwd) as process:
        stdout = process.read()
        return Done(process.wait(), stdout, process.log.read_text())


@contextmanager
def serving(*arguments: str, cwd: Path) -> Iterator[tuple[PythonModule, str]]:
    """Start ``adk-ui-stream serve`` on a free port. Yields the process and its printed address. See
    ``on_command_line``.
    """
    words = on_command_line(arguments, cwd)
    with started("stream_protocol", "serve", *words, "--port", "0", cwd=cwd) as process:
        line = process.read_line()
        assert "http://" in line, process.log.read_text()
        yield process, line.split()[-1]
