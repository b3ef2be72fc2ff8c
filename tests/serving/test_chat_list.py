"""A user's chats: listed and deleted, in every session service."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService
from google.genai import types
from httpx import AsyncClient, Response
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, RunOverrides, chat_routes
from stream_protocol.testing import ScriptedLlm, Wait
from tests.serving.support import begin, chat, client, said
from tests.serving.watched import WatchedService


def app_for(service: ChatService) -> Starlette:
    def prepare(request: Any, asked: Any) -> RunOverrides:
        return RunOverrides(state_delta={"title": asked.body["title"]} if "title" in asked.body else {})

    return Starlette(
        routes=chat_routes(service, identify=lambda request: request.headers.get("x-user", "ann"), prepare=prepare)
    )


def talking(sessions: BaseSessionService) -> ChatService:
    return ChatService(
        LlmAgent(name="root", model=ScriptedLlm(respond=lambda request: ["Well."])), session_service=sessions
    )


async def say(http: AsyncClient, chat_id: str, words: str, user: str = "ann", **more: Any) -> None:
    response = await http.post("/api/chat", json=chat(said(words), chat_id=chat_id, **more), headers={"x-user": user})
    assert response.status_code == 200, response.text


async def titles(http: AsyncClient, query: str = "", user: str = "ann") -> list[tuple[str, str | None]]:
    listed = (await http.get(f"/api/chats{query}", headers={"x-user": user})).json()
    return [(entry["id"], entry["title"]) for entry in listed["chats"]]


async def test_chats_are_listed_newest_first_with_titles_and_for_their_user_only(sessions: BaseSessionService) -> None:
    async with client(app_for(talking(sessions))) as http:
        assert await titles(http) == []
        await say(http, "c1", "  Hello,\n you  ")
        await say(http, "c2", "word " * 40)
        await say(http, "c3", "x", title="My title")
        await say(http, "c4", "Bob's", user="bob")
        await say(http, "c1", "again")
        long = "word " * 15 + "word…"
        assert await titles(http) == [("c1", "Hello, you"), ("c3", "My title"), ("c2", long)]
        assert await titles(http, user="bob") == [("c4", "Bob's")]
        assert await titles(http, user="eve") == []
        (entry,) = (await http.get("/api/chats?limit=1")).json()["chats"]
        assert entry.keys() == {"id", "title", "updatedAt"}
        assert entry["updatedAt"].endswith("+00:00")


async def test_pages_join_to_the_whole_list(sessions: BaseSessionService) -> None:
    async with client(app_for(talking(sessions))) as http:
        for number in range(5):
            await say(http, f"c{number}", f"hi {number}")
        seen, query = [], "?limit=2"
        while query:
            page = (await http.get(f"/api/chats{query}")).json()
            seen.append([entry["id"] for entry in page["chats"]])
            query = f"?limit=2&cursor={page['nextCursor']}" if page["nextCursor"] else ""
    assert seen == [["c4", "c3"], ["c2", "c1"], ["c0"]]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=-1", "cursor=x", "cursor=%00", "cursor=W10=", "cursor=WzEsMl0="]
)
async def test_a_bad_query_is_refused(query: str) -> None:
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["x"])))
    async with client(app_for(service)) as http:
        response = await http.get(f"/api/chats?{query}")
    assert (response.status_code, response.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert response.text.endswith(".")


async def test_a_chat_of_a_picture_alone_and_a_session_without_events_have_no_title() -> None:
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Nice."])))
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="}
    async with client(app_for(service)) as http:
        await http.post("/api/chat", json=chat({**said(""), "parts": [picture]}))
        await service.runner.session_service.create_session(app_name="root", user_id="ann", session_id="c2")
        assert await titles(http) == [("c2", None), ("c1", None)]


async def delete(http: AsyncClient, chat_id: str, user: str = "ann") -> Response:
    return await http.delete(f"/api/chat/{chat_id}", headers={"x-user": user})


async def test_a_deleted_chat_is_gone_and_anothers_is_like_none(sessions: BaseSessionService) -> None:
    async with client(app_for(talking(sessions))) as http:
        await say(http, "c1", "hi")
        foreign, never = await delete(http, "c1", "bob"), await delete(http, "c2")
        assert (foreign.status_code, foreign.text) == (never.status_code, never.text) == (404, "There is no such chat.")
        assert await titles(http) == [("c1", "hi")]
        assert (await delete(http, "c1")).status_code == 204
        assert await titles(http) == []
        assert (await delete(http, "c1")).status_code == 404
        await say(http, "c1", "a new beginning")
        assert await titles(http) == [("c1", "a new beginning")]


async def test_a_chat_takes_its_artifacts_along_and_leaves_the_users() -> None:
    service = talking_in_memory()
    artifacts = service.runner.artifact_service
    assert artifacts is not None
    async with client(app_for(service)) as http:
        await say(http, "c1", "hi")
        of: dict[str, Any] = {"app_name": "root", "user_id": "ann", "session_id": "c1"}
        for name in ("a.txt", "user:b.txt"):
            await artifacts.save_artifact(**of, filename=name, artifact=types.Part(text="x"))
        await delete(http, "c1")
    assert await artifacts.list_artifact_keys(**of) == ["user:b.txt"]


def talking_in_memory() -> ChatService:
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Well."])))


async def test_what_runs_in_a_chat_is_stopped_before_it_is_deleted(sessions: BaseSessionService) -> None:
    model = ScriptedLlm(turns=[["Well. ", Wait(asyncio.Event())]])
    service = WatchedService(LlmAgent(name="root", model=model), session_service=sessions)
    app = app_for(service)
    async with begin(app, chat(said("hi"))) as exchange, client(app) as http:
        await exchange.status()
        await exchange.until("text-delta")
        assert (await delete(http, "c1")).status_code == 204
        await exchange.until("abort")
        assert await titles(http) == []
    assert not service.runs.running
