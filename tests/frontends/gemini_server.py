"""Gemini's HTTP API on this machine: a pasted agent runs unchanged, with a key that is not checked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tests.conformance.gemini_replies import done, said, text
from tests.served import served


@contextmanager
def serving_gemini() -> Iterator[dict[str, str]]:
    """Serve the API. Yields the environment of a program that uses it. Replies repeat the instruction and the last
    message.
    """
    app = Starlette(routes=[Route("/v1beta/models/{model}:streamGenerateContent", _stream, methods=["POST"])])
    with served(app) as url:
        yield {"GOOGLE_API_KEY": "a-key", "GOOGLE_GEMINI_BASE_URL": url}


async def _stream(request: Request) -> StreamingResponse:
    body = await request.json()
    words = [
        said(text(f"{_words(body['systemInstruction'])} ")),
        said(text(f"You said: {_words(body['contents'][-1])}")),
    ]
    events = (f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in (*words, done()))
    return StreamingResponse(events, media_type="text/event-stream")


def _words(content: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in content["parts"])
