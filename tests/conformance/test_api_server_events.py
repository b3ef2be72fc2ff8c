"""The converter takes the events of a real ``adk api_server`` unchanged."""

import json
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from stream_protocol import reduce_chunks, stream_chunks
from stream_protocol.session import session_to_messages
from tests.served import served
from tests.serving.support import HANG

AGENT: Final = """
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types
from stream_protocol.testing import Call, ScriptedLlm, Thought


async def draw(tool_context: ToolContext) -> dict[str, object]:
    "Draws."
    await tool_context.save_artifact("a.png", types.Part.from_bytes(data=b"png", mime_type="image/png"))
    return {"drawn": True}


def pay(amount: int) -> dict[str, int]:
    "Pays."
    return {"paid": amount}


turns = [[Thought("Hm."), "Let me ", "draw.", Call("draw")], "Drawn. Ñandú.", Call("pay", {"amount": 5})]
tools = [draw, FunctionTool(pay, require_confirmation=True)]
root_agent = LlmAgent(name="guide", model=ScriptedLlm(turns=turns), tools=tools)
"""
SESSIONS: Final = "/apps/guide/users/u/sessions"


@pytest.fixture
def api_server(tmp_path: Path) -> Iterator[str]:
    """The address of ADK's API server over a folder of agents."""
    from google.adk.cli.fast_api import get_fast_api_app  # noqa: PLC0415 - it imports much

    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "__init__.py").write_text("from . import agent\n")
    (tmp_path / "guide" / "agent.py").write_text(AGENT)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)  # ADK about itself
        app = get_fast_api_app(
            agents_dir=str(tmp_path),
            session_service_uri="memory://",
            artifact_service_uri="memory://",
            use_local_storage=False,
            web=False,
        )
    with served(app) as url:
        yield url


async def run_sse(http: httpx.AsyncClient, words: str) -> AsyncIterator[dict[str, Any]]:
    message = {"role": "user", "parts": [{"text": words}]}
    body = {"appName": "guide", "userId": "u", "sessionId": "s", "newMessage": message, "streaming": True}
    async with http.stream("POST", "/run_sse", json=body) as response:
        assert response.status_code == 200
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


async def test_its_stream_and_its_session_are_one_conversation(api_server: str) -> None:
    async with httpx.AsyncClient(base_url=api_server, timeout=HANG) as http:
        (await http.post(SESSIONS, json={"sessionId": "s"})).raise_for_status()
        live = [
            reduce_chunks([chunk async for chunk in stream_chunks(run_sse(http, words))]) for words in ("draw", "pay")
        ]
        stored = session_to_messages((await http.get(f"{SESSIONS}/s")).json())
    parts = [part["type"] for message in live for part in message["parts"]]
    assert parts == [
        *("step-start", "reasoning", "text", "tool-draw", "data-adk-artifact", "step-start", "text"),
        *("step-start", "tool-pay"),
    ]
    assert live[1]["parts"][-1]["state"] == "approval-requested"  # type: ignore[typeddict-item]  # a tool's part
    assert [message for message in stored if message["role"] == "assistant"] == live
