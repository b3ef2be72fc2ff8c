"""Reads the body of a request, up to a limit.

A server that answers before it has read the body closes the connection while the client still sends. A browser then
reports a network error and does not show the answer. So the body of a refused request is read to its end and dropped.
Bounds keep a hostile client from holding a connection for ever: what is beyond them is answered without being read.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request

from stream_protocol.wire import ChatRequestError

MAX_DROPPED_BYTES: Final = 256 * 1024 * 1024
"""The most bytes of a refused body that are read: a video that somebody attached by mistake."""

DROPPING_SECONDS: Final = 30.0
"""How long a refused body is read: nginx's ``lingering_time``."""

WAY_OUT: Final = "send only the last message (prepareSendMessagesRequest), and files as links."
"""For a body that is too large: clients send the whole chat again, with all of its files. The README says more."""


async def read_json_body(request: Request, limit: int) -> bytes:
    """Returns the body of a request with JSON.

    Raises ``ChatRequestError``: 415 for another media type, 413 for more than ``limit`` bytes. The body has been read
    then, within the bounds.
    """
    async with dropping_body_if_refused(request):
        _require_json(request)
    declared = _declared_length(request)
    body = bytearray()
    async with aclosing(request.stream()) as pieces:
        if declared <= limit:
            async for piece in pieces:
                body += piece
                if len(body) > limit:
                    break
            else:
                return bytes(body)
        read = len(body)
        body.clear()
        await _drop(pieces, request, read)
    raise ChatRequestError(f"The request is larger than {_in_words(limit)}: {WAY_OUT}", status=413)


@asynccontextmanager
async def dropping_body_if_refused(request: Request) -> AsyncIterator[None]:
    """Reads the body and drops it if what is done in the block refuses the request."""
    try:
        yield
    except (ChatRequestError, HTTPException):
        with suppress(RuntimeError):  # of Starlette: a hook of the app has read the body
            async with aclosing(request.stream()) as pieces:
                await _drop(pieces, request, 0)
        raise


async def _drop(pieces: AsyncIterator[bytes], request: Request, read: int) -> None:
    """Reads the rest of the body, within the bounds. ``read``: the bytes that have been read.

    A client that waits for ``100 Continue`` has sent nothing, and sends nothing if it is refused.
    """
    if _declared_length(request) > MAX_DROPPED_BYTES or (not read and "expect" in request.headers):
        return
    with anyio.move_on_after(DROPPING_SECONDS):
        async for piece in pieces:
            read += len(piece)
            if read > MAX_DROPPED_BYTES:
                return


def _in_words(size: int) -> str:
    return f"{size} bytes" if size % 2**20 else f"{size // 2**20} MiB"


def _declared_length(request: Request) -> int:
    """The declared length of the body; 0 if it is not declared."""
    declared = request.headers.get("content-length", "")
    return int(declared[:20]) if declared.isascii() and declared.isdigit() else 0


def _require_json(request: Request) -> None:
    """Refuses other media types: only for JSON does a browser ask the server (CORS) before it posts across origins."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise ChatRequestError("The request body must be application/json.", status=415)
