"""The recorded runs of the site, without the site around them."""

import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.chromium import browser, opened_tab, shots
from tests.served import served
from website.runs import RUNS, run_files

__all__ = ["browser", "shots"]

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]


AT_EACH_POSITION: Final = """async (slider) => {
    const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
    const drawn = [];
    for (let at = 0; at <= Number(slider.max); at += 1) {
        set.call(slider, at);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        const [chat, inspector] = [document.querySelector("main"), document.querySelector("aside")];
        drawn.push({ chat: chat.innerText, events: inspector.innerText });
    }
    return drawn;
}"""
"""The texts of the chat and of the Inspector after each number of events."""

WATERFALL_FAULTS: Final = """(box) => {
    const faults = [];
    const area = box.getBoundingClientRect();
    const boxOf = (each) => each.getBoundingClientRect();
    for (const lane of box.querySelectorAll("[data-lane]")) {
        const parts = [".relative", "button", "[data-duration]"].map((part) => lane.querySelector(part));
        const [track, bar, label] = parts.map(boxOf);
        const text = parts[2].textContent;
        if (bar.left < track.left - 1 || bar.right > track.right + 1) faults.push(`${text}: its bar leaves its track`);
        if (label.left < bar.right - 1) faults.push(`${text} covers its bar`);
        if (label.left > bar.right + 12) faults.push(`${text} is far from its bar`);
        if (label.right > area.right + 1) faults.push(`${text} is cut`);
    }
    const marks = [...box.querySelectorAll("[data-axis] > :nth-child(2) > span > span")];
    const texts = marks.filter((each) => each.offsetWidth > 0);
    texts.forEach((each, index) => {
        const { left, right } = boxOf(each);
        if (right > area.right + 1) faults.push(`${each.textContent} of the axis is cut`);
        if (index > 0 && left < boxOf(texts[index - 1]).right) faults.push(`${each.textContent} covers another mark`);
    });
    if (new Set(texts.map(({ textContent }) => textContent)).size < texts.length) faults.push("Two marks are the same");
    return faults;
}"""
"""Sentences about bars, durations and marks that are not where a reader can tell them apart."""


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
        expect(position).to_have_css("outline-style", "solid")
        corners = position.evaluate("(slider) => parseFloat(getComputedStyle(slider).borderRadius)")
        assert corners >= 6, "the ring has corners"
        expect(page.get_by_text("Booked")).to_be_visible()


def drawn_at_each_position(tab: Page, name: str, url: str) -> list[dict[str, Any]]:
    tab.goto(f"{url}#{name}")
    slider = tab.get_by_role("slider", name="Position")
    expect(tab.get_by_role("main", name="Page").get_by_role("article", name="Agent").first).to_be_visible()
    drawn: list[dict[str, Any]] = slider.evaluate(AT_EACH_POSITION)
    return drawn


@pytest.mark.parametrize(
    ("name", "words"),
    [("refusal", "Nothing was charged"), ("weekend", "Booked"), ("question", "Lisbon"), ("time-zone", "Europe/Lisbon")],
)
def test_the_chat_shows_no_words_before_their_event(browser: Browser, url: str, name: str, words: str) -> None:
    with opened_tab(browser, width=1280) as tab:
        drawn = drawn_at_each_position(tab, name, url)
    shown = [words in each["chat"] for each in drawn]
    assert shown[-1]
    assert shown == sorted(shown)


def test_a_model_call_is_answered_only_when_its_answer_has_come(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1280) as tab:
        drawn = drawn_at_each_position(tab, "refusal", url)
    states = [
        next((state for state in ("no response yet", "streaming", "5 tokens in") if state in each["events"]), "")
        for each in drawn
    ]
    assert [*dict.fromkeys(states)] == ["", "no response yet", "streaming", "5 tokens in"]


def test_a_failed_run_shows_its_error_as_the_live_page_does(browser: Browser, url: str, shots: Path) -> None:
    with opened_tab(browser, width=1280, height=800) as tab:
        drawn = drawn_at_each_position(tab, "failure", url)
        error = "Lost the connection to the model. Try again."
        failing = [error in each["chat"] for each in drawn]
        assert True in failing
        page = tab.get_by_role("main", name="Page")
        expect(page.locator("[data-outcome=failed]")).to_have_count(1)
        slider = tab.get_by_role("slider", name="Position")
        slider.fill(str(failing.index(True)))
        expect(page.get_by_role("alert")).to_contain_text(error)
        expect(page.locator("[data-outcome=failed]")).to_have_count(0)
        tab.screenshot(path=shots / "run-failure-at-its-error.png")


