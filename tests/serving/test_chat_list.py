"""A user's chats: listed and deleted, in every session service."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.workflow import START, Workflow
from google.genai import types
from httpx import AsyncClient, Response
from starlette.applications import Starlette

from stream_protocol.serving import ChatService, RunOverrides
from stream_protocol.serving.adk_runner._memory_sessions import MemorySessionService
from stream_protocol.serving.chats._chat_list import OWN_TITLE_KEY
from stream_protocol.serving.http._routes import chat_routes
from stream_protocol.testing import ScriptedLlm, Wait
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, chat, client, said, why


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


async def say(
    http: AsyncClient, chat_id: str, words: str, user: str = "ann", message_id: str = "u1", **more: Any
) -> None:
    body = chat(said(words, message_id), chat_id=chat_id, **more)
    response = await http.post("/api/chat", json=body, headers={"x-user": user})
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
        await say(http, "c1", "again", message_id="u2")
        long = "word " * 15 + "word…"
        assert await titles(http) == [("c1", "Hello, you"), ("c3", "My title"), ("c2", long)]
        assert await titles(http, user="bob") == [("c4", "Bob's")]
        assert await titles(http, user="eve") == []
        (entry,) = (await http.get("/api/chats?limit=1")).json()["chats"]
        assert entry.keys() == {"id", "title", "updatedAt", "archived", "running", "waiting"}
        assert entry["updatedAt"].endswith("+00:00")


async def test_a_list_loads_no_events(sessions: BaseSessionService, monkeypatch: pytest.MonkeyPatch) -> None:
    async with client(app_for(talking(sessions))) as http:
        for number in range(12):
            await say(http, f"c{number}", f"hi {number}")
        loaded = Loads(monkeypatch, sessions)
        assert await titles(http) == [(f"c{number}", f"hi {number}") for number in reversed(range(12))]
        assert loaded.ids == []


class Loads:
    """The sessions that are loaded from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sessions: BaseSessionService) -> None:
        self.ids: list[str] = []
        name = "read_session" if isinstance(sessions, MemorySessionService) else "get_session"
        load = getattr(sessions, name)

        async def counted(**which: Any) -> Any:
            self.ids.append(which["session_id"])
            return await load(**which)

        monkeypatch.setattr(sessions, name, counted)


async def test_the_words_of_a_title_that_are_edited_out_are_gone(sessions: BaseSessionService) -> None:
    app = app_for(talking(sessions))
    page = Page(app)
    async with client(app) as http:
        await page.send("my secret plan")
        await page.send("second")
        first, _, second, _ = page.ids()
        await page.edit(second, "another second")
        assert await titles(http, user="ann") == [("c1", "my secret plan")]
        await page.edit(first, "my plan")
        assert await titles(http) == [("c1", "my plan")]
        await page.regenerate()
        assert await titles(http) == [("c1", "my plan")]
        await page.edit(first, "  ")
        assert await titles(http) == [("c1", None)]
        stored = await sessions.get_session(app_name="root", user_id="ann", session_id="c1")
        assert stored is not None
        assert "secret" not in str(stored.state)


async def test_a_title_that_the_app_has_set_stays_whatever_is_edited() -> None:
    app = app_for(talking(InMemorySessionService()))
    page = Page(app)
    async with client(app) as http:
        await page.send("hello")
        await page.send("second")
        await page.edit(page.ids()[2], "another second")
        assert await titles(http) == [("c1", "hello")]
        await say(http, "c1", "more", title="My title")
        assert await titles(http) == [("c1", "My title")]


async def test_sessions_of_other_programs_are_loaded_for_their_titles_but_few_of_them(
    sessions: BaseSessionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(7):
        session = await sessions.create_session(app_name="root", user_id="ann", session_id=f"c{number}")
        for author, words in (("root", "Good day."), ("user", f"hi {number}"), ("user", "more")):
            content = types.Content(role="user", parts=[types.Part(text=words)])
            await sessions.append_event(session, Event(author=author, invocation_id=words, content=content))
    async with client(app_for(talking(sessions))) as http:
        loaded = Loads(monkeypatch, sessions)
        expected = [(f"c{number}", f"hi {number}" if number >= 2 else None) for number in reversed(range(7))]
        assert await titles(http) == expected
        assert loaded.ids == ["c6", "c5", "c4", "c3", "c2"]
        await say(http, "c0", "again")
        assert (await titles(http))[0] == ("c0", "hi 0")


async def test_a_workflow_that_is_the_root_has_titles_too() -> None:
    async def answer(node_input: str) -> str:
        return "Well."

    workflow = Workflow(name="root", edges=[(START, answer)])
    async with client(app_for(ChatService(workflow))) as http:
        await say(http, "c1", "hello")
        assert await titles(http) == [("c1", "hello")]


async def test_the_model_cannot_read_the_title_by_its_key() -> None:
    model = ScriptedLlm(turns=["One.", "Two."])
    service = ChatService(LlmAgent(name="root", model=model, instruction=f"{{{OWN_TITLE_KEY}}}"), send_state=True)
    async with client(app_for(service)) as http:
        await say(http, "c1", "hello")
        await say(http, "c1", "again", message_id="u2")
    assert "hello" not in str(model.requests[-1].config.system_instruction)


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
    "query",
    [
        *("limit=0", "limit=101", "limit=x", "limit=-1"),
        *("cursor=", "cursor=x", "cursor=%00", "cursor=W10=", f"cursor={'AAAA' * 10}"),
        *("archived=", "archived=1", "archived=True", f"search={'x' * 201}"),
    ],
)
async def test_a_bad_query_is_refused(query: str) -> None:
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["x"])))
    async with client(app_for(service)) as http:
        response = await http.get(f"/api/chats?{query}")
    assert (response.status_code, why(response).endswith(".")) == (422, True)


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
    service = InstrumentedService(LlmAgent(name="root", model=model), session_service=sessions)
    app = app_for(service)
    async with begin(app, chat(said("hi"))) as exchange, client(app) as http:
        await exchange.status()
        await exchange.until("text-delta")
        assert (await delete(http, "c1")).status_code == 204
        await exchange.until("abort")
        assert await titles(http) == []
    assert not service.runs.running
