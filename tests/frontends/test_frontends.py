"""Drives every example in a browser against the server. After each step, the page, the stored messages and the model's
request must agree.

``matrix.py`` makes the list in docs/frontends.md from these tests.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Route, ViewportSize, expect

from stream_protocol.session import TruncatedHistory
from tests.frontends.actions import Action
from tests.frontends.builds import BUILD_SECONDS, Frontend
from tests.frontends.chat_page import ChatPage
from tests.frontends.conftest import OpenChat
from tests.frontends.foreign_site import PNG, ForeignSite
from tests.frontends.scripted_chats import STORY
from tests.processes import ROOT

COLORS: Final = ("light", "dark")
SCREENS: Final[Mapping[str, ViewportSize]] = {
    "desktop": {"width": 1200, "height": 850},
    "phone": {"width": 390, "height": 800},
}

FENCE_TAGS: Final = ROOT / "tests/pages/fence_tags.txt"

LOADS: Final[Mapping[str, str]] = {
    name: f"""(url) => new Promise((resolve) => {{
        const [loaded, refused] = ["loaded", "refused"].map((outcome) => () => resolve(outcome));
        {code}
    }})"""
    for name, code in {
        "image": "Object.assign(new Image(), { onload: loaded, onerror: refused }).src = url",
        "sound": "Object.assign(new Audio(), { oncanplay: loaded, onerror: refused }).src = url",
        "style": """document.body.append(Object.assign(document.createElement("link"),
            { onload: loaded, onerror: refused, rel: "stylesheet", href: url }))""",
        "fetch": "fetch(url).then(loaded, refused)",
        "font": "new FontFace('f', `url(${url})`).load().then(loaded, refused)",
    }.items()
}
"""Scripts that load a URL, and return the result."""

NO_BOOM: Final = """
const { canParse } = URL;
URL.canParse = (url, ...base) => {
    if (url === "/boom") throw new Error("This image cannot be drawn.");
    return canParse.call(URL, url, ...base);
};
"""

THOUGHTS: Final = re.compile("^(Thoughts|Thought( for .+)?)$")
"""The button that opens what the model has thought."""

INTERRUPTED: Final = [("user", "story"), ("assistant", STORY[0])]
"""The stored messages of a story that was interrupted."""

pytestmark = [pytest.mark.frontends, pytest.mark.browser, pytest.mark.node, pytest.mark.timeout(BUILD_SECONDS)]


class Scenarios:
    """The abilities of every page of `useChat`. The tests of a class run in one worker, and its frontend is built
    once.
    """

    frontend: Frontend
    cannot: ClassVar[Mapping[Action, str]] = {}
    """The actions that this frontend can't do, with the reasons."""
    truncated_history: TruncatedHistory = "append"
    """The server's rule for a new message that comes without stored messages."""
    file_size = 1000
    denials: ClassVar[Sequence[str]] = ("Deny",)
    """The buttons that deny a call, one after the other."""
    foreign_image = "Show file from {site}: image/png"
    """The link to an image that another site has."""
    left_open = 1
    """The number of calls that the page shows as open when a new message has skipped one; 0 if the kit closes the call.
    """

    @pytest.fixture(autouse=True)
    def _leave_out_what_cannot_be(self, request: pytest.FixtureRequest) -> None:
        row = request.node.get_closest_marker("action")
        if row is not None and row.args[0] in self.cannot:
            pytest.skip(self.cannot[row.args[0]])

    @pytest.mark.action("send")
    def test_messages_are_answered_and_the_field_keeps_the_focus(self, chat: ChatPage) -> None:
        chat.say("hello")
        expect(chat.answer).to_contain_text("You said: hello")
        expect(chat.field).to_be_focused()
        expect(chat.field).to_have_value("")
        chat.expect_status("ready")  # while it answers the words would stay in the field
        chat.say("and again")
        expect(chat.answer).to_contain_text("You said: and again")
        assert len(chat.expect_agreement()) == 4
        chat.tab.reload()
        assert len(chat.expect_agreement()) == 4

    @pytest.mark.action("stop, then send")
    def test_messages_after_a_stop_that_only_leaves_are_answered(self, chat: ChatPage) -> None:
        chat.tab.route("**/stop", lambda route: route.fulfill(status=202))  # the Stop of every kit: `stop()`, no more
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.press("Stop")
        chat.expect_status("ready")
        chat.say("never mind")
        expect(chat.answer).to_contain_text("You said: never mind")
        words = [*INTERRUPTED, ("user", "never mind"), ("assistant", "You said: never mind")]
        assert chat.expect_agreement() == words
        chat.tab.reload()
        assert chat.expect_agreement() == words

    def test_thoughts_and_sources_are_shown(self, chat: ChatPage) -> None:
        chat.say("think")
        expect(chat.answer).to_contain_text("I have thought.")
        expect(chat.answer.get_by_role("link", name="All rivers")).to_be_visible()
        chat.press(THOUGHTS)
        expect(chat.answer).to_contain_text("Let me think about it.")
        chat.expect_agreement()

    @pytest.mark.action("edit")
    def test_an_edited_message_takes_back_what_followed(self, chat: ChatPage) -> None:
        for words in ("first", "second"):
            chat.say(words)
            expect(chat.answer).to_contain_text(f"You said: {words}")
            chat.expect_agreement()
        chat.tab.get_by_role("article", name="You").first.hover()
        chat.tab.get_by_role("button", name="Edit").first.click()
        chat.tab.get_by_label("Edit message").fill("instead")
        chat.tab.get_by_role(
            "button", name=re.compile("^(Save|Send)$")
        ).first.click()  # the field for messages is below
        expect(chat.answer).to_contain_text("You said: instead")
        assert chat.expect_agreement() == [("user", "instead"), ("assistant", "You said: instead")]

    @pytest.mark.action("regenerate")
    def test_an_answer_is_made_anew(self, chat: ChatPage) -> None:
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.backend.script.go_on()
        expect(chat.answer).to_contain_text(STORY[1])
        chat.expect_agreement()
        chat.answer.hover()
        chat.press("Regenerate")
        chat.expect_status("streaming")
        chat.backend.script.go_on()
        expect(chat.answer).to_contain_text(STORY[1])
        assert chat.expect_agreement() == [("user", "story"), ("assistant", "".join(STORY))]

    @pytest.mark.action("approve")
    def test_a_call_runs_once_it_is_approved(self, chat: ChatPage) -> None:
        chat.say("pay")
        expect(chat.tool("pay")).to_have_attribute("data-state", "approval-requested")
        chat.expect_agreement()
        chat.press("Approve")
        expect(chat.answer).to_contain_text("Done: 5.0.")
        expect(chat.tool("pay")).to_have_attribute("data-state", "output-available")
        expect(chat.field).to_be_focused()
        assert len(chat.expect_agreement()) == 2
        assert len(chat.posts) == 2

    @pytest.mark.action("deny")
    def test_a_call_that_is_denied_after_a_reload_does_not_run(self, chat: ChatPage) -> None:
        chat.say("pay")
        chat.expect_agreement()
        chat.tab.reload()
        chat.expect_agreement()
        for name in self.denials:
            chat.press(name)
        expect(chat.answer).to_contain_text("Done: None.")
        expect(chat.tool("pay")).to_have_attribute("data-state", "output-denied")
        chat.expect_agreement()
        assert len(chat.posts) == 2

    @pytest.mark.action("client tool")
    def test_a_tool_of_the_page_answers(self, chat: ChatPage) -> None:
        chat.say("time")
        chat.expect_agreement()
        chat.press("Allow")
        expect(chat.answer).to_contain_text(re.compile(r"Your zone is .+\."))
        expect(chat.tool("get_time_zone")).to_have_attribute("data-state", "output-available")
        assert len(chat.expect_agreement()) == 2
        assert len(chat.posts) == 2

    @pytest.mark.action("file")
    def test_a_file_reaches_the_agent(self, chat: ChatPage) -> None:
        chat.attach("some.bin", "application/octet-stream", bytes(self.file_size))
        chat.say("files")
        expect(chat.answer).to_contain_text(f"application/octet-stream, {self.file_size} bytes")
        chat.expect_agreement()
        chat.say("hello")
        expect(chat.answer).to_contain_text("You said: hello")
        chat.expect_agreement()

    @pytest.mark.action("send a message while an approval is pending")
    def test_messages_past_an_approval_close_it(self, chat: ChatPage) -> None:
        chat.say("pay")
        expect(chat.tool("pay")).to_have_attribute("data-state", "approval-requested")
        chat.expect_agreement()
        chat.say("hello")
        expect(chat.answer).to_contain_text("You said: hello")
        chat.expect_agreement(superseded=self.left_open)
        chat.tab.reload()
        expect(chat.tool("pay")).to_have_attribute("data-state", "output-error")
        assert len(chat.expect_agreement()) == 4

    @pytest.mark.action("reload in mid-answer")
    def test_an_answer_is_taken_up_by_a_reload(self, chat: ChatPage) -> None:
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.tab.reload()
        expect(chat.answer).to_contain_text(STORY[0])
        chat.backend.script.go_on()
        expect(chat.answer).to_contain_text(STORY[1])
        assert chat.expect_agreement() == [("user", "story"), ("assistant", "".join(STORY))]

    @pytest.mark.action("second tab")
    def test_an_answer_is_shown_in_a_second_tab(self, chat: ChatPage, open_chat: OpenChat) -> None:
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        second = open_chat(chat.tab.url)
        expect(second.answer).to_contain_text(STORY[0])
        chat.backend.script.go_on()
        for page in (chat, second):
            expect(page.answer).to_contain_text(STORY[1])
            assert page.expect_agreement() == [("user", "story"), ("assistant", "".join(STORY))]
        second.say("hello")
        expect(second.answer).to_contain_text("You said: hello")
        assert len(second.expect_agreement()) == 4

    @pytest.mark.action("error and retry")
    def test_a_request_that_failed_is_tried_again(self, chat: ChatPage) -> None:
        def fail(route: Route) -> None:
            route.fulfill(status=503, content_type="text/plain", body="The server is out for lunch.")

        chat.tab.route("**/api/chat", fail, times=1)
        chat.say("hello")
        expect(chat.tab.get_by_role("alert").filter(has_text="out for lunch")).to_be_visible()
        chat.press("Retry")
        expect(chat.answer).to_contain_text("You said: hello")
        assert len(chat.expect_agreement()) == 2

    @pytest.mark.action("error and retry")
    def test_an_answer_that_failed_is_tried_again(self, chat: ChatPage) -> None:
        chat.say(f"fail {chat.chat_id}")
        expect(chat.tab.get_by_role("alert").filter(has_text="An error occurred.")).to_be_visible()
        chat.press("Retry")
        expect(chat.answer).to_contain_text(f"You said: fail {chat.chat_id}")
        assert len(chat.expect_agreement()) == 2

    def test_nothing_that_a_model_names_is_fetched_before_a_click(
        self, chat: ChatPage, foreign_site: ForeignSite
    ) -> None:
        chat.say(f"name {foreign_site.url}")
        for _ in ("live", "after a reload"):
            expect(chat.answer).to_contain_text("Named.")
            chat.expect_status("ready")
            chat.press(THOUGHTS)
            chat.tab.wait_for_load_state("networkidle")
            assert foreign_site.asked == []
            chat.tab.reload()
        link = chat.answer.get_by_role("link", name=self.foreign_image.format(site=foreign_site.url.partition("//")[2]))
        with chat.tab.expect_popup() as opened:
            link.click()
        opened.value.wait_for_load_state()
        assert foreign_site.asked[0] == "/file.png"
        assert foreign_site.told <= {f"{foreign_site.url}/file.png"}  # what asks for the icon of the opened page

    def test_an_image_of_the_message_itself_is_shown(self, chat: ChatPage) -> None:
        chat.attach("dot.png", "image/png", PNG)
        chat.say("files")
        expect(chat.answer).to_contain_text(f"image/png, {len(PNG)} bytes")
        image = chat.tab.get_by_role("article", name="You").get_by_role("img")
        expect(image).to_have_js_property("naturalWidth", 1)

    def test_it_fits_phones_and_desktops_in_light_and_dark(self, chat: ChatPage, shots: Path) -> None:
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
                chat.tab.screenshot(path=shots / f"{self.frontend}-{device}-{colors}.png", animations="disabled")
            chat.expect_no_overflow()


