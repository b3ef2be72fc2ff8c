"""ADK's own Gemini model over a made-up Vertex server: real bytes, so that each ADK shapes its events by itself."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cached_property
from typing import Any

import httpx
from google.adk.models.google_llm import Gemini
from google.genai import Client, types
from google.oauth2.credentials import Credentials
from pydantic import PrivateAttr

MODEL = "gemini-3-pro-preview"
USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 4, "totalTokenCount": 14}
SIGNATURE = "c2lnbmF0dXJl"  # base64

Chunk = dict[str, Any]
"""One SSE event of the server, as JSON."""

Reply = Sequence[Chunk]


class VertexScript(Gemini):
    """Streams these replies, one for each request. The client takes ``httpx``, whatever else is installed."""

    _replies: Iterator[Reply] = PrivateAttr()

    def __init__(self, *replies: Reply) -> None:
        super().__init__(model=MODEL)
        self._replies = iter(replies)

    @cached_property
    def api_client(self) -> Client:
        return Client(
            vertexai=True,
            project="project",
            location="global",
            credentials=Credentials("token"),  # type: ignore[no-untyped-call]  # google-auth has no annotations
            http_options=types.HttpOptions(
                httpx_async_client=httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
            ),
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        for reply in self._replies:
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=_body(reply))
        raise AssertionError("the model is asked more often than the scenario has replies")


async def _body(reply: Reply) -> AsyncIterator[bytes]:
    for chunk in reply:
        yield f"data: {json.dumps(chunk)}\r\n\r\n".encode()


def parts(*said: Chunk) -> Chunk:
    """A chunk of these parts."""
    return {"candidates": [{"content": {"role": "model", "parts": list(said)}}], "modelVersion": MODEL}


def end(**part: Any) -> Chunk:
    """The last chunk: an empty text, the finish reason and the usage."""
    content = {"role": "model", "parts": [{"text": "", **part}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP"}],
        "usageMetadata": USAGE,
        "modelVersion": MODEL,
    }


def text(*pieces: str) -> Reply:
    """A reply of text in these pieces."""
    return [*(parts({"text": piece}) for piece in pieces), end()]


def call(name: str, **args: Any) -> Chunk:
    """A whole call, as a part. Gemini gives it no id."""
    return {"functionCall": {"name": name, "args": args}}


def calls(*whole: Chunk) -> Reply:
    """A reply of whole calls, all in one chunk."""
    return [parts(*whole), end()]


def streamed_call(name: str, *arguments: Chunk) -> Reply:
    """The chunks of one call with streamed arguments: the name alone, the arguments without it, and an empty close."""
    pieces = [{"partialArgs": [argument], "willContinue": True} for argument in arguments]
    return [
        parts({"functionCall": {"name": name, "willContinue": True}, "thoughtSignature": SIGNATURE}),
        *(parts({"functionCall": piece}) for piece in pieces),
        parts({"functionCall": {}}),
    ]


def streamed_string(path: str, *pieces: str) -> list[Chunk]:
    """The partial arguments of one string, which an empty one closes."""
    growing: list[Chunk] = [{"jsonPath": path, "stringValue": piece, "willContinue": True} for piece in pieces]
    return [*growing, {"jsonPath": path, "stringValue": ""}]


def failure(message: str) -> Chunk:
    """The server's message for a failure in the middle of a stream."""
    return {"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}}
