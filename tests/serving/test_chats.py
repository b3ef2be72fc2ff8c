"""One chat after another with an agent, through the app."""

import asyncio
import logging
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.adk.sessions import InMemorySessionService

from stream_protocol.serving import ChatService, create_app
from stream_protocol.serving.adk_runner import Target
from stream_protocol.session import idempotency_key
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import parse_chat_request
from tests.serving.support import HANG, begin, chat, post, said, stream, text, types


def agent(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=turns), **fields)


@pytest.mark.parametrize("kind", ["agent", "app", "runner"])
async def test_whatever_adk_calls_an_agent_answers(kind: str) -> None:
    root = agent("Hello there.")
    target: Target
    match kind:
        case "agent":
            target = root
        case "app":
            target = App(name="chats", root_agent=root)
        case _:
            target = InMemoryRunner(root)
    answer = await stream(create_app(target), chat(said("hi")))
    assert text(answer) == "Hello there."
    assert types(answer)[0] == "start"
    assert types(answer)[-1] == "finish"


async def test_a_chat_is_one_session_named_by_its_id_and_kept_per_user() -> None:
    sessions = InMemorySessionService()
    users = iter(["ann", "bob", "ann"])
    service = ChatService(agent("One.", "Two.", "Three."), session_service=sessions)
    app = create_app(service, identify=lambda request: next(users))
    for word in ("a", "b", "c"):
        await stream(app, chat(said(word)))
    ann = await sessions.get_session(app_name="root", user_id="ann", session_id="c1")
    bob = await sessions.get_session(app_name="root", user_id="bob", session_id="c1")
    assert ann is not None
    assert bob is not None
    assert [event.content.parts[0].text for event in ann.events if event.content and event.content.parts] == [
        "a",
        "One.",
        "c",
        "Three.",
    ]
    assert len(bob.events) == 2


async def test_the_user_may_be_identified_by_a_coroutine() -> None:
    async def identify(request: object) -> str:
        await asyncio.sleep(0)
        return "ann"

    service = ChatService(agent("Hello."))
    await stream(create_app(service, identify=identify), chat(said("hi")))
    sessions = await service.runner.session_service.list_sessions(app_name="root")
    assert [session.user_id for session in sessions.sessions] == ["ann"]


async def test_the_clients_id_of_the_message_is_stored_with_the_users_event() -> None:
    service = ChatService(agent("Hello."))
    request = chat(said("hi", "u17"))
    await stream(create_app(service), request)
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    kept = {"message_id": "u17", "request": idempotency_key(parse_chat_request(request))}
    assert [(event.custom_metadata or {})["adk_ui_stream"] for event in session.events] == [kept, kept]


async def test_a_file_reaches_the_model_as_bytes_and_a_link_as_a_link() -> None:
    model = ScriptedLlm(turns=["Nice."])
    app = create_app(LlmAgent(name="root", model=model))
    files = [
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGVsbG8="},
        {"type": "file", "mediaType": "application/pdf", "url": "https://example.com/a.pdf"},
    ]
    await stream(app, chat({"id": "u1", "role": "user", "parts": [*files, {"type": "text", "text": "look"}]}))
    (content,) = model.requests[0].contents
    inline, link, words = content.parts or []
    assert inline.inline_data is not None
    assert (inline.inline_data.mime_type, inline.inline_data.data) == ("image/png", b"hello")
    assert link.file_data is not None
    assert link.file_data.file_uri == "https://example.com/a.pdf"
    assert words.text == "look"


async def test_a_task_agents_second_answer_in_one_invocation_is_a_message_of_its_own() -> None:
    model = ScriptedLlm(
        turns=[
            [Call("booker", {"request": "a trip"})],
            "Where to?",
            [Call("finish_task", {"result": "Booked."})],
            "All done.",
        ]
    )
    booker = LlmAgent(name="booker", model=model, mode="task", description="books")
    app = create_app(LlmAgent(name="root", model=model, sub_agents=[booker]))
    first = await stream(app, chat(said("book")))
    second = await stream(app, chat(said("Oslo", "u2")))
    assert second[0]["messageId"] == first[0]["messageId"] + ".2"
    assert text(first) == "Where to?"
    assert text(second) == "All done."
    assert "booker" not in [chunk.get("toolName") for chunk in second]


async def test_a_failure_in_mid_stream_is_one_masked_error_and_a_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = create_app(agent(["Half an ", RuntimeError("the secret is 42")], "Again."))
    answer = await stream(app, chat(said("hi")))
    assert answer[-1] == {"type": "error", "errorText": "An error occurred."}
    assert types(answer).count("error") == 1
    (record,) = [record for record in caplog.records if record.name == "stream_protocol.serving.runs"]
    assert "the secret is 42" in logging.Formatter().format(record)
    assert text(await stream(app, chat(said("again", "u2")))) == "Again."


async def test_a_store_that_is_full_refuses_a_message() -> None:
    class Full(InMemorySessionService):
        async def append_event(self, *_: Any, **__: Any) -> Any:
            raise OSError("disk full")

    answer = await post(create_app(ChatService(agent("Hi."), session_service=Full())), chat(said("hi")))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


async def test_an_apps_hook_that_raises_ends_the_stream_and_not_the_run() -> None:
    def transform(chunk: Any) -> Any:
        if chunk["type"] == "text-delta":
            raise ValueError("a bug in the app")
        return chunk

    service = ChatService(agent("Hello there."), transform=transform)
    answer = await stream(create_app(service), chat(said("hi")))
    assert types(answer)[-1] == "error"
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert session.events[-1].content is not None
    assert session.events[-1].content.parts is not None
    assert session.events[-1].content.parts[0].text == "Hello there."


async def test_a_plain_tool_that_blocks_does_not_block_other_chats() -> None:
    other_chat_answered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask_elsewhere() -> str:
        """Waits for work that only the event loop can do."""
        asyncio.run_coroutine_threadsafe(other_chat_answered.wait(), loop).result(HANG)
        return "ok"

    def respond(request: Any) -> Any:
        last = request.contents[-1].parts[-1]
        if last.text == "block":
            return Call("ask_elsewhere", {})
        return "Done." if last.function_response else "Hello."

    app = create_app(LlmAgent(name="root", model=ScriptedLlm(respond=respond), tools=[ask_elsewhere]))
    async with begin(app, chat(said("block"), chat_id="slow")) as blocked:
        await blocked.status()
        await blocked.until("tool-input-available")
        assert text(await stream(app, chat(said("hi"), chat_id="quick"))) == "Hello."
        other_chat_answered.set()
        assert (await blocked.until("text-delta"))["delta"] == "Done."
