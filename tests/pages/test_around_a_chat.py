"""The parts of the page around a chat: the list of chats, the palette, shortcuts, themes, and places in the URL."""

import re
from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.demo_page import COLOURED, STREAMING_TEXT, answers, expect_status, field, press, say, texts
from tests.pages.conftest import Open
from tests.pages.scenes import BEGINNING, Scenes

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]

BACKGROUND: Final = "getComputedStyle(document.documentElement).backgroundColor"


def sidebar(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Chats")


def current(page: Page) -> Locator:
    return sidebar(page).get_by_role("listitem").filter(has=page.locator("[aria-current]"))


def choose(page: Page, item: Locator, action: str) -> None:
    item.get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name=action).click()


def waiting(page: Page, title: str) -> Locator:
    """The mark in the list of a chat that waits for the user."""
    listed = sidebar(page).get_by_role("listitem").filter(has_text=title)
    expect(listed).to_have_count(1)
    return listed.get_by_role("img", name="Needs your input")


def test_a_chat_that_waits_for_the_user_is_marked_also_beside_another_chat(page: Page, shots: Path) -> None:
    say(page, "pay 7")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(waiting(page, "pay 7")).to_be_visible()
    press(page, "New chat")
    say(page, "hello")
    expect_status(page, "ready")
    expect(current(page).get_by_role("img", name="Needs your input")).to_have_count(0)
    expect(waiting(page, "pay 7")).to_be_visible()
    page.screenshot(path=shots / "waiting-chat.png")
    sidebar(page).get_by_role("link", name="pay 7").click()
    press(page, "Approve")
    expect(waiting(page, "pay 7")).to_have_count(0)


@pytest.mark.parametrize(("title", "ending"), [("pay 8", "approval"), ("pay 9", "denial"), ("pay 10", "message")])
def test_each_browser_marks_a_chat_that_waits_until_it_is_answered_or_goes_on(
    open_page: Open, title: str, ending: str
) -> None:
    page = open_page()
    say(page, title)
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    chat = page.url.partition("#")[2]
    other = open_page()
    expect(waiting(other, title)).to_be_visible()
    answering = open_page(f"#{chat}")
    match ending:
        case "approval":
            press(answering, "Approve")
        case "denial":
            press(answering, "Deny…")
            answering.get_by_label("Reason").press("Enter")
        case _:
            say(answering, "never mind")
    expect(answering.get_by_role("form", name="Approval")).to_have_count(0)
    expect_status(answering, "ready")
    other.evaluate("window.dispatchEvent(new Event('focus'))")  # of a tab to which the user returns
    for tab in (other, answering):
        expect(waiting(tab, title)).to_have_count(0)


def test_a_chat_is_marked_while_it_runs_and_searched_renamed_archived_and_deleted(
    page: Page, scenes: Scenes, shots: Path
) -> None:
    say(page, "story of the sidebar")
    expect(current(page).get_by_role("img", name="Answering")).to_be_visible()
    page.screenshot(path=shots / "sidebar.png")
    scenes.go_on()
    expect_status(page, "ready")
    expect(page.get_by_role("img", name="Answering")).to_have_count(0)
    choose(page, current(page), "Rename")
    page.get_by_label("Title", exact=True).fill("Streams")
    page.get_by_label("Title", exact=True).press("Enter")
    expect(current(page)).to_contain_text("Streams")
    page.get_by_label("Search titles").fill("no such title")
    expect(sidebar(page)).to_contain_text("No chats found.")
    page.get_by_label("Search titles").fill("stREAMS")
    expect(current(page)).to_contain_text("Streams")
    expect(page.get_by_role("button", name="Archived")).to_have_count(0)  # there is none
    choose(page, current(page), "Archive")
    expect(current(page)).to_have_count(0)
    press(page, "Archived")
    expect(current(page)).to_contain_text("Streams")
    choose(page, current(page), "Delete")
    asked = page.get_by_role("alertdialog")
    expect(asked).to_contain_text("“Streams” and its files will be gone.")
    page.screenshot(path=shots / "delete.png")
    asked.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("article")).to_have_count(0)
    assert "#" not in page.url


