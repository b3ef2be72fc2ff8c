from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stream_protocol.serving import ChatEndpoints, ChatService, create_app, header_user
from stream_protocol.testing import ScriptedLlm
from tests.serving.support import chat, chunks, client, post, said, text, why


def service() -> ChatService:
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Never."])))


@pytest.mark.parametrize(
    "headers",
    [[], [("x-user", "")], [("x-user", "  ")], [("x-user", "ann"), ("x-user", "bob")], [("x-other", "ann")]],
)
async def test_without_the_proxys_one_header_a_request_is_nobodys(headers: Sequence[tuple[str, str]]) -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."]))
    async with client(create_app(agent, identify=header_user("X-User"))) as http:
        response = await http.post("/api/chat", json=chat(said("hi")), headers=list(headers))
    assert (response.status_code, response.text) == (401, "Sign in first.")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


async def test_the_header_says_whose_chat_it_is() -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: [f"{len(request.contents)} contents"]))
    async with client(create_app(agent, identify=header_user("X-User"))) as http:
        answers = [
            text(chunks((await http.post("/api/chat", json=chat(said("hi", turn)), headers={"x-user": user})).text))
            for user, turn in (("ann", "u1"), ("bob", "u1"), ("ann", "u2"))
        ]
    assert answers == ["1 contents", "1 contents", "3 contents"]


async def test_names_that_differ_in_their_last_letter_are_two_users_also_as_utf8() -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: [f"{len(request.contents)} contents"]))
    names = [name.encode() for name in ("annà", "annÅ", "ann\u00a0", "ann\u0085")] + [b"ann", b"ann\xa0", b"ann\x85"]
    async with client(create_app(agent, identify=header_user("X-User"))) as http:
        answers = [
            text(
                chunks(
                    (await http.post("/api/chat", json=chat(said("hi", name.hex())), headers={b"x-user": name})).text
                )
            )
            for name in names
        ]
    assert answers == ["1 contents"] * len(names)


@pytest.mark.parametrize("nobody", ["", None])
async def test_an_identify_that_finds_nobody_gives_nobody_a_chat(nobody: Any) -> None:
    app = create_app(LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."])), identify=lambda request: nobody)
    async with client(app) as http:
        response = await http.post("/api/chat", json=chat(said("hi")))
    assert (response.status_code, response.text) == (401, "Sign in first.")


TOO_LONG, CONTROL = "The user id is longer than 128 characters.", "The user id must not hold control characters."


@pytest.mark.parametrize(
    ("user", "sentence"),
    [("u" * 129, TOO_LONG), ("u" * 10_240, TOO_LONG)]
    + [(user, CONTROL) for user in ("a\0", "a\nb", "a\x1bb", "a\x7f", "a\ud800")],
)
async def test_an_id_that_a_session_store_may_refuse_is_nobodys_on_every_route(user: str, sentence: str) -> None:
    app = create_app(LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."])), identify=lambda request: user)
    async with client(app) as http:
        answers = [
            await http.request(method, path, json=chat(said("hi")))
            for method, path in (
                ("POST", "/api/chat"),
                ("GET", "/api/chats"),
                ("GET", "/api/chat/c1"),
                ("GET", "/api/chat/c1/stream"),
                ("POST", "/api/chat/c1/stop"),
                ("POST", "/api/chat/c1/steer"),
                ("PATCH", "/api/chat/c1"),
                ("DELETE", "/api/chat/c1"),
                ("GET", "/api/chat/c1/artifacts/a.txt"),
            )
        ]
    assert {(answer.status_code, why(answer)) for answer in answers} == {(401, sentence)}


@pytest.mark.parametrize(
    "user", ["u" * 128, "CORP\\ann", "auth0|1/2", "ann@example.com", "日本", "日本".encode().decode("latin-1")]
)
async def test_ids_as_directories_give_them_are_users(user: str) -> None:
    app = create_app(LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."])), identify=lambda request: user)
    async with client(app) as http:
        assert (await http.post("/api/chat", json=chat(said("hi")))).status_code == 200


@pytest.mark.parametrize(("found", "shown"), [(5, "5"), (b"ann", "bytes"), (object(), "object"), (True, "True")])
async def test_a_user_id_that_is_no_text_is_told_in_the_log(
    found: Any, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The id may come from a database, where it is a number."""
    app = create_app(service(), identify=lambda request: found, page=False)
    async with client(app) as http:
        answer = await http.get("/api/chat/c1/stream")
    assert (answer.status_code, answer.text) == (500, "An error occurred.")
    assert f"`identify(request)` must be the user's id as text, not {shown}." in caplog.text


@pytest.mark.parametrize("user_id", [5, b"ann"])
async def test_so_is_that_of_an_app_with_routes_of_its_own(user_id: Any, caplog: pytest.LogCaptureFixture) -> None:
    endpoints = ChatEndpoints(service())

    async def resume(request: Request) -> Response:
        return await endpoints.resume(request, "c1", user_id=user_id)

    async with client(Starlette(routes=[Route("/", resume)])) as http:
        assert (await http.get("/")).status_code == 500
    assert "`user_id` must be text, not " in caplog.text


async def test_nobody_is_refused_however_the_app_says_so() -> None:
    answers: Iterator[Any] = iter(["", None])
    app = create_app(service(), identify=lambda request: next(answers), page=False)
    for _ in range(2):
        async with client(app) as http:
            assert (await http.get("/api/chat/c1/stream")).status_code == 401


@pytest.mark.parametrize("prepared", [{"state_delta": {}}, None, "fast"])
async def test_what_prepare_returns_is_told_in_the_log_if_it_is_none(
    prepared: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(service(), prepare=lambda request, asked: prepared, page=False)
    assert (await post(app, chat(said("hi")))).status_code == 500
    assert "`prepare(request, chat_request)` must be a RunOverrides, not " in caplog.text
