"""ADK's own Gemini model with a simulated Vertex server. It sends bytes, and each ADK version makes its events."""

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
"""SSE event of the server, as JSON."""

Reply = Sequence[Chunk]


class VertexScript(Gemini):
    """Gemini model that streams one of these replies for each request. Uses ``httpx``, even if other clients are
    installed.
    """

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
    """Return a chunk with these parts."""
    return {"candidates": [{"content": {"role": "model", "parts": list(said)}}], "modelVersion": MODEL}


def end(**part: Any) -> Chunk:
    """Return the last chunk: an empty text, the finish reason and the usage."""
    content = {"role": "model", "parts": [{"text": "", **part}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP"}],
        "usageMetadata": USAGE,
        "modelVersion": MODEL,
    }


def text(*pieces: str) -> Reply:
    """Return a reply of text in these pieces."""
    return [*(parts({"text": piece}) for piece in pieces), end()]


def call(name: str, **args: Any) -> Chunk:
    """Return a part with a complete call. Gemini gives it no id."""
    return {"functionCall": {"name": name, "args": args}}


def calls(*whole: Chunk) -> Reply:
    """Return a reply of complete calls, all in one chunk."""
    return [parts(*whole), end()]


def streamed_call(name: str, *arguments: Chunk) -> Reply:
    """Return the chunks of a call with streamed arguments: the name alone, the arguments without name, and an empty
    end.
    """
    pieces = [{"partialArgs": [argument], "willContinue": True} for argument in arguments]
    return [
        parts({"functionCall": {"name": name, "willContinue": True}, "thoughtSignature": SIGNATURE}),
        *(parts({"functionCall": piece}) for piece in pieces),
        parts({"functionCall": {}}),
    ]


def streamed_string(path: str, *pieces: str) -> list[Chunk]:
    """Return the partial arguments of one string. An empty partial argument ends it."""
    growing: list[Chunk] = [{"jsonPath": path, "stringValue": piece, "willContinue": True} for piece in pieces]
    return [*growing, {"jsonPath": path, "stringValue": ""}]


def failure(message: str) -> Chunk:
    """Return the server's error message in the middle of a stream."""
    return {"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}}
