"""Command ``adk-ui-stream serve --reload``: a child process serves the agent, and is replaced when a file of the agent
changes.

The parent process keeps the socket open, so new connections wait for the next child. Except on Windows, a child is
forked from a process that has already loaded ADK, so the child starts quickly.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from watchfiles import watch

from stream_protocol.cli._broken_agent import AgentFiles, answer_until_changed, read_files
from stream_protocol.cli._program import Refusal, refuse
from stream_protocol.cli._workers import PROCESSES

if TYPE_CHECKING:
    from stream_protocol.cli._serve_agent import AgentServer, Shown

STOP_SECONDS: Final = 15
"""The number of seconds that a child may take to end its streams and runs before it is killed."""

REFUSED: Final = 2
"""The exit code of a child that has refused the command line."""

POLL_MS: Final = 200


def serve_with_reload(server: AgentServer, listener: socket.socket, *, opens_page: bool) -> None:
    """Serve the agent until this process is stopped.

    If the agent does not exist at the start, the command ends with exit code 2. If its code cannot be loaded, the
    command waits for a change of its files.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    supervisor = _Supervisor(server, listener, opens_page=opens_page)
    try:
        for changes in watch(
            watched_folder(server.target),
            watch_filter=AgentFiles(),
            rust_timeout=POLL_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
        ):
            if changes:
                supervisor.files_changed({Path(path).name for _, path in changes})
            else:
                supervisor.check_process()
    except KeyboardInterrupt:
        supervisor.stop()


def watched_folder(target: str) -> Path:
    """Return the folder whose files are watched. For an agent folder, this is the folder itself. For ``module:attr``,
    this is the folder of the package. In all other cases, this is the working directory.
    """
    name, is_module, _ = target.partition(":")
    folder = Path(name.split(".")[0] if is_module else name)
    return folder if folder.is_dir() else Path()


class _Signals(NamedTuple):
    """Events that a child process sets, and its parent process reads."""

    served: Event
    """Set once a child has served the agent."""
    changed: Event
    """Set if the child could not load the agent, and the agent's files have then changed."""


class _Supervisor:
    """Starts the child process that serves the agent, and replaces it after a change of the agent's files."""

    def __init__(self, server: AgentServer, listener: socket.socket, *, opens_page: bool) -> None:
        self._server = server
        self._listener = listener
        self._opens_page = opens_page
        self._folder = watched_folder(server.target)
        self._served = PROCESSES.Event()
        self._is_first = True
        self._died: str | None = None
        """The error text with which the newest child refuses requests, because the previous child has died; otherwise
        ``None``."""
        self._watcher_may_repeat = False
        """True if the watcher may still report the change for which the newest child was started."""
        self._start()

    def files_changed(self, names: Collection[str]) -> None:
        """Replace the child process. ``names``: the names of the changed files."""
        if self._watcher_may_repeat and read_files(self._folder) == self._files:
            return
        self._replace(names)

    def check_process(self) -> None:
        """Replace the child process if it has ended.

        If the first child has refused the command line, this process exits with the child's exit code. It does the same
        after two children in a row have died.
        """
        if self._process.exitcode is None:
            return
        if self._changed.is_set():
            now = read_files(self._folder)
            self._replace({path.name for path, _ in now.items() ^ self._files.items()})
            self._watcher_may_repeat = True
        elif self._died is not None or (self._is_first and self._process.exitcode == REFUSED):
            sys.exit(self._process.exitcode)
        else:
            self._start(died=f"the agent's process ended with exit code {self._process.exitcode}")

    def stop(self) -> None:
        self._process.terminate()
        self._process.join(STOP_SECONDS)
        self._process.kill()
        self._process.join()

    def _replace(self, names: Collection[str]) -> None:
        click.echo(f"{', '.join(sorted(names))} changed")
        self.stop()
        self._is_first = False
        self._start()

    def _start(self, died: str | None = None) -> None:
        self._files = read_files(self._folder)
        self._died = died
        self._watcher_may_repeat = False
        self._changed = PROCESSES.Event()
        self._process = PROCESSES.Process(
            target=_serve_or_answer,
            args=(self._server, self._listener, _Signals(self._served, self._changed)),
            kwargs={"opens_page": self._opens_page, "is_first": self._is_first, "died": died},
        )
        self._process.start()


def _serve_or_answer(
    server: AgentServer,
    listener: socket.socket,
    signals: _Signals,
    *,
    opens_page: bool,
    is_first: bool,
    died: str | None,
) -> None:
    """Main function of a child process: serve the agent. If the agent cannot be loaded, refuse all requests until one
    of its files changes.
    """
    folder = watched_folder(server.target)
    files = read_files(folder)
    has_screen = signals.served.is_set()

    def is_changed() -> bool:
        if read_files(folder) == files:
            return False
        signals.changed.set()
        return True

    with suppress(KeyboardInterrupt):  # during the loading of the agent; later the server handles Ctrl-C
        try:
            if died is not None:
                refuse(died)
            loaded = server.load()
            shows: Shown = "address" if has_screen else "screen"
            opens = opens_page and not has_screen
            server.serve(loaded, listener, shows=shows, opens_page=opens, announced=signals.served)
        except Refusal as refusal:
            if is_first and died is None and not refusal.is_fixable:
                raise
            answer_until_changed(server, listener, refusal.text, is_changed)