def test_play_is_above_the_chat_and_starts_from_the_beginning(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1280, height=800) as tab:
        tab.goto(f"{url}#refusal")
        play = tab.get_by_role("button", name="Play", exact=True)
        expect(play).to_be_in_viewport(ratio=1)
        expect(play).to_have_text("Play")
        page = tab.get_by_role("main", name="Page")
        [button, chat] = [each.bounding_box() for each in (play, page)]
        assert button
        assert chat
        assert button["y"] + button["height"] <= chat["y"]
        play.click()
        expect(tab.get_by_role("button", name="Pause", exact=True)).to_be_visible()
        expect(page.get_by_text("Nothing was charged.")).to_have_count(0)
        expect(page.get_by_text("Nothing was charged.")).to_be_visible()
        expect(play).to_be_visible()


def test_on_a_phone_the_chat_is_a_tab_beside_the_events(browser: Browser, url: str, shots: Path) -> None:
    with opened_tab(browser, width=390, height=700) as tab:
        tab.goto(f"{url}#refusal")
        expect(tab.get_by_role("button", name="Play", exact=True)).to_be_in_viewport(ratio=1)
        expect(tab.get_by_text("Nothing was charged.").last).to_be_in_viewport()
        tab.screenshot(path=shots / "run-phone-chat.png")
        tab.get_by_role("tab", name="Events").click()
        tab.screenshot(path=shots / "run-phone-events.png")
        events = tab.get_by_role("region", name="Events and chunks").bounding_box()
        assert events
        assert events["height"] > 300
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1440, 800, 390])
def test_durations_stand_behind_their_bars_and_the_axis_is_whole(browser: Browser, url: str, width: int) -> None:
    faults: dict[str, list[str]] = {}
    for name in RUNS:
        with opened_tab(browser, width=width) as tab:
            tab.goto(f"{url}#{name}")
            if width < 500:
                tab.get_by_role("tab", name="Events").click()
            turns = tab.get_by_role("group", name=re.compile("^model"))
            expect(turns.first).to_be_visible()
            faults[name] = [fault for turn in turns.all() for fault in turn.evaluate(WATERFALL_FAULTS)]
    assert {name: found for name, found in faults.items() if found} == {}


def test_a_model_names_its_agent_where_there_are_several(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1440) as tab:
        tab.goto(f"{url}#day")
        models = tab.locator("[data-lane=model]")
        names = ["model 1 · planner", "model 2 · weather", "model 3 · weather", "model 4 · planner"]
        expect(models.locator("> :first-child")).to_have_text(names)
        expect(models.get_by_role("button").nth(1)).to_have_accessible_name(re.compile("^model 2 · weather from "))
        tab.get_by_role("combobox", name="Run").select_option("refusal")
        expect(models.locator("> :first-child").first).to_have_text("model")


@pytest.mark.parametrize(
    ("name", "depths"),
    [
        ("day", ["0 model", "0 weather", "1 model", "1 look_up", "1 model", "0 model"]),
        ("dinner", ["0 model", "0 transfer_to_agent", "1 model"]),
    ],
)
def test_a_called_agent_is_indented_below_its_caller(
    browser: Browser, url: str, shots: Path, name: str, depths: list[str]
) -> None:
    with opened_tab(browser, width=1440) as tab:
        tab.goto(f"{url}#{name}")
        lanes = tab.get_by_role("group", name=re.compile("^model")).last.locator("[data-lane]")
        expect(lanes).to_have_count(len(depths))
        tab.screenshot(path=shots / f"run-indented-{name}.png")
        shown = "lanes => lanes.map((lane) => `${lane.firstChild.dataset.depth} ${lane.dataset.lane}`)"
        assert lanes.evaluate_all(shown) == depths


def test_the_recorded_request_is_shown(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=1440) as tab:
        tab.goto(f"{url}#day")
        tab.get_by_role("tab", name="Request").click()
        turn = tab.get_by_role("region", name="Turn 1", exact=True)
        expect(turn).to_contain_text("POST /api/chat")
        expect(turn).to_contain_text('"text": "Plan a day in Oslo"')
        expect(tab.get_by_text("The next request, not sent yet")).to_have_count(0)


def test_the_tabs_and_the_controls_have_one_line_on_a_phone(browser: Browser, url: str) -> None:
    with opened_tab(browser, width=390, height=844) as tab:
        tab.goto(f"{url}#failure")
        for each in tab.get_by_role("tab").all():
            expect(each).to_be_in_viewport(ratio=0.95)
        speed = tab.get_by_role("combobox", name="Speed").bounding_box()
        assert speed
        assert speed["x"] + speed["width"] <= 390 - 8


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
