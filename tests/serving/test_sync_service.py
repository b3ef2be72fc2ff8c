"""The service without an event loop of its own."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.agents import LlmAgent

from stream_protocol import parse_chat_request
from stream_protocol.serving import ChatService, ServiceLimits, SyncChatService
from stream_protocol.testing import ScriptedLlm, Wait
from stream_protocol.wire import SSE_KEEP_ALIVE, ChatRequestError
from tests.processes import ENV
from tests.serving.support import HANG, chat, chunks, said, text, types

EXITING: Final = """
import asyncio, os, sys
from concurrent.futures import ThreadPoolExecutor
from google.adk.agents import LlmAgent
from stream_protocol import parse_chat_request
from stream_protocol.serving import ChatService, SyncChatService
from stream_protocol.testing import ScriptedLlm, Wait
from tests.serving.support import chat, said

async def stored(messages, message, outcome):
    # One write: `print` writes its arguments one by one, and another thread writes, too.
    await asyncio.to_thread(os.write, 1, f"stored {outcome.kind}\\n".encode())

agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["The beginning. ", Wait(3600)]]))
service = SyncChatService(lambda: ChatService(agent, on_finish=stored))
events = service.respond(parse_chat_request(chat(said("hi"))), user_id="ann")
while b"text-delta" not in next(events):
    pass
if sys.argv[1] == "reads on":
    ThreadPoolExecutor().submit(lambda: os.write(1, b"".join(event for event in events if b'"abort"' in event)))