def test_the_list_of_chats_is_one_stop_of_the_tab_key(page: Page) -> None:
    for text in ("one stop", "two stops", "three stops"):
        press(page, "New chat")
        say(page, text)
        expect(texts(page)).to_have_text(f"You said: {text}")
        expect_status(page, "ready")
    links = sidebar(page).get_by_role("link", name="stop")
    expect(links).to_have_text(["three stops", "two stops", "one stop"])
    assert [link.get_attribute("tabindex") for link in links.all()] == ["0", "-1", "-1"]
    links.first.focus()
    for key, focused in (("ArrowDown", 1), ("End", -1), ("ArrowUp", -2), ("Home", 0), ("ArrowUp", 0), ("ArrowDown", 1)):
        page.keyboard.press(key)
        expect(sidebar(page).get_by_role("list").get_by_role("link").nth(focused)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="More for two stops")).to_be_focused()
    page.keyboard.press("Tab")
    expect(sidebar(page).locator("[data-chat]").get_by_role("link")).not_to_have_count(0)
    assert page.evaluate("document.activeElement.closest('[data-chat]')") is None


def test_a_chat_is_opened_by_its_url_and_the_way_back_leads_to_the_one_before(page: Page) -> None:
    say(page, "first")
    expect(texts(page)).to_have_text("You said: first")
    first = page.url
    press(page, "New chat")
    say(page, "second")
    expect(texts(page)).to_have_text("You said: second")
    expect_status(page, "ready")
    sidebar(page).get_by_role("link", name="first").first.click()
    expect(texts(page)).to_have_text("You said: first")
    assert page.url == first
    page.go_back()
    expect(texts(page)).to_have_text("You said: second")


def test_an_answer_goes_on_while_another_chat_is_looked_at(page: Page, scenes: Scenes) -> None:
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    press(page, "New chat")
    expect(field(page)).to_be_focused()
    page.go_back()
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)
    expect_status(page, "streaming")
    scenes.go_on()
    expect_status(page, "ready")


def test_what_is_typed_is_kept_for_each_chat(page: Page) -> None:
    field(page).fill("hello")
    page.reload()
    expect(field(page)).to_have_value("hello")
    field(page).press("Enter")
    expect_status(page, "ready")
    expect(field(page)).to_have_value("")
    field(page).fill("not sent")
    press(page, "New chat")
    expect(page.get_by_role("article")).to_have_count(0)
    expect(field(page)).to_have_value("")
    page.go_back()
    expect(answers(page)).to_have_count(1)
    expect(field(page)).to_have_value("not sent")


def test_chats_that_cannot_be_loaded_or_deleted_say_so(page: Page, expected_errors: list[str]) -> None:
    expected_errors.append("Failed to load resource")
    say(page, "to be put away")
    expect(current(page)).to_be_visible()
    choose(page, current(page), "Archive")
    press(page, "New chat")
    say(page, "hello")
    expect(sidebar(page).get_by_role("region", name="Today")).to_contain_text("hello")
    page.route("**/api/chat/*", lambda route: route.fulfill(status=500))
    choose(page, current(page), "Delete")
    page.get_by_role("button", name="Delete").click()
    expect(sidebar(page).get_by_role("alert")).to_contain_text("The chat could not be deleted.")
    expect(texts(page)).to_have_text("You said: hello")
    page.route("**/api/chats?*", lambda route: route.fulfill(status=500))
    press(page, "Archived")
    expect(sidebar(page).get_by_role("alert")).to_contain_text("The chats could not be loaded.")
    page.unroute_all()
    press(page, "Reload")
    expect(sidebar(page)).to_contain_text("to be put away")
    expect(sidebar(page).get_by_role("alert")).to_have_count(0)
    choose(page, sidebar(page).locator("[data-chat]").first, "Unarchive")
    expect(sidebar(page)).to_contain_text("Nothing is archived.")
    press(page, "Back to the chats")
    expect(sidebar(page).get_by_role("region", name="Today")).to_contain_text("to be put away")
    expect(page.get_by_role("button", name="Archived")).to_have_count(0)


SMALL: Final = """() => [...document.querySelectorAll("button, nav a, input, textarea")]
    .filter((one) => one.checkVisibility() && !one.classList.contains("not-focus:sr-only"))
    .filter((one) => one.matches("button, a")
        ? Math.min(one.offsetWidth, one.offsetHeight) < 44
        : parseFloat(getComputedStyle(one).fontSize) < 16)
    .map((one) => one.ariaLabel ?? one.textContent)"""


def touch_page(open_page: Open) -> Page:
    """A new chat on a phone."""
    page = open_page(width=390, height=800)
    touch = {"enabled": True, "maxTouchPoints": 1}
    page.context.new_cdp_session(page).send("Emulation.setTouchEmulationEnabled", touch)
    page.wait_for_function("() => matchMedia('(pointer: coarse)').matches")
    return page


