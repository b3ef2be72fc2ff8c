"""The recorded runs of the site, without the site around them."""

import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.chromium import browser, opened_tab, shots
from tests.served import served
from website.runs import RUNS, run_files

__all__ = ["browser", "shots"]

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    files = dict(run_files())

    async def file(request: Request) -> Response:
        name = request.path_params["name"] or "index.html"
        if name not in files:
            return Response(status_code=404)
        return Response(files[name], media_type=mimetypes.guess_type(name)[0])

    with served(Starlette(routes=[Route("/{name:path}", file)])) as address:
        yield f"{address}/"


def test_a_recorded_run_is_played_and_stepped_through(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1280) as tab:
        tab.goto(f"{url}#weekend")
        page = tab.get_by_role("main", name="Page")
        position = tab.get_by_role("slider", name="Position")
        expect(page.get_by_text("Booked")).to_be_visible()
        tab.get_by_role("button", name="To the beginning").click()
        expect(page.get_by_role("article")).to_have_count(0)
        expect(tab.get_by_text("Nothing has happened yet.")).to_be_visible()
        tab.get_by_role("button", name="Step forward").click()
        expect(page.get_by_role("article", name="You")).to_contain_text("Plan a weekend in Lisbon")
        expect(page.get_by_role("article", name="Agent")).to_have_count(0)
        tab.get_by_role("combobox", name="Speed").select_option("4")
        tab.get_by_role("button", name="Play").click()
        expect(page.get_by_role("group", name=re.compile("^Tool ")).first).to_be_visible()
        tab.get_by_role("button", name="Pause").click()
        stopped = position.input_value()
        tab.get_by_role("button", name="Step back").click()
        assert int(position.input_value()) < int(stopped)
        position.focus()
        tab.keyboard.press("End")
        expect(page.get_by_text("Booked")).to_be_visible()


@pytest.mark.parametrize("name", RUNS)
def test_each_run_is_a_chat_that_ends_as_it_was_recorded(browser: Browser, url: str, shots: Path, name: str) -> None:
    with opened_tab(browser, width=1440) as tab:
        tab.goto(f"{url}#{name}")
        page = tab.get_by_role("main", name="Page")
        expect(page.get_by_role("article", name="Agent").first).to_be_visible()
        expect(tab.get_by_role("combobox", name="Run")).to_have_value(name)
        expect(tab.get_by_text("Model call 1").first).to_be_visible()
        expect(page.get_by_text("**")).to_have_count(0)
        tab.screenshot(path=shots / f"run-{name}.png")
