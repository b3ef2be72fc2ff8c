"""A route with JSON responses also sends errors as JSON: a page reads both with ``response.json()``."""

import json
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService
from starlette.applications import Starlette

from stream_protocol.inspector import Inspector, inspector_routes
from stream_protocol.replay_server import Chats, create_replay_app, load_library
from stream_protocol.serving import ChatEndpoints, ChatService, ServiceLimits, create_app, header_user
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.serving.http._sliced_response import SLICE_BYTES, history_json
from stream_protocol.testing import ScriptedLlm
from tests.replay_server.fixture_recordings import write_recordings
from tests.serving.support import chat, client, said

ANN: Final = {"x-user": "ann"}
NO_CHAT: Final = {"messages": [], "error": "There is no such chat."}


def service(**options: Any) -> ChatService:
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: ["Hello."])), **options)


def app_of(**options: Any) -> Starlette:
    return create_app(service(**options), identify=header_user("X-User"), page=False)


async def test_a_chat_that_is_not_there_yet_has_no_messages() -> None:
    async with client(app_of()) as http:
        new = await http.get("/api/chat/c1", headers=ANN)
        assert (new.status_code, new.json()) == (404, NO_CHAT)
        assert (await http.post("/api/chat", json=chat(said("hi")), headers=ANN)).status_code == 200
        there = await http.get("/api/chat/c1", headers=ANN)
        foreign = await http.get("/api/chat/c1", headers={"x-user": "bob"})
        assert (await http.delete("/api/chat/c1", headers=ANN)).status_code == 204
        deleted = await http.get("/api/chat/c1", headers=ANN)
    assert (there.status_code, len(there.json()["messages"]), "error" in there.json()) == (200, 2, False)
    for answer in (foreign, deleted):
        assert (answer.status_code, answer.content, {**answer.headers}) == (404, new.content, {**new.headers})


async def refusals(app: Any, requests: list[tuple[str, str, Any]], headers: dict[str, str]) -> list[httpx.Response]:
    async with client(app) as http:
        return [await http.request(method, path, json=body, headers=headers) for method, path, body in requests]


def test_a_history_is_json_whatever_names_and_ids_its_events_have() -> None:
    odd = {"id": "a\ud83d", "a\ud83d": [2**70, {1, 2}], "text": "x" * SLICE_BYTES + "\ud83d"}
    written = json.loads(b"".join(history_json([odd])))
    assert written == {
        "messages": [{"id": "a\ufffd", "a\ufffd": [str(2**70), [1, 2]], "text": "x" * SLICE_BYTES + "\ufffd"}]
    }


async def test_every_refusal_of_a_json_route_is_json() -> None:
    reads = [("GET", "/api/chats", None), ("GET", "/api/chat/c1", None), ("PATCH", "/api/chat/c1", {"title": "a"})]
    wrong = [
        ("GET", "/api/chats?limit=0", None),
        ("GET", "/api/chats?cursor=x", None),
        ("GET", "/api/chat/%5C", None),
        ("PATCH", "/api/chat/c1", {"titel": "a"}),
        ("PATCH", "/api/chat/c1", {"title": "a" * 20_000}),
        ("PATCH", "/api/chat/c1", {"title": "a"}),
    ]

    class Away(InMemorySessionService):
        async def get_session(self, **_: Any) -> None:
            raise ConnectionRefusedError

        async def list_sessions(self, **_: Any) -> Any:
            raise RuntimeError("secret")

    answers = [
        *await refusals(app_of(), reads, {}),
        *await refusals(app_of(), wrong, ANN),
        *await refusals(app_of(session_service=Away()), reads, ANN),
        *(await refusals(app_of(limits=ServiceLimits(max_requests_per_minute=1)), reads, ANN))[1:],
    ]
    assert [answer.status_code for answer in answers] == [
        *(401, 401, 401),
        *(422, 422, 400, 422, 413, 404),
        *(500, 503, 503),
        *(429, 429),
    ]
    for answer in answers:
        assert answer.headers["content-type"] == "application/json"
        assert answer.json().keys() == {"error"}
        assert answer.json()["error"].endswith(".")
    assert answers[9].json() == {"error": "An error occurred."}
    assert all("retry-after" in answer.headers for answer in answers[10:])


async def test_the_routes_of_usechat_and_those_without_an_answer_stay_plain_text() -> None:
    requests = [
        ("POST", "/api/chat", chat()),
        ("GET", "/api/chat/%5C/stream", None),
        ("POST", "/api/chat/c1/stop", None),
        ("DELETE", "/api/chat/c1", None),
        ("GET", "/api/chat/c1/artifacts/a.txt", None),
    ]
    for answer in await refusals(app_of(), requests, ANN):
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.text.endswith(".")


async def test_path_operations_answer_the_same() -> None:
    endpoints = ChatEndpoints(service())
    app = FastAPI()

    @app.get("/talk/{chat_id}")
    async def history(request: Request, chat_id: str) -> Response:
        return await endpoints.history(request, chat_id, user_id="ann")

    async with client(app) as http:
        answer = await http.get("/talk/c1")
    assert (answer.status_code, answer.json()) == (404, NO_CHAT)


async def test_a_replay_server_answers_the_same(tmp_path: Path) -> None:
    library = load_library(str(write_recordings(tmp_path, "text")))
    async with client(create_replay_app(Chats(library, 0.0, 6), page=False)) as http:
        unknown, wrong = await http.get("/api/chat/none"), await http.get("/api/chat/%5C")
    assert (unknown.status_code, unknown.json()) == (404, NO_CHAT)
    assert (wrong.status_code, wrong.json().keys()) == (400, {"error"})


@pytest.mark.parametrize(("path", "as_json"), [("", True), ("/findings", True), ("/recording", False)])
async def test_the_inspector_answers_the_same(path: str, *, as_json: bool) -> None:
    routes = [*chat_routes(service()), *inspector_routes(Inspector(), service(), identify=header_user("X-User"))]
    async with client(Starlette(routes=routes)) as http:
        answer = await http.get(f"/api/chat/c1/inspect{path}")
    assert answer.status_code == 401
    assert (answer.json() == {"error": "Sign in first."}) if as_json else (answer.text == "Sign in first.")
