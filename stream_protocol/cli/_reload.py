"""``adk-ui-stream serve --reload``: another process serves, and is replaced when a file of the agent has changed.

The socket stays open meanwhile: who connects waits until the new process is there. That has ADK already, since it is
forked from one that has loaded it (on Windows it loads it anew).
"""

from __future__ import annotations

import signal
import socket
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from watchfiles import Change, DefaultFilter, watch

from stream_protocol.cli._workers import start_process

if TYPE_CHECKING:
    from stream_protocol.cli._serve_agent import AgentServer

WATCHED: Final = (".py", ".yaml", ".yml", ".env", ".md", ".txt")
"""The endings of an agent's files: code, configuration, keys, prompts. Not those of chats, recordings and logs."""

STOP_SECONDS: Final = 15
"""How long a process may take to end its streams and runs. Then it is killed."""

FIRST_LOOK_MS: Final = 200
"""Milliseconds between two looks whether the first process has given up."""


def serve_with_reload(server: AgentServer, listener: socket.socket, *, opens_page: bool) -> None:
    """Serves until this process is told to stop. A target that cannot be loaded at first ends it with exit code 2."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    process = start_process(server, listener, shows="screen", opens_page=opens_page)
    changed = False
    try:
        for changes in watch(
            watched_folder(server.target),
            watch_filter=AgentFiles(),
            rust_timeout=FIRST_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
        ):
            if changes:
                changed = True
                names = sorted({Path(path).name for _, path in changes})
                click.echo(f"{', '.join(names)} changed")
                _stop(process)
                process = start_process(server, listener, shows="address")
            elif not changed and process.exitcode is not None:
                sys.exit(process.exitcode)
    except KeyboardInterrupt:
        _stop(process)


def watched_folder(target: str) -> Path:
    """The folder of an agent; of ``module:attr`` that of the package, or for a single module the working directory."""
    name, is_module, _ = target.partition(":")
    folder = Path(name.split(".")[0] if is_module else name)
    return folder if folder.is_dir() else Path()


class AgentFiles(DefaultFilter):
    """Which files count: not those in ``.venv``, ``node_modules``, caches and the like."""

    def __call__(self, change: Change, path: str) -> bool:
        """Whether the change of this file counts."""
        return path.endswith(WATCHED) and super().__call__(change, path)


def _stop(process: BaseProcess) -> None:
    process.terminate()
    process.join(STOP_SECONDS)
    process.kill()
    process.join()
