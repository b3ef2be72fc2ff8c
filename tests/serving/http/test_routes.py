"""Responses to requests that are not plain chat messages."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount, Route

from stream_protocol.serving import create_app
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import ScriptedLlm
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import JSON_TYPE, Exchange, chat, client, post, said, stream, text

BODY = json.dumps(chat(said("hi"))).encode()


def service() -> InstrumentedService:
    return InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=["Hello there."])))


REFUSED: list[tuple[str, Mapping[str, str], bytes, int]] = [
    ("a form", {"content-type": "application/x-www-form-urlencoded"}, b"id=c1", 415),
    ("plain text", {"content-type": "text/plain"}, BODY, 415),
    ("no content type", {}, BODY, 415),
    ("not JSON", JSON_TYPE, b"{", 400),
    ("no object", JSON_TYPE, b"[]", 400),
    ("no chat id", JSON_TYPE, b'{"messages":[]}', 400),
    ("a path for a chat id", JSON_TYPE, json.dumps(chat(said("hi"), chat_id="../x")).encode(), 400),
    ("no messages", JSON_TYPE, b'{"id":"c1","messages":[]}', 422),
    ("nothing said", JSON_TYPE, json.dumps(chat(said(""))).encode(), 422),
    ("a system message", JSON_TYPE, json.dumps(chat({**said("obey"), "role": "system"})).encode(), 422),
    ("only an assistant message", JSON_TYPE, json.dumps(chat({**said("I"), "role": "assistant"})).encode(), 409),
    ("too much", JSON_TYPE, json.dumps(chat(said("x" * 2000))).encode(), 413),
]


@pytest.mark.parametrize(("headers", "body", "status"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_a_request_that_is_none_is_refused_in_one_plain_sentence(
    headers: Mapping[str, str], body: bytes, status: int
) -> None:
    chats = service()
    app = Starlette(routes=chat_routes(chats, max_body_bytes=1000))
    async with client(app) as http:
        response = await http.post("/api/chat", content=body, headers=headers)
    assert response.status_code == status
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text.endswith(".")
    assert "\n" not in response.text
    sessions = await chats.runner.session_service.list_sessions(app_name="root")
    assert sessions.sessions == []
    assert not chats.runs.running


async def test_a_body_without_a_declared_length_is_bounded_while_it_is_read() -> None:
    app = Starlette(routes=chat_routes(service(), max_body_bytes=1000))
    async with Exchange(app).begin(*[b"x" * 400] * 100) as exchange:
        assert await exchange.status() == 413


async def test_a_client_that_leaves_in_mid_body_is_no_error() -> None:
    app = Starlette(routes=chat_routes(service()))
    exchange = Exchange(app)
    async with exchange.begin():
        exchange.leave()
        assert await exchange.status() == 400


async def test_other_methods_are_not_allowed() -> None:
    async with client(create_app(service(), page=False)) as http:
        assert (await http.get("/api/chat")).status_code == 405
        assert (await http.post("/healthz")).status_code == 405
        assert (await http.get("/elsewhere")).status_code == 404


async def test_healthz_is_ok() -> None:
    async with client(create_app(service())) as http:
        response = await http.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_identify_may_refuse() -> None:
    def nobody(request: Request) -> str:
        raise HTTPException(401, "Sign in first.")

    response = await post(create_app(service(), identify=nobody), chat(said("hi")))
    assert (response.status_code, response.text) == (401, "Sign in first.")


async def test_a_session_service_that_fails_is_a_masked_500(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(InMemorySessionService):
        async def get_session(self, **_: Any) -> None:
            raise RuntimeError("password 1234")

    chats = InstrumentedService(LlmAgent(name="root", model=ScriptedLlm(turns=["x"])), session_service=Broken())
    app = create_app(chats, allow_origins=["https://page.example"])
    async with client(app) as http:
        response = await http.post("/api/chat", json=chat(said("hi")), headers={"origin": "https://page.example"})
    assert (response.status_code, response.text) == (500, "An error occurred.")
    assert response.headers["access-control-allow-origin"] == "https://page.example"
    assert not chats.runs.running


ORIGIN = "https://page.example"


async def test_a_page_of_an_allowed_origin_passes_the_preflight_of_every_route() -> None:
    headers = {"access-control-request-headers": "content-type,authorization"}
    app = create_app(service(), allow_origins=[ORIGIN])
    methods = {
        (route.path, method) for route in app.routes if isinstance(route, Route) for method in route.methods or ()
    }
    assert ("/api/chat", "POST") in methods
    async with client(app) as http:
        for path, method in methods:
            preflight = {**headers, "access-control-request-method": method}
            allowed = await http.options(path, headers={**preflight, "origin": ORIGIN})
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == ORIGIN
            refused = await http.options(path, headers={**preflight, "origin": "https://evil.example"})
            assert refused.status_code == 400
            assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize(("origins", "allowed"), [([ORIGIN], "true"), (["*"], None)])
async def test_cookies_are_taken_from_an_origin_that_is_named(origins: list[str], allowed: str | None) -> None:
    async with client(create_app(service(), allow_origins=origins)) as http:
        response = await http.get("/api/chats", headers={"origin": ORIGIN})
    assert response.headers.get("access-control-allow-credentials") == allowed


@pytest.mark.parametrize(("body", "status"), [(chat(said("hi")), 200), (chat(), 422)])
async def test_answers_and_refusals_alike_may_be_read_from_an_allowed_origin(body: dict[str, Any], status: int) -> None:
    async with client(create_app(service(), allow_origins=[ORIGIN])) as http:
        response = await http.post("/api/chat", json=body, headers={"origin": ORIGIN})
    assert response.status_code == status
    assert response.headers["access-control-allow-origin"] == ORIGIN
    assert response.headers["access-control-expose-headers"] == "x-vercel-ai-ui-message-stream, retry-after"


async def test_without_allowed_origins_there_is_no_cors() -> None:
    async with client(create_app(service())) as http:
        response = await http.post("/api/chat", json=chat(said("hi")), headers={"origin": ORIGIN})
    assert "access-control-allow-origin" not in response.headers


async def test_the_routes_live_in_a_fastapi_app() -> None:
    app = FastAPI()
    app.router.routes.extend(chat_routes(service()))
    assert text(await stream(app, chat(said("hi")))) == "Hello there."
    assert (await post(app, chat())).text == "The request needs a list of messages that is not empty."


async def test_the_routes_live_under_another_path() -> None:
    app = Starlette(routes=[Mount("/v1", routes=chat_routes(service(), path="/talk"))])
    async with client(app) as http:
        assert (await http.post("/v1/talk", json=chat(said("hi")))).status_code == 200
