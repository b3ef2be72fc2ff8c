"""Answers requests while ``serve --reload`` waits for a change of an agent that cannot be loaded."""

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
"""The endings of an agent's files: code, configuration, keys, prompts. Not those of chats, recordings and logs."""

RETRY_SECONDS: Final = 1
"""Seconds until a client may retry."""

METHODS: Final = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")

Files = dict[Path, tuple[int, int]]
"""The path of each file of an agent -> when it was changed, in nanoseconds, and its size."""


class AgentFiles(DefaultFilter):
    """Filter for the agent's own files: without those in ``.venv``, ``node_modules`` and caches."""

    def __call__(self, change: Change, path: str) -> bool:
        """Return True if a change of this file counts."""
        return path.endswith(WATCHED) and super().__call__(change, path)


def read_files(folder: Path) -> Files:
    """Return the state of the agent's files in the folder and below it."""
    counts = AgentFiles()
    files: Files = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in counts.ignore_dirs]
        for name in names:
            path = Path(place, name)
            if counts(Change.modified, str(path)):
                with suppress(OSError):  # it has just been removed
                    status = path.stat()
                    files[path] = (status.st_mtime_ns, status.st_size)
    return files


def answer_until_changed(
    server: AgentServer, listener: socket.socket, text: str, is_changed: Callable[[], bool]
) -> None:
    """Answer every request with 503 and the text, until the process is stopped or ``is_changed()`` is true.

    The connection that finds the change is not accepted. It waits for the next process, as later connections do.
    """

    async def answer(request: Request) -> Response:
        async with dropping_body_if_refused(request):
            raise ChatRequestError(text, status=503, retry_after=RETRY_SECONDS)

    def announce(url: str) -> None:
        server.tell(f"{url} answers 503 until a file of the agent changes.")

    server.set_up_log()
    waiting = _WaitingSocket(listener, is_changed)
    routes = [Route("/{path:path}", plain_text_errors(answer), methods=METHODS)]
    app = app_around(routes, lifespan=_no_lifespan, allow_origins=server.options.origins, page=None)
    # An open connection would belong to this process for ever.
    closing = ResponseHeaders(app, {"connection": "close"})
    guarded = only_allowed_hosts(
        closing, waiting, server.options.allowed_hosts, behind_proxy=bool(server.options.user_header)
    )
    run_server(guarded, _NoStreams(), waiting, announce=announce, drain=0)


class _WaitingSocket(socket.socket):
    """A listener that accepts connections until something has changed. Then it ends the server."""

    def __init__(self, listener: socket.socket, is_changed: Callable[[], bool]) -> None:
        super().__init__(fileno=listener.detach())
        self._is_changed = is_changed
        self._has_changed = False

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. After a change, raises ``BlockingIOError``, which means "no connection" to asyncio."""
        if not self._has_changed and self._is_changed():
            self._has_changed = True
            signal.raise_signal(signal.SIGINT)
        if self._has_changed:
            raise BlockingIOError
        return super().accept()


class _NoStreams:
    """A service without streams."""

    async def drain(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def _no_lifespan(_app: Starlette) -> AsyncIterator[None]:
    yield
