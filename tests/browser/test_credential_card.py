"""The page before an agent whose tool sign-in required."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.chromium import opened_tab
from tests.demo_page import say, tool, unfolded
from tests.processes import serving

pytestmark = [pytest.mark.browser, pytest.mark.pages]

AGENT = """
from google.adk.agents import LlmAgent
from google.adk.auth.auth_tool import AuthConfig
from google.adk.tools.tool_context import ToolContext
from stream_protocol.testing import Call, ScriptedLlm

KEY = AuthConfig.model_validate({"authScheme": {"type": "apiKey", "in": "header", "name": "x"}, "credentialKey": "k"})
SIGN_IN = AuthConfig.model_validate({
    "authScheme": {"type": "oauth2", "flows": {"authorizationCode": {
        "authorizationUrl": "https://provider.example/auth", "tokenUrl": "https://provider.example/token"}}},
    "rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "app", "clientSecret": "hunter2"}},
    "credentialKey": "s",
})


def use(config, tool_context):
    credential = tool_context.get_auth_response(config)
    if credential is None:
        tool_context.request_credential(config)
        return {"status": "sign in"}
    return {"length": len(credential.api_key)}


def calendar(tool_context: ToolContext):
    return use(KEY, tool_context)


def drive(tool_context: ToolContext):
    return use(SIGN_IN, tool_context)


def respond(request):
    parts = request.contents[-1].parts
    return "Three entries." if parts[-1].function_response else Call(parts[-1].text)


root_agent = LlmAgent(name="root", model=ScriptedLlm(respond=respond), tools=[calendar, drive])
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "agent.py").write_text(AGENT)
    with serving("agent:root_agent", cwd=tmp_path) as (_, url):
        yield url


@pytest.mark.parametrize(("width", "colors"), [(1100, "light"), (390, "dark")])
def test_a_call_and_the_sign_in_that_it_needs_are_one_card(
    browser: Browser, url: str, shots: Path, width: int, colors: Literal["light", "dark"]
) -> None:
    with opened_tab(browser, width=width, colors=colors) as page:
        page.goto(url)
        say(page, "drive")
        expect(page.get_by_role("link", name="Sign in")).to_have_attribute(
            "href", re.compile("^https://provider.example/auth")
        )
        card = page.locator("[data-tool]")
        expect(card).to_have_count(1)
        expect(card).to_have_attribute("data-tool", "drive")
        expect(card).to_contain_text("sign-in required")
        page.screenshot(path=shots / f"sign-in-{width}.png")
        say(page, "calendar")
        expect(card).to_have_count(2)
        expect(card.last).to_contain_text("sign-in required")
        expect(card.first).to_contain_text("not answered")
        expect(page.get_by_role("form")).to_have_count(1)
        field = page.get_by_label("API key")
        expect(field).to_have_attribute("type", "password")
        field.fill("hunter22")
        field.press("Enter")
        expect(page.get_by_text("Three entries.")).to_be_visible()
        for _ in ("live", "stored"):
            expect(card).to_have_count(2)
            done = unfolded(tool(page, "calendar", "output-available"))
            expect(done).to_contain_text("Signed in")
            expect(done).to_contain_text("Length8")
            page.screenshot(path=shots / f"signed-in-{width}.png")
            page.reload()
        assert "hunter2" not in page.content()
