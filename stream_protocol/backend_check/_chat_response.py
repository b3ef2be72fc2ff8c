"""Reads a chat response in the same way as ``useChat``."""

import asyncio
import json
import re
import secrets
import string
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import httpx

from stream_protocol.backend_check._results import BrokenError, NotOfferedError
from stream_protocol.wire import AiSdkVersion, AnyChunk, ClientStreamError, ToolPart, UIMessage, is_tool_part
from stream_protocol.wire.client import MessageReducer, parse_sse, step_start

_EVENT_END: Final = re.compile(rb"\r?\n\r?\n")
_ID_CHARACTERS: Final = string.ascii_letters + string.digits
_EXCERPT: Final = 200
_MAX_BYTES: Final = 64 * 2**20
"""Maximum number of bytes of a response. A longer response fails the check."""

REDUCER: Final = "ai: ui/process-ui-message-stream.ts"


def random_id() -> str:
    """Return a random id in the form of the AI SDK's ``generateId``."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(16))


def require_no_limit(status: int) -> None:
    """Raise ``NotOfferedError`` for HTTP 429, because a server that limits requests cannot be checked."""
    if status == 429:
        raise NotOfferedError("Not checked: HTTP 429, the server limits requests.")


def calls_of(message: UIMessage, *states: str) -> list[ToolPart]:
    """Return a message's tool calls whose state is one of ``states``."""
    return [part for part in message["parts"] if is_tool_part(part) and part["state"] in states]


def client_calls(message: UIMessage) -> list[ToolPart]:
    """Return the tool calls in the last step of a message that wait for an output from the client."""
    step = {"parts": message["parts"][step_start(message["parts"]) :]}
    calls = calls_of(cast("UIMessage", step), "input-available")
    return [call for call in calls if not call.get("providerExecuted") and "approval" not in call]


def text_of(message: UIMessage) -> str:
    parts = cast("list[Mapping[str, Any]]", message["parts"])
    return "".join(str(part.get("text", "")) for part in parts if part["type"] == "text")


class ChatResponse:
    """A chat response, with the message that a client builds from it."""

    def __init__(
        self, response: httpx.Response, ai_sdk: AiSdkVersion, *, continued: UIMessage | None, replay: bool
    ) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.body = bytearray()
        self.chunks: list[AnyChunk] = []
        self.ended = False
        self.error: ClientStreamError | None = None
        self.failed_chunk: AnyChunk | None = None
        """The chunk on which the client failed; ``None`` for data that is not a chunk."""
        self._rest = b""
        self._pieces = response.aiter_bytes()
        self._reducer = MessageReducer(ai_sdk=ai_sdk, message=continued, message_id=random_id(), replay=replay)

    @property
    def message(self) -> UIMessage:
        return self._reducer.message

    @property
    def text(self) -> str:
        return text_of(self.message)

    @property
    def terminal(self) -> str | None:
        """The type of the chunk that ended the response: ``finish``, ``abort`` or ``error``. ``None`` until this chunk
        has arrived.
        """
        return next((each["type"] for each in self.chunks if each["type"] in ("finish", "abort", "error")), None)

    def calls(self, *states: str) -> list[ToolPart]:
        return calls_of(self.message, *states)

    @property
    def body_with_id(self) -> bytes:
        """The body of the response, for ``check_stream``. If no chunk has a message id, the client has generated an id,
        and this id is added.
        """
        body = bytes(self.body)
        if self.start_id is not None or not self.chunks:
            return body
        message_id = b'"messageId":' + json.dumps(self.message["id"]).encode()
        if self.begins_with_start:
            return body.replace(b"{", b"{" + message_id + b",", 1)
        return b'data: {"type":"start",' + message_id + b"}\n\n" + body

    @property
    def begins_with_start(self) -> bool:
        """True if the first chunk is ``start``, or if there are no chunks."""
        return not self.chunks or self.chunks[0]["type"] == "start"

    @property
    def start_id(self) -> str | None:
        """The message id in the first ``start`` chunk that has one."""
        starts = (cast("Mapping[str, Any]", each) for each in self.chunks if each["type"] == "start")
        return next((start["messageId"] for start in starts if "messageId" in start), None)

    async def read(self, *, until: Callable[["ChatResponse"], bool] = lambda _: False, pause: float = 0) -> None:
        """Read the response to its end, or until ``until`` returns True. ``pause``: seconds to wait after each received
        piece of the body.
        """
        while not self.ended and not until(self):
            try:
                self._take(await anext(self._pieces))
            except StopAsyncIteration:
                self.ended = True
            except httpx.TimeoutException:
                raise BrokenError("The response sent nothing until the timeout.", chunk=self.last_chunk) from None
            except httpx.HTTPError as error:
                text = f"The connection is cut: {error}."
                raise BrokenError(text, chunk=self.last_chunk, source="HTTP; ai: ui/chat.ts") from None
            await asyncio.sleep(pause)

    @property
    def last_chunk(self) -> AnyChunk | None:
        return self.chunks[-1] if self.chunks else None

    def _take(self, piece: bytes) -> None:
        self.body += piece
        if len(self.body) > _MAX_BYTES:
            raise BrokenError("The response is longer than 64 MiB.")
        ends = [*_EVENT_END.finditer(self._rest + piece)]
        complete, self._rest = self._rest + piece, b""
        if not ends or self.error is not None:
            self._rest = complete
            return
        self._rest = complete[ends[-1].end() :]
        try:
            for chunk in parse_sse(complete[: ends[-1].end()]):
                self._apply(chunk)
        except ClientStreamError as error:
            self.error = error

    def _apply(self, chunk: Any) -> None:
        is_chunk = isinstance(chunk, dict) and isinstance(chunk.get("type"), str)
        if is_chunk:
            self.chunks.append(cast("AnyChunk", chunk))
        try:
            self._reducer.apply(chunk)
        except ClientStreamError:
            self.failed_chunk = cast("AnyChunk", chunk) if is_chunk else None
            raise

    async def require_stream(self) -> None:
        """Raise ``BrokenError`` if the status is 204, or is not 2xx."""
        if not 200 <= self.status < 300 or self.status == 204:
            require_no_limit(self.status)
            await self.read()
            raise BrokenError(f"HTTP {self.status} instead of a stream{': ' * bool(self.body)}{excerpt(self.body)}")

    def require_readable(self) -> None:
        """Raise ``BrokenError`` if the client could not process the stream, or got an ``error`` chunk."""
        if self.error is not None:
            raise BrokenError(f"The client fails: {self.error}", chunk=self.failed_chunk, source=REDUCER)


async def beginning(response: httpx.Response) -> str:
    """Read the beginning of a response's body, and return it as text."""
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _EXCERPT:
            break
    return excerpt(body)


def excerpt(body: bytes | bytearray) -> str:
    return body[:_EXCERPT].decode(errors="replace") + "…" * (len(body) > _EXCERPT)
