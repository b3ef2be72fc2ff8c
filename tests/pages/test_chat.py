"""The parts of a chat, one feature a test."""

import re
from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.demo_page import STREAMING_TEXT, answers, expect_status, field, press, say, texts, tool
from tests.pages.conftest import Open
from tests.pages.scenes import BEGINNING, END, SUGGESTIONS, Scenes

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

NOTE: Final = FilePayload(name="note.txt", mimeType="text/plain", buffer=b"Hello")

GIVE_FILES: Final = """([kind, target]) => {
    const files = new DataTransfer();
    for (const name of ["one.png", "two.png"]) files.items.add(new File(["123"], name, { type: "image/png" }));
    const how = { bubbles: true, cancelable: true, [kind === "paste" ? "clipboardData" : "dataTransfer"]: files };
    const Event = kind === "paste" ? ClipboardEvent : DragEvent;
    document.querySelector(target).dispatchEvent(new Event(kind, how));
}"""


def test_a_suggestion_is_sent_by_a_click(page: Page) -> None:
    suggestions = page.get_by_role("list", name="Suggestions").get_by_role("button")
    expect(suggestions).to_have_text(list(SUGGESTIONS))
    suggestions.first.click()
    expect(answers(page)).to_contain_text("You said: hello there")


def test_the_page_says_from_the_start_who_answers_by_which_model(open_page: Open) -> None:
    page = open_page(width=390, height=420)  # where the suggestions need more than that
    expect(page.get_by_role("list", name="Suggestions").get_by_role("button")).to_have_count(len(SUGGESTIONS))
    expect(page.get_by_role("heading", name="What can I do for you?")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("heading", level=1)).to_have_text("guide")
    expect(page.get_by_role("region", name="Welcome")).to_contain_text("Chatting with guide (scripted).")
    expect(page.get_by_title("The model that answers")).to_have_count(0)  # there is one, and the replies name it


def test_thoughts_fold_and_say_how_long_they_took(page: Page, shots: Path) -> None:
    say(page, "think")
    expect(page.locator("[data-reasoning]")).to_contain_text("Let me see.")
    summary = page.get_by_role("button", name=re.compile(r"Thought for \d\.\d s"))
    expect(summary).to_have_attribute("aria-expanded", "false")
    expect(page.locator("[data-reasoning]")).to_have_count(0)
    summary.click()
    expect(page.locator("[data-reasoning]")).to_contain_text("Let me see.")
    page.screenshot(path=shots / "reasoning.png")
    expect_status(page, "ready")
    page.reload()
    expect(page.get_by_role("button", name="Thought", exact=True)).to_be_visible()  # nobody has stored how long


def test_words_that_rest_on_a_source_have_its_number(page: Page) -> None:
    say(page, "cite")
    answer = answers(page).last
    marks = answer.locator("[data-citation]")
    expect(marks).to_have_text(["1", "2", "2", "1", "2"])
    expect(answer.locator("p").first).to_have_text("Himeji Castle 🏯 stands in 姫路市.12 It was built in 1333.2")
    expect(answer.get_by_role("columnheader").first).to_have_text(re.compile(r"^\S{4}1$"))
    expect(answer.locator("pre")).to_have_text("code")
    expect(marks.first).to_have_attribute("href", "https://castle.example/a")
    marks.first.hover()
    expect(page.get_by_role("tooltip")).to_have_text("Himeji <Castle>")
    marks.last.focus()
    expect(page.get_by_role("tooltip")).to_have_text("Another")
    page.reload()
    expect(marks).to_have_text(["1", "2", "2", "1", "2"])


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_search_suggestions_are_in_a_frame_of_their_own(open_page: Open, colors: Literal["light", "dark"]) -> None:
    page = open_page(colors=colors)
    say(page, "cite")
    frame = answers(page).last.locator("iframe")
    chip = frame.content_frame.get_by_role("link", name="himeji")
    expect(chip).to_have_css("color", "rgb(1, 2, 3)")
    expect(chip).to_have_css("font-size", "17px")
    page.context.route("https://search.example/**", lambda route: route.fulfill(body="found"))
    with page.context.expect_page() as opened:
        chip.click()
    expect(opened.value.locator("body")).to_have_text("found")
    assert opened.value.evaluate("window.opener") is None


