"""What a reader of the Inspector's rows sees: colours, columns, the chosen row, the pointer's time, empty tabs."""

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.chromium import browser, opened_tab, shots
from tests.pages.test_inspector import (
    CITIES,
    DOT,
    Open,
    finished,
    open_page,
    panel,
    rows,
    say,
    tab,
    url,
    whatever_client,
)

__all__ = ["browser", "open_page", "shots", "url"]

pytestmark = [
    pytest.mark.pages,
    pytest.mark.browser,
    pytest.mark.node,
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    whatever_client,
]

SETTLED: Final = "async () => { for (let n = 0; n < 3; n += 1) await new Promise(requestAnimationFrame); }"


def top(row: Locator) -> float:
    row.page.evaluate(SETTLED)
    box = row.bounding_box()
    assert box
    return box["y"]


def chip_colour(page: Page, name: str) -> str:
    chip = panel(page).locator("[data-families]").get_by_role("button", name=re.compile(f"^{name}"))
    colour: str = chip.locator(".rounded-full").evaluate(DOT)
    return colour


def bar_colour(page: Page, lane: str) -> str:
    bar = panel(page).locator(f"[data-lane={lane}]").first.get_by_role("button").locator("span")
    colour: str = bar.evaluate(DOT)
    return colour


def test_a_family_has_one_colour(open_page: Open) -> None:
    page = open_page(width=1400)
    say(page, "weather?")
    finished(page)
    models = chip_colour(page, "Model calls")
    tools = chip_colour(page, "Tools")
    assert bar_colour(page, "model") == models
    assert bar_colour(page, "look_up") == tools
    call = rows(page).filter(has_text="Model call 1").locator(".rounded-full").first
    assert call.evaluate(DOT) == models
    assert len({models, tools, chip_colour(page, "Text"), chip_colour(page, "Reasoning")}) == 4


@pytest.mark.parametrize("width", [1400, 2200])
def test_the_heads_are_above_their_figures_and_stay_in_view(open_page: Open, shots: Path, width: int) -> None:
    page = open_page(width=width, height=700)
    say(page, "weather?")
    finished(page)
    region = panel(page).get_by_role("region", name="Events and chunks")
    region.evaluate("list => list.scrollTo(0, 1e6)")
    page.screenshot(path=shots / f"inspector-heads-{width}.png")
    heads = panel(page).locator("[data-heads]")
    expect(heads).to_be_in_viewport(ratio=0.99)
    right = "each => each.getBoundingClientRect().right"
    sizes = heads.get_by_text("Size", exact=True)
    chunk_size = rows(page).filter(has_text="result look_up").locator("[data-side=chunk] .text-end").last
    assert sizes.last.evaluate(right) == pytest.approx(chunk_size.evaluate(right), abs=1)
    times = heads.locator(".text-end").first
    for row in (rows(page).filter(has_text="result look_up"), rows(page).filter(has_text="Model call 1")):
        time = row.locator("[data-at]")
        assert times.evaluate(right) == pytest.approx(time.evaluate(right), abs=1)
        expect(time).to_have_css("font-variant-numeric", "tabular-nums")


def test_the_chosen_row_is_not_the_row_under_the_pointer(open_page: Open) -> None:
    page = open_page(width=1400)
    say(page, "weather?")
    finished(page)
    call = rows(page).filter(has_text="call look_up").get_by_role("button").first
    other = rows(page).filter(has_text="result look_up").get_by_role("button").first
    call.click()
    other.hover()
    colours = [each.evaluate(DOT) for each in (call, other, rows(page).last.get_by_role("button").first)]
    assert len({*colours}) == 3


