"""Chat in a browser. Finds its parts by their accessible names, which are the same in every example."""

import re
from typing import Final

from playwright.sync_api import ConsoleMessage, FilePayload, Locator, Page, Request, expect

from tests.frontends.scripted_chats import Backend, Said

_WHO: Final = {"You": "user", "Agent": "assistant"}


class ChatPage:
    """Page with a chat.

    ``tab``: the browser's page, for parts without a name here. ``complaints``: errors and warnings on its console,
    without those that contain one of ``expected_errors``.
    """

    def __init__(self, tab: Page, url: str, backend: Backend) -> None:
        self.tab = tab
        self.backend = backend
        self.posts: list[Request] = []
        self.complaints: list[str] = []
        self.expected_errors: list[str] = []
        tab.on("console", self._note)
        tab.on("request", lambda request: self.posts.append(request) if _is_send(request) else None)
        tab.goto(url)
        expect(self.field).to_be_visible()
        tab.wait_for_url(re.compile("[0-9a-f-]{36}$"))

    def _note(self, message: ConsoleMessage) -> None:
        expected = any(error in message.text for error in self.expected_errors)
        if _is_complaint(message) and not expected:
            self.complaints.append(message.text)

    @property
    def chat_id(self) -> str:
        return re.split("[/#]", self.tab.url)[-1]

    @property
    def field(self) -> Locator:
        return self.tab.get_by_role("textbox", name="Message", exact=True)

    @property
    def answer(self) -> Locator:
        """Last message of the agent."""
        return self.tab.get_by_role("article", name="Agent").last

    def tool(self, name: str) -> Locator:
        """Return the tool's newest card. Some frontends show `get_weather` as `Get weather`."""
        shown = re.compile(f"Tool {name.replace('_', '[_ ]')}", re.IGNORECASE)
        # The small examples have landmarks; the components of the page have groups, which may share a name.
        return self.tab.get_by_role("region", name=shown).or_(self.tab.get_by_role("group", name=shown)).last

    def say(self, words: str) -> None:
        self.field.fill(words)
        self.field.press("Enter")

    def press(self, name: str | re.Pattern[str]) -> None:
        self.tab.get_by_role("button", name=name, exact=True).last.click()

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        with self.tab.expect_file_chooser() as choosing:
            self.press("Attach files")
        choosing.value.set_files(FilePayload(name=name, mimeType=media_type, buffer=data))
        expect(self.tab.get_by_text(name)).to_be_visible()

    def expect_status(self, status: str) -> None:
        expect(self.tab.get_by_role("status")).to_have_attribute("data-status", status)

    def expect_no_overflow(self) -> None:
        """Check that the conversation scrolls, and the page does not."""
        overflow = "({ scrollWidth: w, scrollHeight: h }) => [w - innerWidth, h - innerHeight]"
        assert max(self.tab.evaluate(f"({overflow})(document.documentElement)")) <= 0

    def shown(self) -> list[Said]:
        """Return the text of each message on the page, in one line."""
        articles = self.tab.get_by_role("article").all()
        return [
            (_WHO[article.get_attribute("aria-label") or ""], _one_line(article.inner_text())) for article in articles
        ]

    def expect_agreement(self, *, superseded: int = 0) -> list[Said]:
        """After a reply, check that the page, the stored history and the model's last request are equal.

        ``superseded``: number of calls that only the history closes, since a new message came while they waited.
        """
        self.expect_status("ready")
        stored = self.backend.stored(self.chat_id)
        shown = self.shown()
        assert [who for who, _ in shown] == [who for who, _ in stored]
        for (_, seen), (_, words) in zip(shown, stored, strict=True):
            assert _one_line(words) in seen
        calls = [call.get_attribute("data-state") for call in self.tab.locator("[aria-label^='Tool ']").all()]
        differ = [
            pair for pair in zip(calls, self.backend.stored_calls(self.chat_id), strict=True) if pair[0] != pair[1]
        ]
        assert differ == [("approval-requested", "output-error")] * superseded
        assert self.backend.script.asked[-1] == [said for said in stored[:-1] if said[1]]
        return stored


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_send(request: Request) -> bool:
    return request.method == "POST" and request.url.endswith("/api/chat")


def _is_complaint(message: ConsoleMessage) -> bool:
    """Return False for the browser's own line about a status of 400 and above: a new chat has no history yet."""
    return message.type in ("error", "warning") and not message.text.startswith("Failed to load resource")
