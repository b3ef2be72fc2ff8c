"""The Vue and Svelte code of the docs, in the projects of the examples: checked, built, and driven in Chromium."""

from collections.abc import Iterator
from typing import Final

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.chromium import launched, opened_tab
from tests.documents import block, shown_file
from tests.frontends.builds import BUILD_SECONDS, Frontend, serving_by, serving_frontend
from tests.frontends.gemini_server import serving_gemini
from tests.frontends.test_documents import PAGE, SERVER, UVICORN
from tests.processes import ROOT

pytestmark = [
    pytest.mark.frontends,
    pytest.mark.browser,
    pytest.mark.node,
    pytest.mark.timeout(BUILD_SECONDS),
    pytest.mark.xdist_group("vue_and_svelte_pages"),
]

FILES: Final = {
    "vue": {
        "src/App.vue": shown_file("examples/quick-start/App.vue"),
        "src/Approvals.vue": shown_file("examples/approvals/Approvals.vue"),
        "src/client-tools.ts": shown_file("examples/client-tools/vue.ts"),
    },
    "svelte": {
        "src/App.svelte": shown_file("examples/quick-start/App.svelte"),
        "src/Approvals.svelte": shown_file("examples/approvals/Approvals.svelte"),
        "src/client-tools.ts": shown_file("examples/client-tools/svelte.ts"),
    },
}
"""Example -> path -> text. The example's own command checks the types of all files, and builds the app."""


@pytest.fixture(scope="module", params=FILES)
def tab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Tab in which the addresses of the quick start are those of the page and the server that run here."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "main.py").write_text(block("docs/quick-start.md", "app.include_router(chat_router("), encoding="utf-8")
    with (
        serving_gemini() as environment,
        serving_by(UVICORN, cwd=folder, env={"PYTHONPATH": str(ROOT), **environment}) as server,
        serving_frontend(Frontend(request.param, 7), folder, files=FILES[request.param]) as page,
    ):
        rules = [f"MAP {name} 127.0.0.1:{httpx.URL(url).port}" for name, url in ((PAGE, page), (SERVER, server))]
        flag = "--host-resolver-rules=" + ",".join(rules).replace("http://", "")
        with launched(flag) as browser, opened_tab(browser) as tab:
            yield tab


def test_the_page_of_the_quick_start_answers_and_tries_again(tab: Page) -> None:
    tab.goto(PAGE)
    for words in ("Hi", "And now?"):
        say(tab, words)
        expect(tab.get_by_text(f"You said: {words}")).to_be_visible()
    tab.route(f"{SERVER}/**", lambda route: route.abort("connectionrefused"), times=1)
    say(tab, "Are you there?")
    alert = tab.get_by_role("alert").filter(has_text="No connection to the server.")
    expect(alert).to_be_visible()
    alert.get_by_role("button", name="Retry").click()
    expect(tab.get_by_text("You said: Are you there?")).to_be_visible()
    expect(alert).to_have_count(0)
    expect(tab.locator("form p")).to_have_count(6)


def say(tab: Page, words: str) -> None:
    field = tab.get_by_role("textbox", name="Message")
    field.fill(words)
    field.press("Enter")
    expect(field).to_have_value("")
