"""Reads request bodies. Each body has a size limit, and all bodies together have a memory limit.

If a server responds before it has read the body, a browser reports a network error instead of the response. So the body
of a refused request is read to its end and dropped. This reading is limited in size and time, because a hostile client
could send forever.
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
"""The maximum number of bytes of a refused body that are read: enough for a video that was attached by mistake."""

DROPPING_SECONDS: Final = 30.0
"""The maximum number of seconds for reading the rest of a refused body, like nginx's ``lingering_time``."""

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""The default maximum number of bytes in a request body. The client sends its whole history again, including files."""

MAX_BYTES_IN_FLIGHT: Final = 256 * 1024 * 1024
"""The default memory for all bodies that are being read and processed, in bytes."""

BUSY_SECONDS: Final = 5
"""The ``Retry-After`` of a refused body, in seconds. Processing a large body takes less time."""


class RequestBodies:
    """Reads request bodies, within a memory limit for all bodies.

    ``max_body_bytes``: a larger body is refused (413).

    ``max_bytes_in_flight``: the memory for all bodies while they are received, parsed and processed. The memory is
    counted from the received bytes and parsed values, and not from the ``Content-Length``. A body that does not fit is
    refused (503). If the bodies of one user would take more than half of this memory, the user's new body is refused
    (429).
    """

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES, max_bytes_in_flight: int = MAX_BYTES_IN_FLIGHT) -> None:
        check_count("max_body_bytes", max_body_bytes)
        check_count("max_bytes_in_flight", max_bytes_in_flight)
        self._max_body_bytes = max_body_bytes
        self._in_flight = ByteBudget(max_bytes_in_flight, of_user=_too_large_for_user, of_all=_too_large_for_all)
        self._turn = asyncio.Lock()

    @property
    def bytes_in_flight(self) -> int:
        """The memory that all bodies take now, in bytes."""
        return self._in_flight.taken

    @asynccontextmanager
    async def read_chat_request(
        self, request: Request, user_id: str, *, of_chat: str | None = None
    ) -> AsyncIterator[ChatRequest]:
        """Context manager: reads and parses a chat request. The memory of the body is counted until the context ends.

        ``of_chat``: the id of the chat, if the body is only one user message; otherwise ``None``. Raises
        ``ChatRequestError`` like ``parse_chat_request``, and also with the statuses 413, 415, 429 and 503.
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
        """Context manager: reads a body of any media type. The memory of the body is counted until the context ends.

        ``hint``: the end of the error text for a body of more than ``limit`` bytes. Raises ``ChatRequestError`` (413,
        429, 503).
        """
        with self._in_flight.share(user_id) as share:
            yield await _read(request, min(limit, self._max_body_bytes), hint, share.take)

    async def read_small_json(self, request: Request, limit: int, hint: str) -> bytes:
        """Returns a JSON body of at most ``limit`` bytes. Its memory is not counted. ``hint``: see ``read_file``.

        Raises ``ChatRequestError`` (413, 415).
        """
        async with dropping_body_if_refused(request):
            _require_json(request)
        return await read_small(request, min(limit, self._max_body_bytes), hint)

    async def _parse(self, parsing: Generator[int, None, ChatRequest], take: Callable[[int], None]) -> ChatRequest:
        """Parse a body in many short steps, and let other tasks run between two steps. Only one step runs at a time. If
        several bodies arrive, their steps alternate.
        """
        while True:
            async with self._turn:
                try:
                    take(next(parsing))
                except StopIteration as end:
                    request: ChatRequest = end.value
                    return request
                await asyncio.sleep(0)


def _too_large_for_user() -> ChatRequestError:
    text = "You have sent several large requests at once. Try again in some seconds."
    return ChatRequestError(text, status=429, retry_after=BUSY_SECONDS, reason="bodies_of_user")


def _too_large_for_all() -> ChatRequestError:
    text = "The server is busy with other large requests. Try again in some seconds."
    return ChatRequestError(text, status=503, retry_after=BUSY_SECONDS, reason="bodies")


async def read_small(request: Request, limit: int, hint: str) -> bytes:
    """Returns a body of any media type and at most ``limit`` bytes. Its memory is not counted.

    ``hint``: see ``RequestBodies.read_file``. Raises ``ChatRequestError`` (413).
    """
    return bytes(await _read(request, limit, hint, lambda _: None))


async def _read(request: Request, limit: int, hint: str, take: Callable[[int], None]) -> bytearray:
    """Return the body of a request. ``take``: called with the size of each received part.

    Raises ``ChatRequestError`` (413) for more than ``limit`` bytes. ``take`` may also raise a ``ChatRequestError``. In
    both cases, the rest of the body is read and dropped first.
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
    """Context manager: if the code inside raises ``ChatRequestError`` or ``HTTPException``, reads and drops the
    request's body.
    """
    try:
        yield
    except (ChatRequestError, HTTPException):
        with suppress(RuntimeError):  # Starlette raises this if a hook of the app has read the body
            async with aclosing(request.stream()) as pieces:
                await _drop(pieces, request, 0)
        raise


async def _drop(pieces: AsyncIterator[bytes], request: Request, read: int) -> None:
    """Read and drop the rest of the body, at most ``MAX_DROPPED_BYTES``, for at most ``DROPPING_SECONDS``.

    ``read``: the number of bytes already read. If no byte was read and the request has ``Expect: 100-continue``, does
    nothing: such a client sends no body after a refusal.
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
    declared = request.headers.get("content-length", "")
    return int(declared[:20]) if declared.isascii() and declared.isdigit() else 0


def _require_json(request: Request) -> None:
    """Raise ``ChatRequestError`` (415) for media types other than JSON, and for compressed bodies.

    This is a protection: a page of another origin can send JSON only after a CORS preflight.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise ChatRequestError("The request body must be application/json.", status=415)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ChatRequestError("The request body must not be compressed.", status=415)
