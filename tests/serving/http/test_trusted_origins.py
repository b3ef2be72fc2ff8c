"""Requests of pages on other sites: ``fetch`` with ``no-cors`` posts without a preflight."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from stream_protocol.replay_server import Chats, create_replay_app, load_library
from stream_protocol.serving import ChatEndpoints, ChatService, create_app
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import ScriptedLlm
from tests.replay_server.fixture_recordings import write_recordings
from tests.served import served
from tests.serving.support import chat, client, said, why

PAGE: Final = "https://page.example"
CROSS_SITE: Final = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
WITHOUT_SITE: Final = [
    {"origin": "https://evil.example"},
    {"origin": "https://evil.example", "cookie": "session=1"},
    {"origin": "https://app.evil.example"},
    {"origin": "http://app:8000"},
    {"origin": "null"},
    {"origin": "null", "host": ""},
    {"origin": ""},
]
"""Headers of foreign pages in browsers that send no ``Sec-Fetch-Site``. The server's own name is ``app``."""
REFUSAL: Final = (
    "A page of another site may not do this unless the server names its origin: allow_origins, or --cors-origin."
)
CHANGES: Final[list[tuple[str, str, Any]]] = [
    ("POST", "/api/chat", chat(said("hi"), chat_id="c2")),
    ("POST", "/api/chat/c1/stop", None),
    ("POST", "/api/chat/c1/steer", said("hi", "s1")),
    ("PATCH", "/api/chat/c1", {"title": "Mine"}),
    ("DELETE", "/api/chat/c1", None),
]
READS: Final = ["/api/chat/c1", "/api/chat/c1/stream", "/api/chats", "/healthz"]


def service() -> ChatService:
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: ["Hello."])))


def routes_of_ones_own(chats: ChatService, origins: list[str]) -> list[BaseRoute]:
    endpoints = ChatEndpoints(chats, allow_origins=origins)

    async def respond(request: Request) -> Response:
        return await endpoints.respond(request, user_id="ann")

    async def steer(request: Request) -> Response:
        return await endpoints.steer(request, request.path_params["id"], user_id="ann")

    async def stop(request: Request) -> Response:
        return await endpoints.stop(request, request.path_params["id"], user_id="ann")

    async def change(request: Request) -> Response:
        method = endpoints.update if request.method == "PATCH" else endpoints.delete
        return await method(request, request.path_params["id"], user_id="ann")

    return [
        Route("/api/chat", respond, methods=["POST"]),
        Route("/api/chat/{id}/stop", stop, methods=["POST"]),
        Route("/api/chat/{id}/steer", steer, methods=["POST"]),
        Route("/api/chat/{id}", change, methods=["PATCH", "DELETE"]),
    ]


def app_of(kind: str, origins: list[str]) -> ASGIApp:
    match kind:
        case "create_app":
            return create_app(service(), allow_origins=origins)
        case "chat_routes":
            return Starlette(routes=chat_routes(service(), allow_origins=origins))
        case _:
            return Starlette(routes=routes_of_ones_own(service(), origins))


async def begun(app: ASGIApp) -> None:
    """Create the chat ``c1``."""
    async with client(app) as http:
        assert (await http.post("/api/chat", json=chat(said("hi")))).status_code == 200