class WholeApps(Scenarios):
    """The examples with code for this server: a Stop that ends the run, and small requests."""

    def test_an_answer_shows_while_it_is_written_and_ends_where_it_is_stopped(self, chat: ChatPage) -> None:
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.press("Stop")
        chat.expect_status("ready")
        expect(chat.field).to_be_focused()
        assert chat.backend.stored(chat.chat_id) == [("user", "story"), ("assistant", STORY[0])]
        chat.say("never mind")
        expect(chat.answer).to_contain_text("You said: never mind")
        chat.expect_agreement()

    def test_a_file_is_sent_once(self, chat: ChatPage) -> None:
        chat.attach("some.bin", "application/octet-stream", bytes(self.file_size))
        chat.say("files")
        expect(chat.answer).to_contain_text("bytes")
        chat.expect_status("ready")
        chat.say("hello")
        expect(chat.answer).to_contain_text("You said: hello")
        assert len(chat.posts[1].post_data or "") < 1000


class TestReact(Scenarios):
    frontend = Frontend("react", 7)


class TestReactV6(Scenarios):
    frontend = Frontend("react", 6, "ai-v6/react")


class ShowsVersions:
    """An app with arrows at the messages that have several versions."""

    def test_versions_are_chosen_before_and_after_a_reload(self, chat: ChatPage) -> None:
        chat.say("hello")
        expect(chat.answer).to_contain_text("You said: hello")
        chat.expect_agreement()
        chat.tab.get_by_role("article", name="You").first.hover()
        chat.tab.get_by_role("button", name="Edit").first.click()
        chat.tab.get_by_label("Edit message").fill("instead")
        chat.tab.get_by_role("button", name=re.compile("^(Save|Send)$")).first.click()
        expect(chat.answer).to_contain_text("You said: instead")
        chat.expect_agreement()
        for _ in range(2):
            versions = chat.tab.get_by_role("article", name="You").get_by_role("group", name="Versions")
            chat.tab.get_by_role("article", name="You").first.hover()
            expect(versions).to_contain_text("2/2")
            versions.get_by_role("button", name="Previous version").click()
            expect(chat.answer).to_contain_text("You said: hello")
            expect(versions).to_contain_text("1/2")
            assert chat.backend.stored(chat.chat_id) == [("user", "hello"), ("assistant", "You said: hello")]
            chat.tab.get_by_role("article", name="You").first.hover()
            versions.get_by_role("button", name="Next version").click()
            expect(chat.answer).to_contain_text("You said: instead")
            chat.tab.reload()
        chat.say("on")
        expect(chat.answer).to_contain_text("You said: on")
        assert chat.expect_agreement()[:2] == [("user", "instead"), ("assistant", "You said: instead")]

    def test_versions_three_deep_are_chosen_and_the_call_of_the_last_is_approved(self, chat: ChatPage) -> None:
        for words in ("one", "two", "pay"):
            chat.say(words)
            expect(chat.tool("pay") if words == "pay" else chat.answer).to_contain_text(
                re.compile(words, re.IGNORECASE)
            )
            chat.expect_agreement()
        for number, words in ((2, "other"), (1, "second"), (0, "first")):
            self._hovered(chat, number).get_by_role("button", name="Edit").click()
            chat.tab.get_by_label("Edit message").fill(words)
            chat.tab.get_by_role("button", name=re.compile("^(Save|Send)$")).first.click()
            expect(chat.answer).to_contain_text(f"You said: {words}")
            chat.expect_agreement()
        for number, last in ((0, "second"), (1, "other"), (2, "")):
            self._choose(chat, number, "Previous version", "1/2")
            for _ in ("live", "after a reload"):
                if last:
                    expect(chat.answer).to_contain_text(f"You said: {last}")
                else:
                    expect(chat.tool("pay")).to_have_attribute("data-state", "approval-requested")
                expect(self._versions(chat, number)).to_contain_text("1/2")
                chat.expect_status("ready")
                chat.tab.reload()
        self._choose(chat, 0, "Next version", "2/2")
        expect(chat.answer).to_contain_text("You said: first")
        self._choose(chat, 0, "Previous version", "1/2")
        expect(chat.tool("pay")).to_have_attribute("data-state", "approval-requested")
        chat.press("Approve")
        expect(chat.answer).to_contain_text("Done: 5.0.")
        said = [words for _, words in chat.expect_agreement()]
        assert said == ["one", "You said: one", "two", "You said: two", "pay", "Done: 5.0."]

    def _hovered(self, chat: ChatPage, number: int) -> Locator:
        message = chat.tab.get_by_role("article", name="You").nth(number)
        message.hover()
        return message

    def _versions(self, chat: ChatPage, number: int) -> Locator:
        return self._hovered(chat, number).get_by_role("group", name="Versions")

    def _choose(self, chat: ChatPage, number: int, arrow: str, expected: str) -> None:
        self._versions(chat, number).get_by_role("button", name=arrow).click()
        expect(self._versions(chat, number)).to_contain_text(expected)


