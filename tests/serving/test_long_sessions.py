"""Long sessions and long lists are read in batches or in a thread, so that other chats go on meanwhile."""

import asyncio
import hashlib
import json
import threading
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import partial
from typing import Any, Final

import orjson
import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types
from starlette.types import Message

from stream_protocol import parse_chat_request
from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.adk_runner import MemorySessionService, load_session_service
from stream_protocol.serving.base._limits import response_budget
from stream_protocol.serving.chats import _chat_list
from stream_protocol.serving.chats._chat_details import is_details_id
from stream_protocol.serving.http._client_connection import SLICE_BYTES
from stream_protocol.serving.http._sliced_response import SlicedResponse, history_json
from stream_protocol.serving.runs._on_finish import notify
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import encode_sse
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import stream

KEY: Final[dict[str, Any]] = {"app_name": "app", "user_id": "ann"}


def said(number: int, author: str = "root") -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=f"text {number}")])
    return Event(invocation_id=f"e-{number // 2}", author=author, content=content, timestamp=float(number))


async def with_events(store: InMemorySessionService, count: int, app: str = "app") -> None:
    session = await store.create_session(app_name=app, user_id="ann", session_id="long")
    for number in range(count):
        await store.append_event(session, said(number, "root" if number % 2 else "user"))


@asynccontextmanager
async def turns() -> AsyncIterator[list[int]]:
    """Count how often another task of the loop runs."""
    count = [0]

    async def others() -> None:
        while True:
            await asyncio.sleep(0)
            count[0] += 1

    task = asyncio.create_task(others())
    try:
        yield count
    finally:
        task.cancel()


async def test_a_long_session_in_memory_is_copied_in_pieces() -> None:
    store = MemorySessionService()
    await with_events(store, 260)
    async with turns() as count:
        session = await store.get_session(**KEY, session_id="long")
    assert count[0] >= 10
    assert session is not None
    stored = store.sessions["app"]["ann"]["long"]
    assert session.events == stored.events
    assert all(copy is not event for copy, event in zip(session.events, stored.events, strict=True))


async def test_a_long_session_is_as_it_was_when_its_reading_began() -> None:
    store = MemorySessionService()
    await with_events(store, 100)
    reading = asyncio.create_task(store.get_session(**KEY, session_id="long"))
    await asyncio.sleep(0)
    writer = await store.get_session(**KEY, session_id="long", config=GetSessionConfig(num_recent_events=0))
    assert writer is not None
    await store.append_event(writer, Event(author="user", actions=EventActions(state_delta={"new": 1})))
    session = await reading
    assert session is not None
    assert (len(session.events), session.state, session.last_update_time) == (100, {}, 99.0)


async def test_reading_in_pieces_gives_what_adk_gives() -> None:
    ours, adks = MemorySessionService(), InMemorySessionService()
    for store in (ours, adks):
        for number in range(60):
            state: dict[str, Any] = {"n": number, "user:u": {"a": [number]}, "app:x": 1}
            await store.create_session(**KEY, session_id=f"c{number}", state=state)
        await with_events(store, 40)
        for session in store.sessions["app"]["ann"].values():
            session.last_update_time = 5.0
    events = [event.model_copy() for event in adks.sessions["app"]["ann"]["long"].events]
    ours.sessions["app"]["ann"]["long"].events[:] = events
    assert await ours.list_sessions(**KEY) == await adks.list_sessions(**KEY)
    assert await ours.list_sessions(app_name="app") == await adks.list_sessions(app_name="app")
    for session_id in ("long", " long ", "c1", "none"):
        for config in (None, GetSessionConfig(num_recent_events=3), GetSessionConfig(after_timestamp=30.0)):
            key = {**KEY, "session_id": session_id}
            assert await ours.get_session(**key, config=config) == await adks.get_session(**key, config=config)


async def test_a_long_list_in_memory_is_copied_in_pieces() -> None:
    store = MemorySessionService()
    for number in range(260):
        await store.create_session(**KEY, session_id=f"c{number}")
    async with turns() as count:
        listing = asyncio.create_task(store.list_sessions(**KEY))
        await asyncio.sleep(0)
        await store.delete_session(**KEY, session_id="c259")
        listed = await listing
    assert count[0] >= 10
    assert {session.id for session in listed.sessions} == {f"c{number}" for number in range(259)}


