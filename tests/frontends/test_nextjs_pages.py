"""Opens each page of the Next.js example, in development and built. Next.js and the browser must report no issue."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.chromium import opened_tab
from tests.frontends.builds import BUILD_SECONDS, Frontend, serving_frontend
from tests.frontends.chat_page import ChatPage
from tests.frontends.scripted_chats import STORY, Backend, serving_scripted_chats
from tests.processes import ROOT

CONFIG: Final = (ROOT / "examples/nextjs/next.config.ts").read_text(encoding="utf-8")

CLOCK: Final = """
export function register() {
  const send = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    Date.now();
    return send(...request);
  };
}
"""
"""Makes each ``fetch`` of the Next.js server read the clock at once. ``fetch`` of Node.js reads the clock when a
response ends, which may be early or late.
"""

LATE: Final = """
"use client";
import { startTransition, useEffect, useState } from "react";
import { later } from "@/components/ui/later";

const script = { default: () => <p>The script is here.</p> };
const Piece = later(() => new Promise<typeof script>((done) => setTimeout(() => done(script), 50)));

export default function Late() {
  const [shown, show] = useState(false);
  useEffect(() => startTransition(() => show(true)), []);
  return shown && <Piece />;
}
"""
"""A page with a script that comes while React waits for it."""

BROKEN: Final = """
"use client";
import { useEffect } from "react";

export default function Broken() {
  useEffect(() => console.error("an error for the test"), []);
  return null;
}
"""

pytestmark = [pytest.mark.frontends, pytest.mark.browser, pytest.mark.node, pytest.mark.timeout(BUILD_SECONDS)]


@dataclass(frozen=True)
class Site:
    """Running example. ``log``: the output of its server."""

    url: str
    backend: Backend
    developing: bool
    log: Path


@pytest.fixture(
    scope="module",
    params=[(True, True), (True, False), (False, True), (False, False)],
    ids=["dev", "dev-without-cache-components", "built", "built-without-cache-components"],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    developing, cache_components = request.param
    files: Mapping[str, str] = {
        "instrumentation.ts": CLOCK,
        "next.config.ts": CONFIG if cache_components else without_cache_components(CONFIG),
        "app/broken/page.tsx": BROKEN,
        "app/late/page.tsx": LATE,
    }
    frontend, folder = Frontend("nextjs", 7, developing=developing), tmp_path_factory.mktemp("nextjs")
    with (
        serving_scripted_chats() as backend,
        serving_frontend(frontend, folder, agent_url=backend.url, files=files) as url,
    ):
        yield Site(url, backend, developing, folder / str(frontend) / "server.log")


def without_cache_components(config: str) -> str:
    options = ("  cacheComponents: true,\n", "  partialPrefetching: true,\n")
    assert all(option in config for option in options)
    for option in options:
        config = config.replace(option, "")
    return config


def issues(tab: Page) -> Locator:
    """Return the button of Next.js that counts its issues."""
    return tab.get_by_role("button", name="Open issues overlay")


def test_no_page_has_an_issue_not_even_when_it_is_reloaded_during_a_run(site: Site, browser: Browser) -> None:
    with opened_tab(browser) as tab:
        chat = ChatPage(tab, site.url, site.backend)
        expect(issues(tab)).to_have_count(0)
        chat.say("story")
        expect(chat.answer).to_contain_text(STORY[0])
        for _ in range(2):
            tab.reload()
            expect(chat.answer).to_contain_text(STORY[0])
            chat.expect_status("streaming")
            expect(issues(tab)).to_have_count(0)
        site.backend.script.go_on()
        chat.expect_status("ready")
        for path, text in {
            "chat/no-such-chat": "This chat doesn't exist.",
            "no/such/page": "This page doesn't exist.",
            "late": "The script is here.",
        }.items():
            tab.goto(f"{site.url}/{path}")
            expect(tab.get_by_text(text)).to_be_visible()
            expect(issues(tab)).to_have_count(0)
        assert chat.complaints == []
        assert "Error" not in site.log.read_text(encoding="utf-8")
        with tab.expect_console_message(lambda message: "an error for the test" in message.text):
            tab.goto(f"{site.url}/broken")
        expect(issues(tab)).to_have_count(1 if site.developing else 0)


def test_a_chat_that_loads_slowly_is_outlined_beside_the_list_of_chats(site: Site, browser: Browser) -> None:
    site.backend.begin_chat("a slow chat")
    with opened_tab(browser) as tab:
        chat = ChatPage(tab, site.url, site.backend)
        chats, outline = tab.get_by_role("navigation", name="Chats"), tab.get_by_text("Loading the chat…")
        with site.backend.histories.held():
            chats.get_by_role("link", name="a slow chat").click()
            expect(outline).to_be_visible()
            expect(chats).to_be_visible()
        expect(chat.answer).to_contain_text("You said: a slow chat")
        expect(outline).to_have_count(0)
        with site.backend.histories.held():
            tab.reload(wait_until="commit")
            expect(outline).to_be_visible()
            expect(chats).to_be_visible()
        expect(chat.answer).to_contain_text("You said: a slow chat")
        expect(outline).to_have_count(0)
        assert chat.complaints == []
