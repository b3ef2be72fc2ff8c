"""The README's code is run as it stands there."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from starlette.applications import Starlette

from stream_protocol.testing import ScriptedLlm

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
NODE_MODULES = ROOT / "server" / "page" / "node_modules"
TSC_OPTIONS = (
    "--noEmit --strict --skipLibCheck --jsx react-jsx --target es2022 --module esnext --moduleResolution bundler"
)
BODY = {"id": "c1", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}


def snippet(mark: str) -> str:
    """The one Python block that holds this text."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (code,) = [block for block in blocks if mark in block]
    return code


def run(code: str) -> dict[str, Any]:
    """The names that the code defines. It is given none: a reader pastes it into a file of its own."""
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(code, "README.md", "exec"), scope)  # the README is ours
    return scope


def scripted_agent() -> LlmAgent:
    return LlmAgent(name="assistant", model=ScriptedLlm(turns=["Hello there."]))


async def ask(app: FastAPI | Starlette) -> str:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        response = await client.post("/api/chat", json=BODY)
    assert response.status_code == 200
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    return response.text


@pytest.mark.parametrize(
    ("imported", "made"),
    [("from fastapi import FastAPI", "FastAPI()"), ("from starlette.applications import Starlette", "Starlette()")],
)
async def test_the_routes_answer_in_an_app_of_either_kind(imported: str, made: str) -> None:
    code = snippet("chat_routes(").replace("from fastapi import FastAPI", imported).replace("FastAPI()", made)
    scope = run(code)
    scope["root_agent"].model = scripted_agent().model
    stream = await ask(scope["app"])
    assert "Hello" in stream
    assert stream.endswith("data: [DONE]\n\n")


async def test_a_path_operation_answers_whom_a_dependency_names() -> None:
    scope = run(snippet("ChatEndpoints("))
    scope["root_agent"].model = ScriptedLlm(respond=lambda request: [str(request.config.system_instruction)])
    headers = {"x-user": "ann"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(scope["app"]), base_url="http://app") as client:
        assert "Danish" in (await client.post("/api/chat", json=BODY, headers=headers)).text
        assert len((await client.get("/api/chat/c1", headers=headers)).json()["messages"]) == 2


async def test_the_converter_alone_answers_in_a_route_of_ones_own() -> None:
    scope = run(snippet("stream_sse(events)"))
    scope["root_agent"].model = scripted_agent().model
    stream = await ask(scope["app"])
    assert stream.startswith('data: {"type":"start"')
    assert "Hello" in stream
    assert stream.endswith("data: [DONE]\n\n")


async def test_messages_from_elsewhere_become_a_session() -> None:
    scope = run(snippet("messages_to_events(messages"))
    await scope["restore"]("c1", BODY["messages"], scripted_agent())
    session = await scope["sessions"].get_session(app_name="app", user_id="me", session_id="c1")
    assert [event.content.parts[0].text for event in session.events] == ["Hi"]


def test_adk_takes_the_switch_for_streamed_arguments() -> None:
    config = run(snippet("stream_function_call_arguments"))["root_agent"].generate_content_config
    assert config.tool_config.function_calling_config.stream_function_call_arguments is True


@pytest.mark.node
@pytest.mark.skipif(not NODE_MODULES.exists() and "CI" not in os.environ, reason="`npm ci` was not run in server/page")
@pytest.mark.parametrize("file", ["README.md", "docs/durable.md"])
def test_the_page_beside_it_passes_the_type_checker(file: str, tmp_path: Path) -> None:
    (page,) = re.findall(r"```tsx\n(.*?)```", (ROOT / file).read_text(), re.DOTALL)
    (tmp_path / "page.tsx").write_text(page)
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    tsc = [str(NODE_MODULES / ".bin" / "tsc"), *TSC_OPTIONS.split(), "page.tsx"]
    checked = subprocess.run(tsc, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120)
    assert checked.stdout == ""
    assert checked.returncode == 0


def test_the_flask_app_answers() -> None:
    scope = run(snippet("SyncChatService("))
    scope["root_agent"].model = scripted_agent().model
    with scope["flask_app"].test_client() as client:
        response = client.post("/api/chat", json=BODY)
        assert response.status_code == 200
        assert response.text.endswith("data: [DONE]\n\n")
        assert client.post("/api/chat", json={"id": "c1"}).status_code == 422
    scope["service"].close()
