"""The only allowed differences between the readings of a chat: ``docs/decisions/what-history-equals.md``."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.function_tool import FunctionTool

from stream_protocol.recording import ChatRecorder
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.readings import replayed, replays
from tests.recording.adk_writers import write_evalset
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import begin


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def agent(*turns: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=[FunctionTool(pay, require_confirmation=True)])


def texts(messages: list[Any]) -> list[str]:
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


def recording(folder: Path) -> Path:
    """The only file in the folder."""
    (file,) = folder.iterdir()
    return file


async def test_history_has_no_call_whose_arguments_never_completed() -> None:
    page = Page(create_app(agent(["Let me.", Call("pay", {"amount": 1}, streamed=True), RuntimeError("x")])))
    await page.send("go")
    assert [part["state"] for part in page.messages[-1]["parts"] if part["type"] == "tool-pay"] == ["output-error"]
    assert [part["type"] for part in (await page.stored())[-1]["parts"]] == ["step-start", "text"]


@pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated")
async def test_agents_in_parallel_share_a_step_until_a_reload() -> None:
    model = ScriptedLlm(respond=lambda _: "Hello from here.")
    agents = [LlmAgent(name=name, model=model) for name in ("left", "right")]
    page = Page(create_app(ParallelAgent(name="both", sub_agents=[*agents])))
    await page.send("go")
    stored = await page.stored()
    live, reloaded = ([part["type"] for part in messages[-1]["parts"]] for messages in (page.messages, stored))
    assert live == ["step-start", "text", "text"]
    assert reloaded == ["step-start", "text", "step-start", "text"]
    assert sorted(texts(stored)) == sorted(texts(page.messages))


async def test_a_question_that_messages_passed_over_is_closed_in_history_alone() -> None:
    page = Page(create_app(agent(Call("pay", {"amount": 1}), "Never mind.", "Bye.")))
    await page.send("pay")
    await page.send("wait")
    (shown,) = [part for part in page.messages[1]["parts"] if part["type"] == "tool-pay"]
    (stored,) = [part for part in (await page.stored())[1]["parts"] if part["type"] == "tool-pay"]
    assert (shown["state"], stored["state"]) == ("approval-requested", "output-error")
    assert stored["errorText"] == "The user went on without an answer."
    assert stored["callProviderMetadata"]["adk"] == {"author": "root", "unanswered": True}  # no failure, to a page
    assert "approval" not in stored
    page.messages = await page.stored()
    await page.send("bye")
    assert (await page.stored())[1]["parts"] == page.messages[1]["parts"]


async def test_a_page_that_only_left_has_its_text_open() -> None:
    service = InstrumentedService(agent(["Half ", Wait(asyncio.Event())]))
    page = Page(create_app(service))
    page.messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]}]
    received: list[Any] = []
    async with begin(page.app, page.body()) as exchange:
        await exchange.status()
        while not received or received[-1]["type"] != "text-delta":
            received.append(await exchange.chunk())
    page.take(received)
    service.runs.run.stop()
    await service.runs.free()
    assert page.messages[-1]["parts"][-1]["state"] == "streaming"
    assert (await page.stored())[-1]["parts"][-1]["state"] == "done"


async def test_only_the_page_has_answers_that_it_has_not_sent() -> None:
    page = Page(create_app(agent(Call("pay", {"amount": 1}))))
    await page.send("go")
    page.approve(True)
    assert [part["state"] for part in page.messages[-1]["parts"][1:]] == ["approval-responded"]
    assert [part["state"] for part in (await page.stored())[-1]["parts"][1:]] == ["approval-requested"]


async def test_a_recording_of_runs_has_each_answer_that_was_given(tmp_path: Path) -> None:
    service = ChatService(agent("one", "two"), recorder=ChatRecorder(tmp_path))
    page = Page(create_app(service))
    await page.send("hi")
    await page.regenerate()
    await service.aclose()
    assert texts(await page.stored()) == ["hi", "two"]
    assert texts([*replayed(recording(tmp_path))]) == ["hi", "one", "hi", "two"]


async def test_an_evalset_has_what_was_taken_back(tmp_path: Path) -> None:
    sessions = InMemorySessionService()
    page = Page(create_app(ChatService(agent("one", "two"), session_service=sessions)))
    await page.send("hi")
    await page.regenerate()
    session = await sessions.get_session(app_name="root", user_id="local", session_id="c1")
    assert isinstance(session, Session)
    write_evalset(tmp_path / "evalset", session)
    assert texts([*replayed(tmp_path / "evalset")]) == ["hi", "one", "hi", "two"]


async def test_adks_yaml_loses_the_control_character_for_a_next_line(tmp_path: Path) -> None:
    service = ChatService(agent("one\x85two"))
    page = Page(create_app(service))
    await page.send("go")
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    read = {form: texts(messages)[-1] for form, messages in replays(session, tmp_path)}
    assert texts(await page.stored())[-1] == "one\x85two"
    assert {form for form, text in read.items() if text != "one\x85two"} == {"yaml"}
    assert read["yaml"] == "one two"
