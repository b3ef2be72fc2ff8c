"""A user's details of a chat for the list: its title, and whether it is archived. At any time, from any worker."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from httpx import AsyncClient, Response

from stream_protocol.serving import ChatService
from stream_protocol.serving.chats._chat_details import is_details_id
from stream_protocol.serving.run_logs import MemoryRunLog, RunInfo, RunLogError
from stream_protocol.session import DETAILS_PREFIX
from stream_protocol.testing import ScriptedLlm, Wait
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin, chat, client, said, why
from tests.serving.test_chat_list import app_for, delete, say, talking, titles

NO_SUCH_CHAT = (404, "There is no such chat.")


async def patch(http: AsyncClient, body: Any, chat_id: str = "c1", user: str = "ann") -> Response:
    return await http.patch(f"/api/chat/{chat_id}", json=body, headers={"x-user": user})


async def listed(http: AsyncClient, query: str = "") -> list[dict[str, Any]]:
    chats: list[dict[str, Any]] = (await http.get(f"/api/chats{query}")).json()["chats"]
    return chats


async def test_a_chat_is_renamed_and_archived_by_its_user_and_keeps_its_place(sessions: BaseSessionService) -> None:
    async with client(app_for(talking(sessions))) as http:
        await say(http, "c1", "hello")
        await say(http, "c2", "world", title="The app's title")
        before = await listed(http)
        for user, chat_id in (("bob", "c1"), ("ann", "c3")):
            refused = await patch(http, {"title": "Mine"}, chat_id, user)
            assert (refused.status_code, why(refused)) == NO_SUCH_CHAT
        renamed = await patch(http, {"title": " Rom, ローマ\u3000🏛️ "})
        assert (renamed.status_code, renamed.json()) == (200, {**before[1], "title": "Rom, ローマ\u3000🏛️"})
        assert (await patch(http, {"title": "Mine"}, "c2")).status_code == 200
        assert await titles(http) == [("c2", "Mine"), ("c1", "Rom, ローマ\u3000🏛️")]
        archived = (await patch(http, {"archived": True}, "c2")).json()
        assert archived == {**before[0], "title": "Mine", "archived": True}
        assert await titles(http) == [("c1", "Rom, ローマ\u3000🏛️")]
        assert await listed(http, "?archived=true") == [archived]
        assert (await patch(http, {})).json() == {**before[1], "title": "Rom, ローマ\u3000🏛️"}
        await patch(http, {"title": None})
        await patch(http, {"title": None, "archived": False}, "c2")
        assert await listed(http) == before


async def test_each_list_says_if_the_user_has_archived_chats() -> None:
    async with client(app_for(talking(InMemorySessionService()))) as http:

        async def has_archived() -> set[bool]:
            lists = [
                await http.get(f"/api/chats{query}") for query in ("", "?archived=true", "?search=no+such&limit=1")
            ]
            return {each.json()["hasArchived"] for each in lists}

        await say(http, "c1", "hello")
        await say(http, "c2", "Bob's", user="bob")
        await patch(http, {"archived": True}, "c2", "bob")
        assert await has_archived() == {False}
        await patch(http, {"archived": True})
        assert await has_archived() == {True}
        await http.delete("/api/chat/c1")
        assert await has_archived() == {False}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"title": 1}, 422),
        ({"title": ["x"]}, 422),
        ({"title": ""}, 422),
        ({"title": " \u3000 "}, 422),
        ({"title": "x" * 201}, 422),
        ({"title": "one\ntwo"}, 422),
        ({"title": "one\u2028two"}, 422),
        ({"title": "\u200b"}, 422),
        ({"title": "\ufeff \u202e"}, 422),
        ({"title": "nul\0"}, 422),
        ({"archived": None}, 422),
        ({"archived": 1}, 422),
        ({"archived": "true"}, 422),
        ({"title": "fine", "user_id": "bob"}, 422),
        ({"titel": "x"}, 422),
        ([], 400),
        ("title", 400),
        ({"title": "x" * 20_000}, 413),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_else_is_in_a_change_is_refused(body: Any, status: int) -> None:
    async with client(app_for(talking(InMemorySessionService()))) as http:
        await say(http, "c1", "hello")
        refused = await patch(http, body)
        assert (refused.status_code, why(refused).endswith(".")) == (status, True)
        assert await titles(http) == [("c1", "hello")]


async def test_a_change_that_is_too_large_is_told_what_it_may_say() -> None:
    async with client(app_for(talking(InMemorySessionService()))) as http:
        refused = await patch(http, {"title": "x" * 20_000})
    assert why(refused) == "The request is larger than 16 KiB: it may say only a title and archived."


async def test_a_change_that_is_no_json_is_refused() -> None:
    async with client(app_for(talking(InMemorySessionService()))) as http:
        await say(http, "c1", "hello")
        texts = {"content-type": "application/json"}
        assert (await http.patch("/api/chat/c1", content=b'{"title": ', headers=texts)).status_code == 400
        assert (await http.patch("/api/chat/c1", content=b"title=x")).status_code == 415
        half = await http.patch("/api/chat/c1", content=rb'{"title": "\ud83d"}', headers=texts)
        assert half.json()["title"] == "\ufffd"


async def test_a_change_while_a_run_goes_on_harms_neither_of_them(sessions: BaseSessionService) -> None:
    gate = asyncio.Event()
    model = ScriptedLlm(turns=[["Well. ", Wait(gate), "Done."], "Again."])
    service = InstrumentedService(LlmAgent(name="root", model=model), session_service=sessions)
    app, elsewhere = app_for(service), app_for(talking(sessions))
    async with begin(app, chat(said("hi"))) as exchange, client(app) as http, client(elsewhere) as other:
        await exchange.status()
        await exchange.until("text-delta")
        changed = (await patch(http, {"title": "Rome"})).json()
        assert (changed["title"], changed["running"]) == ("Rome", True)
        assert (await patch(other, {"archived": True})).status_code == 200
        assert await listed(http) == []
        assert await listed(http, "?archived=true") == [{**changed, "archived": True}]
        gate.set()
        await exchange.until("finish")
        await service.runs.free()
        (after,) = await listed(http, "?archived=true")
        assert (after["title"], after["running"]) == ("Rome", False)
        page = Page(app)
        page.messages = (await http.get("/api/chat/c1")).json()["messages"]
        assert page.messages[-1]["parts"][-1]["text"] == "Well. Done."
        await page.send("more")
        assert await listed(http) == []


async def test_a_title_that_the_user_gave_outlives_an_edit_of_the_messages_before_it(
    sessions: BaseSessionService,
) -> None:
    app = app_for(talking(sessions))
    page = Page(app)
    async with client(app) as http:
        await page.send("hello")
        await page.send("second")
        await patch(http, {"title": "Rome"})
        await page.edit(page.ids()[0], "good day")
        assert await titles(http) == [("c1", "Rome")]
        await patch(http, {"title": None})
        assert await titles(http) == [("c1", "good day")]


async def test_changes_that_come_at_once_are_all_stored(sessions: BaseSessionService) -> None:
    first, second = app_for(talking(sessions)), app_for(talking(sessions))
    async with client(first) as http, client(second) as other:
        await say(http, "c1", "hello")
        wanted = [f"title {number}" for number in range(6)]
        changes = [patch(http if number % 2 else other, {"title": title}) for number, title in enumerate(wanted)]
        changed = await asyncio.gather(
            *changes, patch(other, {"archived": True}), say(http, "c1", "more", message_id="u2")
        )
        assert all(answer is None or answer.status_code == 200 for answer in changed)
        (entry,) = await listed(http, "?archived=true")
        assert entry["title"] in wanted


async def test_a_deleted_chat_takes_its_details_along(sessions: BaseSessionService) -> None:
    async with client(app_for(talking(sessions))) as http:
        await say(http, "c1", "hello")
        await patch(http, {"title": "Secret", "archived": True})
        assert (await delete(http, "c1")).status_code == 204
        refused = await patch(http, {"title": "Mine"})
        assert (refused.status_code, why(refused)) == NO_SUCH_CHAT
        assert (await sessions.list_sessions(app_name="root", user_id="ann")).sessions == []
        await say(http, "c1", "a new beginning")
        assert await titles(http) == [("c1", "a new beginning")]


class DeletedMeanwhile(InMemorySessionService):
    """A store in which each chat is deleted, by another worker, just before its details are stored."""

    async def create_session(self, *, session_id: str | None = None, **which: Any) -> Session:
        if session_id is not None and session_id.startswith(DETAILS_PREFIX):
            assert (await self.elsewhere.delete("/api/chat/c1", headers={"x-user": "ann"})).status_code == 204
        return await super().create_session(session_id=session_id, **which)

    elsewhere: AsyncClient


async def test_a_change_that_meets_a_deletion_leaves_nothing() -> None:
    sessions = DeletedMeanwhile()
    app = app_for(talking(sessions))
    async with client(app) as http, client(app) as sessions.elsewhere:
        await say(http, "c1", "hello")
        refused = await patch(http, {"title": "Mine"})
        assert (refused.status_code, why(refused)) == NO_SUCH_CHAT
    assert sessions.sessions["root"]["ann"] == {}


async def test_a_session_with_details_is_no_chat() -> None:
    sessions = InMemorySessionService()
    async with client(app_for(talking(sessions))) as http:
        await say(http, "c1", "hello")
        await patch(http, {"title": "Mine"})
        (details,) = sessions.sessions["root"]["ann"].keys() - {"c1"}
        for chat_id, status in ((details, 404), (f"%20{details}", 400)):
            assert (await http.get(f"/api/chat/{chat_id}")).status_code == status
            assert (await delete(http, chat_id)).status_code == status
            assert (await patch(http, {"title": "Mine"}, chat_id)).status_code == status
        assert (await http.post("/api/chat", json=chat(said("hi"), chat_id=details))).status_code == 400
        assert await titles(http) == [("c1", "Mine")]


class Unreachable(MemoryRunLog):
    async def current_many(self, chats: Any) -> list[RunInfo | None]:
        raise RunLogError("nobody answers")


async def test_the_list_needs_no_run_log() -> None:
    model = ScriptedLlm(respond=lambda request: ["Well."])
    service = ChatService(LlmAgent(name="root", model=model), run_log=Unreachable())
    async with client(app_for(service)) as http:
        await say(http, "c1", "hello")
        assert (await patch(http, {"title": "Rome"})).json()["running"] is False
        assert await titles(http) == [("c1", "Rome")]


async def test_titles_are_searched_whatever_their_case() -> None:
    async with client(app_for(talking(InMemorySessionService()))) as http:
        wide = "".join(chr(ord(letter) + 0xFEE0) for letter in "TOKYO")
        for number, words in enumerate(["Straße nach Rom", f"{wide} ｶﾞｲﾄﾞ", "São  Paulo", "other"]):
            await say(http, f"c{number}", words)
        await patch(http, {"title": "Naples"}, "c3")
        await patch(http, {"title": "Rome, archived", "archived": True}, "c2")
        for search, found in [
            ("STRASSE", ["c0"]),
            ("tokyo ガイド", ["c1"]),
            ("O", ["c1", "c0"]),
            ("naples", ["c3"]),
            ("other", []),
            ("%25", []),
            ("  ", ["c3", "c1", "c0"]),
        ]:
            assert [chat_id for chat_id, _ in await titles(http, f"?search={search}")] == found, search
        assert await titles(http, "?search=rome&archived=true") == [("c2", "Rome, archived")]
        await patch(http, {"title": None}, "c2")
        assert await titles(http, "?search=são paulo&archived=true") == [("c2", "São Paulo")]


def test_the_case_of_a_details_id_makes_no_difference() -> None:
    assert is_details_id(f"{DETAILS_PREFIX}1".upper())
