"""Regenerate and edit: each request that a page can send, and the messages that the chat has then."""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors import StaleSessionError
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import UserContent

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.adk_runner import append_in_order
from stream_protocol.serving.chats import create_session, find_session, rewind_session
from stream_protocol.session import Transcript
from stream_protocol.session.transcript import AcceptedMessage, update_metadata
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import ChatRequestError
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.support import post, said


def page_for(*turns: Any, tools: Any = ()) -> Page:
    return Page(create_app(ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=list(tools)))))


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return ["".join(part.get("text", "") for part in message["parts"]) for message in messages]


async def regenerate_the_last(page: Page) -> None:
    await page.regenerate()


async def regenerate_a_given_answer(page: Page) -> None:
    await page.regenerate(page.ids()[1])


async def regenerate_a_given_question(page: Page) -> None:
    await page.regenerate(page.ids()[0])


async def edit_the_first(page: Page) -> None:
    await page.edit(page.ids()[0], "hi!")


async def edit_the_last(page: Page) -> None:
    await page.edit(page.ids()[2], "what?")


async def edit_under_a_new_id(page: Page) -> None:
    """v7 from 7.0.93: the message may bring its own id. The server does not know it: a new turn."""
    old = page.ids()[2]
    del page.messages[2:]
    page.messages.append({"id": "new", "role": "user", "parts": [{"type": "text", "text": "what?"}]})
    await page.submit(messageId=old)


async def retry_what_the_server_never_got(page: Page) -> None:
    page.messages.append({"id": "lost", "role": "user", "parts": [{"type": "text", "text": "there?"}]})
    await page.regenerate()


async def edit_what_the_server_never_got(page: Page) -> None:
    page.messages.append({"id": "lost", "role": "user", "parts": [{"type": "text", "text": "there?"}]})
    await page.edit("lost", "here?")


async def edit_and_regenerate_the_first(page: Page) -> None:
    """Edit as the chatbot template does: ``setMessages`` with the same id and another text, then ``regenerate()``."""
    page.messages = [{**page.messages[0], "parts": [{"type": "text", "text": "hi!"}]}]
    await page.submit(trigger="regenerate-message")


async def edit_and_regenerate_the_last(page: Page) -> None:
    page.messages = [*page.messages[:2], {**page.messages[2], "parts": [{"type": "text", "text": "what?"}]}]
    await page.submit(trigger="regenerate-message")


async def regenerate_with_a_text_that_is_empty(page: Page) -> None:
    """A transport that sends no more than the id."""
    del page.messages[3:]
    alone = {**page.messages[2], "parts": []}
    assert (await post(page.app, {"id": "c1", "trigger": "regenerate-message", "message": alone})).status_code == 200
    page.messages = await page.stored()


async def send_nothing_after_a_question(page: Page) -> None:
    """``sendMessage()`` after the answer was deleted in the page: the question is asked again."""
    del page.messages[3:]
    await page.submit(messageId=page.ids()[2])


async def send_the_last_message_alone(page: Page) -> None:
    """``prepareSendMessagesRequest`` as the guides show it, after an edit."""
    del page.messages[3:]
    body = {"id": page.chat_id, "message": page.messages[2]}
    assert (await post(page.app, body)).status_code == 200
    page.messages = await page.stored()


TABLE: list[tuple[Callable[[Page], Awaitable[None]], list[str]]] = [
    (regenerate_the_last, ["hi", "one", "and?", "three"]),
    (regenerate_a_given_answer, ["hi", "three"]),
    (regenerate_a_given_question, ["hi", "three"]),
    (edit_the_first, ["hi!", "three"]),
    (edit_the_last, ["hi", "one", "what?", "three"]),
    (edit_and_regenerate_the_first, ["hi!", "three"]),
    (edit_and_regenerate_the_last, ["hi", "one", "what?", "three"]),
    (regenerate_with_a_text_that_is_empty, ["hi", "one", "and?", "three"]),
    (edit_under_a_new_id, ["hi", "one", "and?", "two", "what?", "three"]),
    (retry_what_the_server_never_got, ["hi", "one", "and?", "two", "there?", "three"]),
    (edit_what_the_server_never_got, ["hi", "one", "and?", "two", "here?", "three"]),
    (send_nothing_after_a_question, ["hi", "one", "and?", "three"]),
    (send_the_last_message_alone, ["hi", "one", "and?", "three"]),
]


