"""A chat id in a path has the same rules as a chat id in a body.

The tests call all routes of the chat endpoint and of the replay server.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts import FileArtifactService
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService

from stream_protocol.replay_server import Chats, create_replay_app, load_library
from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import ScriptedLlm
from tests.replay_server.fixture_recordings import write_recordings
from tests.serving.support import why

REFUSED = {
    "%20x": "The chat id must not begin or end with a space.",
    "x%20": "The chat id must not begin or end with a space.",
    "%C2%A0x": "The chat id must not begin or end with a space.",
    "x%0A": "The chat id must not begin or end with a space.",
    "%20": "The chat id is empty.",
    "%00": "The chat id must not be a path or hold control characters.",
    "x%00y": "The chat id must not be a path or hold control characters.",
    "x%0Ay": "The chat id must not be a path or hold control characters.",
    "x%C2%85y": "The chat id must not be a path or hold control characters.",
    "x%E2%80%A8y": "The chat id must not be a path or hold control characters.",
    "x%FFy": "The chat id must not be a path or hold control characters.",
    "%ED%A0%80": "The chat id must not be a path or hold control characters.",
    "x%EF%BF%BDy": "The chat id must not be a path or hold control characters.",
    "x%5Cy": "The chat id must not be a path or hold control characters.",
    "%2E%2E": "The chat id must not be a path or hold control characters.",
    "x" * 129: "The chat id is longer than 128 characters.",
}
"""The id in a path -> the error text."""

ROUTES = [
    ("GET", ""),
    ("GET", "/stream"),
    ("POST", "/stop"),
    ("POST", "/steer"),
    ("POST", "/branch"),
    ("PATCH", "/state"),
    ("PATCH", ""),
    ("DELETE", ""),
    ("GET", "/artifacts/a.txt"),
]


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a server with the chat ``x`` of the user."""
    runner = Runner(
        agent=LlmAgent(name="host", model=ScriptedLlm(turns=["hi"])),
        app_name="app",
        session_service=InMemorySessionService(),
        artifact_service=FileArtifactService(root_dir=str(tmp_path)),
    )
    async with AsyncExitStack() as stack:
        service = ChatService(runner)
        stack.push_async_callback(service.aclose)
        transport = httpx.ASGITransport(create_app(service, page=False))
        client = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"))
        posted = await client.post(
            "/api/chat",
            json={"id": "x", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]},
        )
        assert posted.status_code == 200
        yield client


async def test_an_id_that_no_chat_can_have_is_refused_alike_on_every_route(asked: httpx.AsyncClient) -> None:
    for chat_id, sentence in REFUSED.items():
        for method, rest in ROUTES:
            json = {"PATCH": {"title": "mine"}, "/branch": {"version": "v"}}.get(
                rest or method, {} if method == "PATCH" else None
            )
            answer = await asked.request(method, f"/api/chat/{chat_id}{rest}", json=json)
            assert (answer.status_code, why(answer)) == (400, sentence), (method, chat_id, rest)
    kept = (await asked.get("/api/chats")).json()["chats"]
    assert [(chat["id"], chat["title"]) for chat in kept] == [("x", "hi")]


def test_all_routes_with_a_chat_id_are_tried() -> None:
    agent = LlmAgent(name="host", model=ScriptedLlm(turns=["hi"]))
    routes = [route for route in chat_routes(ChatService(agent)) if "{chat_id}" in route.path]
    paths = {
        (method, route.path.removeprefix("/api/chat/{chat_id}").replace("{name:path}", "a.txt"))
        for route in routes
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert paths == set(ROUTES)


async def test_a_replay_server_refuses_it_too(tmp_path: Path) -> None:
    library = load_library(str(write_recordings(tmp_path, "text")))
    transport = httpx.ASGITransport(create_replay_app(Chats(library, 0.0, 6), page=False))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for chat_id, sentence in REFUSED.items():
            for method, path in [
                ("GET", f"/api/chat/{chat_id}"),
                ("GET", f"/api/chat/{chat_id}/stream"),
                ("POST", f"/api/chat/{chat_id}/stop"),
                ("DELETE", f"/api/chat/{chat_id}"),
                ("POST", f"/__replay/{chat_id}/step"),
            ]:
                answer = await client.request(method, path)
                assert (answer.status_code, why(answer)) == (400, sentence), (method, path)


@pytest.mark.parametrize("name", ["a" * 10_000, "user:" + "a" * 10_000, "%00", "a%00b", "%2E%2E%2Fx", "%ED%A0%80"])
async def test_a_name_that_no_file_can_have_is_no_artifact(asked: httpx.AsyncClient, name: str) -> None:
    answer = await asked.get(f"/api/chat/x/artifacts/{name}")
    assert (answer.status_code, answer.text) == (404, "There is no such artifact.")
