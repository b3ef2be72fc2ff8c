"""``ChatEndpoints`` in an app with its own routes."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException
from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext
from google.genai import types as genai
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from stream_protocol import ChatRequest
from stream_protocol.serving import (
    ChatEndpoints,
    ChatService,
    RunOverrides,
    ServiceLimits,
    UIMessageStreamResponse,
    response_body,
)
from stream_protocol.serving.chats._chat_list import OWN_TITLE_KEY
from stream_protocol.serving.run_logs import EventBuffer, LogBounds
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.support import HANG, JSON_TYPE, chat, chunks, client, said, text, why

TOO_LARGE = (
    "The request is larger than 1000 bytes: "
    "send only the last message (prepareSendMessagesRequest), and files as links."
)


def current_user(x_user: Annotated[str, Header()] = "") -> str:
    if x_user == "gone":
        raise HTTPException(403, "Gone.")
    return x_user


User = Annotated[str, Depends(current_user)]


def fastapi_app(endpoints: ChatEndpoints, overrides: Any = RunOverrides()) -> FastAPI:  # noqa: B008 - it is immutable
    app = FastAPI()

    @app.post("/talk")
    async def post(request: Request, user: User) -> Response:
        return await endpoints.respond(request, user_id=user, overrides=overrides)

    @app.get("/talks")
    async def listed(request: Request, user: User) -> Response:
        return await endpoints.chats(request, user_id=user)

    @app.get("/talk/{chat_id}")
    async def history(request: Request, chat_id: str, user: User) -> Response:
        return await endpoints.history(request, chat_id, user_id=user)

    @app.get("/talk/{chat_id}/live")
    async def resume(request: Request, chat_id: str, user: User) -> Response:
        return await endpoints.resume(request, chat_id, user_id=user)

    @app.post("/talk/{chat_id}/halt")
    async def stop(request: Request, chat_id: str, user: User) -> Response:
        return await endpoints.stop(request, chat_id, user_id=user)

    @app.delete("/talk/{chat_id}")
    async def delete(request: Request, chat_id: str, user: User) -> Response:
        return await endpoints.delete(request, chat_id, user_id=user)

    @app.get("/files/{chat_id}/{name}")
    async def artifact(request: Request, chat_id: str, name: str, user: User) -> Response:
        return await endpoints.artifact(request, chat_id, name, user_id=user)

    return app


def service(*turns: Any, **options: Any) -> ChatService:
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=[draw]), **options)


async def draw(tool_context: ToolContext) -> dict[str, str]:
    """Draws."""
    await tool_context.save_artifact("a.txt", genai.Part.from_bytes(data=b"drawn", mime_type="text/plain"))
    return {}


ANN = {"x-user": "ann"}


async def test_path_operations_answer_whom_a_dependency_names() -> None:
    async with client(fastapi_app(ChatEndpoints(service("Hello.")))) as http:
        answer = await http.post("/talk", json=chat(said("hi")), headers=ANN)
        assert text(chunks(answer.text)) == "Hello."
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert len((await http.get("/talk/c1", headers=ANN)).json()["messages"]) == 2
        assert [entry["id"] for entry in (await http.get("/talks", headers=ANN)).json()["chats"]] == ["c1"]
        assert (await http.get("/talk/c1/live", headers=ANN)).status_code == 204
        assert (await http.post("/talk/c1/halt", headers=ANN)).status_code == 202
        assert (await http.get("/talk/c1", headers={"x-user": "bob"})).status_code == 404
        assert (await http.delete("/talk/c1", headers=ANN)).status_code == 204
        assert why(await http.get("/talk/c1", headers=ANN)) == "There is no such chat."


@pytest.mark.parametrize(
    ("body", "headers", "refusal"),
    [
        (chat(said("")), ANN, (422, "The message is empty.")),
        (chat(said("hi")), {}, (401, "Sign in first.")),
        (chat(said("x" * 2000)), ANN, (413, TOO_LARGE)),
        (chat(said("hi")), {**ANN, "content-type": "text/plain"}, (415, "The request body must be application/json.")),
    ],
    ids=["nothing said", "nobody", "too large", "no JSON"],
)
async def test_a_refusal_is_a_plain_response_and_not_what_fastapi_makes_of_an_exception(
    body: dict[str, Any], headers: dict[str, str], refusal: tuple[int, str]
) -> None:
    async with client(fastapi_app(ChatEndpoints(service("Never."), max_body_bytes=1000))) as http:
        response = await http.post("/talk", json=body, headers=headers)
    assert (response.status_code, response.text) == refusal
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


async def test_the_body_of_nobody_is_read_before_the_refusal() -> None:
    sent: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        for _ in range(100):
            sent.append(b" ")
            yield sent[-1]

    async with client(fastapi_app(ChatEndpoints(service("Never.")))) as http:
        refused = await http.post("/talk", content=body(), headers=JSON_TYPE)
    assert (refused.status_code, len(sent)) == (401, 100), "a browser shows the answer only if it could send all"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/talk/c1"),
        ("GET", "/talk/c1/live"),
        ("POST", "/talk/c1/halt"),
        ("DELETE", "/talk/c1"),
        ("GET", "/talks"),
    ],
)
async def test_nobody_has_chats_on_any_path(method: str, path: str) -> None:
    async with client(fastapi_app(ChatEndpoints(service("Never.")))) as http:
        assert (await http.request(method, path)).status_code == 401


async def test_what_the_apps_own_dependency_refuses_is_the_apps() -> None:
    async with client(fastapi_app(ChatEndpoints(service("Never.")))) as http:
        refused = await http.post("/talk", json=chat(said("hi")), headers={"x-user": "gone"})
    assert (refused.status_code, refused.json()) == (403, {"detail": "Gone."})


async def test_a_failure_is_a_masked_500() -> None:
    def broken(request: Request, chat_request: ChatRequest) -> RunOverrides:
        raise RuntimeError("password 1234")

    async with client(fastapi_app(ChatEndpoints(service("Never.")), broken)) as http:
        failed = await http.post("/talk", json=chat(said("hi")), headers=ANN)
    assert (failed.status_code, failed.text) == (500, "An error occurred.")


async def test_overrides_are_given_or_made_when_the_body_has_been_read() -> None:
    async def themed(request: Request, chat_request: ChatRequest) -> RunOverrides:
        return RunOverrides(state_delta={"theme": chat_request.body["theme"]})

    for overrides in (RunOverrides(state_delta={"theme": "dark"}), themed):
        chats = service("Hello.")
        async with client(fastapi_app(ChatEndpoints(chats), overrides)) as http:
            await http.post("/talk", json=chat(said("hi"), theme="dark"), headers=ANN)
        session = await chats.runner.session_service.get_session(app_name="root", user_id="ann", session_id="c1")
        assert session is not None
        assert session.state == {"theme": "dark", OWN_TITLE_KEY: "hi"}


async def test_a_body_that_the_app_has_read_counts() -> None:
    endpoints = ChatEndpoints(service("Hello."))

    async def post(request: Request) -> Response:
        assert (await request.json())["id"] == "c1"
        return await endpoints.respond(request, user_id="ann")

    async with client(Starlette(routes=[Route("/talk", post, methods=["POST"])])) as http:
        assert text(chunks((await http.post("/talk", json=chat(said("hi")))).text)) == "Hello."


@pytest.mark.parametrize("path", [None, "/files"])
async def test_files_are_links_only_where_the_app_says_that_it_serves_them(path: str | None) -> None:
    endpoints = ChatEndpoints(service(Call("draw"), "Drawn."))

    async def post(request: Request) -> Response:
        return await endpoints.respond(request, user_id="ann", artifact_path=path)

    async def history(request: Request) -> Response:
        return await endpoints.history(request, "c1", user_id="ann", artifact_path=path)

    app = Starlette(routes=[Route("/talk", post, methods=["POST"]), Route("/talk", history)])
    async with client(app) as http:
        streamed = (await http.post("/talk", json=chat(said("hi")))).text
        stored = (await http.get("/talk")).text
    link = "/files/c1/artifacts/a.txt?version=0"
    assert (link in streamed, link in stored) == (path is not None,) * 2


async def collect(response: Response) -> bytes:
    return b"".join([piece async for piece in response_body(response)])


async def test_the_body_of_a_response_for_a_framework_with_responses_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Read.")
    assert await collect(PlainTextResponse("No.", 409)) == b"No."
    assert await collect(FileResponse(tmp_path / "a.txt")) == b"Read."
    assert await collect(Response(status_code=204)) == b""


def posted(body: dict[str, Any]) -> Request:
    """Return a request that was read by a framework without Starlette."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    headers = [(name.encode(), value.encode()) for name, value in JSON_TYPE.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": headers, "query_string": b""}, receive)


