"""Fixtures for the page with its own agent, built with each version of `ai`, on several kinds of screens."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol, Unpack

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from stream_protocol.serving import ChatService, create_app, explain_error
from stream_protocol.serving.http._page_files import page_files
from stream_protocol.serving.http._web_app import PAGE, WhileBusy
from stream_protocol.wire import AiSdkVersion
from tests.chromium import Screen, browser, opened_tab, shots
from tests.demo_page import field
from tests.frontends.builds import page_v6
from tests.pages.scenes import SUGGESTIONS, Scenes
from tests.served import served

__all__ = ["browser", "page_v6", "shots"]

PATH: Final = "/some/where"
"""Path below which the page is mounted. No request of the page may leave it."""


class Open(Protocol):
    """Function that opens the page: a new chat, or the view at this path."""

    def __call__(self, place: str = ..., **screen: Unpack[Screen]) -> Page: ...


@pytest.fixture(scope="module", params=[6, 7], ids=["ai v6", "ai v7"])
def ai_sdk(request: pytest.FixtureRequest) -> AiSdkVersion:
    version: AiSdkVersion = request.param
    return version


def with_page(app: Starlette, page: Path) -> Starlette:
    """Return the app with the files of this page instead of the committed page."""
    app.routes[-1] = Mount("/", page_files(page))
    return app


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return Scenes()


@pytest.fixture(scope="module")
def url(scenes: Scenes, ai_sdk: AiSdkVersion, request: pytest.FixtureRequest) -> Iterator[str]:
    """Address of the page. Below it are the pages of apps that choose another effect of messages during a reply."""
    page: Path = PAGE if ai_sdk == 7 else request.getfixturevalue("page_v6")
    service = ChatService(scenes.agent(), ai_sdk=ai_sdk, on_error=explain_error)
    chosen: tuple[WhileBusy, ...] = ("steer", "interrupt")
    apps = {f"{PATH}/{each}": create_app(service, suggestions=SUGGESTIONS, while_busy=each) for each in chosen}
    apps[PATH] = create_app(service, suggestions=SUGGESTIONS)
    with served(Starlette(routes=[Mount(path, with_page(app, page)) for path, app in apps.items()])) as address:
        yield f"{address}{PATH}/"
        scenes.go_on()


@pytest.fixture
def expected_errors() -> list[str]:
    """Texts of expected console errors. Tests append theirs."""
    return []


@pytest.fixture
def open_page(browser: Browser, url: str, scenes: Scenes, expected_errors: list[str]) -> Iterator[Open]:
    """Opens pages, each in a separate browser context.

    Fails the test if a page logs an unexpected console error, or requests a URL outside its path.
    """
    complaints: list[str] = []
    asked: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    with ExitStack() as tabs:

        def open_(place: str = "", **screen: Unpack[Screen]) -> Page:
            page = tabs.enter_context(opened_tab(browser, **screen))
            page.on("console", note)
            page.on("request", lambda request: asked.append(request.url))
            page.goto(url + place)
            expect(field(page)).to_be_visible()
            return page

        yield open_
        scenes.go_on()
    assert [text for text in complaints if not any(expected in text for expected in expected_errors)] == []
    assert {other for other in asked if not other.startswith((url, "data:", "blob:"))} == set()


@pytest.fixture
def page(open_page: Open) -> Page:
    """Page with a new chat."""
    return open_page()
