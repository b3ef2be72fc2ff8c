"""The list of chats, read page by page while chats change: each chat comes once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from httpx import AsyncClient

from stream_protocol.serving.chats._chat_cursor import MAX_NAMED, ChatCursor
from stream_protocol.wire import ChatRequestError
from tests.serving.support import client, why
from tests.serving.test_chat_list import app_for, delete, say, talking


async def pages(http: AsyncClient, query: str = "limit=2", user: str = "ann") -> AsyncIterator[list[str]]:
    cursor = ""
    while True:
        page = (await http.get(f"/api/chats?{query}{cursor}", headers={"x-user": user})).json()
        yield [chat["id"] for chat in page["chats"]]
        if page["nextCursor"] is None:
            return
        cursor = f"&cursor={page['nextCursor']}"


@asynccontextmanager
async def filled(sessions: BaseSessionService, chats: int, *, at: float | None = None) -> AsyncIterator[AsyncClient]:
    """A client of a user with so many chats; ``at``: all changed at this time."""
    for number in range(chats):
        session = await sessions.create_session(app_name="root", user_id="ann", session_id=f"c{number}")
        event = Event(author="user", actions=EventActions(state_delta={"title": f"Chat {number}"}))
        event.timestamp = at or event.timestamp
        await sessions.append_event(session, event)
    async with client(app_for(talking(sessions))) as http:
        yield http


async def test_a_chat_that_moves_to_the_top_is_neither_lost_nor_repeated() -> None:
    async with filled(InMemorySessionService(), 6) as http:
        reading = pages(http)
        assert await anext(reading) == ["c5", "c4"]
        for unread, read in (("c0", "c5"), ("c1", "c4")):
            await say(http, unread, "more")
            await say(http, read, "more")
        await say(http, "new", "hello")
        await delete(http, "c3")
        assert [page async for page in reading] == [["new", "c1"], ["c0", "c2"]]


async def test_what_moves_again_and_again_comes_once(rng: Random) -> None:
    sessions = InMemorySessionService()
    async with filled(sessions, 30) as http:
        seen = []
        async for page in pages(http, "limit=3"):
            seen += page
            for _ in range(4):
                stored = sessions.sessions["root"]["ann"][f"c{rng.randrange(30)}"]
                stored.last_update_time = rng.choice([stored.last_update_time + rng.random(), 5e9, 1.0])
        assert sorted(seen) == sorted(f"c{number}" for number in range(30))


async def test_chats_of_one_moment_come_once_each(sessions: BaseSessionService) -> None:
    async with filled(sessions, 5, at=1_700_000_000.123456) as http:
        seen = [chat_id async for page in pages(http) for chat_id in page]
    assert sorted(seen) == ["c0", "c1", "c2", "c3", "c4"]


async def test_a_cursor_is_good_for_its_list_alone() -> None:
    sessions = InMemorySessionService()
    async with filled(sessions, 3) as http:
        cursor = (await http.get("/api/chats?limit=1&search=chat")).json()["nextCursor"]
        for query, status in [
            ("search=chat", 200),
            ("search=CHAT", 200),
            ("search=chat&limit=2", 200),
            ("search=chat&archived=true", 422),
            ("search=other", 422),
            ("", 422),
        ]:
            answer = await http.get(f"/api/chats?{query}&cursor={cursor}")
            assert answer.status_code == status, query
        foreign = await http.get(f"/api/chats?search=chat&cursor={cursor}", headers={"x-user": "bob"})
        assert (foreign.status_code, why(foreign)) == (422, "The cursor is not one that this list gave.")


def chat_of(number: int, time: float) -> Session:
    return Session(app_name="root", user_id="ann", id=f"c{number}", last_update_time=time)


def test_a_cursor_of_a_very_long_list_stays_short_and_repeats_nothing() -> None:
    chats = [chat_of(number, float(number)) for number in range(2 * MAX_NAMED + 5)]
    first = cursor = ChatCursor.first("root", "ann")
    seen: list[str] = []
    while left := cursor.unread(chats):
        page = left[:100]
        seen += [chat.id for chat in page]
        cursor = first.parse(str(cursor.after(page)))
        assert len(str(cursor)) < 4096 + 64
        chats[len(chats) - len(seen)].last_update_time += 1e6  # one that was read moves to the top
    assert seen == [f"c{number}" for number in reversed(range(len(chats)))]


@pytest.mark.parametrize("text", ["", "x", "é", "AAAA", "A" * 4000, "not base64!", "\0"])
def test_a_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(ChatRequestError) as refused:
        ChatCursor.first("root", "ann").parse(text)
    assert refused.value.status == 422


async def test_untitled_chats_of_other_programs_are_found_by_the_title_that_they_are_listed_with() -> None:
    service = talking(InMemorySessionService())
    async with client(app_for(service)) as http:
        await say(http, "c1", "hello")
        stored: Any = service.runner.session_service
        stored.sessions["root"]["ann"]["c1"].state.clear()
        page = await service.chats(user_id="ann", search="HELL")
    assert [chat["title"] for chat in page.chats] == ["hello"]