def test_stores_in_memory_are_of_this_kind() -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["hello"]))
    assert isinstance(ChatService(agent).runner.session_service, MemorySessionService)
    assert isinstance(load_session_service("memory://"), MemorySessionService)


@pytest.mark.parametrize(("events", "in_thread"), [(4, False), (260, True)])
async def test_only_a_long_session_is_read_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, events: int, in_thread: bool
) -> None:
    threads: set[threading.Thread] = set()

    def note(_metadata: dict[str, Any]) -> None:
        threads.add(threading.current_thread())

    store = MemorySessionService()
    service = ChatService(
        LlmAgent(name="root", model=ScriptedLlm(turns=["hello"])), session_service=store, message_metadata=note
    )
    await with_events(store, events, service.runner.app_name)
    messages = await service.history("long", user_id="ann")
    assert messages is not None
    assert len(messages) == events
    assert (threading.current_thread() not in threads) is in_thread
    request = parse_chat_request(
        {"id": "long", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "Go on."}]}]}
    )
    response = b"".join([chunk async for chunk in await service.respond(request, user_id="ann")])
    assert b"hello" in response


@pytest.mark.parametrize(("chats", "in_thread"), [(4, False), (260, True)])
async def test_only_a_long_list_is_sorted_and_searched_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, chats: int, in_thread: bool
) -> None:
    threads: dict[str, threading.Thread] = {}

    def sorts(session_id: str) -> bool:
        threads["sorted"] = threading.current_thread()
        return is_details_id(session_id)

    def searches(text: str) -> str:
        threads["searched"] = threading.current_thread()
        return text.casefold()

    monkeypatch.setattr(_chat_list, "is_details_id", sorts)
    monkeypatch.setattr(_chat_list, "_searchable", searches)
    store = MemorySessionService()
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["hello"])), session_service=store)
    for number in range(chats):
        await store.create_session(
            app_name=service.runner.app_name, user_id="ann", session_id=f"c{number}", state={"title": f"Trip {number}"}
        )
    page = await service.chats(user_id="ann", search="trip 3")
    assert page.chats[-1]["title"] == "Trip 3"
    assert {name: thread is not threading.current_thread() for name, thread in threads.items()} == {
        "sorted": in_thread,
        "searched": in_thread,
    }


