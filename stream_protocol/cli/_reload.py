"""``adk-ui-stream serve --reload``: another process serves, and is replaced when a file of the agent has changed.

The socket stays open meanwhile: new connections wait for the new process. The new process has ADK already, since it is
forked from a process that has loaded ADK (on Windows it loads ADK again). While the agent cannot be loaded, its process
answers with the reason.
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
"""Seconds that a process may take to end its streams and runs. Then it is killed."""

REFUSED: Final = 2
"""The exit code of a process that has refused the command line."""

LOOK_MS: Final = 200
"""Milliseconds between two checks whether the process has ended."""


def serve_with_reload(server: AgentServer, listener: socket.socket, *, opens_page: bool) -> None:
    """Serves until this process is stopped.

    If the target does not exist at first, the command ends with exit code 2. If it exists and cannot be loaded, the
    command waits for a change.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    supervisor = _Supervisor(server, listener, opens_page=opens_page)
    try:
        for changes in watch(
            watched_folder(server.target),
            watch_filter=AgentFiles(),
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
        ):
            if changes:
                supervisor.change({Path(path).name for _, path in changes})
            else:
                supervisor.look()
    except KeyboardInterrupt:
        supervisor.stop()


def watched_folder(target: str) -> Path:
    """The folder of an agent; of ``module:attr`` that of the package, or for a single module the working directory."""
    name, is_module, _ = target.partition(":")
    folder = Path(name.split(".")[0] if is_module else name)
    return folder if folder.is_dir() else Path()


class _Signals(NamedTuple):
    """Signals of a process to the one that has started it."""

    served: Event
    """An agent has been served, by this process or an earlier one."""
    changed: Event
    """This process could not load the agent, and has found a change of the files."""


class _Supervisor:
    """Starts the process that serves, or answers why it cannot, and replaces it."""

    def __init__(self, server: AgentServer, listener: socket.socket, *, opens_page: bool) -> None:
        self._server = server
        self._listener = listener
        self._opens_page = opens_page
        self._folder = watched_folder(server.target)
        self._served = PROCESSES.Event()
        self._is_first = True
        self._died: str | None = None
        """The reason that the newest process answers with, if the process before it has died."""
        self._is_informed = False
        """The newest process was started for a change that the watcher may still report."""
        self._start()

    def change(self, names: Collection[str]) -> None:
        """Replaces the process, because its files have changed."""
        if self._is_informed and read_files(self._folder) == self._files:
            return
        self._replace(names)

    def look(self) -> None:
        """Replaces the process if it has ended. Ends this one if the first has refused the command line."""
        if self._process.exitcode is None:
            return
        if self._changed.is_set():
            now = read_files(self._folder)
            self._replace({path.name for path, _ in now.items() ^ self._files.items()})
            self._is_informed = True
        elif self._died is not None or (self._is_first and self._process.exitcode == REFUSED):
            sys.exit(self._process.exitcode)
        else:
            self._start(died=f"the process of the agent has ended ({self._process.exitcode})")

    def stop(self) -> None:
        """Ends the process."""
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
        self._is_informed = False
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
    """Serves the agent. If it cannot be loaded, this process answers with the reason until a file changes."""
    folder = watched_folder(server.target)
    files = read_files(folder)
    has_screen = signals.served.is_set()

    def is_changed() -> bool:
        if read_files(folder) == files:
            return False
        signals.changed.set()
        return True

    with suppress(KeyboardInterrupt):  # while the agent is loaded; later it is the server's
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
