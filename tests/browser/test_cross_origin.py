"""A page of another origin in Chromium, and the routes alone: in an app without a middleware of its own."""

import json
from collections.abc import Iterator
from typing import Final

import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from playwright.sync_api import Browser, Error, Page
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from stream_protocol.serving import chat_router
from stream_protocol.testing import ScriptedLlm
from tests.chromium import HANG_MS
from tests.served import served
from tests.serving.support import chat, chunks, said, text

pytestmark = [pytest.mark.browser, pytest.mark.pages]

FETCH: Final = """
    async ([url, method, body]) => {
        const headers = body === null ? {} : { "content-type": "application/json", authorization: "Bearer t" };
        const response = await fetch(url, { method, headers, body, credentials: "include" });
        return [response.status, await response.text()];
    }
"""


@pytest.fixture(scope="module")
def page_url() -> Iterator[str]:
    with served(Starlette(routes=[Route("/", lambda request: HTMLResponse("<p>A page.</p>"))])) as url:
        yield url


@pytest.fixture(scope="module")
def chat_url(page_url: str) -> Iterator[str]:
    """The address of a FastAPI app whose routes are open to that page."""
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: ["Hello."]))
    app = FastAPI()
    app.include_router(chat_router(agent, allow_origins=[page_url], max_body_bytes=1000))
    with served(app) as url:
        yield f"{url}/api/chat"


@pytest.fixture
def tab(browser: Browser, page_url: str) -> Iterator[Page]:
    tab = browser.new_page()
    tab.set_default_timeout(HANG_MS)
    tab.goto(page_url)
    yield tab
    tab.close()


def test_a_page_that_is_named_does_all_that_a_page_does(tab: Page, chat_url: str) -> None:
    def fetch(path: str, method: str = "GET", body: str | None = None) -> tuple[int, str]:
        status, words = tab.evaluate(FETCH, [f"{chat_url}{path}", method, body])
        return status, words

    assert fetch("/c1") == (404, '{"messages":[],"error":"There is no such chat."}')
    status, streamed = fetch("", "POST", json.dumps(chat(said("hi"))))
    assert (status, text(chunks(streamed))) == (200, "Hello.")
    assert fetch("/c1")[0] == fetch("s")[0] == 200
    assert fetch("/c1/stream") == (204, "")
    assert fetch("/c1/stop", "POST") == (202, "")
    assert fetch("/c1", "PATCH", '{"title":"Mine"}')[0] == 200
    assert fetch("/c1/artifacts/a.txt") == (404, "There is no such artifact.")
    assert fetch("", "POST", '"' + "x" * 2000 + '"')[0] == 413
    assert fetch("", "POST", "{}") == (400, "The chat id is missing.")
    assert fetch("/c1", "DELETE") == (204, "")


def test_a_page_that_is_not_named_reads_nothing(tab: Page, chat_url: str, page_url: str) -> None:
    tab.goto(page_url.replace("127.0.0.1", "localhost"))
    with pytest.raises(Error, match="Failed to fetch"):
        tab.evaluate(FETCH, [f"{chat_url}s", "GET", None])
    with pytest.raises(Error, match="Failed to fetch"):
        tab.evaluate(FETCH, [chat_url, "POST", "{}"])
