"""The built page in Chromium, with each version of ``ai``, steers and queues before two real servers."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from stream_protocol.serving.http._page_files import page_files
from stream_protocol.serving.http._web_app import PAGE
from tests.chromium import browser, opened_tab
from tests.demo_page import answers, expect_status, field, press, say, texts, tool
from tests.fleet.browser import CLIENT_VERSIONS, PAUSE_SECONDS
from tests.fleet.proxy import PIN, Proxy
from tests.fleet.workers import Fleet
from tests.frontends.builds import BUILD_SECONDS, page_v6
from tests.processes import HANG
from tests.served import served

__all__ = ["browser", "page_v6"]

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.browser,
    pytest.mark.node,
    pytest.mark.timeout(BUILD_SECONDS),
    CLIENT_VERSIONS,
]


class Chat:
    """A tab with a chat. ``key``: key of the agent's doors."""

    def __init__(self, deployment: Fleet, tab: Page, url: str) -> None:
        self.page = tab
        self._url = url
        self.key = uuid4().hex
        self._deployment = deployment
        self.turn(0)

    def turn(self, worker: int) -> None:
        """Send later requests to this worker."""
        self.page.set_extra_http_headers({PIN: str(worker)})

    def say(self, kind: str, key: str = "") -> None:
        say(self.page, f"{kind} {key or self.key}")

    def steer(self, key: str) -> None:
        """Send a message during a reply, and wait until the server has accepted it."""
        with self.page.expect_response("**/steer") as posted:
            self.say("say", key)
        assert posted.value.json()["type"] == "delivered"
        expect(self.queued.last).to_contain_text(f"say {key}")
        expect(self.queued.last).to_contain_text("sent to the agent")

    def wait_until_stored(self, text: str) -> None:
        """Wait until the chat has this message of the user: the lease of a dead run has ended."""
        chat_id = re.split("[/#]", self.page.url)[-1]
        deadline = time.monotonic() + HANG
        while text not in self._users(chat_id):
            assert time.monotonic() < deadline
            time.sleep(PAUSE_SECONDS)

    def _users(self, chat_id: str) -> str:
        messages = self.page.request.get(f"{self._url}/api/chat/{chat_id}", headers={PIN: "1"}).json()["messages"]
        return str([part for message in messages if message["role"] == "user" for part in message["parts"]])

    def go_on(self) -> None:
        self._deployment.tool_log.open(self.key)

    def reload(self, worker: int = 1) -> None:
        self.turn(worker)
        self.page.reload()
        expect(field(self.page)).to_be_visible()

    @property
    def queued(self) -> Locator:
        return self.page.get_by_role("list", name="Queued messages").get_by_role("listitem")

    @property
    def steered(self) -> Locator:
        return self.page.locator("[data-steering]")

    @property
    def mine(self) -> Locator:
        return self.page.get_by_role("article", name="You")

    def expect_rest(self, steered: list[str], last: str) -> None:
        """Check the page at rest, live and after a reload: the steering messages, and the last text."""
        for _ in ("live", "after a reload"):
            expect_status(self.page, "ready")
            expect(self.queued).to_have_count(0)
            expect(self.steered).to_have_text(steered)
            expect(texts(self.page).last).to_have_text(last)
            self.reload()


@pytest.fixture
def while_busy() -> str:
    """The app's choice. Tests may give another one."""
    return "steer"


@pytest.fixture
def chat(deployment: Fleet, browser: Browser, while_busy: str, request: pytest.FixtureRequest) -> Iterator[Chat]:
    """A new chat before a repaired deployment."""
    deployment.mend()
    folder: Path = PAGE if deployment.ai_sdk == 7 else request.getfixturevalue("page_v6")
    proxy = Proxy(deployment.ports)

    async def info(_request: Request) -> Response:
        return JSONResponse({"agent": "root", "whileBusy": while_busy})

    routes: list[Any] = [Route("/page.json", info), Mount("/api", proxy.app), Mount("/", page_files(folder))]
    app = Starlette(routes=routes, lifespan=proxy.lifespan)
    with served(app) as url, ExitStack() as tabs:
        tab = tabs.enter_context(opened_tab(browser))
        tab.goto(url)
        opened = Chat(deployment, tab, url)
        yield opened
        opened.go_on()