def test_a_finger_finds_large_targets_and_no_field_makes_the_phone_zoom(open_page: Open, shots: Path) -> None:
    page = touch_page(open_page)
    say(page, "form")
    expect(page.get_by_role("form", name="Answer")).to_be_visible()
    expect_status(page, "ready")
    page.screenshot(path=shots / "touch.png")
    assert page.evaluate(SMALL) == []
    press(page, "Show chats")
    expect(sidebar(page)).to_be_visible()
    assert page.evaluate(SMALL) == []


BELOW_THE_CONVERSATION: Final = """() => {
    const button = document.querySelector("[aria-label='Scroll to the end']").getBoundingClientRect();
    const conversation = document.querySelector("[role=log]").parentElement.getBoundingClientRect();
    const field = document.querySelector("main textarea[aria-label=Message]");
    const composer = field.closest("form").getBoundingClientRect();
    return conversation.bottom <= button.top && button.bottom <= composer.top;
}"""


def test_on_a_touch_screen_the_button_to_the_end_covers_nothing(open_page: Open, shots: Path) -> None:
    page = touch_page(open_page)
    say(page, "form")
    expect(page.get_by_role("form", name="Answer")).to_be_visible()
    expect(page.get_by_role("button", name="Scroll to the end")).to_be_visible()  # the form is higher than the screen
    page.screenshot(path=shots / "touch-end.png")
    assert page.evaluate(BELOW_THE_CONVERSATION)
    press(page, "Scroll to the end")
    expect(page.get_by_role("button", name="Scroll to the end")).to_have_count(0)


def test_the_open_chat_differs_from_the_one_under_the_pointer(page: Page) -> None:
    say(page, "hello")
    expect_status(page, "ready")
    press(page, "New chat")
    say(page, "goodbye")
    expect_status(page, "ready")
    rows = page.locator("[data-chat]")
    looks = "row => [getComputedStyle(row).backgroundColor, getComputedStyle(row, '::before').content]"
    rows.last.hover()
    expect(rows.last).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
    assert rows.first.evaluate(looks) != rows.last.evaluate(looks)


def test_on_a_touch_screen_a_source_is_no_higher_than_a_finger_needs(open_page: Open, shots: Path) -> None:
    page = touch_page(open_page)
    say(page, "buy")
    expect(page.get_by_role("form", name="Approval")).to_be_visible()
    chips = page.get_by_role("navigation", name="Sources").get_by_role("listitem")
    expect(chips).to_have_count(2)
    heights = chips.evaluate_all("chips => chips.map((chip) => chip.getBoundingClientRect().height)")
    assert all(44 <= height <= 47 for height in heights)
    expect(page.locator("[data-usage]")).to_be_hidden()
    page.screenshot(path=shots / "touch-sources.png")


OUTSIDE: Final = """() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    return box("[data-streamdown=code-block-actions] button").bottom <= box("[data-streamdown=code-block-body]").top;
}"""


def test_on_a_touch_screen_titles_end_in_an_ellipsis_and_the_copy_button_lies_beside_the_code(
    open_page: Open, shots: Path
) -> None:
    page = touch_page(open_page)
    say(page, "write a title that is far too long for the list of all chats\n```python\nx = 1\n```")
    expect_status(page, "ready")
    expect(page.locator("code").locator(COLOURED).first).to_be_visible()
    page.screenshot(path=shots / "touch-code.png")
    assert page.evaluate(OUTSIDE)
    press(page, "Show chats")
    title = current(page).get_by_role("link")
    expect(title).to_have_css("display", "block")
    expect(title).to_have_css("text-overflow", "ellipsis")
    assert title.evaluate("link => link.scrollWidth > link.clientWidth")
    page.screenshot(path=shots / "touch-titles.png")


def test_a_url_that_names_no_chat_is_a_new_one(open_page: Open) -> None:
    page = open_page("#%")
    say(page, "hello")
    expect(texts(page)).to_have_text("You said: hello")


