"""The page works with a screen reader, with a keyboard, and for all kinds of vision."""

import re
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Page, expect

from stream_protocol.wire import AiSdkVersion
from tests.demo_page import COLOURED, STREAMING_TEXT, answers, expect_status, press, say, texts, unfolded
from tests.pages.conftest import Open
from tests.pages.scenes import BEGINNING, END, Scenes
from tests.processes import ROOT

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

AXE: Final = ROOT / "server/page/node_modules/axe-core/axe.min.js"

Colors = Literal["light", "dark"]


@pytest.fixture(scope="module")
def ai_sdk() -> AiSdkVersion:
    """The version of the AI SDK, on which these tests do not depend."""
    return 7


def complaints(page: Page) -> list[str]:
    """The findings of axe, each with its element. The script is evaluated: the page's policy forbids scripts of other
    origins.
    """
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [f"{one['id']}: {node['html'][:200]}" for one in found["violations"] for node in one["nodes"]]


SCENES: Final = ("think", "table", "wind", "draw", "both", "timetable", "fail", "pay", "nested", "trip", "sail")
GONE: Final = ("fail", "pay", "nested", "trip")
"""Scenes that the next message changes. All others stay, and are looked at together at the end."""


@pytest.mark.parametrize("colors", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390], ids=["desktop", "phone"])
def test_axe_has_nothing_to_say(open_page: Open, shots: Path, width: int, colors: Colors) -> None:
    page = open_page(width=width, height=800, colors=colors)
    page.emulate_media(reduced_motion="reduce")  # nothing is looked at on its way
    name = f"{'desktop' if width > 500 else 'phone'}-{colors}"
    found = {"welcome": complaints(page)}
    page.screenshot(path=shots / f"{name}-welcome.png")
    for number, scene in enumerate(SCENES, start=1):
        words = f"{scene} {name}"
        say(page, words)
        expect(answers(page)).to_have_count(number)
        expect(page.get_by_role("status")).to_have_attribute("data-status", re.compile("ready|error"))
        if scene in GONE:
            found[scene] = complaints(page)
        page.screenshot(path=shots / f"{name}-{scene}.png")
    page.get_by_role("button", name="2 tool calls").click()
    for name_of_tool in ("timetable", "draw"):
        unfolded(page.locator(f'[data-tool="{name_of_tool}"]').last)
    found["chat"] = complaints(page)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    found["palette"] = complaints(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+/")
    expect(page.get_by_role("dialog")).to_be_visible()
    found["shortcuts"] = complaints(page)
    page.keyboard.press("Escape")
    if width < 500:
        press(page, "Show chats")
        expect(page.get_by_role("dialog")).to_be_visible()
        found["chats"] = complaints(page)
    assert {where: what for where, what in found.items() if what} == {}


HEARD: Final = """() => {
    window.heard = [];
    const region = document.querySelector("[role=status]");
    new MutationObserver(() => window.heard.push(region.textContent))
        .observe(region, { subtree: true, childList: true, characterData: true });
}"""


def test_an_answer_is_announced_when_it_begins_and_when_it_ends_and_not_in_between(page: Page, scenes: Scenes) -> None:
    page.evaluate(HEARD)
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    scenes.go_on()
    expect(texts(page)).to_have_text(BEGINNING + END)
    expect_status(page, "ready")
    assert page.evaluate("window.heard") == ["The agent is answering.", "The agent has answered."]
    expect(page.get_by_role("log")).to_have_attribute("aria-live", "off")
    say(page, "form")
    expect(page.get_by_role("status")).to_have_text("The agent needs your input.")


SCROLLS: Final = """() => {
    const code = document.querySelector("[data-streamdown=code-block-body]");
    return code.scrollWidth > code.clientWidth;
}"""


def test_code_can_be_scrolled_by_the_keyboard(open_page: Open) -> None:
    page = open_page(width=390, height=800)
    say(page, "table")
    expect_status(page, "ready")
    code = page.locator("[data-streamdown=code-block-body]")
    expect(code.locator(COLOURED).first).to_be_visible()  # uncoloured code is replaced, and loses the focus
    expect(code).to_contain_text("def greet")
    page.wait_for_function(SCROLLS)
    code.focus()
    expect(code).to_be_focused()
    for _ in range(30):  # a busy browser may not know yet that there is something to scroll
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(100)
        if code.evaluate("element => element.scrollLeft"):
            break
    expect(code).to_be_focused()
    expect(code).not_to_have_js_property("scrollLeft", 0)


def test_nothing_moves_for_those_who_want_no_motion(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    moving = "document.getAnimations().filter(one => one.effect.getComputedTiming().activeDuration > 1).length"
    assert page.evaluate(moving) == 0
