"""Response headers limit the browser's use of a response."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from stream_protocol.replay_server import Chats, create_replay_app, load_library
from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import ScriptedLlm
from tests.replay_server.fixture_recordings import write_recordings
from tests.serving.support import chat, client, said

REQUESTS: Final = [
    *(("POST", "/api/chat"), ("GET", "/api/chat/c1"), ("GET", "/api/chats"), ("GET", "/api/chat/c1/stream")),
    *(
        ("POST", "/api/chat/c1/stop"),
        ("POST", "/api/chat/c1/steer"),
        ("PATCH", "/api/chat/c1"),
        ("GET", "/api/chat/c1/artifacts/x.html"),
    ),
    *(("DELETE", "/api/chat/c1"), ("GET", "/healthz"), ("GET", "/api/chat/%2e%2e/stream"), ("PUT", "/api/chat")),
]
PAGES: Final = [("GET", "/"), ("GET", "/index.html"), ("GET", "/page.json"), ("GET", "/nowhere.html")]


def agent() -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: ["Hello."]))


def policy(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the directives of the content security policy."""
    directives = headers["content-security-policy"].split(";")
    return {name: value for name, _, value in (directive.strip().partition(" ") for directive in directives)}


def assert_safe(headers: Mapping[str, str]) -> None:
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert policy(headers)["default-src"] == "'none'"
    assert policy(headers)["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]


@pytest.mark.parametrize("page", [True, False])
async def test_no_response_is_framed_sniffed_or_loads_anything(page: bool) -> None:
    async with client(create_app(agent(), page=page)) as http:
        for method, path in [*REQUESTS, *PAGES]:
            body = chat(said("hi")) if path == "/api/chat" else {}
            response = await http.request(method, path, json=body if method in ("POST", "PATCH") else None)
            assert_safe(response.headers)


async def test_the_page_loads_from_its_own_server_alone() -> None:
    async with client(create_app(agent())) as http:
        page = await http.get("/")
    sources = policy(page.headers)
    assert "<script" in page.text
    own = "'self'"
    assert sources == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "script-src": own,
        "style-src": own,
        "font-src": own,
        "connect-src": own,
        "img-src": "'self' data: blob:",
        "media-src": "'self' data: blob:",
    }
    assert "microphone=()" in page.headers["permissions-policy"]
    assert "geolocation=(self)" in page.headers["permissions-policy"]  # the browser asks the user
    assert page.headers["x-dns-prefetch-control"] == "off"
    assert not re.search(r"<style|<script>|style=| on\w+=", page.text)  # nothing inline, which the policy forbids


async def test_the_routes_in_an_app_of_ones_own_bring_their_headers_and_touch_no_others() -> None:
    own = Route("/", lambda request: HTMLResponse("<p>Mine.</p>"))
    async with client(Starlette(routes=[own, *chat_routes(ChatService(agent()))])) as http:
        assert "x-frame-options" not in (await http.get("/")).headers
        for method, path in REQUESTS[:-1]:
            body = chat(said("hi")) if path == "/api/chat" else {}
            response = await http.request(method, path, json=body if method in ("POST", "PATCH") else None)
            assert_safe(response.headers)


async def test_a_page_that_is_added_to_the_app_keeps_its_own_rules() -> None:
    app = create_app(agent())
    app.routes.insert(0, Route("/mine", lambda request: HTMLResponse("<p>Mine.</p>")))
    async with client(app) as http:
        headers = (await http.get("/mine")).headers
    assert not {"content-security-policy", "x-frame-options", "referrer-policy"} & headers.keys()


async def test_what_a_hook_of_the_app_says_of_an_error_stays() -> None:
    def nobody(_request: Request) -> str:
        raise HTTPException(401, "Sign in first.", {"www-authenticate": "Basic"})

    async with client(create_app(agent(), identify=nobody)) as http:
        refused = await http.get("/api/chats")
    assert (refused.status_code, refused.text, refused.headers["www-authenticate"]) == (401, "Sign in first.", "Basic")
    assert_safe(refused.headers)


async def test_a_replay_server_sends_the_same(tmp_path: Path) -> None:
    app = create_replay_app(Chats(load_library(str(write_recordings(tmp_path, "text"))), 0.0, 6))
    async with client(app) as http:
        for method, path in [*REQUESTS, *PAGES]:
            response = await http.request(method, path, content=b"{" if method == "POST" else None)
            assert_safe(response.headers)
