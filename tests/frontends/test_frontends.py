"""Every example, driven in a browser against the server: what the page shows, what is stored and what the model was
asked agree after each step."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Route, ViewportSize, expect

from tests.frontends.builds import Frontend
from tests.frontends.chat_page import ChatPage
from tests.frontends.conftest import OpenChat, run_on
from tests.frontends.scripted_chats import STORY

FRONTENDS: Final = (
    Frontend("nextjs", 6),
    Frontend("nextjs", 7),
    Frontend("assistant-ui", 7),
    Frontend("vue", 6),
    Frontend("vue", 7),
    Frontend("svelte", 6),
    Frontend("svelte", 7),
)
COLORS: Final = ("light", "dark")
SCREENS: Final[Mapping[str, ViewportSize]] = {
    "desktop": {"width": 1200, "height": 850},
    "phone": {"width": 390, "height": 800},
}

pytestmark = run_on(*FRONTENDS)


def test_words_are_answered_and_the_field_keeps_the_focus(chat: ChatPage) -> None:
    chat.say("hello")
    expect(chat.answer).to_contain_text("You said: hello")
    expect(chat.field).to_be_focused()
    expect(chat.field).to_have_value("")
    chat.say("and again")
    expect(chat.answer).to_contain_text("You said: and again")
    assert len(chat.expect_agreement()) == 4
    chat.tab.reload()
    assert len(chat.expect_agreement()) == 4


def test_an_answer_shows_while_it_is_written_and_ends_where_it_is_stopped(chat: ChatPage) -> None:
    chat.say("story")
    expect(chat.answer).to_contain_text(STORY[0])
    chat.press("Stop")
    chat.expect_status("ready")
    expect(chat.field).to_be_focused()
    assert chat.backend.stored(chat.chat_id) == [("user", "story"), ("assistant", STORY[0])]
    chat.say("never mind")
    expect(chat.answer).to_contain_text("You said: never mind")
    chat.expect_agreement()


def test_thoughts_and_sources_are_shown(chat: ChatPage) -> None:
    chat.say("think")
    expect(chat.answer).to_contain_text("I have thought.")
    expect(chat.answer.get_by_role("link", name="All rivers")).to_be_visible()
    chat.press("Thoughts")
    expect(chat.answer).to_contain_text("Let me think about it.")
    chat.expect_agreement()


def test_an_edited_message_takes_back_what_followed(chat: ChatPage, frontend: Frontend) -> None:
    if frontend.example == "assistant-ui":
        pytest.skip("it cuts the history, as a tab does that is behind: the server can't tell the two apart")
    chat.say("first")
    chat.expect_status("ready")
    chat.say("second")
    chat.expect_status("ready")
    chat.tab.get_by_role("article", name="You").first.hover()
    chat.tab.get_by_role("button", name="Edit").first.click()
    chat.tab.get_by_label("Edit message").fill("instead")
    chat.press("Save")
    expect(chat.answer).to_contain_text("You said: instead")
    assert chat.expect_agreement() == [("user", "instead"), ("assistant", "You said: instead")]


def test_an_answer_is_made_anew(chat: ChatPage) -> None:
    chat.say("story")
    expect(chat.answer).to_contain_text(STORY[0])
    chat.backend.script.go_on()
    chat.expect_status("ready")
    chat.answer.hover()
    chat.press("Regenerate")
    chat.expect_status("streaming")
    chat.backend.script.go_on()
    expect(chat.answer).to_contain_text(STORY[1])
    assert chat.expect_agreement() == [("user", "story"), ("assistant", "".join(STORY))]


def test_a_call_runs_once_it_is_approved(chat: ChatPage) -> None:
    chat.say("pay")
    expect(chat.tool("pay")).to_have_attribute("data-state", "approval-requested")
    chat.press("Approve")
    expect(chat.answer).to_contain_text("Done: 5.0.")
    expect(chat.tool("pay")).to_have_attribute("data-state", "output-available")
    expect(chat.field).to_be_focused()
    assert len(chat.expect_agreement()) == 2
    assert len(chat.posts) == 2


def test_a_call_that_is_denied_after_a_reload_does_not_run(chat: ChatPage) -> None:
    chat.say("pay")
    chat.expect_status("ready")
    chat.tab.reload()
    chat.press("Deny")
    expect(chat.answer).to_contain_text("Done: None.")
    expect(chat.tool("pay")).to_have_attribute("data-state", "output-denied")
    chat.expect_agreement()
    assert len(chat.posts) == 2


def test_a_tool_of_the_page_answers(chat: ChatPage) -> None:
    chat.say("time")
    chat.press("Allow")
    expect(chat.answer).to_contain_text("Your zone is")
    expect(chat.tool("local_time")).to_have_attribute("data-state", "output-available")
    assert len(chat.expect_agreement()) == 2
    assert len(chat.posts) == 2


def test_a_large_file_is_sent_once(chat: ChatPage) -> None:
    size = 12 * 2**20
    chat.attach("large.bin", "application/octet-stream", bytes(size))
    chat.say("files")
    expect(chat.answer).to_contain_text(f"application/octet-stream, {size} bytes")
    chat.expect_status("ready")
    chat.say("hello")
    expect(chat.answer).to_contain_text("You said: hello")
    chat.expect_agreement()
    assert len(chat.posts[1].post_data or "") < 1000


def test_an_answer_is_taken_up_by_a_reload_and_by_a_second_tab(chat: ChatPage, open_chat: OpenChat) -> None:
    chat.say("story")
    expect(chat.answer).to_contain_text(STORY[0])
    chat.tab.reload()
    expect(chat.answer).to_contain_text(STORY[0])
    second = open_chat(chat.tab.url)
    expect(second.answer).to_contain_text(STORY[0])
    chat.backend.script.go_on()
    for page in (chat, second):
        expect(page.answer).to_contain_text(STORY[1])
        assert page.expect_agreement() == [("user", "story"), ("assistant", "".join(STORY))]


def test_a_request_that_failed_is_tried_again(chat: ChatPage) -> None:
    def fail(route: Route) -> None:
        route.fulfill(status=503, body="The server is out for lunch.")

    chat.tab.route("**/api/chat", fail, times=1)
    chat.say("hello")
    expect(chat.tab.get_by_role("alert").filter(has_text="out for lunch")).to_be_visible()
    chat.press("Retry")
    expect(chat.answer).to_contain_text("You said: hello")
    assert len(chat.expect_agreement()) == 2


def test_an_answer_that_failed_is_tried_again(chat: ChatPage) -> None:
    chat.say(f"fail {chat.chat_id}")
    expect(chat.tab.get_by_role("alert").filter(has_text="An error occurred.")).to_be_visible()
    chat.press("Retry")
    expect(chat.answer).to_contain_text("You said: fail")
    assert len(chat.expect_agreement()) == 2


def test_it_fits_phones_and_desktops_in_light_and_dark(chat: ChatPage, frontend: Frontend, shots: Path) -> None:
    chat.say("think")
    chat.expect_status("ready")
    chat.say("pay")
    expect(chat.tool("pay")).to_have_attribute("data-state", "approval-requested")
    chat.expect_status("ready")
    chat.attach("note.txt", "text/plain", b"Hello")
    for device, size in SCREENS.items():
        chat.tab.set_viewport_size(size)
        for colors in COLORS:
            chat.tab.emulate_media(color_scheme=colors)
            chat.tab.screenshot(path=shots / f"{frontend}-{device}-{colors}.png")
        chat.expect_no_overflow()
