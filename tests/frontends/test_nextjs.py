"""What only the Next.js example has."""

from playwright.sync_api import expect

from tests.frontends.builds import Frontend
from tests.frontends.chat_page import ChatPage
from tests.frontends.conftest import OpenChat, run_on

pytestmark = run_on(Frontend("nextjs", 6))


def test_what_a_tool_asks_goes_to_it_with_the_approval(chat: ChatPage) -> None:
    chat.say("seat")
    expect(chat.tool("reserve_seat")).to_contain_text("Which seat?")
    chat.tab.get_by_role("textbox", name="seat").fill("7F")
    chat.press("Approve")
    expect(chat.answer).to_contain_text("You sit on 7F.")


def test_a_question_of_the_agent_is_answered(chat: ChatPage) -> None:
    chat.say("ask")
    chat.tab.get_by_role("textbox", name="Your answer").fill("Rome")
    chat.press("Answer")
    expect(chat.answer).to_contain_text("A good choice.")
    chat.expect_agreement()


def test_the_end_stays_in_view_until_the_reader_scrolls_up(open_chat: OpenChat) -> None:
    chat = open_chat(height=600)
    chat.say("long")
    chat.expect_status("ready")
    last = chat.answer.get_by_text("Paragraph 39:")
    expect(last).to_be_in_viewport()
    chat.answer.hover()
    chat.tab.mouse.wheel(0, -600)
    expect(last).not_to_be_in_viewport()
    chat.press("Scroll to the end")
    expect(last).to_be_in_viewport()


def test_a_chat_is_listed_opened_and_deleted(chat: ChatPage) -> None:
    chat.say("a chat to delete")
    listed = chat.tab.get_by_role("navigation", name="Chats").get_by_role("link", name="a chat to delete")
    expect(listed).to_be_visible()
    chat.tab.get_by_role("link", name="New chat").click()
    expect(chat.tab.get_by_role("heading", name="What can I do for you?")).to_be_visible()
    expect(chat.field).to_be_focused()
    listed.click()
    expect(chat.answer).to_contain_text("You said: a chat to delete")
    listed.hover()
    chat.press("More for a chat to delete")
    chat.tab.get_by_role("menuitem", name="Delete").click()
    chat.press("Delete")
    expect(listed).to_have_count(0)
    expect(chat.tab.get_by_role("heading", name="What can I do for you?")).to_be_visible()
