"""The server of ``serve --reload`` while the agent cannot be loaded. This server refuses all requests with 503."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from watchfiles import Change, DefaultFilter

from stream_protocol.server import only_allowed_hosts, run_server
from stream_protocol.serving.http import ResponseHeaders, app_around, dropping_body_if_refused, plain_text_errors
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from stream_protocol.cli._serve_agent import AgentServer

WATCHED: Final = (".py", ".yaml", ".yml", ".env", ".md", ".txt")
"""Suffixes of an agent's files: code, configuration, keys and prompts."""

RETRY_SECONDS: Final = 1

METHODS: Final = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")

Files = dict[Path, tuple[int, int]]
"""Path of each file of an agent -> its modification time in nanoseconds, and its size."""


class AgentFiles(DefaultFilter):
    """Filter for ``watchfiles`` that selects the files of an agent. It skips ``.venv``, ``node_modules`` and caches."""

    def __call__(self, change: Change, path: str) -> bool:
        return path.endswith(WATCHED) and super().__call__(change, path)


def read_files(folder: Path) -> Files:
    """Return the modification times and sizes of the agent's files."""
    is_agent_file = AgentFiles()
    files: Files = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in is_agent_file.ignore_dirs]
        for name in names:
            path = Path(parent, name)
            if is_agent_file(Change.modified, str(path)):
                with suppress(OSError):  # the file has just been removed
                    status = path.stat()
                    files[path] = (status.st_mtime_ns, status.st_size)
    return files


def answer_until_changed(
    server: AgentServer, listener: socket.socket, text: str, is_changed: Callable[[], bool]
) -> None:
    """Refuse every request with 503 and ``text``, until a file of the agent has changed or the process is stopped.

    ``is_changed``: function that returns True after a change. It is called before each connection is accepted. After a
    change, the connection is not accepted, and waits in the socket's queue for the next process.
    """

    async def refuse(request: Request) -> Response:
        async with dropping_body_if_refused(request):
            raise ChatRequestError(text, status=503, retry_after=RETRY_SECONDS)

    def announce(url: str) -> None:
        server.inform(f"{url} responds with 503 until a file of the agent changes.")

    server.set_up_log()
    waiting = _WaitingSocket(listener, is_changed)
    routes = [Route("/{path:path}", plain_text_errors(refuse), methods=METHODS)]
    app = app_around(routes, lifespan=_no_lifespan, allow_origins=server.options.origins, page=None)
    # An open connection would reach this process even after the agent was repaired.
    closing = ResponseHeaders(app, {"connection": "close"})
    guarded = only_allowed_hosts(
        closing, waiting, server.options.allowed_hosts, behind_proxy=bool(server.options.user_header)
    )
    run_server(guarded, _NoStreams(), waiting, announce=announce, drain=0)


class _WaitingSocket(socket.socket):
    """Listening socket of the server for a broken agent.

    ``is_changed``: function that returns True after a change of the agent's files. After a change, the next connection
    ends this server, and a new process loads the agent.
    """

    def __init__(self, listener: socket.socket, is_changed: Callable[[], bool]) -> None:
        super().__init__(fileno=listener.detach())
        self._is_changed = is_changed
        self._has_changed = False

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. If the agent's files have changed, raise ``BlockingIOError``, so that asyncio stops
        accepting.
        """
        if not self._has_changed and self._is_changed():
            self._has_changed = True
            signal.raise_signal(signal.SIGINT)
        if self._has_changed:
            raise BlockingIOError
        return super().accept()


class _NoStreams:
    """Service for ``run_server`` that has no runs."""

    async def drain(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def _no_lifespan(_app: Starlette) -> AsyncIterator[None]:
    yield
