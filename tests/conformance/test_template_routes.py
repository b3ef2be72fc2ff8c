"""The files of examples/chatbot-template, unchanged, between the template's page and a server."""

from pathlib import Path

import pytest
from starlette.requests import Request

from stream_protocol.serving import create_app
from tests.comparable_messages import comparable
from tests.conformance.chat_apps import shown
from tests.conformance.node_scripts import run_script
from tests.conformance.tool_agent import ToolAgent
from tests.conformance.visits.visit import PAID, pay
from tests.processes import ROOT
from tests.served import served
from tests.tools import require_node_project

TURNS = [turn for _ in (6, 7) for turn in (pay(5), "Paid.", "Hello.")]

ROUTES = [file.read_text(encoding="utf-8") for file in (ROOT / "examples" / "chatbot-template").iterdir()]
"""Each names its file in its first line."""

STUBS = {
    "app/(auth)/auth.ts": 'export const auth = async () => ({ user: { id: "ann" } });',
    "server-only.ts": "export {};",
}
"""Stubs for the modules of the template and of Next.js."""


def identify(request: Request) -> str:
    return request.headers["x-user"]


@pytest.mark.node
def test_the_template_talks_through_the_routes_of_its_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_node_project(ROOT / "server" / "page")
    routes = {code.partition("\n")[0].removeprefix("// "): code for code in ROUTES}
    for path, code in (STUBS | routes).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code)
    bundler = ROOT / "server" / "page" / "node_modules" / "rolldown" / "dist" / "index.mjs"
    with served(create_app(ToolAgent(TURNS).agent, page=False, identify=identify)) as url:
        monkeypatch.setenv("AGENT_URL", url)
        (told,) = run_script("template-routes.mjs", [{"folder": str(tmp_path), "bundler": str(bundler)}])
    for seen in told:
        assert [shown(message) for message in seen["shown"]] == PAID
        assert comparable(seen["shown"]) == comparable(seen["stored"]) == comparable(seen["reloaded"])
        assert [chat["id"] for chat in [*seen["newest"]["chats"], *seen["next"]["chats"]]] == ["c2", "c1"]
        assert (seen["newest"]["hasMore"], seen["next"]["hasMore"]) == (True, False)
        assert seen["refusal"]["status"] == 400
        assert " " in seen["refusal"]["text"]
        assert (seen["deleted"]["messages"], seen["left"]) == ([], [])