def test_messages_during_a_tool_are_read_after_it_in_their_order(chat: Chat) -> None:
    chat.say("dig")
    expect(tool(chat.page, "dig", "input-available")).to_be_visible()
    chat.steer("one")
    chat.turn(1)
    chat.steer("two")
    chat.go_on()
    chat.expect_rest(["say one", "say two"], "Said two.")
    expect(chat.mine).to_have_count(1)


def test_a_message_during_a_text_is_read_after_the_tool_that_follows(chat: Chat) -> None:
    chat.say("later")
    expect(answers(chat.page)).to_contain_text("Soon.")
    chat.turn(1)
    chat.steer("mid")
    chat.go_on()
    chat.expect_rest(["say mid"], "Said mid.")


def test_a_message_after_a_reload_at_the_other_worker_steers_the_run(chat: Chat) -> None:
    chat.say("dig")
    expect(tool(chat.page, "dig", "input-available")).to_be_visible()
    chat.reload(worker=1)
    expect_status(chat.page, "streaming")
    chat.steer("here")
    chat.go_on()
    chat.expect_rest(["say here"], "Said here.")


def test_a_message_before_or_during_the_last_model_call_is_read_once(chat: Chat) -> None:
    chat.say("then")
    expect(tool(chat.page, "note", "output-available")).to_be_visible()
    chat.turn(1)
    chat.steer("between")
    chat.go_on()
    expect(texts(chat.page).last).to_have_text("Said between.")
    for _ in ("live", "after a reload"):
        expect_status(chat.page, "ready")
        expect(chat.page.get_by_text("say between", exact=True)).to_have_count(1)
        chat.reload()


def test_a_message_during_the_last_text_begins_the_next_turn(chat: Chat) -> None:
    chat.say("slow")
    expect(answers(chat.page)).to_contain_text("One")
    chat.turn(1)
    chat.steer("late")
    chat.go_on()
    chat.expect_rest([], "Said late.")
    expect(chat.mine).to_contain_text([f"slow {chat.key}", "say late"])


def test_a_message_during_an_approval_and_one_after_the_run_are_new_messages(chat: Chat) -> None:
    chat.say("pay")
    expect(chat.page.get_by_role("button", name="Approve")).to_be_visible()
    chat.turn(1)
    chat.say("say", "instead")
    expect(texts(chat.page).last).to_have_text("Said instead.")
    expect_status(chat.page, "ready")
    chat.say("say", "after")
    chat.expect_rest([], "Said after.")
    expect(chat.page.get_by_role("button", name="Approve")).to_have_count(0)
    expect(chat.mine).to_have_count(3)


def test_a_message_whose_worker_dies_is_read_by_the_next_run(deployment: Fleet, chat: Chat) -> None:
    chat.say("dig")
    expect(tool(chat.page, "dig", "input-available")).to_be_visible()
    chat.turn(1)
    chat.steer("lost")
    deployment.workers[0].kill()
    chat.go_on()
    expect(chat.page.get_by_text("say lost", exact=True)).to_have_count(1)
    chat.wait_until_stored("say lost")
    chat.reload()
    expect(chat.mine).to_contain_text([chat.key, "say lost"])
    expect_status(chat.page, "ready")
    chat.say("say", "next")
    expect(texts(chat.page).last).to_have_text("Said lost.")
    chat.reload()
    expect(chat.page.get_by_text("say lost", exact=True)).to_have_count(1)
    expect(chat.steered).to_have_text(["say lost"])


