"""Answers that were stopped or have failed, and their calls."""

import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.demo_page import STREAMING_TEXT, answers, expect_status, field, press, say, texts, tool, unfolded
from tests.pages.conftest import Open
from tests.pages.scenes import ALWAYS, BEGINNING, END, Scenes

CAUSE = "Lost the connection to the model. Try again."

LOOK = "card => [card.outerHTML.replace(/ role=.alert./, ''), getComputedStyle(card).backgroundColor]"

PADDINGS = """
card => {
  const [outer, text] = [card, card.querySelector("p")].map((element) => element.getBoundingClientRect());
  return [Math.round(text.top - outer.top), Math.round(outer.bottom - text.bottom)];
}
"""
"""The space above and below the text of a card."""

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]


def stop_story(page: Page) -> None:
    """Ask for the story, and stop the answer after its beginning."""
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    field(page).press("Escape")
    expect_status(page, "ready")


def test_every_browser_sees_that_an_answer_was_stopped(open_page: Open) -> None:
    page = open_page()
    stop_story(page)
    say(page, "hello")
    expect(texts(page)).to_have_text([BEGINNING, "You said: hello"])
    expect_status(page, "ready")
    other = open_page(f"#{page.url.partition('#')[2]}")
    expect(texts(other)).to_have_text([BEGINNING, "You said: hello"])
    expect(answers(other).first.locator("[data-outcome]")).to_have_text("Stopped")
    expect(answers(other).last.locator("[data-outcome]")).to_have_count(0)


@pytest.mark.parametrize(("width", "colors"), [(1100, "light"), (390, "dark")])
def test_a_stopped_answer_is_asked_for_again_by_retry(
    open_page: Open, scenes: Scenes, shots: Path, width: int, colors: Literal["light", "dark"]
) -> None:
    page = open_page(width=width, colors=colors)
    stop_story(page)
    retry = page.get_by_role("button", name="Retry")
    for _ in ("live", "stored"):
        expect(page.locator("[data-outcome=stopped]")).to_have_text("Stopped")
        expect(retry).to_be_visible()
        expect(answers(page).get_by_role("button", name="Regenerate")).to_have_count(0)
        page.screenshot(path=shots / f"stopped-{width}.png")
        page.reload()
    retry.press("Enter")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    scenes.go_on()
    expect(texts(page)).to_have_text([BEGINNING + END])
    expect(page.locator("[data-outcome]")).to_have_count(0)


def test_only_the_last_stopped_answer_has_a_retry(page: Page) -> None:
    stop_story(page)
    say(page, "hello")
    expect(texts(page)).to_have_text([BEGINNING, "You said: hello"])
    expect(page.locator("[data-outcome=stopped]")).to_have_count(1)
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)


@pytest.mark.parametrize("words", ALWAYS)
def test_an_answer_that_fails_again_says_the_same_and_can_be_asked_for_again(
    page: Page, shots: Path, words: str
) -> None:
    say(page, words)
    failed = page.locator("[data-problem]")
    for time in ("once", "twice", "three times"):
        expect(failed).to_have_count(1)
        expect(failed).to_have_text(re.compile(rf"^{re.escape(CAUSE)} ?Retry$"))
        page.screenshot(path=shots / f"{words}-{time}.png".replace(" ", "-"))
        with page.expect_response("**/api/chat"):
            press(page, "Retry")
        expect_status(page, "error")
    page.reload()
    expect(failed).to_have_text(re.compile(rf"^{re.escape(CAUSE)} ?Retry$"))


def test_another_tab_sees_at_once_how_an_answer_has_ended(open_page: Open, scenes: Scenes) -> None:
    page = open_page()
    say(page, "dig")
    expect(tool(page, "dig", "input-available")).to_be_visible()
    other = open_page(f"#{page.url.partition('#')[2]}")
    expect(tool(other, "dig", "input-available")).to_be_visible()
    press(page, "Stop")
    for tab in (page, other):
        expect_status(tab, "ready")
        expect(answers(tab).locator("[data-outcome]")).to_have_text("Stopped")
        expect(tab.get_by_role("log").get_by_text("Stopped")).to_have_count(1)  # and the card says something else
    say(page, "crash")
    expect(tool(page, "crash", "input-available")).to_be_attached()
    other.reload()
    expect(tool(other, "crash", "input-available")).to_be_attached()
    scenes.go_on()
    expect(answers(other).last.locator("[data-outcome=failed]")).to_contain_text("The spade is broken")


@pytest.mark.parametrize(("words", "width", "colors"), [("fail", 1100, "dark"), ("break", 390, "light")])
def test_a_failed_answer_says_so_after_a_reload_and_is_asked_for_again(
    open_page: Open, shots: Path, words: str, width: int, colors: Literal["light", "dark"]
) -> None:
    page = open_page(width=width, colors=colors)
    say(page, f"{words} {page.url.partition(':')[2]}")
    failed = page.locator("[data-problem]")
    looks = []
    for when in ("live", "stored"):
        expect(failed).to_have_text(re.compile(rf"^{re.escape(CAUSE)} ?Retry$"))
        expect(page.get_by_role("status").first).to_have_text(f"The answer failed. {CAUSE}")
        page.screenshot(path=shots / f"failed-{words}-{when}.png")
        looks.append((failed.bounding_box(), failed.get_by_role("button").bounding_box(), failed.evaluate(LOOK)))
        page.reload()
    assert looks[0] == looks[1]
    press(page, "Retry")
    expect(answers(page)).to_contain_text("You said:")
    expect(failed).to_have_count(0)
    expect(answers(page)).to_have_count(1)


