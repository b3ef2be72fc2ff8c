"""The code and the screens of docs/inspector.md."""

import re
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent

from tests.documents import block, install_my_package
from tests.processes import ROOT
from tests.serving.support import HANG


async def test_the_app_of_the_page_has_an_inspector(monkeypatch: pytest.MonkeyPatch) -> None:
    install_my_package(monkeypatch, LlmAgent(name="assistant"))
    shown: dict[str, Any] = {}
    exec(block("docs/inspector.md", "inspector_routes(inspector, service)"), shown)
    transport = httpx.ASGITransport(shown["app"])
    async with httpx.AsyncClient(transport=transport, base_url="http://app", timeout=HANG) as http:
        assert (await http.get("/page.json")).json()["inspector"] is True
        assert (await http.get("/api/chat/c1/inspect")).json() == {"entries": [], "next": 0}


def test_the_page_lists_the_tabs_in_their_order() -> None:
    source = (ROOT / "server" / "page" / "src" / "inspector" / "Inspector.tsx").read_text(encoding="utf-8")
    (tabs,) = re.findall(r"^const TABS = \{(.*)\};$", source, re.MULTILINE)
    page = (ROOT / "docs" / "inspector.md").read_text(encoding="utf-8")
    (tab_list,) = re.findall(r"^- \*\*Events\*\*: .*?\n\n", page, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"^- \*\*(.*?)\*\*: ", tab_list, re.MULTILINE)
    assert listed == re.findall(r'"(.*?)"', tabs)
