"""Messages that are sent while an answer is being written: the page queues them, or gives them to the agent."""

from typing import Final

import pytest
from playwright.sync_api import APIResponse, FilePayload, Locator, Page, Route, expect

from tests.demo_page import STREAMING_TEXT, answers, expect_status, field, press, say, texts
from tests.pages.conftest import Open
from tests.pages.scenes import BEGINNING, END, Scenes

pytestmark = [pytest.mark.pages, pytest.mark.browser, pytest.mark.node]


NOTE: Final = FilePayload(name="note.txt", mimeType="text/plain", buffer=b"Hello")


def queued(page: Page) -> Locator:
    return page.get_by_role("list", name="Queued messages").get_by_role("listitem")


@pytest.fixture
def steering_page(open_page: Open) -> Page:
    """Page of an app with ``while_busy="steer"``."""
    return open_page("steer/")


def begin_story(page: Page) -> None:
    say(page, "story")
    expect(page.locator(STREAMING_TEXT)).to_contain_text(BEGINNING)


def test_messages_in_mid_answer_wait_and_are_sent_one_after_the_other(page: Page, scenes: Scenes) -> None:
    begin_story(page)
    say(page, "first")
    say(page, "second")
    expect(queued(page)).to_contain_text(["first", "second"])
    expect_status(page, "streaming")
    scenes.go_on()
    expect(texts(page)).to_have_text([BEGINNING + END, "You said: first", "You said: second"])
    expect(queued(page)).to_have_count(0)
    page.reload()
    expect(texts(page)).to_have_text([BEGINNING + END, "You said: first", "You said: second"])


def test_a_queued_message_is_edited_and_removed(page: Page, scenes: Scenes) -> None:
    begin_story(page)
    say(page, "first")
    say(page, "second")
    queued(page).first.get_by_role("button", name="Edit the queued message").click()
    expect(field(page)).to_have_value("first")
    expect(field(page)).to_be_focused()
    say(page, "third")
    expect(queued(page)).to_contain_text(["second", "third"])
    queued(page).first.get_by_role("button", name="Remove the queued message").click()
    expect(queued(page)).to_contain_text(["third"])
    scenes.go_on()
    expect(texts(page)).to_have_text([BEGINNING + END, "You said: third"])


def test_queued_messages_are_kept_over_a_reload_and_sent_after_the_reply(page: Page, scenes: Scenes) -> None:
    begin_story(page)
    say(page, "first")
    say(page, "second")
    page.reload()
    expect(queued(page)).to_contain_text(["first", "second"])
    expect_status(page, "streaming")
    scenes.go_on()
    expect(texts(page)).to_have_text([BEGINNING + END, "You said: first", "You said: second"])
    page.reload()
    expect(texts(page)).to_have_count(3)
    expect(queued(page)).to_have_count(0)


def test_queued_messages_belong_to_their_chat_and_wait_for_the_user_once_its_reply_is_over(
    page: Page, scenes: Scenes
) -> None:
    page.get_by_label("Files", exact=True).set_input_files(NOTE)
    begin_story(page)
    page.get_by_label("Files", exact=True).set_input_files(NOTE)
    say(page, "files")
    press(page, "New chat")
    expect(page.get_by_role("article")).to_have_count(0)
    expect(queued(page)).to_have_count(0)
    scenes.go_on()
    expect(page.get_by_role("img", name="Answering")).to_have_count(0)
    page.go_back()
    expect(texts(page)).to_have_text([BEGINNING + END])
    expect(queued(page)).to_contain_text(["files"])
    expect(page.get_by_text("Not sent yet")).to_be_visible()
    press(page, "Send now")
    expect(texts(page).last).to_have_text("text/plain, 5 bytes")
    expect(queued(page)).to_have_count(0)