class NextApp(ShowsVersions, WholeApps):
    denials = ("Deny…", "Deny")
    foreign_image = "Show image from {site}: Image from the conversation"


class TestNextjs(NextApp):
    frontend = Frontend("nextjs", 7)
    file_size = 12 * 2**20
    """Bytes: more than a proxy of Next.js lets through."""

    def test_a_call_that_later_messages_passed_over_no_longer_waits(self, chat: ChatPage) -> None:
        chat.say("pay")
        expect(chat.tool("pay")).to_contain_text("needs approval")
        chat.expect_status("ready")
        chat.say("hello")
        expect(chat.answer).to_contain_text("You said: hello")
        expect(chat.tool("pay")).to_contain_text("not answered")
        chat.expect_status("ready")
        chat.tab.reload()
        expect(chat.tool("pay")).to_contain_text("not answered")

    def test_what_a_tool_asks_goes_to_it_with_the_approval(self, chat: ChatPage) -> None:
        chat.say("seat")
        expect(chat.tool("reserve_seat")).to_contain_text("Which seat?")
        chat.tab.get_by_role("textbox", name="seat").fill("7F")
        chat.press("Approve")
        expect(chat.answer).to_contain_text("You sit on 7F.")

    def test_what_a_tool_returned_to_a_denial_is_shown_with_its_call(self, chat: ChatPage) -> None:
        chat.say("seat")
        for name in self.denials:
            chat.press(name)
        expect(chat.tool("reserve_seat")).to_have_attribute("data-state", "output-denied")
        for _ in ("live", "after a reload"):
            chat.expect_status("ready")
            expect(chat.tool("reserve_seat")).to_contain_text('"reserved": null')
            chat.tab.reload()

    def test_a_question_of_the_agent_is_answered(self, chat: ChatPage) -> None:
        chat.say("ask")
        chat.tab.get_by_role("textbox", name="Your answer").fill("Rome")
        chat.press("Answer")
        expect(chat.answer).to_contain_text("A good choice.")
        chat.expect_agreement()

    def test_messages_that_are_sent_now_in_mid_answer_end_it_and_are_answered(self, chat: ChatPage) -> None:
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.say("hello")
        chat.press("Send now")
        expect(chat.answer).to_contain_text("You said: hello")
        words = [*INTERRUPTED, ("user", "hello"), ("assistant", "You said: hello")]
        assert chat.expect_agreement() == words

    def test_messages_in_mid_answer_are_queued_without_another_script(self, chat: ChatPage) -> None:
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.tab.route("**/_next/static/**", lambda route: route.abort())
        chat.say("hello")
        expect(chat.tab.get_by_role("list", name="Queued messages")).to_contain_text("hello")
        expect(chat.answer).to_contain_text(STORY[0])

    def test_a_new_chat_is_opened_each_time_by_the_button_and_by_the_keys(self, chat: ChatPage) -> None:
        for keys in (None, None, "Control+Shift+O", "Control+Shift+O"):
            chat.say("hello")
            expect(chat.answer).to_contain_text("You said: hello")
            chat.expect_agreement()
            chat.press("New chat") if keys is None else chat.tab.keyboard.press(keys)
            expect(chat.tab.get_by_role("region", name="Welcome")).to_contain_text("What can I do for you?")
            expect(chat.tab.get_by_role("article")).to_have_count(0)

    def test_the_list_of_chats_is_hidden_and_shown_by_its_keys(self, chat: ChatPage) -> None:
        chats = chat.tab.get_by_role("navigation", name="Chats")
        for shown in (0, 1):
            chat.tab.keyboard.press("Control+b")
            expect(chats).to_have_count(shown)

    def test_a_page_loads_nothing_from_elsewhere_whatever_is_put_into_it(
        self, chat: ChatPage, foreign_site: ForeignSite, browser: Browser
    ) -> None:
        tab = browser.new_page()  # its console says what is refused
        tab.goto(chat.tab.url)
        for load in LOADS:
            assert (load, tab.evaluate(LOADS[load], f"{foreign_site.url}/{load}")) == (load, "refused")
        tab.close()
        assert foreign_site.asked == []

    def test_an_address_that_leads_nowhere_says_so(self, chat: ChatPage, frontend_url: str) -> None:
        welcome = chat.tab.get_by_role("region", name="Welcome")
        expect(welcome).to_contain_text("Send a message to start.")
        expect(welcome).not_to_contain_text("doesn't exist")
        chat.tab.goto(f"{frontend_url}/chat/no-such-chat")
        expect(welcome).to_contain_text("This chat doesn't exist. Send a message to start a new one.")
        chat.tab.goto(f"{frontend_url}/no/such/page")
        expect(chat.tab.get_by_role("main")).to_contain_text("This page doesn't exist.")
        chat.tab.get_by_role("link", name="Start a new chat").click()
        expect(welcome).to_be_visible()

    def test_each_page_has_a_nonce_of_its_own_and_no_frame(self, frontend_url: str) -> None:
        policies = [
            httpx.get(f"{frontend_url}/{path}", follow_redirects=True).headers["content-security-policy"]
            for path in ("", "", "chat/c1", "not/there")
        ]
        assert len({re.findall("'nonce-([^']{20,})'", policy)[0] for policy in policies}) == len(policies)
        for policy in policies:
            assert "img-src 'self' data: blob:;" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe-eval" not in policy
            assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]

    def test_a_fence_with_any_tag_shows_its_code_and_the_prose_around_it(self, chat: ChatPage) -> None:
        tags = FENCE_TAGS.read_text(encoding="utf-8").splitlines()
        fences = [f"before {index}\n\n```{tag}\ncode {index}\n```\n\nafter {index}" for index, tag in enumerate(tags)]
        chat.say("\n\n".join(["fences", *fences]))
        code = chat.answer.locator("[data-streamdown=code-block-body]")
        expect(code).to_have_count(len(tags))
        chat.expect_status("ready")
        assert code.all_text_contents() == [f"code {index}" for index in range(len(tags))]
        prose = [f"{side} {index}" for index in range(len(tags)) for side in ("before", "after")]
        assert chat.answer.locator(".markdown p").all_text_contents()[1:] == prose

    def test_a_block_that_cannot_be_drawn_is_shown_as_it_was_written(self, chat: ChatPage) -> None:
        chat.tab.add_init_script(NO_BOOM)
        chat.tab.reload()
        chat.expected_errors.append("This image cannot be drawn.")
        with chat.tab.expect_console_message(lambda message: "This image cannot be drawn." in message.text):
            chat.say("an image\n\n![boom](/boom)\n\n**after** it")
        expect(chat.answer.get_by_text("![boom](/boom)")).to_be_visible()
        expect(chat.answer.locator("[data-streamdown=strong]")).to_have_text("after")
        chat.expect_status("ready")

    def test_a_text_that_cannot_be_drawn_is_shown_as_it_was_written_also_by_the_server(
        self, chat: ChatPage, browser: Browser
    ) -> None:
        chat.expected_errors.append("RangeError")
        with chat.tab.expect_console_message(lambda message: "RangeError" in message.text):
            chat.say(f"a quotation\n\n{'>' * 5000} deep\n\nand its end")
        expect(chat.answer).to_contain_text(f"{'>' * 5000} deep")
        chat.expect_status("ready")
        tab = browser.new_page()  # it reports what the server could not draw
        with tab.expect_console_message(lambda message: "RangeError" in message.text):
            tab.goto(chat.tab.url)
        expect(tab.get_by_role("article", name="Agent")).to_contain_text(f"{'>' * 5000} deep")
        tab.close()

    @pytest.mark.parametrize("text", ["The interval [0, 1) is half-open.", "About ~~5"])
    def test_a_finished_text_ends_as_it_was_written(self, chat: ChatPage, text: str) -> None:
        chat.say(text)
        chat.expect_status("ready")
        expect(chat.answer.locator(".markdown p")).to_have_text(f"You said: {text}")

    def test_code_is_coloured(self, chat: ChatPage) -> None:
        chat.say("code:\n```python\nprint(1)\n```")
        expect(chat.answer.locator("code span[style]").first).to_be_visible()

    def test_the_end_stays_in_view_until_the_reader_scrolls_up(self, open_chat: OpenChat) -> None:
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

    def test_a_chat_is_listed_opened_and_deleted(self, chat: ChatPage) -> None:
        chat.say("a chat to delete")
        listed = chat.tab.get_by_role("navigation", name="Chats").get_by_role("link", name="a chat to delete")
        expect(listed).to_be_visible()
        chat.tab.get_by_role("button", name="New chat").click()
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

    def test_a_chat_is_renamed_archived_and_found(self, chat: ChatPage, shots: Path) -> None:
        chat.say("story of a chat")
        expect(chat.answer).to_contain_text(STORY[0])
        chats = chat.tab.get_by_role("navigation", name="Chats")
        expect(chats.get_by_role("img", name="Answering")).to_be_visible()
        chats.get_by_role("link", name="story of a chat").hover()
        chat.press("More for story of a chat")
        chat.tab.screenshot(path=shots / "nextjs-chat-menu.png", animations="disabled")
        chat.tab.get_by_role("menuitem", name="Rename").click()
        chats.get_by_label("Title", exact=True).fill("Rivers, renamed")
        chat.tab.screenshot(path=shots / "nextjs-rename.png", animations="disabled")
        chats.get_by_label("Title", exact=True).press("Enter")
        listed = chats.get_by_role("link", name="Rivers, renamed")
        expect(listed).to_be_visible()
        chat.backend.script.go_on()
        chat.expect_status("ready")
        expect(chats.get_by_role("img", name="Answering")).to_have_count(0)
        chat.expect_agreement()
        chats.get_by_label("Search titles").fill("RIVERS")
        expect(chats.get_by_role("link")).to_have_count(1)
        chats.get_by_label("Search titles").fill("")
        listed.hover()
        chat.press("More for Rivers, renamed")
        chat.tab.get_by_role("menuitem", name="Archive").click()
        expect(listed).to_have_count(0)
        chat.press("Archived")
        expect(listed).to_be_visible()
        chat.tab.screenshot(path=shots / "nextjs-archived.png", animations="disabled")

    def test_all_chats_are_reached_by_scrolling(self, open_chat: OpenChat) -> None:
        chat = open_chat(height=500)
        for number in range(35):
            chat.backend.begin_chat(f"scrolled {number}")
        chat.tab.reload()
        chats = chat.tab.get_by_role("navigation", name="Chats")
        expect(chats.get_by_role("link", name="scrolled 34", exact=True)).to_be_visible()
        first = chats.get_by_role("link", name="scrolled 0", exact=True)
        expect(first).to_have_count(0)
        chats.get_by_role("listitem").last.hover()
        chat.tab.mouse.wheel(0, 5000)
        first.scroll_into_view_if_needed()
        expect(first).to_be_in_viewport()