def test_search_suggestions_have_the_theme_that_the_reader_chose(open_page: Open, shots: Path) -> None:
    page = open_page(colors="light")
    say(page, "cite")
    frame = answers(page).last.locator("iframe").content_frame
    chip = frame.get_by_role("link", name="himeji")
    expect(chip).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    page.evaluate("localStorage.setItem('theme', 'dark'); dispatchEvent(new Event('setting-changed'))")
    expect(chip).to_have_css("background-color", "rgb(204, 205, 206)")
    expect(frame.locator("html")).to_have_css("color-scheme", "dark")
    page.screenshot(path=shots / "suggestions-dark.png")
    page.emulate_media(color_scheme="dark")
    page.evaluate("localStorage.setItem('theme', 'light'); dispatchEvent(new Event('setting-changed'))")
    expect(chip).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    expect(frame.locator("html")).to_have_css("color-scheme", "light")


def test_search_suggestions_without_colours_for_the_dark_stand_on_white(open_page: Open, shots: Path) -> None:
    page = open_page(colors="dark")
    say(page, "plain")
    inside = answers(page).last.locator("iframe").content_frame.locator("html")
    expect(inside).to_have_css("color-scheme", "light")
    expect(inside).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(inside).to_have_css("color", "rgb(0, 0, 0)")
    page.screenshot(path=shots / "suggestions-plain.png")


def test_no_script_runs_in_the_frame_and_nothing_is_fetched(browser: Browser, url: str) -> None:
    tab = browser.new_page()
    asked: list[str] = []
    refused: dict[str, str | None] = {}
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("requestfailed", lambda request: refused.update({request.url: request.failure}))
    tab.goto(url)
    say(tab, "hostile")
    expect(answers(tab).last.locator("iframe").content_frame.get_by_text("himeji")).to_be_visible()
    expect_status(tab, "ready")
    answers(tab).last.locator("iframe").content_frame.get_by_text("himeji").click()
    assert tab.evaluate("[window.taken, document.title === 'taken']") == [None, False]
    elsewhere = [other for other in asked if not other.startswith((url, "data:"))]
    assert {refused.get(other) for other in elsewhere} <= {"csp"}
    tab.close()


def test_sources_are_numbered_citations(page: Page) -> None:
    say(page, "think")
    cited = page.get_by_role("navigation", name="Sources").get_by_role("listitem")
    expect(cited).to_have_text([re.compile("^1.*All rivers.*rivers.example"), re.compile("^2.*The sea")])
    expect(page.get_by_role("link", name="All rivers")).to_have_attribute("href", "https://rivers.example/a")


@pytest.mark.parametrize(("kind", "target"), [("paste", "textarea"), ("drop", "main")])
def test_files_are_pasted_and_dropped_and_one_is_removed(page: Page, shots: Path, kind: str, target: str) -> None:
    page.evaluate(GIVE_FILES, [kind, target])
    attached = page.get_by_role("list", name="Attached files").get_by_role("listitem")
    expect(attached).to_have_text(["one.png3 B", "two.png3 B"])
    page.get_by_label("Files", exact=True).set_input_files(NOTE)
    expect(attached).to_have_count(3)
    expect(attached.locator("img")).to_have_count(0)
    page.screenshot(path=shots / "attached.png")
    press(page, "Remove two.png")
    expect(attached).to_have_text(["one.png3 B", "note.txt5 B"])
    say(page, "files")
    expect(answers(page)).to_contain_text("image/png, 3 bytes; text/plain, 5 bytes")
    mine = page.get_by_role("article", name="You")
    expect(mine.get_by_role("link", name="one.png 3 B")).to_have_count(1)  # three bytes are no image
    expect(mine.get_by_role("link", name="note.txt")).to_have_attribute("download", "note.txt")