async def test_what_we_read_of_a_session_in_memory_is_not_copied_and_never_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ADK copies the session once for each run. A second copy of 5,000 events would take as long again."""
    copies = 0

    async def copied(events: list[Event]) -> list[Event]:
        nonlocal copies
        copies += 1
        return deepcopy(events)

    monkeypatch.setattr("stream_protocol.serving.adk_runner._memory_sessions._copied", copied)

    def pay(to: str) -> dict[str, Any]:
        """Pays."""
        return {"paid": [to]}

    def where() -> None:
        """Asks the page."""

    turns: list[Any] = [Call("pay", {"to": ["Max"]}), "Paid.", Call("where"), "There.", "Again.", "More."]
    tools: list[Any] = [FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(where)]
    store = MemorySessionService()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=tools)
    service = InstrumentedService(agent, session_service=store, message_metadata=lambda *_: {"a": []})
    page = Page(create_app(service))

    async def approve() -> None:
        page.approve(approved=True)
        await page.submit()

    async def answer() -> None:
        page.answer("where", {"place": ["here"]})
        await page.submit()

    before: list[Event] = []
    for act in (partial(page.send, "hi"), approve, partial(page.send, "where?"), answer, page.regenerate):
        await act()
        await service.runs.free()
        stored = store.sessions[service.runner.app_name]["local"]["c1"].events
        assert stored[: len(before)] == before
        before, copies = deepcopy(stored), 0
        for message in await service.history("c1", user_id="local") or []:
            message["parts"].clear()  # an app may change what it gets
        assert stored == before
        assert copies == 0
    assert len(before) > 10
    await service.aclose()


async def test_a_large_event_is_copied_beside_the_loop() -> None:
    store = MemorySessionService()
    session = await store.create_session(**KEY, session_id="large")
    large = types.FunctionResponse(id="c", name="f", response={"x": [{"a": 1}] * 10_000})
    part = types.Part(function_response=large)
    await store.append_event(session, Event(author="user", content=types.Content(role="user", parts=[part])))
    async with turns() as count:
        assert await store.get_session(**KEY, session_id="large") == session
    assert count[0] > 1


LARGE_TEXT: Final = "€" * 150_000


async def test_what_follows_from_large_events_is_made_beside_the_loop() -> None:
    """A history, a stored response, and the earlier content of a message that goes on."""
    here, threads = threading.get_ident(), set[int]()

    def hidden(_tool: str) -> bool:
        threads.add(threading.get_ident())
        return False

    def fetch() -> str:
        """Fetches."""
        return LARGE_TEXT

    def pay() -> str:
        """Pays."""
        return "paid"

    model = ScriptedLlm(turns=[Call("fetch"), Call("pay"), "Paid."])
    root = LlmAgent(name="root", model=model, tools=[fetch, FunctionTool(pay, require_confirmation=True)])
    service = InstrumentedService(root, hidden_tools=hidden)
    page = Page(create_app(service))
    await page.send("hi")
    await service.runs.free()
    threads.clear()
    assert await service.history("c1", user_id="local") is not None
    again = {**page.body(trigger="submit-message"), "messages": page.messages[:1]}
    del again["messageId"]
    await stream(page.app, again)
    assert here not in threads
    threads.clear()
    page.approve(approved=True)
    await page.submit()
    assert threads - {here}


async def test_a_history_is_sent_in_pieces() -> None:
    messages: list[Any] = [
        {"id": "u", "role": "user", "parts": [{"type": "text", "text": LARGE_TEXT}, {"type": "text", "text": '"x\n'}]},
        {"id": "a", "role": "assistant", "metadata": {}, "parts": []},
        {"id": "b", "role": "assistant", "metadata": {"n": [1]}, "parts": [{"type": "step-start"}] * 5_000},
    ]
    for some in (messages, messages[:1], []):
        sent: list[Message] = []

        async def receive() -> Message:
            return await asyncio.Future[Message]()

        async def send(message: Message) -> None:
            sent.append(message)  # noqa: B023 - awaited in this turn of the loop

        memory = response_budget(None).share("ann")
        await SlicedResponse(history_json(some), memory=memory, headers={})({"method": "GET"}, receive, send)
        pieces = [message["body"] for message in sent[1:]]
        assert json.loads(b"".join(pieces)) == {"messages": some}
        assert max(map(len, pieces)) <= SLICE_BYTES


async def test_what_on_finish_gets_is_made_beside_the_loop() -> None:
    here, threads, said_before = threading.get_ident(), list[int](), list[Any]()

    def before() -> list[Any]:
        threads.append(threading.get_ident())
        return [{"id": "u", "role": "user", "parts": []}]

    sent = [b'data: {"type":"start","messageId":"a"}\n\n', encode_sse({"type": "data-x", "data": LARGE_TEXT})]
    hook = lambda messages, *_: said_before.extend(messages)  # noqa: E731 - one line
    await notify(hook, sent, stored=(), before=before, continues=False, ending="finish", ai_sdk=6, timeout=None)
    assert [message["id"] for message in said_before] == ["u", "a"]
    assert here not in threads


FILE_BYTES = 2**21


async def test_each_file_of_a_history_is_encoded_when_its_turn_comes() -> None:
    """Sent and answered with files, in five turns: what is held besides the session is less than one encoded file."""
    store = MemorySessionService()
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["."])), session_service=store)
    session = await store.create_session(app_name=service.runner.app_name, user_id="local", session_id="c1")
    for number in range(5):
        for author, role in (("user", "user"), ("root", "model")):
            file = types.Blob(data=bytes([number]) * FILE_BYTES, mime_type="image/png")
            content = types.Content(role=role, parts=[types.Part(inline_data=file), types.Part(text="x")])
            event = Event(author=author, invocation_id=f"e-{number}", content=content)
            await store.append_event(session, event)
    whole = await service.history("c1", user_id="local")
    tracemalloc.start()
    messages = await service.history("c1", user_id="local", encoded=False)
    assert messages is not None
    encoded = hashlib.sha256()
    for piece in history_json(messages):
        encoded.update(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert encoded.digest() == hashlib.sha256(orjson.dumps({"messages": whole})).digest()
    assert str(whole).count(";base64,") == 10
    assert peak < FILE_BYTES