def test_a_row_stays_under_the_pointer_when_its_details_open_and_close(open_page: Open) -> None:
    page = open_page(width=1400, height=900)
    for ended in range(1, 3):
        say(page, "everything")
        expect(panel(page).get_by_text("End of the response: finish")).to_have_count(ended)
    region = panel(page).get_by_role("region", name="Events and chunks")
    region.evaluate("list => list.scrollTo(0, list.scrollHeight / 2)")
    row = rows(page).filter(has_text="Model call 4").first.get_by_role("button")
    row.evaluate("row => row.scrollIntoView({ block: 'start' })")
    before = top(row)
    row.click()
    expect(panel(page).get_by_role("region", name="The chosen entry")).to_be_visible()
    assert top(row) == pytest.approx(before, abs=2)
    page.keyboard.press("Escape")
    expect(panel(page).get_by_role("region", name="The chosen entry")).to_have_count(0)
    assert top(row) == pytest.approx(before, abs=2)


def test_the_pointer_tells_its_time_on_the_waterfall(open_page: Open, shots: Path) -> None:
    page = open_page(width=1400)
    say(page, "weather?")
    finished(page)
    track = panel(page).locator("[data-lane=look_up] .relative").bounding_box()
    assert track
    time = panel(page).locator("[data-time]")
    expect(time).to_have_count(0)
    page.mouse.move(track["x"] + track["width"] / 2, track["y"] + 5)
    expect(time).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    line = panel(page).locator("[data-pointed]").bounding_box()
    assert line
    assert line["x"] == pytest.approx(track["x"] + track["width"] / 2, abs=1.5)
    page.screenshot(path=shots / "inspector-pointed.png")
    page.mouse.move(track["x"] - 30, track["y"] + 5)
    expect(time).to_have_count(0)


@pytest.mark.parametrize(("width", "height"), [(1400, 800), (800, 800), (390, 844)])
def test_with_details_open_the_bars_of_many_calls_are_in_view(
    open_page: Open, shots: Path, width: int, height: int
) -> None:
    page = open_page(width=width, height=height)
    if width < 500:
        page.keyboard.press("Control+i")
    say(page, "many")
    expect(page.get_by_role("article", name="Agent").get_by_text("clear in Oslo.")).to_be_visible()
    if width < 500:
        page.keyboard.press("Control+i")
    finished(page)
    chosen = rows(page).filter(has_text="Model call 2").get_by_role("button")
    chosen.click()
    expect(panel(page).get_by_role("region", name="The chosen entry")).to_be_visible()
    page.evaluate(SETTLED)
    page.screenshot(path=shots / f"inspector-details-{width}.png")
    seen = """(bars) => {
        const box = bars.getBoundingClientRect();
        const axis = bars.querySelector("[data-axis]").lastElementChild.getBoundingClientRect();
        const inView = (bar) => bar.top >= box.top - 1 && bar.bottom <= axis.top + 1;
        return [...bars.querySelectorAll("button")].filter((bar) => inView(bar.getBoundingClientRect())).length;
    }"""
    assert panel(page).get_by_role("group").first.evaluate(seen) >= len(CITIES) - 2
    expect(chosen).to_be_in_viewport(ratio=0.5)


def test_each_tab_of_a_new_chat_says_what_appears_there(open_page: Open, shots: Path) -> None:
    page = open_page(width=1400)
    sentences = {
        "Events": "Send a message. Each event of the agent then appears here",
        "Message": "There is no message yet. The messages that the client builds",
        "State": "No event has changed the session's state. Keys that the agent",
        "Check": "There is nothing to check yet. After each response",
    }
    for name, sentence in sentences.items():
        tab(page, name)
        expect(panel(page).get_by_role("tabpanel")).to_contain_text(sentence)
    page.screenshot(path=shots / "inspector-empty.png")


def test_an_inspector_that_loads_or_fails_says_so(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1400) as page:  # its console has the failures
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/inspect?*", hold)
        page.route("**/api/inspect/agents", lambda route: route.abort())
        page.goto(url)
        page.get_by_role("button", name="Inspector").click()
        expect(panel(page).get_by_text("Loading the events of this chat…")).to_be_visible()
        expect(panel(page).get_by_text("Send a message.")).to_have_count(0)
        tab(page, "State")
        expect(panel(page).get_by_role("alert")).to_have_text("The server does not answer.")
        tab(page, "Events")
        held[0].abort()
        expect(panel(page).get_by_role("alert")).to_have_text("The server does not answer.")