"""


@pytest.fixture
def start() -> Iterator[Callable[..., SyncChatService]]:
    started: list[SyncChatService] = []

    def begin(*turns: Any, keep_alive: float | None = None, **options: Any) -> SyncChatService:
        agent = LlmAgent(name="root", model=ScriptedLlm(turns=turns))
        started.append(SyncChatService(lambda: ChatService(agent, **options), keep_alive=keep_alive))
        return started[-1]

    yield begin
    for service in started:
        service.close()


Start = Callable[..., SyncChatService]


def ask(service: SyncChatService, words: str = "hi", chat_id: str = "c1") -> str:
    return b"".join(
        service.respond(parse_chat_request(chat(said(words, words), chat_id=chat_id)), user_id="ann")
    ).decode()


def test_the_events_come_one_by_one_and_history_is_kept(start: Start) -> None:
    service = start("One.", "Two.")
    assert text(chunks(ask(service))) == "One."
    assert text(chunks(ask(service, "more"))) == "Two."
    page = service.run(lambda chats: chats.chats(user_id="ann"))
    assert [entry["title"] for entry in page.chats] == ["hi"]


def test_what_a_user_sends_is_counted_and_refused_at_once(start: Start) -> None:
    service = start("One.", limits=ServiceLimits(max_requests_per_minute=1))
    assert text(chunks(ask(service))) == "One."
    with pytest.raises(ChatRequestError) as refused:
        ask(service, "more")
    assert (refused.value.status, [*refused.value.headers]) == (429, ["Retry-After"])


def test_a_page_of_another_site_changes_nothing() -> None:
    service = SyncChatService(lambda: ChatService(LlmAgent(name="root")), allow_origins=["https://page.example"])
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    old_browser = {"Host": "app", "Origin": "https://evil.example"}
    for headers in (foreign, old_browser, {"Sec-Fetch-Site": "cross-site"}):
        service.admit("GET", headers.items())
        with pytest.raises(ChatRequestError) as refused:
            service.admit("POST", headers.items())
        assert refused.value.status == 403
    for headers in ({}, {"Host": "app", "Origin": "https://app"}, {**foreign, "Origin": "https://page.example"}):
        service.admit("POST", headers.items())


@pytest.mark.parametrize("sites", [("none", "cross-site"), ("cross-site", "same-origin"), ("same-origin", "\u2603")])
def test_all_lines_of_a_repeated_header_count(sites: tuple[str, str]) -> None:
    service = SyncChatService(lambda: ChatService(LlmAgent(name="root")))
    with pytest.raises(ChatRequestError) as refused:
        service.admit("POST", [("Sec-Fetch-Site", site) for site in sites])
    assert refused.value.status == 403


def test_a_header_with_other_than_latin_characters_is_read() -> None:
    service = SyncChatService(lambda: ChatService(LlmAgent(name="root")), allow_origins=["https://page.example"])
    service.admit("POST", [("X-\u540d", "\u5024\udcff"), ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "none")])
    with pytest.raises(ChatRequestError):
        service.admit("POST", [("Origin", "https://page.example\u2603"), ("Host", "app")])


def test_a_user_has_so_many_runs(start: Start) -> None:
    service = start(["Half ", Wait(3600)], limits=ServiceLimits(max_runs_per_user=1))
    events = service.respond(parse_chat_request(chat(said("hi"))), user_id="ann")
    assert b'"start"' in next(events)
    with pytest.raises(ChatRequestError) as refused:
        ask(service, chat_id="c2")
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "5"})


def test_a_stream_that_is_collected_in_the_loops_own_thread_is_left(start: Start) -> None:
    """The garbage collector runs in any thread."""
    service = start(["Half ", Wait(3600)], "Whole.", limits=ServiceLimits(max_runs_per_user=1, disconnect_grace=0))
    held = [service.respond(parse_chat_request(chat(said("hi"))), user_id="ann")]
    assert b'"start"' in next(held[0])

    async def drop(chats: ChatService) -> None:
        held.clear()
        while any(entry["running"] for entry in (await chats.chats(user_id="ann")).chats):  # noqa: ASYNC110 - it ends
            await asyncio.sleep(0.01)

    service.run(lambda chats: asyncio.wait_for(drop(chats), HANG))
    assert text(chunks(ask(service, "more", chat_id="c2"))) == "Whole."


def test_all_threads_share_one_loop(start: Start) -> None:
    before = home_threads()
    service = start(*["Well."] * 8)
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(ask(service, chat_id=f"c{n}")), daemon=True)
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert [text(chunks(answer)) for answer in answers] == ["Well."] * 8
    assert home_threads() == before + 1


def home_threads() -> int:
    return [thread.name for thread in threading.enumerate()].count("adk-ui-stream")


def test_a_refusal_is_raised_before_the_first_event(start: Start) -> None:
    with pytest.raises(ChatRequestError, match="message is empty"):
        start("Never.").respond(parse_chat_request(chat(said(""))), user_id="ann")


def test_closing_the_iterator_is_a_disconnect(start: Start) -> None:
    service = start(["Well. ", Wait(asyncio.Event())], "Again.", limits=ServiceLimits(disconnect_grace=0))
    events = service.respond(parse_chat_request(chat(said("hi"))), user_id="ann")
    assert b'"start"' in next(events)
    events.close()
    assert text(chunks(ask(service, "more"))) == "Again."


def test_a_client_that_leaves_is_noticed_by_the_comments_in_a_silence(start: Start) -> None:
    service = start(
        ["Well. ", Wait(asyncio.Event())], "Again.", limits=ServiceLimits(disconnect_grace=0), keep_alive=0.01
    )
    events = service.respond(parse_chat_request(chat(said("hi"))), user_id="ann")
    while b"text-delta" not in next(events):
        pass
    while next(events) != SSE_KEEP_ALIVE:
        pass
    events.close()
    assert "Again." in ask(service, "more")


def test_closing_the_service_ends_its_streams_and_refuses_what_comes_later(start: Start) -> None:
    service = start(["Well. ", Wait(asyncio.Event())])
    events = service.respond(parse_chat_request(chat(said("hi"))), user_id="ann")
    first = next(events)
    service.close()
    answer = chunks((first + b"".join(events)).decode())
    assert types(answer)[-1] == "abort"
    with pytest.raises(ChatRequestError, match="shutting down"):
        ask(service)


def test_a_process_that_is_forked_in_the_middle_of_a_response_can_drop_it(start: Start) -> None:
    service = start(["Well. ", Wait(asyncio.Event())])
    events = service.respond(parse_chat_request(chat(said("hi"))), user_id="ann")
    next(events)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(HANG))
        events.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    service.close()
    assert b"abort" in b"".join(events)


def test_a_forked_process_starts_a_loop_of_its_own(start: Start) -> None:
    service = start(*["Well."] * 2)
    ask(service)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, ask(service).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert types(chunks(answer))[-1] == "finish"


async def test_the_same_as_chunks() -> None:
    service = ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Hello."])))
    events = await service.respond_chunks(parse_chat_request(chat(said("hi"))), user_id="ann")
    answer: list[Any] = [chunk async for chunk in events]
    assert (types(answer)[0], text(answer), types(answer)[-1]) == ("start", "Hello.", "finish")


def test_a_service_that_cannot_be_made_is_tried_again_on_the_same_loop() -> None:
    before = home_threads()
    failures = [RuntimeError("no database yet")] * 3
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Well."]))

    def make() -> ChatService:
        if failures:
            raise failures.pop()
        return ChatService(agent)

    service = SyncChatService(make)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="no database yet"):
            ask(service)
    assert text(chunks(ask(service))) == "Well."
    assert home_threads() == before + 1
    service.close()


def test_closing_before_the_first_request_makes_no_service_and_refuses_what_comes_later() -> None:
    before = home_threads()
    made: list[None] = []

    def make() -> ChatService:
        made.append(None)
        return ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=["Never."])))

    service = SyncChatService(make)
    service.close()
    with pytest.raises(ChatRequestError, match="shutting down") as refused:
        ask(service)
    service.close()
    assert (refused.value.status, made, home_threads()) == (503, [], before)


@pytest.mark.processes
@pytest.mark.parametrize("reader", ["has left", "reads on"])
def test_a_process_that_exits_stops_its_runs_and_stores_them(reader: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", EXITING, reader]
    done = subprocess.run(command, cwd=tmp_path, env=ENV, capture_output=True, text=True, check=False, timeout=HANG)
    assert "stored abort" in done.stdout, done.stderr
    assert ('"abort"' in done.stdout) == (reader == "reads on")
    assert done.returncode == 0