@pytest.mark.parametrize(("act", "expected"), TABLE, ids=[row[0].__name__ for row in TABLE])
async def test_what_a_chat_of_two_turns_becomes(act: Callable[[Page], Awaitable[None]], expected: list[str]) -> None:
    page = page_for("one", "two", "three", "four")
    await page.send("hi")
    await page.send("and?")
    before = page.ids()
    await act(page)
    stored = await page.stored()
    assert texts(stored) == expected
    if act is not edit_under_a_new_id:
        assert comparable(stored) == comparable(page.messages)
    kept = len(expected) - 2
    assert [message["id"] for message in stored][:kept] == before[:kept]
    assert stored[-1]["id"] not in before
    await page.send("more")
    assert texts(await page.stored()) == [*expected, "more", "four"]


async def test_regenerating_again_and_again_keeps_one_answer() -> None:
    page = page_for("one", "two", "three")
    await page.send("hi")
    await page.regenerate()
    await page.regenerate()
    assert texts(await page.stored()) == ["hi", "three"]


async def test_the_model_is_not_shown_what_was_taken_back() -> None:
    model = ScriptedLlm(turns=["one", "two", "three"])
    page = Page(create_app(LlmAgent(name="root", model=model)))
    await page.send("hi")
    await page.send("secret")
    await page.edit(page.ids()[2], "harmless")
    said = [part.text for content in model.requests[-1].contents for part in content.parts or [] if part.text]
    assert said == ["hi", "one", "harmless"]


