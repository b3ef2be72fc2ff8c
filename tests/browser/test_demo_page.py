"""The demo page, driven in a real browser against the demo server."""

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from tests.demo_page import STREAMING_TEXT, answers, expect_status, posts, press, say, texts, tool, unfolded

pytestmark = [pytest.mark.browser, pytest.mark.pages]

DOT: Final = b"<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'><circle cx='4' cy='4' r='4'/></svg>"

WATCH_ARGUMENTS: Final = """(tool) => {
    window.inputs = [];
    new MutationObserver(() => {
        const box = document.querySelector(`[data-tool="${tool}"][data-state="input-streaming"] dl`);
        if (box && box.textContent !== window.inputs.at(-1)) window.inputs.push(box.textContent);
    }).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""
"""Notes every text that the arguments of a tool had on the screen while they were being written."""


def test_text_shows_before_the_model_has_finished_and_stop_ends_it(page: Page) -> None:
    say(page, "Tell me a long story")
    text = page.locator(STREAMING_TEXT)
    expect(text).to_contain_text("The train stood longer")
    expect_status(page, "streaming")
    press(page, "Stop")
    expect_status(page, "ready")
    told = texts(page).inner_text()
    assert "At night in Rome" not in told
    say(page, "What is worth seeing in Rome?")
    expect(page.get_by_text("Leave one afternoon without a plan.")).to_be_visible()
    expect_status(page, "ready")
    assert texts(page).first.inner_text() == told


@pytest.mark.pages
def test_arguments_grow_while_they_are_written(page: Page) -> None:
    page.evaluate(WATCH_ARGUMENTS, "write_itinerary")
    say(page, "Plan a weekend in Lisbon")
    expect(unfolded(tool(page, "write_itinerary", "output-available"))).to_contain_text("2 days")
    seen: list[str] = page.evaluate("window.inputs")
    assert len(seen) > 10
    assert [len(text) for text in seen] == sorted(len(text) for text in seen)


def test_an_approved_call_runs_and_shows_its_output(page: Page) -> None:
    requests = posts(page)
    say(page, "Book two nights in Kyoto")
    expect(tool(page, "book_trip", "approval-requested")).to_contain_text("280")
    press(page, "Approve")
    expect(unfolded(tool(page, "book_trip", "output-available"))).to_contain_text("KYO-2-280")
    expect(page.get_by_text("Booked. Your reference")).to_be_visible()
    expect_status(page, "ready")
    assert answers(page).count() == 1
    assert len(requests) == 2


@pytest.mark.pages
def test_a_denied_call_looks_denied_and_does_not_run(page: Page) -> None:
    requests = posts(page)
    say(page, "Book two nights in Kyoto")
    press(page, "Deny…")
    page.get_by_label("Reason").fill("too dear")
    press(page, "Deny")
    expect(tool(page, "book_trip", "output-denied")).to_contain_text("too dear")
    expect(page.get_by_text("Then I won't book it.")).to_be_visible()
    expect_status(page, "ready")
    assert "KYO-2-280" not in page.locator("main").inner_text()
    assert len(requests) == 2


@pytest.mark.pages
def test_a_tool_that_asks_by_itself_shows_its_question_and_gets_what_is_filled_in(page: Page, shots: Path) -> None:
    requests = posts(page)
    say(page, "Reserve a seat on the train to Oslo")
    expect(tool(page, "reserve_seat", "approval-requested")).to_contain_text("Which seat on the train to Oslo?")
    expect(page.get_by_text("as soon as you have chosen.")).to_be_visible()
    expect(page.get_by_label("Seat", exact=True)).to_have_value("12A")
    page.get_by_label("Seat", exact=True).fill("7F")
    page.get_by_label("Quiet car").uncheck()
    page.screenshot(path=shots / "payload.png")
    press(page, "Approve")
    expect(unfolded(tool(page, "reserve_seat", "output-available"))).to_contain_text("7F")
    expect(page.get_by_text("Seat 7F is yours.")).to_be_visible()
    expect_status(page, "ready")
    assert len(requests) == 2


@pytest.mark.pages
def test_a_payload_is_kept_through_a_reload_of_the_page_and_a_denial_needs_none(page: Page) -> None:
    say(page, "Reserve a seat on the train to Rome")
    expect_status(page, "ready")
    page.reload()
    expect(tool(page, "reserve_seat", "approval-requested")).to_contain_text("Which seat on the train to Rome?")
    press(page, "Deny…")
    press(page, "Deny")
    expect(page.get_by_text("You can always stand.")).to_be_visible()


@pytest.mark.pages
def test_a_failing_tool_shows_its_error_and_the_agent_goes_on(page: Page) -> None:
    say(page, "Do I need a visa for Norway?")
    expect(tool(page, "check_visa", "output-error").get_by_role("alert")).to_contain_text("its line is busy")
    expect(page.get_by_text("Please try again later.")).to_be_visible()


@pytest.mark.pages
def test_an_image_is_drawn(page: Page) -> None:
    say(page, "Draw the temperatures of Kyoto")
    expect(page.get_by_text("in each month")).to_be_visible()
    page.wait_for_function("() => document.querySelector('img[data-picture]')?.naturalWidth > 0")
    assert page.locator("img[data-picture]").count() == 1


@pytest.mark.pages
def test_sources_are_listed_and_usage_is_in_small_print(page: Page) -> None:
    say(page, "What is worth seeing in Rome?")
    sources = page.get_by_role("navigation", name="Sources").get_by_role("link")
    expect(sources).to_have_text(["Rome on Wikivoyage", "Rome on Wikipedia"])
    expect(page.locator("[data-usage]")).to_have_text(re.compile(r"scripted · \d+ tokens in · \d+ out · \d+ reasoning"))


@pytest.mark.pages
def test_a_question_of_the_agent_is_answered_in_its_form(page: Page) -> None:
    requests = posts(page)
    say(page, "Help me choose a city")
    page.get_by_role("form", name="Answer").get_by_role("button", name="Rome").click()
    expect(unfolded(tool(page, "adk_request_input", "output-available"))).to_contain_text("Rome")
    expect(page.get_by_text("A good choice.")).to_be_visible()
    expect_status(page, "ready")
    assert len(requests) == 2


@pytest.mark.pages
def test_an_attached_file_reaches_the_agent(page: Page) -> None:
    note = FilePayload(name="note.txt", mimeType="text/plain", buffer=b"Hello")
    page.get_by_label("Files", exact=True).set_input_files(note)
    expect(page.get_by_text("note.txt")).to_be_visible()
    say(page, "Look at this")
    expect(answers(page)).to_contain_text("text/plain, 5 bytes")


def test_an_image_after_a_removed_broken_one_is_shown(page: Page) -> None:
    broken = FilePayload(name="broken.png", mimeType="image/png", buffer=b"no image")
    dot = FilePayload(name="dot.svg", mimeType="image/svg+xml", buffer=DOT)
    page.get_by_label("Files", exact=True).set_input_files([broken, dot])
    chips = page.get_by_role("list", name="Attached files")
    expect(chips.locator("img")).to_have_count(1)
    page.get_by_role("button", name="Remove broken.png").click()
    expect(chips.get_by_role("listitem")).to_have_count(1)
    expect(chips.locator("img")).to_have_count(1)


def test_a_failed_request_shows_a_banner_and_retry_sends_it_again(page: Page) -> None:
    def fail(route: Route) -> None:
        route.fulfill(status=500, body="The server is out for lunch.")

    page.route("**/api/chat", fail, times=1)
    say(page, "What is worth seeing in Rome?")
    expect(page.get_by_role("alert")).to_contain_text("cannot answer now (status 500)")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("navigation", name="Sources")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_chat_has_a_url_once_something_is_said_and_keeps_it_through_a_reload(page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.reload()
    say(page, "Hello")
    page.wait_for_url(re.compile("#.+"))
    first = page.url
    expect(answers(page)).to_contain_text("I answer")
    expect_status(page, "ready")
    said = page.get_by_role("log").inner_text()
    page.reload()
    expect(answers(page)).to_have_count(1)
    assert page.get_by_role("log").inner_text() == said
    press(page, "New chat")
    expect(page.get_by_role("article")).to_have_count(0)
    assert "#" not in page.url
    page.go_back()
    expect(answers(page)).to_have_count(1)
    assert page.url == first
    assert complaints == []


@pytest.mark.pages
def test_a_chat_is_found_renamed_and_archived_while_it_is_answered(page: Page, shots: Path) -> None:
    say(page, "Tell me a long story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text("The train stood longer")
    chats = page.get_by_role("navigation", name="Chats")
    chats.get_by_label("Search titles").fill("LONG story")
    mine = chats.get_by_role("listitem").filter(has=page.locator("[aria-current]"))
    expect(mine.get_by_role("img", name="Answering")).to_be_visible()
    mine.get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name="Rename").click()
    chats.get_by_label("Title", exact=True).fill("My long story")
    chats.get_by_label("Title", exact=True).press("Enter")
    expect(mine).to_contain_text("My long story")
    page.screenshot(path=shots / "chats.png")
    mine.get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(mine).to_have_count(0)
    chats.get_by_role("button", name="Archived").click()
    expect(mine).to_contain_text("My long story")
    press(page, "Stop")
    expect_status(page, "ready")


def test_a_page_that_is_reloaded_in_mid_answer_takes_it_up_and_a_second_tab_can_stop_it(page: Page) -> None:
    say(page, "Tell me a long story")
    text = page.locator(STREAMING_TEXT)
    expect(text).to_contain_text("The train stood longer")
    page.reload()
    expect(text).to_contain_text("The train stood longer")
    expect_status(page, "streaming")
    assert page.context.browser is not None
    second = page.context.browser.new_page()
    second.goto(page.url)
    expect(second.locator(STREAMING_TEXT)).to_contain_text("The train stood longer")
    press(second, "Stop")
    for tab in (second, page):
        expect_status(tab, "ready")
        expect(answers(tab)).to_have_count(1)
    told = texts(page).inner_text()
    assert "At night in Rome" not in told
    assert texts(second).inner_text() == told
    page.reload()
    expect(texts(page)).to_have_text(told, use_inner_text=True)
    second.close()


BREAKABLE = """() => {
    const { fetch } = window;
    window.fetch = async (...request) => {
        const response = await fetch(...request);
        if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
        const { readable, writable } = new TransformStream();
        const breaking = new AbortController();
        window.breakConnection = () => breaking.abort(new TypeError("network error"));
        response.body.pipeTo(writable, { signal: breaking.signal }).catch(() => {});
        return new Response(readable, response);
    };
}"""
"""Gives the page a connection that a test can break."""

RESUMED: Final = "**/api/chat/*/stream"
STORED: Final = re.compile(r"/api/chat/[^/?]+$")


@pytest.mark.parametrize("runs_on", [True, False], ids=["while the run goes on", "when it has ended"])
def test_an_answer_whose_connection_broke_is_taken_up_again_not_asked_for_anew(page: Page, *, runs_on: bool) -> None:
    page.evaluate(BREAKABLE)
    say(page, "Tell me a long story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text("The train stood longer")
    seen = posts(page)
    if not runs_on:
        page.route(RESUMED, lambda route: route.fulfill(status=502))  # as a proxy does whose server is away
    page.evaluate("window.breakConnection()")
    expect(page.get_by_text("The connection was lost. Reconnecting…")).to_be_visible()
    if not runs_on:
        page.evaluate("fetch(`api/chat/${location.hash.slice(1)}/stop`, { method: 'POST' })")
        page.unroute(RESUMED)
    if runs_on:
        expect_status(page, "streaming")
        press(page, "Stop")
    expect_status(page, "ready")
    expect(answers(page)).to_have_count(1)
    expect(texts(page)).to_have_count(1)
    assert [request.url.rpartition("/")[2] for request in seen] == ["stop"]


def test_a_reply_that_the_server_no_longer_has_is_asked_for_anew_by_retry(page: Page) -> None:
    page.evaluate(BREAKABLE)
    say(page, "Tell me a long story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text("The train stood longer")
    page.route(RESUMED, lambda route: route.fulfill(status=204))
    page.route(STORED, lambda route: route.fulfill(status=404))
    seen = posts(page)
    page.evaluate("window.breakConnection()")
    expect(page.get_by_role("alert")).to_contain_text("The connection was lost in the middle of the reply.")
    assert seen == []
    with page.expect_request("**/api/chat") as asked:
        press(page, "Retry")
    assert (asked.value.post_data_json or {})["trigger"] == "regenerate-message"
    expect_status(page, "streaming")
    press(page, "Stop")
    expect_status(page, "ready")


def test_a_suggestion_with_a_file_lets_the_user_choose_the_file_first(page: Page) -> None:
    press(page, "Show all 22")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="What is in the file that I attach?").click()
    expect(page.get_by_role("article")).to_have_count(0)
    chooser.value.set_files(FilePayload(name="note.txt", mimeType="text/plain", buffer=b"Hello"))
    expect(page.get_by_role("list", name="Attached files")).to_have_text("note.txt5 B")
    press(page, "Send")
    expect(answers(page)).to_contain_text("text/plain, 5 bytes")


@pytest.mark.pages
@pytest.mark.parametrize(("name", "width", "height"), [("desktop", 1100, 900), ("phone", 400, 800)])
def test_the_tour_shows_every_kind_of_part_in_one_message(
    page: Page, shots: Path, name: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    press(page, "Show all 22")
    welcome = page.get_by_role("region", name="Welcome")
    assert welcome.get_by_role("heading", level=3).all_inner_texts() == [
        "Answers",
        "Tools",
        "Asking you",
        "Files and data",
    ]
    suggestions = page.get_by_role("list", name="Answers")
    expect(suggestions.get_by_role("button", name="Tell me a long story")).to_be_visible()
    page.screenshot(path=shots / f"{name}-1-welcome.png")
    suggestions.get_by_role("button", name="Plan a weekend in Lisbon").click()
    expect(page.locator("[data-reasoning]")).to_contain_text("The weather decides")
    # Both run at the same time: neither has its output yet.
    expect(page.get_by_role("button", name="Running 2 tool calls")).to_be_visible()
    both = '[data-tool="get_weather"][data-state="input-available"] ~ [data-tool="find_hotels"]'
    expect(page.locator(f'{both}[data-state="input-available"]')).to_be_attached()
    expect(tool(page, "write_itinerary", "input-streaming")).to_contain_text("Arriving in Lisbon")
    page.screenshot(path=shots / f"{name}-2-arguments.png")
    press(page, "Approve")
    expect(page.get_by_text("Your reference is LIS-2-190")).to_be_visible()
    expect_status(page, "ready")
    expect(page.get_by_role("navigation", name="Sources")).to_be_visible()
    assert answers(page).count() == 1
    assert page.locator("img[data-picture]").count() == 1
    page.screenshot(path=shots / f"{name}-3-done.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