def test_a_failed_answer_stays_marked_when_the_chat_goes_on(page: Page) -> None:
    say(page, f"fail and go on {page.url.partition(':')[2]}")
    expect(page.locator("[data-problem]")).to_be_visible()
    say(page, "hello")
    expect(answers(page).last).to_contain_text("You said: hello")
    for _ in ("live", "stored"):
        expect(page.locator("[data-problem]")).to_have_count(1)
        expect(answers(page).first.locator("[data-outcome=failed]")).to_have_text(CAUSE)
        paddings = page.locator("[data-problem]").evaluate(PADDINGS)
        assert paddings[0] == paddings[1]  # nothing is left of the buttons
        page.reload()


def expect_cancelled(page: Page, calls: int) -> None:
    """Each call reads "Cancelled", is folded and shows neither an error nor a question."""
    group = page.get_by_role("button", name=f"{calls} tool calls")
    expect(group).to_have_accessible_name(f"{calls} tool calls · Dig")  # and no number of failures
    expect(group).to_have_attribute("aria-expanded", "false")
    group.click()
    cards = page.locator("[data-tool]")
    expect(cards).to_have_count(calls)
    for card in cards.all():
        summary = card.get_by_role("button").first
        expect(summary).to_have_accessible_name(re.compile("cancelled$"))
        expect(summary).to_have_attribute("aria-expanded", "false")
        summary.click()
        expect(card.get_by_role("alert")).to_have_count(0)
        expect(card.get_by_role("form")).to_have_count(0)
        summary.click()
    group.click()


def test_calls_without_a_result_read_cancelled_wherever_they_are_seen(open_page: Open, shots: Path) -> None:
    page = open_page()
    say(page, "dig twice")
    expect(page.get_by_role("button", name="Running 2 tool calls")).to_be_visible()
    other = open_page(f"#{page.url.partition('#')[2]}")
    expect(other.get_by_role("button", name="Running 2 tool calls")).to_be_visible()
    press(page, "Stop")
    for tab in (page, other):
        expect_status(tab, "ready")
        expect_cancelled(tab, 2)
        expect(tab.get_by_role("status").first).not_to_contain_text("needs your input")
    page.screenshot(path=shots / "stopped-calls.png")
    page.reload()
    expect_cancelled(page, 2)


def test_calls_read_cancelled_although_the_page_no_longer_hears_the_server(
    page: Page, expected_errors: list[str]
) -> None:
    expected_errors.append("net::ERR_FAILED")
    say(page, "dig twice")
    expect(page.get_by_role("button", name="Running 2 tool calls")).to_be_visible()
    page.route("**/stop", lambda route: route.abort())  # so no error of a call comes from the server
    with page.expect_event("requestfailed"):
        press(page, "Stop")
    expect_status(page, "ready")
    expect_cancelled(page, 2)
    page.unroute_all()


def test_of_calls_in_parallel_only_the_one_that_raised_reads_failed(
    open_page: Open, scenes: Scenes, shots: Path
) -> None:
    page = open_page(colors="dark")
    say(page, "crash")
    expect(page.get_by_role("button", name="Running 3 tool calls")).to_contain_text("Dig, Crash, Trains")
    expect(page.get_by_role("button", name=re.compile(r"Running 3 tool calls · \d s"))).to_be_visible()
    scenes.go_on()
    expect(page.locator("[data-problem]")).to_be_visible()
    for when in ("live", "stored"):
        group = page.get_by_role("button", name="3 tool calls · 1 failed")
        expect(group).to_have_attribute("aria-expanded", "true")
        for name, state in (("Dig", "cancelled"), ("Crash", "failed"), ("Trains", "done")):
            summary = page.get_by_role("group", name=f"Tool {name}").get_by_role("button").first
            expect(summary).to_have_accessible_name(re.compile(rf"{state}( ?[\d.]+ s)?$"))
        page.screenshot(path=shots / f"crashed-{when}.png")
        page.reload()


@pytest.mark.filterwarnings("ignore:The .plugins. argument is deprecated:DeprecationWarning")  # ADK's own AgentTool
def test_an_agent_inside_a_stopped_answer_reads_cancelled_with_its_calls(page: Page) -> None:
    say(page, "research")
    card = page.get_by_role("group", name="Tool researcher")
    expect(card.get_by_role("group", name="Tool wait")).to_have_attribute("data-state", "input-available")
    press(page, "Stop")
    expect_status(page, "ready")
    for _ in ("live", "stored"):
        summary = card.get_by_role("button").first
        expect(summary).to_have_accessible_name(re.compile("cancelled$"))
        expect(summary).to_have_attribute("aria-expanded", "false")
        unfolded(card)
        group = card.get_by_role("group", name="Tool wait").get_by_role("button").first
        expect(group).to_have_accessible_name(re.compile("cancelled$"))
        expect(card.get_by_role("alert")).to_have_count(0)
        page.reload()