class TestNextjsDevelopment:
    """The example as a developer runs it: its policy leaves room for the tools of Next.js."""

    frontend = Frontend("nextjs", 7, developing=True)
    truncated_history: TruncatedHistory = "append"

    def test_messages_are_answered_a_tool_of_the_page_runs_and_nothing_elsewhere_is_fetched(
        self, chat: ChatPage, foreign_site: ForeignSite
    ) -> None:
        chat.say("time")
        chat.press("Allow")
        expect(chat.answer).to_contain_text(re.compile(r"Your zone is .+\."))
        chat.expect_status("ready")
        chat.say(f"name {foreign_site.url}")
        expect(chat.answer).to_contain_text("Named.")
        chat.expect_status("ready")
        assert foreign_site.asked == []


class TestNextjsV6(NextApp):
    frontend = Frontend("nextjs", 6, "ai-v6/react")


class TestAssistantUi(ShowsVersions, WholeApps):
    frontend = Frontend("assistant-ui", 7)
    truncated_history = "rewind"
    left_open = 0

    def test_a_thread_is_renamed_and_archived_while_it_is_answered(self, chat: ChatPage, shots: Path) -> None:
        chat.say("story of a thread")
        expect(chat.answer).to_contain_text(STORY[0])
        chat.backend.script.go_on()
        chat.expect_status("ready")
        chats = chat.tab.get_by_role("navigation", name="Chats")
        expect(chats.get_by_role("button", name="story of a thread")).to_be_visible()
        chat.say("story")
        chats.get_by_role("button", name="Rename").first.click()
        chats.get_by_label("Title", exact=True).fill("Rivers, renamed")
        chats.get_by_label("Title", exact=True).press("Enter")
        listed = chats.get_by_role("button", name="Rivers, renamed")
        expect(listed).to_be_visible()
        chats.get_by_role("button", name="Archive", exact=True).first.click()
        expect(listed).not_to_be_visible()
        chats.get_by_text("Archived").click()
        expect(listed).to_be_visible()
        chat.tab.screenshot(path=shots / "assistant-ui-archived.png", animations="disabled")
        chat.backend.script.go_on()
        expect(chat.answer).to_contain_text(STORY[1])
        chat.expect_agreement()
        chats.get_by_role("button", name="Unarchive").first.click()
        expect(chats.get_by_text("Archived")).to_have_count(0)
        expect(listed).to_be_visible()


class TestAssistantUiV6(ShowsVersions, WholeApps):
    frontend = Frontend("assistant-ui", 6, "ai-v6/assistant-ui")
    truncated_history = "rewind"
    left_open = 0


class TestVue(WholeApps):
    frontend = Frontend("vue", 7)


class TestVueV6(WholeApps):
    frontend = Frontend("vue", 6, "ai-v6/vue")


class TestSvelte(WholeApps):
    frontend = Frontend("svelte", 7)


class TestSvelteV6(WholeApps):
    frontend = Frontend("svelte", 6, "ai-v6/svelte")
