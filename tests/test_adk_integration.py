"""docs/adk-integration.md has the form of ADK's list of integrations, and its code runs."""

from typing import Any

import pytest
import yaml
from google.adk.agents import LlmAgent

from stream_protocol.testing import ScriptedLlm
from tests.documents import block, install_my_package
from tests.processes import ROOT
from tests.serving.support import client

PAGE = (ROOT / "docs" / "adk-integration.md").read_text(encoding="utf-8")


def test_the_catalog_knows_what_it_is() -> None:
    _, head, text = PAGE.split("---\n", 2)
    entry: dict[str, Any] = yaml.safe_load(head)
    assert [*entry] == ["catalog_title", "catalog_description", "catalog_icon", "catalog_tags"]
    assert entry["catalog_icon"].startswith("/integrations/assets/")
    headings = ["Use cases", "Prerequisites", "Installation", "Use with agent", "Resources"]
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == headings


async def test_the_mounted_routes_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    install_my_package(monkeypatch, LlmAgent(name="mine", model=ScriptedLlm(turns=["Hello there."])))
    names: dict[str, Any] = {}
    exec(compile(block("docs/adk-integration.md", "chat_router"), "page", "exec"), names)  # the page is ours
    words = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    async with client(names["app"]) as http:
        response = await http.post("/api/chat", json={"id": "c1", "messages": [words]})
    assert '"delta":"Hello"' in response.text