def test_an_image_of_the_agent_is_shown(page: Page) -> None:
    say(page, "draw")
    expect(texts(page)).to_have_text("There.")
    picture = page.locator("img[data-picture]")
    expect(picture).to_have_js_property("complete", value=True)
    assert picture.evaluate("image => image.naturalWidth") > 0


def test_a_transfer_and_the_name_of_the_other_agent_are_shown(page: Page, shots: Path) -> None:
    say(page, "hello")
    expect(texts(page)).to_have_text("You said: hello")
    say(page, "sail")
    expect(page.locator("[data-transfer]")).to_have_text("Handed over to skipper")
    expect(answers(page).last).to_contain_text("Aye.")
    expect(page.locator("[data-speaker]")).to_have_count(0)  # the line above says it
    say(page, "sail on")
    expect(answers(page).last.locator("[data-speaker]")).to_have_text("skipper")
    page.screenshot(path=shots / "transfer.png")


def test_data_without_a_renderer_is_a_folded_table(page: Page) -> None:
    say(page, "wind")
    forecast = page.get_by_role("figure", name="The weather in Lisbon")
    expect(forecast.get_by_role("listitem")).to_have_text(["Monclear21 °C", "Tuehail17 °C"])
    fold = answers(page).get_by_role("button", name="Wind")
    expect(fold).to_have_text("Wind12")
    fold.click()
    expect(page.locator("[data-unknown=data-wind] dl")).to_have_text("Knots12")


def test_data_of_another_shape_than_its_renderers_is_a_folded_table(page: Page, expected_errors: list[str]) -> None:
    expected_errors.append("TypeError")
    with page.expect_console_message(lambda message: "TypeError" in message.text):
        say(page, "misshapen")
    answers(page).get_by_role("button", name="Weather").click()
    expect(page.locator("[data-unknown=data-weather] dl")).to_have_text("CityPorto")
    expect(texts(page)).to_have_text("Not measured.")


def test_each_message_says_its_model_and_its_usage_where_its_buttons_are_used(open_page: Open, shots: Path) -> None:
    page = open_page()
    say(page, "hello")
    usage = page.locator("[data-usage]")
    expect(usage).to_have_text("scripted · 1,234 tokens in · 12 out · 7 reasoning")
    expect(usage).to_have_css("opacity", "0")
    page.screenshot(path=shots / "usage-hidden.png")
    answers(page).get_by_role("button", name="Regenerate").hover()
    expect(usage).to_have_css("opacity", "1")
    page.screenshot(path=shots / "usage-shown.png")
    field(page).hover()
    expect(usage).to_have_css("opacity", "0")
    answers(page).get_by_role("button", name="Regenerate").focus()
    expect(usage).to_have_css("opacity", "1")
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 700})
        assert usage.evaluate("line => line.scrollWidth <= line.clientWidth")  # a narrow window shows all numbers


ABOVE_THE_COMPOSER: Final = """() => {
    const edge = (selector, side) => document.querySelector(selector).getBoundingClientRect()[side];
    return edge("[data-problem]", "bottom") <= edge("main form", "top");
}"""


@pytest.mark.parametrize("height", [900, 420])
def test_an_error_stands_in_the_flow_with_its_cause_and_retry(open_page: Open, shots: Path, height: int) -> None:
    page = open_page(height=height)
    say(page, f"fail {height} {page.url.partition(':')[2]}")
    problem = page.get_by_role("log").locator("[data-problem]")
    expect(problem).to_contain_text("Lost the connection to the model. Try again.")
    expect(page.get_by_role("button", name="Retry")).to_be_in_viewport(ratio=1)
    page.wait_for_function(ABOVE_THE_COMPOSER)  # it is scrolled there
    page.screenshot(path=shots / f"error-{height}.png")
    press(page, "Retry")
    expect(answers(page).last).to_contain_text("You said: fail")
    expect(problem).to_have_count(0)