def test_a_new_chat_fetches_the_list_once_and_nothing_that_it_does_not_show(open_page: Open) -> None:
    page = open_page()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url.rpartition("/")[2].split("?")[0]))
    with page.expect_response("**/api/chats?*"):
        page.reload()
    expect(field(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert fetched.count("chats") == 1
    lazy = ("Inspector", "Palette", "katex", "languages")
    assert [name for name in fetched if name.startswith(lazy)] == []
    say(page, "write\n```python\nx = 1\n```\n\n$x^2$")
    expect(page.locator(".katex")).to_have_count(1)
    expect(page.locator("code").locator(COLOURED).first).to_be_visible()
    assert {name.partition("-")[0] for name in fetched if name.startswith(lazy)} == {"katex", "languages"}


def test_the_palette_finds_chats_and_commands(page: Page, shots: Path) -> None:
    say(page, "palette")
    expect(texts(page)).to_have_text("You said: palette")
    expect_status(page, "ready")
    press(page, "New chat")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Find a chat or a command")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.screenshot(path=shots / "palette.png")
    page.keyboard.type("palett")
    expect(palette.get_by_role("option").first).to_contain_text("palette")
    page.keyboard.press("Enter")
    expect(texts(page)).to_have_text("You said: palette")
    page.keyboard.press("Control+k")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("dark")
    expect(palette.get_by_role("option").first).to_contain_text("Dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize(("width", "colors"), [(1100, "light"), (390, "dark")])
def test_a_long_title_in_the_palette_ends_in_an_ellipsis_beside_its_date(
    open_page: Open, shots: Path, width: int, colors: Literal["light", "dark"]
) -> None:
    page = open_page(width=width, colors=colors)
    say(page, f"palette {'of a title that is far too long for one line, ' * 4}")
    expect_status(page, "ready")
    say(page, "hello")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Find a chat or a command")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("palette of")
    option = palette.get_by_role("option").filter(has=page.locator("time")).first
    title = option.locator("span")
    expect(title).to_have_css("text-overflow", "ellipsis")
    assert title.evaluate("title => title.scrollWidth > title.clientWidth")
    expect(option.locator("time")).to_be_in_viewport(ratio=1)
    expect(option.locator("time")).to_have_text(re.compile(r"^\d+:\d\d\W[AP]M$"))  # today
    inside = (
        "option => option.querySelector('time').getBoundingClientRect().right < option.getBoundingClientRect().right"
    )
    assert option.evaluate(inside)
    assert palette.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")
    page.screenshot(path=shots / f"palette-long-{width}.png")


def test_shortcuts_do_what_their_list_says(page: Page, shots: Path) -> None:
    page.keyboard.press("Control+/")
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_contain_text("Stop the answer")
    page.screenshot(path=shots / "shortcuts.png")
    page.keyboard.press("Escape")
    expect(shortcuts).to_have_count(0)
    page.keyboard.press("Control+b")
    expect(sidebar(page)).to_have_count(0)
    page.reload()
    expect(field(page)).to_be_visible()
    expect(sidebar(page)).to_have_count(0)
    say(page, "hello")
    expect(answers(page)).to_have_count(1)
    page.keyboard.press("Control+Shift+O")
    expect(page.get_by_role("article")).to_have_count(0)


def test_the_theme_is_the_systems_until_the_user_chooses_and_stays_chosen(open_page: Open) -> None:
    page = open_page(colors="dark")
    html = page.locator("html")
    dark = page.evaluate(BACKGROUND)
    press(page, "Menu")
    page.get_by_role("menuitemradio", name="Light").click()
    expect(html).not_to_have_css("background-color", dark)
    page.reload()
    expect(html).not_to_have_css("background-color", dark)
    press(page, "Menu")
    page.get_by_role("menuitemradio", name="System").click()
    expect(html).to_have_css("background-color", dark)


def test_the_chats_of_a_phone_are_over_the_page(open_page: Open, shots: Path) -> None:
    page = open_page(width=390, height=800)
    expect(sidebar(page)).to_have_count(0)
    press(page, "Show chats")
    expect(page.get_by_role("dialog", name="Chats")).to_be_visible()
    page.screenshot(path=shots / "phone-chats.png")
    press(page, "Close")
    expect(sidebar(page)).to_have_count(0)


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_the_header_of_a_phone_leaves_room_for_the_title(
    open_page: Open, shots: Path, colors: Literal["light", "dark"]
) -> None:
    page = open_page(width=390, height=800, colors=colors)
    say(page, "A title of four words")
    title = page.get_by_role("heading", level=1).locator("bdi")
    expect(title).to_have_text("A title of four words")
    expect(page.get_by_role("banner").get_by_role("button")).to_have_count(3)
    assert title.evaluate("title => title.scrollWidth <= title.clientWidth")
    page.screenshot(path=shots / f"phone-header-{colors}.png")
    press(page, "Menu")
    page.screenshot(path=shots / f"phone-menu-{colors}.png")
    page.get_by_role("menuitem", name="Find").click()
    expect(
        page.get_by_role("dialog").get_by_role("combobox", name="Find a chat by its title, or a command")
    ).to_be_focused()


def test_the_keyboard_alone_is_enough(page: Page) -> None:
    page.get_by_role("button", name="Skip to the message field").focus()
    page.keyboard.press("Enter")
    expect(field(page)).to_be_focused()
    page.keyboard.type("pay")
    page.keyboard.press("Enter")
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    for _ in range(5):
        page.keyboard.press("Tab")
        if approve.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(texts(page)).to_have_text("Paid.")
