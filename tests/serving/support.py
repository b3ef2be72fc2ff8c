"""ASGI client in this process. A test gets each event when it is sent, and can disconnect at any time."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
from starlette.types import ASGIApp, Message

HANG = 20.0
"""Seconds after which any wait of a test fails."""

JSON_TYPE = {"content-type": "application/json"}


def said(text: str, message_id: str = "u1") -> dict[str, Any]:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


def chat(*messages: Mapping[str, Any], chat_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"id": chat_id, "messages": list(messages), **more}


def answered(message_id: str, *parts: Mapping[str, Any], chat_id: str = "c1") -> dict[str, Any]:
    """Return the request of a client that has answered calls in the assistant message."""
    message = {"id": message_id, "role": "assistant", "parts": [{"type": "step-start"}, *parts]}
    return chat(said("hi"), message, chat_id=chat_id, messageId=message_id, trigger="submit-message")


def approval(request: Mapping[str, Any], *, approved: bool, tool: str = "pay", **more: Any) -> dict[str, Any]:
    """Return the part that a client makes from a ``tool-approval-request``."""
    return {
        "type": f"tool-{tool}",
        "toolCallId": request["toolCallId"],
        "state": "approval-responded",
        "input": {},
        "approval": {"id": request["approvalId"], "approved": approved, **more},
    }


def chunks(stream: str) -> list[dict[str, Any]]:
    """Return the chunks of a whole stream, which must be well-formed and end with ``[DONE]``."""
    *events, done, end = stream.split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    return [json.loads(event.removeprefix("data: ")) for event in events if not event.startswith(":")]


def why(refused: httpx.Response) -> str:
    """Return the text of a refusal: in JSON if the route returns JSON, else as plain text."""
    if refused.headers["content-type"] == "text/plain; charset=utf-8":
        return refused.text
    assert refused.headers["content-type"] == "application/json"
    said: str = refused.json()["error"]
    return said


def types(stream: Iterable[Mapping[str, Any]]) -> list[str]:
    return [chunk["type"] for chunk in stream]


def only(stream: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [chunk for chunk in stream if chunk["type"] == kind]


def text(stream: Iterable[Mapping[str, Any]]) -> str:
    return "".join(chunk["delta"] for chunk in stream if chunk["type"] == "text-delta")


async def soon(event: asyncio.Event) -> None:
    """Wait for an event that must happen."""
    await asyncio.wait_for(event.wait(), HANG)


@asynccontextmanager
async def client(app: ASGIApp) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://app", timeout=HANG) as http:
        yield http


async def post(app: ASGIApp, body: Mapping[str, Any]) -> httpx.Response:
    async with client(app) as http:
        return await http.post("/api/chat", json=body)


async def stream(app: ASGIApp, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the chunks of a request that must be accepted."""
    response = await post(app, body)
    assert response.status_code == 200, response.text
    return chunks(response.text)


class Exchange:
    """One request to an app in this process, with its response as it arrives."""

    def __init__(
        self, app: ASGIApp, path: str = "/api/chat", headers: Mapping[str, str] = JSON_TYPE, method: str = "POST"
    ) -> None:
        self._app = app
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        self._incoming: asyncio.Queue[Message] = asyncio.Queue()
        self._outgoing: asyncio.Queue[Message] = asyncio.Queue()
        self._buffer = b""
        self.may_send = asyncio.Event()
        """Cleared while the client does not read."""
        self.may_send.set()
        self._served = asyncio.Event()

    @asynccontextmanager
    async def begin(self, *body: bytes) -> AsyncIterator["Exchange"]:
        """Send the body in these pieces, and run the app until the block ends."""
        for number, piece in enumerate(body, 1):
            self._incoming.put_nowait({"type": "http.request", "body": piece, "more_body": number < len(body)})
        task = asyncio.create_task(self._serve())
        try:
            yield self
        finally:
            self.leave()
            self.may_send.set()
            await asyncio.wait_for(task, HANG)

    def send(self, piece: bytes) -> None:
        """Send a piece of the body that is not the last piece."""
        self._incoming.put_nowait({"type": "http.request", "body": piece, "more_body": True})

    def leave(self) -> None:
        """Close the connection, as a client."""
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def status(self) -> int:
        message = await self._next()
        assert message["type"] == "http.response.start"
        return int(message["status"])

    async def event(self) -> str:
        """Return the next SSE event, without the blank line after it. Empty at the end of the response."""
        while b"\n\n" not in self._buffer:
            message = await self._next()
            self._buffer += message.get("body", b"")
            if not message.get("more_body"):
                break
        event, _, self._buffer = self._buffer.partition(b"\n\n")
        return event.decode()

    async def chunk(self) -> dict[str, Any]:
        event = await self.event()
        chunk: dict[str, Any] = json.loads(event.removeprefix("data: "))
        return chunk

    async def until(self, kind: str) -> dict[str, Any]:
        """Read to the first chunk of this type. Returns the chunk."""
        while (chunk := await self.chunk())["type"] != kind:
            pass
        return chunk

    async def _serve(self) -> None:
        try:
            await self._app(self._scope, self._incoming.get, self._send)
        finally:
            self._served.set()

    async def gone(self) -> None:
        """Wait until the app has ended the request, even if the client has not read all of it."""
        await soon(self._served)

    async def _send(self, message: Message) -> None:
        await self.may_send.wait()
        self._outgoing.put_nowait(message)

    async def _next(self) -> Message:
        return await asyncio.wait_for(self._outgoing.get(), HANG)


def begin(
    app: ASGIApp, body: Mapping[str, Any], headers: Mapping[str, str] = JSON_TYPE
) -> AbstractAsyncContextManager["Exchange"]:
    """Send a request, and read its response event by event."""
    return Exchange(app, headers=headers).begin(json.dumps(body).encode())
