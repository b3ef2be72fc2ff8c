from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol, Unpack

import pytest
from playwright.sync_api import Browser

from tests.chromium import Screen, browser, opened_tab, shots
from tests.frontends.builds import serving_frontend
from tests.frontends.chat_page import ChatPage
from tests.frontends.foreign_site import ForeignSite, serving_foreign_site
from tests.frontends.scripted_chats import Backend, serving_scripted_chats

__all__ = ["browser", "shots"]


class OpenChat(Protocol):
    """Function that opens a page with a new chat, or with the chat at this address."""

    def __call__(self, url: str = ..., **screen: Unpack[Screen]) -> ChatPage: ...


@pytest.fixture(scope="class")
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    kind = request.cls
    with serving_scripted_chats(truncated_history=kind.truncated_history, ai_sdk=kind.frontend.ai) as backend:
        yield backend


@pytest.fixture(scope="class")
def frontend_url(
    request: pytest.FixtureRequest, backend: Backend, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Address of the class's frontend."""
    with serving_frontend(request.cls.frontend, tmp_path_factory.mktemp("frontend"), agent_url=backend.url) as url:
        yield url


@pytest.fixture
def open_chat(browser: Browser, frontend_url: str, backend: Backend) -> Iterator[OpenChat]:
    """Opens pages, each in a separate browser context. Fails the test if a page logs an unexpected error on its
    console.
    """
    backend.script.asked.clear()
    pages: list[ChatPage] = []
    with ExitStack() as tabs:

        def open_(url: str = frontend_url, **screen: Unpack[Screen]) -> ChatPage:
            pages.append(ChatPage(tabs.enter_context(opened_tab(browser, **screen)), url, backend))
            return pages[-1]

        yield open_
        backend.script.go_on()
    assert [page.complaints for page in pages] == [[] for _ in pages]


@pytest.fixture
def foreign_site() -> Iterator[ForeignSite]:
    with serving_foreign_site() as site:
        yield site


@pytest.fixture
def chat(open_chat: OpenChat) -> ChatPage:
    """Page with a new chat."""
    return open_chat()
