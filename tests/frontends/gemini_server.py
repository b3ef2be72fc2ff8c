"""Gemini's HTTP API on this machine: a pasted agent runs unchanged, with a key that is not checked."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.conformance.gemini_replies import done, said, text
from tests.served import served

LONG: Final = "Tell a long story."
"""The reply to this message waits, after its first chunk, for a request of the route ``/go-on``."""


@contextmanager
def serving_gemini() -> Iterator[dict[str, str]]:
    """Serve the API. Yields the environment of a program that uses it. Replies repeat the instruction and the last
    message.
    """
    go_on = asyncio.Event()

    async def generate(request: Request) -> StreamingResponse:
        body = await request.json()
        message = _words(body["contents"][-1])
        first, *others = said(text(f"{_words(body['systemInstruction'])} ")), said(text(f"You said: {message}")), done()

        async def stream() -> AsyncIterator[str]:
            yield _event(first)
            if message == LONG:
                await go_on.wait()
            for chunk in others:
                yield _event(chunk)

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def let_go_on(request: Request) -> Response:
        go_on.set()
        return Response()

    routes = [
        Route("/v1beta/models/{model}:streamGenerateContent", generate, methods=["POST"]),
        Route("/go-on", let_go_on, methods=["POST"]),
    ]
    with served(Starlette(routes=routes)) as url:
        yield {"GOOGLE_API_KEY": "a-key", "GOOGLE_GEMINI_BASE_URL": url}


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\r\n\r\n"


def _words(content: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in content["parts"])