async def test_a_regenerated_turn_asks_with_the_stored_text_and_files() -> None:
    model = ScriptedLlm(turns=["one", "two"])
    page = Page(create_app(LlmAgent(name="root", model=model)))
    await page.send("look", {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"})
    page.messages[0]["parts"] = [{"type": "text", "text": "look"}]
    await page.regenerate()
    (content,) = model.requests[-1].contents
    image, words = content.parts or []
    assert image.inline_data is not None
    assert (image.inline_data.mime_type, words.text) == ("image/png", "look")


async def test_state_goes_back_with_the_turn() -> None:
    async def count(tool_context: ToolContext) -> int:
        """Counts."""
        tool_context.state["count"] = (tool_context.state.get("count") or 0) + 1  # ADK takes a key back to None
        return int(tool_context.state["count"])

    page = page_for(Call("count"), "first", Call("count"), "again", tools=[count])
    await page.send("count")
    await page.regenerate()
    (part,) = [part for part in page.messages[-1]["parts"] if part["type"] == "tool-count"]
    assert part["output"] == {"result": 1}


async def test_a_turn_within_an_earlier_invocation_is_not_taken_back() -> None:
    booker = LlmAgent(
        name="booker",
        mode="task",
        description="Books.",
        model=ScriptedLlm(turns=["Which day?", "And when?", Call("finish_task", {"result": "Monday"})]),
    )
    model = ScriptedLlm(turns=[Call("booker", {"request": "a table"}), "Booked."])
    page = Page(create_app(LlmAgent(name="root", model=model, sub_agents=[booker])))
    await page.send("book")
    await page.send("Monday")
    before = await page.stored()
    refusal = await post(page.app, page.body(trigger="regenerate-message") | {"messages": page.messages[:3]})
    assert (refusal.status_code, refusal.text) == (
        409,
        "This message belongs to an answer that began earlier; it stays.",
    )
    assert await page.stored() == before
    await page.regenerate(page.ids()[0])
    assert [message["role"] for message in await page.stored()] == ["user", "assistant"]


async def test_an_answer_alone_cannot_be_regenerated() -> None:
    page = page_for("one")
    await page.send("hi")
    refusal = await post(page.app, page.body(trigger="regenerate-message"))
    assert (refusal.status_code, refusal.text) == (409, "There is no message of yours to answer again.")
    assert texts(await page.stored()) == ["hi", "one"]


async def test_an_approval_that_was_taken_back_cannot_be_given() -> None:
    paid: list[int] = []

    def pay(amount: int) -> None:
        """Pays."""
        paid.append(amount)

    tool = FunctionTool(pay, require_confirmation=True)
    page = page_for(Call("pay", {"amount": 1}), "No need.", tools=[tool])
    await page.send("pay")
    page.approve(True)
    late = page.body() | {"messages": list(page.messages)}
    await page.regenerate()
    assert (await post(page.app, late)).status_code == 409
    assert paid == []


async def test_a_rewind_removes_no_message_that_another_worker_has_accepted_since_the_plan(tmp_path: Path) -> None:
    """A fail-over of the run log has forgotten the lease of the other worker's run."""
    store = DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path / 'chats.db'}")
    runner = Runner(app_name="root", agent=LlmAgent(name="root"), session_service=store)
    session = await create_session(runner, "ann", "c1")
    await store.append_event(session, Event(author="user", invocation_id="i1", content=UserContent("hi")))
    planned, others = await find_session(runner, "ann", "c1"), await find_session(runner, "ann", "c1")
    assert planned is not None
    assert others is not None
    accepted = Event(author="user", invocation_id="i1")
    update_metadata(accepted, accepted=AcceptedMessage(message=said("and?", "u2"), model_calls=0))
    await store.append_event(others, accepted)
    with pytest.raises(ChatRequestError) as refused:
        await rewind_session(runner, planned, "i1")
    assert refused.value.status == 503
    found = await find_session(runner, "ann", "c1")
    assert found is not None
    assert [message.id for message in Transcript(found.events).waiting] == ["u2"]
    await rewind_session(runner, found, "i1", kept_steering=("u2",))
    with pytest.raises(StaleSessionError):
        await store.append_event(others, Event(author="user", invocation_id="i1"))
    await store.close()


async def test_each_event_is_later_than_the_one_before_it_also_in_microseconds(rng: Random) -> None:
    """Databases round times to microseconds."""
    store = InMemorySessionService()
    session = await store.create_session(app_name="root", user_id="ann")
    ahead = time.time() + 1000 + rng.random()
    await store.append_event(session, Event(author="user", timestamp=ahead))
    for _ in range(500):
        await append_in_order(store, session, Event(author="root"))
    stored = [datetime.fromtimestamp(event.timestamp, UTC) for event in session.events]
    assert stored == sorted(set(stored))


@pytest.mark.parametrize("kind", ["SqliteSessionService", "DatabaseSessionService"])
async def test_a_rewind_stands_after_an_answer_from_a_worker_whose_clock_is_ahead(kind: str, tmp_path: Path) -> None:
    """These stores return events in order of time."""
    path = str(tmp_path / "chats.db")
    is_sqlite = kind == "SqliteSessionService"
    store = SqliteSessionService(path) if is_sqlite else DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
    runner = Runner(app_name="root", agent=LlmAgent(name="root"), session_service=store)
    session = await create_session(runner, "ann", "c1")
    for author in ("user", "root"):
        event = Event(author=author, invocation_id="i1", content=UserContent("hi"), timestamp=time.time() + 2)
        await store.append_event(session, event)
    found = await find_session(runner, "ann", "c1")
    assert found is not None
    rewound = await rewind_session(runner, found, "i1")
    assert rewound is not None
    assert not Transcript(rewound.events).turns
    if isinstance(store, DatabaseSessionService):
        await store.close()