def test_a_message_is_copied_edited_and_answered_anew(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    say(page, "hello")
    expect(answers(page)).to_contain_text("You said: hello")
    expect_status(page, "ready")
    answers(page).get_by_role("button", name="Copy").click()
    expect(answers(page).get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "You said: hello"
    page.get_by_role("article", name="You").get_by_role("button", name="Edit").click()
    page.get_by_label("Edit message").fill("goodbye")
    page.get_by_label("Edit message").press("Enter")
    expect(answers(page)).to_contain_text("You said: goodbye")
    expect_status(page, "ready")
    with page.expect_response("**/api/chat") as answered:
        press(page, "Regenerate")
    sent = answered.value.request.post_data_json
    assert sent is not None
    assert sent["trigger"] == "regenerate-message"
    expect_status(page, "ready")
    expect(page.get_by_role("article")).to_have_count(2)


def test_versions_of_a_message_are_chosen_by_arrows_and_found_after_a_reload(page: Page, shots: Path) -> None:
    say(page, "hello")
    expect(answers(page)).to_contain_text("You said: hello")
    expect_status(page, "ready")
    press(page, "Regenerate")
    expect(answers(page).get_by_role("group", name="Versions")).to_have_text("2/2")
    page.get_by_role("article", name="You").get_by_role("button", name="Edit").click()
    page.get_by_label("Edit message").fill("goodbye")
    page.get_by_label("Edit message").press("Enter")
    expect(answers(page)).to_contain_text("You said: goodbye")
    mine = page.get_by_role("article", name="You").get_by_role("group", name="Versions")
    expect(mine).to_have_text("2/2")
    expect(mine.get_by_role("button", name="Next version")).to_be_disabled()
    field(page).focus()
    page.mouse.move(0, 0)
    expect(mine.locator("..")).to_have_css("opacity", "1")  # seen without the pointer, too
    page.screenshot(path=shots / "versions.png", animations="disabled")
    mine.get_by_role("button", name="Previous version").click()
    expect(answers(page)).to_contain_text("You said: hello")
    expect(mine).to_have_text("1/2")
    theirs = answers(page).get_by_role("group", name="Versions")
    expect(theirs).to_have_text("2/2")
    theirs.get_by_role("button", name="Previous version").click()
    expect(theirs).to_have_text("1/2")
    page.reload()
    expect(theirs).to_have_text("1/2")
    say(page, "go on")
    expect(answers(page).last).to_contain_text("You said: go on")
    expect(page.get_by_role("article")).to_have_count(4)


def test_escape_stops_the_answer_and_one_that_closes_a_menu_does_not(page: Page) -> None:
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    press(page, "Menu")
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Menu")).to_be_focused()  # where one was before
    expect_status(page, "streaming")
    expect(page).to_have_title("● story")
    field(page).press("Escape")
    expect_status(page, "ready")
    expect(texts(page)).to_have_text(BEGINNING)
    expect(answers(page).locator("[data-outcome]")).to_have_text("Stopped")
    expect(page).to_have_title("story")
    expect(field(page)).to_be_focused()


def test_messages_that_are_sent_now_in_the_middle_of_an_answer_end_it(page: Page, shots: Path) -> None:
    page.set_viewport_size({"width": 1100, "height": 400})
    say(page, "story\n" + "\n".join("of a long question" for _ in range(40)))
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    field(page).fill("never mind")
    page.screenshot(path=shots / "in-mid-answer.png")
    page.get_by_role("log").hover()
    page.mouse.wheel(0, -5000)
    expect(page.get_by_role("button", name="Scroll to the end")).to_be_visible()
    field(page).press("Enter")
    press(page, "Send now")
    expect(texts(page)).to_have_text([BEGINNING, "You said: never mind"])
    expect_status(page, "ready")
    expect(page.get_by_role("article", name="You").last).to_be_in_viewport()
    expect(answers(page).first.locator("[data-outcome]")).to_have_count(1)
    expect(answers(page).last.locator("[data-outcome]")).to_have_count(0)
    page.reload()
    expect(texts(page)).to_have_text([BEGINNING, "You said: never mind"])
    expect(answers(page).first.locator("[data-outcome]")).to_have_text("Stopped")
    expect(answers(page).last.locator("[data-outcome]")).to_have_count(0)


def test_a_page_that_is_reloaded_in_mid_answer_takes_it_up(page: Page, scenes: Scenes) -> None:
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    page.reload()
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    scenes.go_on()
    expect(texts(page)).to_have_text(BEGINNING + END)


SLOW_TO_DRAW: Final = """() => {
    const { get, set } = Object.getOwnPropertyDescriptor(Node.prototype, "nodeValue");
    Object.defineProperty(Node.prototype, "nodeValue", { get, set(text) {
        const until = performance.now() + (this.parentElement?.closest("[data-text]") ? 1000 : 0);
        while (performance.now() < until);
        set.call(this, text);
    } });
    window.drawn = new Set();
    const note = () => document.querySelectorAll("[data-text]").forEach((each) => window.drawn.add(each.textContent));
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
"""Script after which the page needs a second for each change of a text. It notes the texts that are drawn."""


def test_a_text_that_is_slow_to_draw_is_drawn_less_often_than_it_grows_and_its_end_at_once(page: Page) -> None:
    page.evaluate(SLOW_TO_DRAW)
    say(page, "slowly")
    expect(texts(page)).to_have_text("One two three four.")
    drawn = page.evaluate("[...window.drawn]")
    assert len(drawn) < len(["One", "One two", "One two three", "One two three four."]), drawn


def test_an_approval_goes_on_with_the_same_message(page: Page) -> None:
    say(page, "pay")
    expect(tool(page, "pay", "approval-requested")).to_be_visible()
    press(page, "Approve")
    expect(tool(page, "pay", "output-available")).to_be_visible()
    expect(texts(page)).to_have_text("Paid.")
    expect(answers(page)).to_have_count(1)


@pytest.mark.parametrize(("width", "colors"), [(1100, "light"), (390, "dark")])
def test_code_mathematics_tables_and_tasks_fit_each_screen(
    open_page: Open, shots: Path, width: int, colors: str
) -> None:
    page = open_page(width=width, height=900, colors="dark" if colors == "dark" else "light")
    say(page, "table")
    expect(page.locator(".katex").first).to_be_visible()
    expect(page.locator("[data-streamdown=code-block-body]")).to_contain_text("def greet")
    expect_status(page, "ready")
    page.screenshot(path=shots / f"markdown-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WORDS_IN_ONE_LINE, "Straßenbahnersatzverkehrshaltestelle")
    page.wait_for_function(COLOURED_CODE)  # its colours come later
    boxes = page.get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    expect(page.get_by_role("checkbox", name="packed")).to_be_checked()


COLOURED_CODE: Final = """() => {
    const spans = [...document.querySelectorAll("[data-streamdown=code-block-body] span")];
    return new Set(spans.map((span) => getComputedStyle(span).color)).size > 2;
}"""
WORDS_IN_ONE_LINE: Final = """(words) => {
    const cell = [...document.querySelectorAll("td")].find((cell) => cell.textContent.includes(words));
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length === 1;
}"""


def test_words_from_right_to_left_begin_at_the_right(page: Page, shots: Path) -> None:
    say(page, "arabic")
    words = page.get_by_text("مرحبا")
    expect(words).to_be_visible()
    assert words.evaluate("element => getComputedStyle(element).direction") == "rtl"
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert page.get_by_role("complementary").bounding_box()["x"] > 500  # type: ignore[index]  # it is visible
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100
    page.screenshot(path=shots / "right-to-left.png")
