"""The page without some of its scripts, and the page that cannot be drawn."""

import json
import re
from typing import Final

import pytest
from playwright.sync_api import Page, Route, expect

from tests.demo_page import STREAMING_TEXT, field, press, say, texts
from tests.pages.conftest import Open
from tests.pages.scenes import BEGINNING, END, Scenes

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

SCRIPTS: Final = "**/assets/*.js"


@pytest.fixture
def told() -> dict[str, object]:
    """Fields that the server's `page.json` has besides, or instead."""
    return {}


@pytest.fixture
def page(open_page: Open, told: dict[str, object]) -> Page:
    page = open_page()

    def tell(route: Route) -> None:
        route.fulfill(body=json.dumps({**route.fetch().json(), **told}), content_type="application/json")

    if told:
        page.route("**/page.json", tell)
        with page.expect_response("**/page.json"):
            page.reload()
        page.wait_for_load_state("networkidle")
    return page


@pytest.fixture
def page_without_scripts(page: Page, expected_errors: list[str]) -> Page:
    """Page that can load no more scripts until they are no longer routed, as after a deployment or offline."""
    expected_errors += ["Failed to load resource", "A part of the page is missing"]
    page.route(SCRIPTS, lambda route: route.abort())
    return page


def test_messages_in_mid_answer_are_queued_without_another_script(page_without_scripts: Page, scenes: Scenes) -> None:
    page = page_without_scripts
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    say(page, "later")
    expect(page.get_by_role("list", name="Queued messages")).to_contain_text("later")
    scenes.go_on()
    expect(texts(page)).to_have_text([BEGINNING + END, "You said: later"])


def test_a_text_is_shown_as_it_was_written_until_the_script_for_markdown_is_there(
    page: Page, expected_errors: list[str]
) -> None:
    expected_errors += ["Failed to load resource", "A part of the page is missing"]
    page.route("**/RenderedMarkdown-*.js", lambda route: route.abort())
    page.reload()
    say(page, "write\n**Bold** and more.")
    expect(texts(page)).to_have_text("**Bold** and more.")
    page.unroute_all()
    say(page, "write\n**Bold** again.")
    expect(texts(page)).to_have_text(["Bold and more.", "Bold again."])


def test_the_palette_is_loaded_again_by_its_button_and_by_its_keys(page_without_scripts: Page) -> None:
    page = page_without_scripts
    say(page, "hello")
    palette = page.get_by_role("dialog", name="Find a chat or a command")
    for _ in ("first", "again"):
        page.keyboard.press("Control+k")
        expect(palette).to_contain_text("could not be loaded")
        page.keyboard.press("Escape")
        expect(palette).to_have_count(0)
        expect(texts(page)).to_have_text("You said: hello")
    page.keyboard.press("Control+k")
    expect(palette).to_contain_text("could not be loaded")
    page.unroute(SCRIPTS)
    palette.get_by_role("button", name="Try again").click()
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(palette.get_by_role("combobox")).to_be_focused()


@pytest.mark.parametrize("told", [{"inspector": True}])
def test_a_missing_inspector_leaves_the_chat_there(page_without_scripts: Page) -> None:
    page = page_without_scripts
    say(page, "hello")
    page.keyboard.press("Control+i")
    inspector = page.get_by_role("complementary", name="Inspector")
    expect(inspector).to_contain_text("could not be loaded")
    expect(texts(page)).to_have_text("You said: hello")
    page.keyboard.press("Control+i")
    expect(inspector).to_have_count(0)
    page.unroute(SCRIPTS)
    page.keyboard.press("Control+i")
    expect(inspector.get_by_role("tablist").first).to_be_visible()


@pytest.mark.parametrize("told", [{"description": {"not": "a text"}}])
def test_a_page_that_cannot_be_drawn_says_so_and_is_reloaded(page: Page, expected_errors: list[str]) -> None:
    expected_errors.append("Minified React error")
    expect(page.get_by_role("alert")).to_contain_text("The page can't be shown")
    page.unroute("**/page.json")
    press(page, "Reload")
    expect(field(page)).to_be_visible()


def test_a_chat_that_cannot_be_loaded_says_so_in_a_sentence_and_is_asked_for_again(
    page: Page, expected_errors: list[str]
) -> None:
    expected_errors.append("Failed to load resource")
    say(page, "hello")
    expect(texts(page)).to_have_text(["You said: hello"])
    history = re.compile("/api/chat/[^/]+$")
    page.route(history, lambda route: route.abort("connectionrefused"))
    page.reload()
    problem = page.get_by_role("alert").filter(has_text="Couldn't reach the server.")
    expect(problem).to_be_visible()
    expect(page.get_by_text("Failed to fetch")).to_have_count(0)
    page.unroute(history)
    press(page, "Retry")
    expect(texts(page)).to_have_text(["You said: hello"])
