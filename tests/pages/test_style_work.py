"""The browser's work on styles: a message behind a long text must not restyle that text, which would hold up keys."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

import pytest
from google.adk.agents import LlmAgent
from playwright.sync_api import Browser, Page, expect
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from stream_protocol import SSE_HEADERS, encode_sse
from stream_protocol.serving import create_app
from stream_protocol.testing import ScriptedLlm
from tests.chromium import opened_tab
from tests.demo_page import expect_status, say, texts
from tests.pages.test_markdown import write
from tests.served import served

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

LINES: Final = 300
CODE: Final = (
    "```python\n" + 'def greet(name: str, count: int = 1) -> str: return f"Hello {name} {count}"\n' * LINES + "```"
)


def restyled_at_once(trace: bytes) -> int:
    """Return the number of elements in the largest update of styles."""
    updates = [each for each in json.loads(trace)["traceEvents"] if each["name"] == "UpdateLayoutTree"]
    counts: list[int] = [each["args"]["elementCount"] for each in updates if "elementCount" in each.get("args", {})]
    assert counts, "the trace holds no update of styles"
    return max(counts)


def test_a_message_behind_a_long_code_block_does_not_restyle_it(browser: Browser, page: Page) -> None:
    text = write(page, f"{CODE}\n\nThe end.")
    words = text.locator("code span").count()
    assert words > 10 * LINES
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    say(page, "write\nMore.")
    expect(page.get_by_text("More.", exact=True)).to_be_visible()
    expect_status(page, "ready")
    assert restyled_at_once(browser.stop_tracing()) < words / 10


def test_code_that_grows_does_not_restyle_what_is_before_it(browser: Browser) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield encode_sse({"type": "start", "messageId": "m1"})
        yield encode_sse({"type": "text-start", "id": "0"})
        for line in CODE.splitlines(keepends=True):
            yield encode_sse({"type": "text-delta", "id": "0", "delta": line})
            await asyncio.sleep(0.02)
        yield encode_sse({"type": "text-end", "id": "0"})
        yield encode_sse({"type": "finish"})

    async def answer(_request: Request) -> StreamingResponse:
        return StreamingResponse(stream(), headers=SSE_HEADERS)

    app = create_app(LlmAgent(name="guide", model=ScriptedLlm(respond=lambda _: [])))
    app.routes.insert(0, Route("/api/chat", answer, methods=["POST"]))
    with served(app) as address, opened_tab(browser) as page:
        page.goto(address)
        browser.start_tracing(page=page, categories=["devtools.timeline"])
        say(page, "hello")
        expect(page.locator("code span")).not_to_have_count(0)
        expect_status(page, "ready")
        restyled = restyled_at_once(browser.stop_tracing())
        words = page.locator("code span").count()
    assert words > 10 * LINES
    assert restyled < words / 10


def test_the_pointer_over_a_long_message_does_not_restyle_it(browser: Browser, page: Page) -> None:
    text = write(page, f"{CODE}\n\nThe end.")
    words = text.locator("code span").count()
    page.mouse.move(1, 1)
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    texts(page).first.hover()
    page.mouse.move(1, 1)
    texts(page).first.hover()
    assert restyled_at_once(browser.stop_tracing()) < words / 10


def test_actions_are_seen_at_the_last_message_and_under_the_pointer(page: Page) -> None:
    write(page, "One.")
    write(page, "Two.")
    _, one, _, two = page.locator(".message-actions").all()
    page.mouse.move(1, 1)
    expect(one).to_have_css("opacity", "0")
    expect(two).to_have_css("opacity", "1")
    texts(page).first.hover()
    expect(one).to_have_css("opacity", "1")
