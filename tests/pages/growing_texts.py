"""Page with an answer that is still being written."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from google.adk.agents import LlmAgent
from playwright.sync_api import Browser, Page, expect
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from stream_protocol import SSE_HEADERS, encode_sse
from stream_protocol.serving import create_app
from stream_protocol.testing import ScriptedLlm
from tests.chromium import opened_tab
from tests.demo_page import STREAMING_TEXT, say
from tests.served import served


@contextmanager
def growing_texts(browser: Browser, texts: Sequence[str]) -> Iterator[Page]:
    """Open a page whose one answer has these texts, each of which may still grow. Fails the test if the page has an
    error on its console."""
    over = asyncio.Event()

    async def stream() -> AsyncIterator[bytes]:
        yield encode_sse({"type": "start", "messageId": "m1"})
        for number, text in enumerate(texts):
            yield encode_sse({"type": "text-start", "id": str(number)})
            yield encode_sse({"type": "text-delta", "id": str(number), "delta": text})
        await over.wait()

    async def answer(_request: Request) -> StreamingResponse:
        loops.append(asyncio.get_running_loop())
        return StreamingResponse(stream(), headers=SSE_HEADERS)

    loops: list[asyncio.AbstractEventLoop] = []
    errors: list[str] = []
    app = create_app(LlmAgent(name="guide", model=ScriptedLlm(respond=lambda _: [])))
    app.routes.insert(0, Route("/api/chat", answer, methods=["POST"]))
    with served(app) as address, opened_tab(browser) as page:
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(address)
        say(page, "hello")
        try:
            expect(page.locator(STREAMING_TEXT)).to_have_count(len(texts))
            expect(page.locator(f"{STREAMING_TEXT} [data-plain]")).to_have_count(0)  # each text is drawn as Markdown
            yield page
        finally:  # otherwise the server would wait for the answer's end
            for loop in loops:
                loop.call_soon_threadsafe(over.set)
    assert errors == []