async def changed(app: ASGIApp, headers: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return the response to each kind of request that changes data."""
    async with client(app) as http:
        done = [await http.request(method, path, json=body, headers=headers) for method, path, body in CHANGES]
    return [
        (response.status_code, why(response)) if response.is_error else (response.status_code, "") for response in done
    ]


@pytest.mark.parametrize("kind", ["create_app", "chat_routes", "ChatEndpoints"])
async def test_a_page_of_another_site_changes_nothing(kind: str) -> None:
    app = app_of(kind, [PAGE])
    await begun(app)
    for more in ({}, {"cookie": "session=1"}, {"origin": "null"}, {"sec-fetch-mode": "no-cors"}):
        assert await changed(app, {**CROSS_SITE, **more}) == [(403, REFUSAL)] * len(CHANGES)
    without_origin = {"sec-fetch-site": "cross-site"}
    assert await changed(app, without_origin) == [(403, REFUSAL)] * len(CHANGES)
    assert [status for status, _ in await changed(app, {})] == [200, 202, 200, 200, 204]  # the chat existed


@pytest.mark.parametrize("kind", ["create_app", "chat_routes", "ChatEndpoints"])
async def test_neither_does_one_in_a_browser_that_does_not_say_where_the_page_is(kind: str) -> None:
    app = app_of(kind, [PAGE])
    await begun(app)
    for headers in WITHOUT_SITE:
        assert (headers, await changed(app, headers)) == (headers, [(403, REFUSAL)] * len(CHANGES))
    assert [status for status, _ in await changed(app, {})] == [200, 202, 200, 200, 204]  # the chat existed


@pytest.mark.parametrize(
    "sites",
    [["Cross-Site"], ["same-origin", "cross-site"], ["same-origin, cross-site"], ["cross-site;x"], ["elsewhere"]],
)
async def test_another_site_is_one_in_each_spelling(sites: list[str]) -> None:
    app = app_of("chat_routes", [PAGE])
    await begun(app)
    async with client(app) as http:
        stop = await http.post("/api/chat/c1/stop", headers=[("sec-fetch-site", site) for site in sites])
    assert (stop.status_code, stop.text) == (403, REFUSAL)


PASSING: Final[dict[str, Mapping[str, str]]] = {
    "a program": {},
    "the page itself, in an old browser": {"origin": "http://app"},
    "the page itself, behind a proxy that empties headers": {"origin": "https://APP", "sec-fetch-site": ""},
    "an allowed page in an old browser": {"origin": PAGE, "cookie": "session=1"},
    "the page itself": {"sec-fetch-site": "same-origin", "origin": "http://app"},
    "a proxy that hides where the page is": {"sec-fetch-site": "same-origin"},
    "a page at another port": {"sec-fetch-site": "same-site", "origin": "http://localhost:3000"},
    "a bookmark": {"sec-fetch-site": "none"},
    "an allowed page": {"sec-fetch-site": "cross-site", "origin": PAGE, "cookie": "session=1"},
}


@pytest.mark.parametrize("kind", ["create_app", "chat_routes", "ChatEndpoints"])
async def test_all_others_do_what_they_may(kind: str) -> None:
    for name, headers in PASSING.items():
        app = app_of(kind, [PAGE])
        await begun(app)
        answers = await changed(app, headers)
        assert (name, [status for status, _ in answers]) == (name, [200, 202, 200, 200, 204])


async def test_any_origin_means_pages_that_send_no_cookies() -> None:
    app = app_of("chat_routes", ["*"])
    await begun(app)
    assert await changed(app, {**CROSS_SITE, "cookie": "session=1"}) == [(403, REFUSAL)] * len(CHANGES)
    assert [status for status, _ in await changed(app, CROSS_SITE)] == [200, 202, 200, 200, 204]
    await begun(app)
    old_browser = {"origin": "https://evil.example"}
    assert await changed(app, {**old_browser, "cookie": "session=1"}) == [(403, REFUSAL)] * len(CHANGES)
    assert [status for status, _ in await changed(app, old_browser)] == [200, 202, 200, 200, 204]


async def test_a_page_without_an_origin_may_be_named() -> None:
    app = app_of("chat_routes", ["null"])
    await begun(app)
    assert [status for status, _ in await changed(app, {**CROSS_SITE, "origin": "null"})] == [200, 202, 200, 200, 204]


def test_a_server_takes_its_own_page_for_its_own_in_each_browser() -> None:
    with served(app_of("chat_routes", [PAGE])) as url, httpx.Client(base_url=url) as http:
        name = url.replace("127.0.0.1", "chat.example")
        for host, origin, status in (
            (None, url, 200),
            (
                "chat.example",
                "https://chat.example",
                200,
            ),  # behind a proxy that terminates TLS and forwards the host name
            (None, name, 403),
            ("evil.example", url, 403),
            (None, PAGE, 200),
        ):
            headers = {"origin": origin} | ({"host": host} if host else {})
            answer = http.post("/api/chat", json=chat(said("hi"), chat_id=f"c{status}"), headers=headers)
            assert (host, origin, answer.status_code) == (host, origin, status)


async def test_what_changes_nothing_is_answered() -> None:
    app = app_of("create_app", [])
    await begun(app)
    async with client(app) as http:
        answers = [await http.get(path, headers=headers) for headers in (CROSS_SITE, WITHOUT_SITE[0]) for path in READS]
        heads = [await http.head(path, headers=WITHOUT_SITE[0]) for path in READS]
    assert [answer.status_code for answer in [*answers, *heads]] == [200, 204, 200, 200] * 3
    assert all("access-control-allow-origin" not in answer.headers for answer in answers)


async def test_the_body_of_what_is_refused_is_read_so_that_the_page_reads_why() -> None:
    pieces = [json.dumps(chat(said("hi"))).encode(), b" " * 100_000, b" "]
    left = iter(pieces)

    async def body() -> Any:
        for piece in left:
            yield piece

    headers = {**CROSS_SITE, "content-type": "application/json"}
    async with client(app_of("chat_routes", [])) as http:
        assert (await http.post("/api/chat", content=body(), headers=headers)).status_code == 403
    assert next(left, None) is None


async def test_a_replay_server_refuses_the_same(tmp_path: Path) -> None:
    chats = Chats(load_library(str(write_recordings(tmp_path, "text"))), 0.0, 6)
    app = create_replay_app(chats, allow_origins=[PAGE])
    requests = [*(change for change in CHANGES if change[0] != "PATCH"), ("POST", "/__replay/c1/step", {"all": True})]
    async with client(app) as http:
        for method, path, body in requests:
            refused = await http.request(method, path, json=body, headers=CROSS_SITE)
            assert (path, refused.status_code, refused.text) == (path, 403, REFUSAL)
        allowed = await http.delete("/api/chat/c1", headers={"sec-fetch-site": "cross-site", "origin": PAGE})
        assert allowed.status_code == 204
        assert (await http.get("/api/chats", headers=CROSS_SITE)).status_code == 200
