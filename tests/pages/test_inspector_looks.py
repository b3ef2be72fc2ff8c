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


ROWS_IN_VIEW: Final = """(list) => {
    const { bottom } = list.getBoundingClientRect();
    const header = list.querySelector("[data-row] [data-header]:last-child").getBoundingClientRect();
    const whole = ({ top, bottom: end }) => top >= header.bottom - 1 && end <= bottom + 1;
    const boxes = [...list.querySelectorAll("li[data-row], li[data-run]")].map((row) => row.getBoundingClientRect());
    return boxes.filter(whole).length;
}"""
"""Number of rows that are completely visible between the header of the turn and the end of the list."""


@pytest.mark.parametrize(("width", "height", "least"), [(1280, 800, 3), (800, 800, 2), (1440, 900, 3)])
def test_with_details_open_the_rows_around_the_chosen_row_are_in_view(
    open_page: Open, shots: Path, width: int, height: int, least: int
) -> None:
    page = open_page(width=width, height=height)
    say(page, "weather?")
    finished(page)
    rows(page).filter(has_text="call look_up").get_by_role("button").first.click()
    details = panel(page).get_by_role("region", name="The chosen entry")
    expect(details).to_be_visible()
    page.evaluate(SETTLED)
    page.screenshot(path=shots / f"inspector-rows-{width}.png")
    region = panel(page).get_by_role("region", name="Events and chunks")
    assert region.evaluate(ROWS_IN_VIEW) >= least
    assert details.evaluate("box => box.clientHeight / box.parentElement.clientHeight") <= 0.45


def test_details_are_beside_the_rows_of_a_wide_panel_and_keep_their_width(open_page: Open, shots: Path) -> None:
    page = open_page(width=2400, height=900)
    say(page, "weather?")
    finished(page)
    call = rows(page).filter(has_text="call look_up").get_by_role("button").first
    call.click()
    details = panel(page).get_by_role("region", name="The chosen entry")
    edge = panel(page).get_by_role("separator", name="Width of the chosen entry")
    expect(edge).to_have_attribute("aria-valuenow", "42")
    region = panel(page).get_by_role("region", name="Events and chunks")
    assert details.evaluate("box => box.getBoundingClientRect().left") >= region.evaluate(
        "box => box.getBoundingClientRect().right"
    )
    page.screenshot(path=shots / "inspector-beside.png")
    edge.press("ArrowRight")
    page.reload()
    call.click()
    expect(edge).to_have_attribute("aria-valuenow", "37")


def test_the_figures_of_a_row_are_on_one_line(open_page: Open) -> None:
    page = open_page(width=2200, height=900)
    say(page, "weather?")
    finished(page)
    lines = "each => [...each.children].map((figure) => figure.getBoundingClientRect().top)"
    tops = rows(page).filter(has_text="result look_up").locator("[data-at]").locator("..").evaluate(lines)
    assert len(tops) == 2
    assert tops[0] == tops[1]


def test_a_waterfall_that_is_cut_shows_where_it_goes_on(open_page: Open, shots: Path) -> None:
    page = open_page(width=1280, height=700)
    say(page, "many")
    finished(page)
    cut = panel(page).locator("[data-cut]")
    bars = panel(page).get_by_role("group").first
    bars.evaluate("box => box.scrollTo(0, 0)")
    expect(cut).to_have_attribute("data-cut", "below")
    page.screenshot(path=shots / "inspector-cut.png")
    bars.evaluate("box => box.scrollTo(0, 20)")
    expect(cut).to_have_attribute("data-cut", "above below")
    bars.evaluate("box => box.scrollTo(0, 1e4)")
    expect(cut).to_have_attribute("data-cut", "above")
    say(page, "weather?")
    expect(panel(page).locator("[data-cut]").last).to_have_attribute("data-cut", "")


def test_calls_with_the_same_name_are_numbered(open_page: Open) -> None:
    page = open_page(width=1400)
    say(page, "both")
    finished(page)
    names = panel(page).locator("[data-lane] > :first-child")
    expect(names).to_have_text(["model 1", "look_up 1", "look_up 2", "measure", "model 2"])


def test_a_button_under_the_pointer_does_not_look_like_the_pressed_button(open_page: Open) -> None:
    page = open_page(width=1400)
    pressed = page.get_by_role("button", name="Inspector", exact=True)
    menu = page.get_by_role("button", name="Menu")
    menu.hover()
    expect(pressed).to_have_attribute("aria-pressed", "true")
    assert menu.evaluate(DOT) != pressed.evaluate(DOT)


def test_a_fold_of_json_does_not_look_pressed_under_the_pointer(open_page: Open) -> None:
    page = open_page(width=1400)
    say(page, "weather?")
    finished(page)
    rows(page).filter(has_text="call look_up").get_by_role("button").first.click()
    fold = (
        panel(page).get_by_role("region", name="JSON of the entry").get_by_role("button", name=re.compile("^content, "))
    )
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(fold).to_have_css("background-color", "rgba(0, 0, 0, 0)")


def test_each_tab_of_a_new_chat_says_what_appears_there(open_page: Open, shots: Path) -> None:
    page = open_page(width=1400)
    sentences = {
        "Events": "Send a message. Each event of the agent then appears here",
        "Message": "There is no message yet. The messages that the client builds",
        "Request": "There is no request yet.",
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
