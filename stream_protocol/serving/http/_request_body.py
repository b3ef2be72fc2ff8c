"""Reads the bodies of requests, each up to a limit and all of them together up to another.

A server that answers before it has read the body closes the connection while the client still sends. A browser then
reports a network error and does not show the answer. So the body of a refused request is read to its end and dropped.
Bounds keep a hostile client from holding a connection for ever: what is beyond them is answered without being read.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request

from stream_protocol.serving.base import ByteBudget
from stream_protocol.wire import (
    HINT,
    ChatRequest,
    ChatRequestError,
    check_count,
    parse_chat_request_in_slices,
    parse_user_message_in_slices,
)

MAX_DROPPED_BYTES: Final = 256 * 1024 * 1024
"""The most bytes of a refused body that are read: a video that somebody attached by mistake."""

DROPPING_SECONDS: Final = 30.0
"""Seconds that the rest of a refused body is read: nginx's ``lingering_time``."""

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""The most bytes in a request body. Generous: the client sends its whole history again, attached files included."""

MAX_BYTES_IN_FLIGHT: Final = 256 * 1024 * 1024
"""The most bytes of memory for all bodies that are read and planned at one time: eight of the largest."""

BUSY_SECONDS: Final = 5
"""After how many seconds a client may try again: a large body is read and planned in less."""


class RequestBodies:
    """Reads the JSON bodies of an app's requests. The memory that all of them take together is bounded.

    ``max_body_bytes``: a larger body is refused (413). ``max_bytes_in_flight``: the memory of bodies while they arrive,
    are parsed and planned. A body that does not fit is refused (503, and 429 if it is more than half for one user).
    Only received bytes count, not a ``Content-Length``. The values of a body count when it is parsed.
    """

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES, max_bytes_in_flight: int = MAX_BYTES_IN_FLIGHT) -> None:
        check_count("max_body_bytes", max_body_bytes)
        check_count("max_bytes_in_flight", max_bytes_in_flight)
        self._max_body_bytes = max_body_bytes
        self._in_flight = ByteBudget(max_bytes_in_flight, of_user=_too_much_of_user, of_all=_too_much)
        self._turn = asyncio.Lock()

    @property
    def bytes_in_flight(self) -> int:
        """The bytes that all bodies take now."""
        return self._in_flight.taken

    @asynccontextmanager
    async def read_chat_request(
        self, request: Request, user_id: str, *, of_chat: str | None = None
    ) -> AsyncIterator[ChatRequest]:
        """Reads and parses what a chat client posts, for a block in which it is planned: it counts until that ends.

        ``of_chat``: the body is one message of the user's, for the chat with this id.
        Raises ``ChatRequestError``: as ``parse_chat_request``, 413, 415, 429 and 503.
        """
        async with dropping_body_if_refused(request):
            _require_json(request)
        with self._in_flight.share(user_id) as share:
            body = await _read(request, self._max_body_bytes, HINT, share.take)
            parsing = (
                parse_chat_request_in_slices(body) if of_chat is None else parse_user_message_in_slices(body, of_chat)
            )
            del body
            yield await self._parse(parsing, share.take)

    @asynccontextmanager
    async def read_file(self, request: Request, user_id: str, limit: int, hint: str) -> AsyncIterator[bytearray]:
        """Reads a body of any kind, for a block in which it is used: it counts until that ends.

        ``hint``: what is said of one with more than ``limit`` bytes. Raises ``ChatRequestError`` (413, 429, 503).
        """
        with self._in_flight.share(user_id) as share:
            yield await _read(request, min(limit, self._max_body_bytes), hint, share.take)

    async def read_small_json(self, request: Request, limit: int, hint: str) -> bytes:
        """Returns the JSON body of another request. ``hint``: what is said of one with more than ``limit`` bytes.

        Raises ``ChatRequestError`` (413, 415).
        """
        async with dropping_body_if_refused(request):
            _require_json(request)
        return await read_small(request, min(limit, self._max_body_bytes), hint)

    async def _parse(self, parsing: Generator[int, None, ChatRequest], take: Callable[[int], None]) -> ChatRequest:
        """Parses a body. Of all bodies one slice is parsed at a time, in turn, and everything else goes on between."""
        while True:
            async with self._turn:
                try:
                    take(next(parsing))
                except StopIteration as end:
                    request: ChatRequest = end.value
                    return request
                await asyncio.sleep(0)


def _too_much_of_user() -> ChatRequestError:
    text = "You have sent several large requests at once. Try again in some seconds."
    return ChatRequestError(text, status=429, retry_after=BUSY_SECONDS, reason="bodies_of_user")


def _too_much() -> ChatRequestError:
    text = "The server is busy with other large requests. Try again in some seconds."
    return ChatRequestError(text, status=503, retry_after=BUSY_SECONDS, reason="bodies")


async def read_small(request: Request, limit: int, hint: str) -> bytes:
    """Returns the body of a request, whatever its media type. Raises ``ChatRequestError`` (413) with ``hint``."""
    return bytes(await _read(request, limit, hint, lambda _: None))


async def _read(request: Request, limit: int, hint: str, take: Callable[[int], None]) -> bytearray:
    """Returns the body of a request. ``take``: called with the size of each piece.

    Raises ``ChatRequestError``: 413 for more than ``limit`` bytes, and what ``take`` raises. The body has been read
    then, within the bounds.
    """
    too_large = ChatRequestError(f"The request is larger than {_in_words(limit)}: {hint}", status=413)
    body = bytearray()
    read = 0
    async with aclosing(request.stream()) as pieces:
        try:
            if _declared_length(request) > limit:
                raise too_large
            async for piece in pieces:
                read += len(piece)
                if read > limit:
                    raise too_large
                take(len(piece))
                body += piece
        except ChatRequestError:
            body.clear()
            await _drop(pieces, request, read)
            raise
    return body


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
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def _declared_length(request: Request) -> int:
    """The declared length of the body; 0 if it is not declared."""
    declared = request.headers.get("content-length", "")
    return int(declared[:20]) if declared.isascii() and declared.isdigit() else 0


def _require_json(request: Request) -> None:
    """Refuses other media types, and compressed bodies.

    Only for JSON does a browser ask the server (CORS) before it posts across origins.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise ChatRequestError("The request body must be application/json.", status=415)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ChatRequestError("The request body must not be compressed.", status=415)