def test_a_stop_at_once_after_a_message_loses_nothing(chat: Chat) -> None:
    chat.say("dig")
    expect(tool(chat.page, "dig", "input-available")).to_be_visible()
    chat.turn(1)
    chat.say("say", "stopped")
    field(chat.page).press("Escape")
    expect_status(chat.page, "ready")
    chat.go_on()
    message = chat.page.get_by_text("say stopped", exact=True)
    expect(message).to_have_count(1)
    for _ in ("live", "after a reload"):
        expect(message).to_have_count(1)
        expect(chat.page.get_by_text("Said stopped.")).to_have_count(0)
        chat.reload()
    if chat.queued.count():
        press(chat.page, "Send now")
        expect(texts(chat.page).last).to_have_text("Said stopped.")


@pytest.mark.parametrize("while_busy", ["queue"])
def test_a_queue_is_kept_over_a_reload_at_the_other_worker(chat: Chat) -> None:
    chat.say("slow")
    expect(answers(chat.page)).to_contain_text("One")
    for key in ("first", "second", "third"):
        chat.say("say", key)
    expect(chat.queued).to_contain_text(["first", "second", "third"])
    chat.queued.nth(1).get_by_role("button", name="Remove the queued message").click()
    chat.queued.first.get_by_role("button", name="Edit the queued message").click()
    chat.say("say", "changed")
    chat.reload(worker=1)
    expect(chat.queued).to_contain_text(["third", "changed"])
    expect_status(chat.page, "streaming")
    chat.go_on()
    chat.expect_rest([], "Said changed.")
    expect(chat.mine).to_contain_text([f"slow {chat.key}", "say third", "say changed"])


@pytest.mark.parametrize("while_busy", ["interrupt"])
def test_an_app_may_let_messages_interrupt(chat: Chat) -> None:
    chat.say("slow")
    expect(answers(chat.page)).to_contain_text("One")
    chat.turn(1)
    chat.say("say", "now")
    chat.expect_rest([], "Said now.")
    expect(chat.mine).to_have_count(2)


def versions(chat: Chat, number: int) -> Locator:
    """Return the arrows at this message of the user."""
    return chat.mine.nth(number).get_by_role("group", name="Versions")


def edit(chat: Chat, number: int, words: str) -> None:
    chat.mine.nth(number).get_by_role("button", name="Edit").click()
    chat.page.get_by_label("Edit message").fill(words)
    chat.page.get_by_label("Edit message").press("Enter")
    expect(texts(chat.page).last).to_have_text(f"Said {words.split()[1]}.")
    expect_status(chat.page, "ready")


def test_versions_three_deep_are_chosen_around_reloads_and_continue_with_a_tool_and_an_approval(chat: Chat) -> None:
    for key in "abc":
        chat.say("say", key)
        expect(texts(chat.page).last).to_have_text(f"Said {key}.")
        expect_status(chat.page, "ready")
    for number, key in ((2, "C"), (1, "B"), (0, "A")):
        edit(chat, number, f"say {key}")
    for number, shown in ((0, "aB"), (1, "abC"), (2, "abc")):
        versions(chat, number).get_by_role("button", name="Previous version").click()
        expect(texts(chat.page)).to_have_text([f"Said {key}." for key in shown])
        expect(versions(chat, number)).to_have_text("1/2")
        chat.reload(worker=number % 2)
        expect(texts(chat.page)).to_have_text([f"Said {key}." for key in shown])
    chat.go_on()
    chat.say("dig")
    expect(texts(chat.page).last).to_have_text(f"Done {chat.key}.")
    expect_status(chat.page, "ready")
    chat.say("pay")
    expect(chat.page.get_by_role("button", name="Approve")).to_be_visible()
    versions(chat, 0).get_by_role("button", name="Next version").click()
    expect(texts(chat.page)).to_have_text(["Said A."])
    chat.reload(worker=0)
    versions(chat, 0).get_by_role("button", name="Previous version").click()
    press(chat.page, "Approve")
    chat.expect_rest([], f"Done {chat.key}.")
    expect(tool(chat.page, "dig", "output-available")).to_have_count(1)
    expect(tool(chat.page, "pay", "output-available")).to_have_count(1)
    expect(texts(chat.page).nth(2)).to_have_text("Said c.")