def test_files_that_the_browser_cannot_keep_are_dropped_with_a_note(page: Page) -> None:
    begin_story(page)
    large = FilePayload(name="large.txt", mimeType="text/plain", buffer=b"x" * 6_000_000)
    page.get_by_label("Files", exact=True).set_input_files(large)
    expect(page.get_by_role("list", name="Attached files")).to_be_visible()
    say(page, "files")
    page.reload()
    expect(queued(page)).to_have_text("filesits file was too large to keep")


def test_stop_and_send_are_both_there_while_something_is_typed(page: Page) -> None:
    begin_story(page)
    expect(page.get_by_role("button", name="Send", exact=True)).to_have_count(0)
    field(page).fill("later")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    press(page, "Stop")
    expect_status(page, "ready")
    expect(field(page)).to_have_value("later")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def test_a_queued_message_that_is_sent_now_is_answered_before_the_next_one(page: Page) -> None:
    begin_story(page)
    say(page, "first")
    say(page, "second")
    queued(page).first.get_by_role("button", name="Send now").click()
    expect(texts(page)).to_have_text([BEGINNING, "You said: first", "You said: second"])
    expect(queued(page)).to_have_count(0)


def test_after_a_stop_what_is_queued_waits_for_its_button(page: Page) -> None:
    begin_story(page)
    say(page, "first")
    expect(queued(page)).to_have_count(1)
    field(page).press("Escape")
    expect_status(page, "ready")
    expect(queued(page)).to_have_count(1)
    expect(answers(page)).to_have_count(1)
    press(page, "Send now")
    expect(texts(page)).to_have_text([BEGINNING, "You said: first"])


def test_a_queued_message_waits_until_an_approval_is_given(page: Page) -> None:
    say(page, "pay")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    say(page, "never mind")
    expect(texts(page)).to_have_text(["You said: never mind"])  # the agent was not busy: it is a message as ever


def test_a_message_in_mid_answer_interrupts_it_if_the_app_chooses_so(open_page: Open) -> None:
    page = open_page("interrupt/")
    begin_story(page)
    say(page, "now")
    expect(texts(page)).to_have_text([BEGINNING, "You said: now"])
    expect(queued(page)).to_have_count(0)
    expect(page.get_by_role("article")).to_have_count(4)


def test_the_agent_takes_in_a_message_during_a_tool(steering_page: Page, scenes: Scenes) -> None:
    page = steering_page
    say(page, "dig")
    expect(page.locator('[data-tool="dig"]')).to_be_visible()
    say(page, "make it short")
    expect(queued(page)).to_contain_text(["sent to the agent"])
    scenes.go_on()
    expect(page.locator("[data-steering]")).to_have_text("make it short")
    expect(texts(page)).to_have_text(["You said: make it short"])
    expect(queued(page)).to_have_count(0)
    expect_status(page, "ready")
    expect(page.get_by_role("article", name="You")).to_have_count(1)
    page.reload()
    expect(page.locator("[data-steering]")).to_have_text("make it short")
    expect(page.get_by_role("article")).to_have_count(2)


def test_a_message_that_comes_too_late_is_shown_as_the_next_turn(steering_page: Page, scenes: Scenes) -> None:
    page = steering_page
    begin_story(page)
    say(page, "and now")
    expect(queued(page)).to_contain_text(["sent to the agent"])
    scenes.go_on()
    expect(texts(page)).to_have_text([BEGINNING + END, "You said: and now"])
    expect(queued(page)).to_have_count(0)
    expect(page.get_by_role("article", name="You")).to_have_count(2)


def test_a_message_that_comes_too_late_is_shown_although_the_server_says_so_after_the_end(
    steering_page: Page, scenes: Scenes
) -> None:
    page = steering_page
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/steer", lambda route: held.append((route, route.fetch())))
    begin_story(page)
    with page.expect_request("**/steer"):
        say(page, "and now")
    expect(queued(page)).to_contain_text(["sent to the agent"])
    scenes.go_on()
    expect_status(page, "ready")
    [(route, response)] = held
    route.fulfill(response=response)
    expect(texts(page)).to_have_text([BEGINNING + END, "You said: and now"])
    expect(queued(page)).to_have_count(0)
