"""The built page shows an error of a failed run, and the chat goes on."""

import pytest
from google.adk.agents import LlmAgent
from playwright.sync_api import Browser, expect

from stream_protocol.serving import ChatService, create_app, explain_error
from stream_protocol.testing import Call, ScriptedLlm
from tests.demo_page import answers
from tests.served import served

pytestmark = [pytest.mark.browser, pytest.mark.pages]


def get_weather(city: str) -> str:
    """Tells the weather."""
    raise RuntimeError("no sky")


@pytest.mark.parametrize("told", [False, True])
def test_the_page_shows_the_cause_if_it_may_and_retry_is_answered(browser: Browser, told: bool) -> None:
    model = ScriptedLlm(turns=[[Call("get_weather", {"city": "Oslo"})], ["Better."]])
    agent = LlmAgent(name="assistant", model=model, tools=[get_weather])
    service = ChatService(agent, on_error=explain_error) if told else ChatService(agent)
    with served(create_app(service)) as url:
        page = browser.new_page()
        page.goto(url)
        page.get_by_label("Message").fill("hi")
        page.get_by_label("Message").press("Enter")
        sentence = "The tool get_weather raised RuntimeError: no sky" if told else "An error occurred."
        problem = page.locator("[data-problem]")
        expect(problem).to_contain_text(sentence)
        page.get_by_role("button", name="Retry").click()
        expect(answers(page)).to_contain_text("Better.")
        expect(problem).to_have_count(0)
        page.close()
