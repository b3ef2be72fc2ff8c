"""The app of docs/mount.md that has our routes beside those of ``adk web``: one chat, two ways to it."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import httpx
import pytest
from fastapi import FastAPI

from tests.documents import block
from tests.serving.support import JSON_TYPE, begin, chat, chunks, said, text

PAGE: Final = "http://localhost:3000"
SESSIONS: Final = "/apps/assistant/users/user/sessions"
AGENT: Final = """
import asyncio

from google.adk.agents import LlmAgent
from stream_protocol.testing import ScriptedLlm, Wait

door = asyncio.Event()


def respond(request):
    words = request.contents[-1].parts[-1].text
    return ["One ", Wait(door), "two."] if words == "slow" else f"You said: {words}."


root_agent = LlmAgent(name="assistant", model=ScriptedLlm(respond=respond))
"""


@pytest.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FastAPI]:
    """The page's app in a folder with an agent, while it lives."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (folder := tmp_path / "agents" / "assistant").mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    loaded = {*sys.modules}
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(block("docs/mount.md", "get_fast_api_app("), "page", "exec"), scope)  # the page is ours
    made: FastAPI = scope["app"]
    async with made.router.lifespan_context(made):
        yield made
    for name in {*sys.modules} - loaded:
        if name.partition(".")[0] in {"agents", "assistant"}:
            del sys.modules[name]


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        yield client


def agents_module() -> ModuleType:
    return sys.modules["agents.assistant.agent"]


async def post(http: httpx.AsyncClient, words: str, message_id: str) -> str:
    """The response of our endpoint in the chat ``c1``."""
    return text(chunks((await http.post("/api/chat", json=chat(said(words, message_id)))).text))


async def run_sse(http: httpx.AsyncClient, words: str) -> str:
    """The response of ADK's own endpoint in the same session."""
    message = {"role": "user", "parts": [{"text": words}]}
    body = {"appName": "assistant", "userId": "user", "sessionId": "c1", "newMessage": message, "streaming": True}
    response = await http.post("/run_sse", json=body)
    assert response.status_code == 200, response.text
    return response.text


async def shown(http: httpx.AsyncClient) -> list[str]:
    """The texts of the chat, as a page has them."""
    messages = (await http.get("/api/chat/c1")).json()["messages"]
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


async def test_a_chat_of_the_page_goes_on_in_adks_own_routes_and_back(http: httpx.AsyncClient) -> None:
    assert await post(http, "hello", "u1") == "You said: hello."
    assert [session["id"] for session in (await http.get(SESSIONS)).json()] == ["c1"]
    assert "You said: again." in await run_sse(http, "again")
    assert await post(http, "and here", "u3") == "You said: and here."
    words = ("hello", "again", "and here")
    assert await shown(http) == [each for word in words for each in (word, f"You said: {word}.")]
    events = (await http.get(f"{SESSIONS}/c1")).json()["events"]
    assert [event["author"] for event in events] == ["user", "assistant"] * 3


async def test_a_session_of_the_developers_ui_is_a_chat_of_the_page(http: httpx.AsyncClient) -> None:
    (await http.post(SESSIONS, json={"sessionId": "c1"})).raise_for_status()
    await run_sse(http, "hello")
    assert await shown(http) == ["hello", "You said: hello."]
    assert [each["id"] for each in (await http.get("/api/chats")).json()["chats"]] == ["c1"]
    assert await post(http, "again", "u2") == "You said: again."


async def test_adks_routes_and_its_ui_answer_as_without_ours(http: httpx.AsyncClient) -> None:
    assert (await http.get("/list-apps")).json() == ["assistant"]
    assert "<title>" in (await http.get("/dev-ui/")).text
    for path in ("/health", "/healthz"):
        assert (await http.get(path)).json() == {"status": "ok"}


async def test_each_chunk_passes_adks_middlewares_when_it_comes(app: FastAPI) -> None:
    headers = {**JSON_TYPE, "host": "127.0.0.1", "origin": PAGE, "sec-fetch-site": "cross-site"}
    async with begin(app, chat(said("slow")), headers) as exchange:
        assert await exchange.status() == 200
        assert (await exchange.until("text-delta"))["delta"] == "One", "while the agent waits for the test"
        agents_module().door.set()
        while (await exchange.until("text-delta"))["delta"] != "two.":
            pass


async def test_only_pages_that_are_named_may_ask(http: httpx.AsyncClient) -> None:
    for origin, status in ((PAGE, 200), ("https://elsewhere.example", 403)):
        answer = await http.post("/api/chat", json=chat(said("hello")), headers={"origin": origin})
        assert answer.status_code == status
        assert answer.headers.get("access-control-allow-origin") == (PAGE if status == 200 else None)


async def test_of_two_runs_at_once_in_one_session_one_fails(app: FastAPI, http: httpx.AsyncClient) -> None:
    async with begin(app, chat(said("slow"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        assert "You said: again." in await run_sse(http, "again")
        agents_module().door.set()
        await exchange.until("error")
