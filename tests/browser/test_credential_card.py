"""The page before an agent whose tool sign-in required."""

import re
from collections.abc import Iterator
from pathlib import Path

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


def test_a_credential_is_given_on_its_own_card_and_the_call_that_needs_it_takes_none(
    browser: Browser, url: str, shots: Path
) -> None:
    with opened_tab(browser) as page:
        page.goto(url)
        say(page, "drive")
        expect(page.get_by_role("link", name="Sign in")).to_have_attribute(
            "href", re.compile("^https://provider.example/auth")
        )
        expect(page.locator('[data-tool="drive"]')).to_contain_text("sign-in required")
        say(page, "calendar")
        expect(page.locator('[data-tool="calendar"]')).to_contain_text("sign-in required")
        expect(page.get_by_role("form")).to_have_count(1)
        field = page.get_by_label("API key")
        expect(field).to_have_attribute("type", "password")
        field.fill("hunter22")
        page.screenshot(path=shots / "credential.png")
        page.get_by_role("form", name="Credential").get_by_role("button", name="Send").click()
        expect(unfolded(tool(page, "calendar", "output-available"))).to_contain_text("Length8")
        expect(page.get_by_text("Three entries.")).to_be_visible()
        assert "hunter2" not in page.content()