async def test_closing_the_body_of_a_stream_is_a_disconnect() -> None:
    chats = service(["Well. ", Wait(asyncio.Event())], "Again.", limits=ServiceLimits(disconnect_grace=0))
    endpoints = ChatEndpoints(chats, keep_alive=0.01)
    body = response_body(await endpoints.respond(posted(chat(said("hi"))), user_id="ann"))
    async with asyncio.timeout(HANG):
        while b"Well" not in await anext(body):
            pass
        while not (await anext(body)).startswith(b":"):
            pass
        await body.aclose()
        answer = await collect(await endpoints.respond(posted(chat(said("more", "u2"))), user_id="ann"))
    assert text(chunks(answer.decode())) == "Again."


async def test_a_body_that_is_not_complete_breaks_its_connection() -> None:
    log = EventBuffer(LogBounds(max_backlog=1))
    body = response_body(UIMessageStreamResponse(log.read()))
    log.append(b"data: 1\n\n")
    assert await anext(body) == b"data: 1\n\n"
    log.cut_off_readers()
    with pytest.raises(ConnectionError, match="before its body was complete"):
        await anext(body)


async def test_an_error_of_a_response_comes_out_of_its_body() -> None:
    class Broken(Response):
        async def __call__(self, *_: object) -> None:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await collect(Broken())


async def test_nothing_of_a_body_is_read_ahead() -> None:
    taken: list[int] = []

    async def content() -> AsyncIterator[bytes]:
        for number in range(9):
            taken.append(number)
            yield b"data: 1\n\n"

    body = response_body(UIMessageStreamResponse(content()))
    await anext(body)
    await asyncio.sleep(0.01)
    assert len(taken) <= 3
    await body.aclose()
