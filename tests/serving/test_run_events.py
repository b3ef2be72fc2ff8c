"""``run_events``: sub-agents and progress in routes of an app's own, in both frameworks and for both clients."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events import Event
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, ToolContext
from google.genai import types
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from stream_protocol import (
    SSE_DONE,
    StreamProtocolConverter,
    StreamProtocolError,
    encode_sse,
    iter_chunks,
    reduce_chunks,
    stream_sse,
)
from stream_protocol.agents import emit_data, report_progress
from stream_protocol.serving import run_events
from stream_protocol.serving.runs import _run_events
from stream_protocol.session import session_to_messages
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.support import HANG, chat, only, said, stream

pytestmark = pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")


def look(city: str) -> dict[str, str]:
    """Tells the weather."""
    return {"city": city}


def agent(name: str, *turns: Any, **more: Any) -> LlmAgent:
    return LlmAgent(name=name, description=name, model=ScriptedLlm(turns=[*turns]), **more)


def runner_of(root: LlmAgent) -> InMemoryRunner:
    runner = InMemoryRunner(root, app_name="app")
    runner.auto_create_session = True
    return runner


def planner() -> InMemoryRunner:
    deep = agent("deep", "The bottom.")
    inner = agent(
        "inner", Call("look", {"city": "Oslo"}), Call("deep", {"request": "go"}), "Sun.", tools=[look, AgentTool(deep)]
    )
    return runner_of(agent("root", Call("inner", {"request": "go"}), "Done.", tools=[AgentTool(inner)]))


def events_of(runner: InMemoryRunner) -> AsyncGenerator[Event]:
    message = types.UserContent([types.Part(text="hi")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    return run_events(runner, user_id="u", session_id="c1", new_message=message, run_config=config)


def starlette(runner: InMemoryRunner, ai_sdk: Any) -> Any:
    async def answer(_request: Request) -> StreamingResponse:
        return StreamingResponse(stream_sse(events_of(runner), ai_sdk=ai_sdk))

    return Starlette(routes=[Route("/api/chat", answer, methods=["POST"])])


def fastapi(runner: InMemoryRunner, ai_sdk: Any) -> Any:
    """Return an app with a bare generator and the converter's class."""
    app = FastAPI()

    async def lines() -> AsyncIterator[bytes]:
        converter = StreamProtocolConverter(ai_sdk=ai_sdk)
        async for event in events_of(runner):
            for chunk in converter.convert(event):
                yield encode_sse(chunk)
        for chunk in converter.finish():
            yield encode_sse(chunk)
        yield SSE_DONE

    @app.post("/api/chat")
    async def answer() -> StreamingResponse:
        return StreamingResponse(lines(), media_type="text/event-stream")

    return app


@pytest.mark.parametrize("ai_sdk", [6, 7])
@pytest.mark.parametrize("build", [starlette, fastapi])
async def test_a_route_shows_the_work_live_and_from_the_session(build: Any, ai_sdk: Any) -> None:
    runner = planner()
    before = list(runner.plugin_manager.plugins)
    answer = await stream(build(runner, ai_sdk), chat(said("hi")))
    message: Any = reduce_chunks(cast("Any", answer), ai_sdk=ai_sdk)
    [card] = [part for part in message["parts"] if part["type"] == "tool-inner"]
    kinds = [part["type"] for part in card["output"]["parts"] if part["type"] != "step-start"]
    assert kinds == ["tool-look", "tool-deep", "text"]
    assert card["output"]["metadata"]["result"] == {"result": "Sun."}
    session = await runner.session_service.get_session(app_name="app", user_id="u", session_id="c1")
    assert session is not None
    stored: Any = session_to_messages(session, ai_sdk=ai_sdk)[-1]
    assert stored["parts"] == message["parts"]
    assert runner.plugin_manager.plugins == before


async def test_work_and_progress_arrive_while_the_tool_runs() -> None:
    opened = asyncio.Event()

    async def hold(tool_context: ToolContext) -> str:
        """Waits."""
        report_progress(tool_context, 1, total=2)
        emit_data(tool_context, "wind", 12, transient=True)
        await asyncio.wait_for(opened.wait(), HANG)
        return "held"

    inner = agent("inner", ["Let me see.", Call("hold", {})], "Seen.", tools=[hold])
    runner = runner_of(agent("root", [Call("inner", {"request": "go"})], "Done.", tools=[AgentTool(inner)]))
    converter, seen = StreamProtocolConverter(), list[Any]()
    async with aclosing(events_of(runner)) as events:
        async for event in events:
            seen += converter.convert(event)
            if "data-wind" in [chunk["type"] for chunk in seen] and not opened.is_set():
                output = only(seen, "tool-output-available")[-1]["output"]
                assert "Let me see." in json.dumps(output)
                assert "data-adk-progress" in json.dumps(output)
                opened.set()
    assert opened.is_set()


async def test_the_agent_waits_for_its_reader_as_under_adk() -> None:
    ran: list[str] = []

    def act() -> str:
        """Acts."""
        ran.append("act")
        return "done"

    runner = runner_of(agent("root", Call("act", {}), "Done.", tools=[act]))
    async with aclosing(events_of(runner)) as events:
        async for event in events:
            if event.get_function_calls() and not event.partial:
                await asyncio.sleep(0.05)
                break
    assert ran == []


async def idle() -> None:
    """Let all other tasks run until they wait."""
    for _ in range(500):
        await asyncio.sleep(0)


async def shown_and_stored(runner: InMemoryRunner, seen: list[Event]) -> tuple[Any, Any]:
    message: Any = reduce_chunks(iter_chunks(seen))
    session = await runner.session_service.get_session(app_name="app", user_id="u", session_id="c1")
    assert session is not None
    stored: Any = session_to_messages(session)[-1]
    return message["parts"], stored["parts"]


async def test_agents_inside_calls_wait_for_a_slow_reader_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_run_events, "MAX_WAITING", 8)
    ran = Counter[str]()

    def act(agent: str) -> str:
        """Acts."""
        ran[agent] += 1
        return "done"

    def inner(name: str) -> AgentTool:
        deep = agent(f"deep_{name}", *(Call("act", {"agent": name}) for _ in range(50)), "Deep.", tools=[act])
        return AgentTool(agent(name, Call(f"deep_{name}", {"request": "go"}), "Done.", tools=[AgentTool(deep)]))

    names = ["a", "b"]
    asked = [Call(name, {"request": "go"}) for name in names]
    runner = runner_of(agent("root", asked, "Done.", tools=[inner(name) for name in names]))
    seen = list[Event]()
    async with aclosing(events_of(runner)) as events:
        async for event in events:
            seen.append(event)
            if len(seen) in (20, 100):
                await idle()
                assert ran.total() <= len(seen) + 8 + len(names)
    assert ran == {"a": 50, "b": 50}
    shown, stored = await shown_and_stored(runner, seen)
    assert shown == stored
    assert json.dumps(shown).count('"toolCallId"') == 2 * (1 + 1 + 50)


@pytest.mark.parametrize("is_inside", [False, True], ids=["a tool", "a tool of an agent in a call"])
async def test_data_for_a_slow_reader_comes_with_the_result_and_transient_data_is_dropped(
    is_inside: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_run_events, "MAX_WAITING", 8)

    async def send(tool_context: ToolContext) -> str:
        """Sends much at once."""
        for number in range(100):
            emit_data(tool_context, "toast", number, transient=True)
            emit_data(tool_context, "found", number)
            report_progress(tool_context, number)
        return "sent"

    sender = agent("inner", Call("send", {}), "Sent.", tools=[send])
    outer = agent("root", Call("inner", {"request": "go"}), "Done.", tools=[AgentTool(sender)])
    runner = runner_of(outer if is_inside else sender)
    seen = [event async for event in events_of(runner)]
    shown, stored = await shown_and_stored(runner, seen)
    parts = next(part["output"]["parts"] for part in shown if part["type"] == "tool-inner") if is_inside else shown
    assert sorted(part["data"] for part in parts if part["type"] == "data-found") == [*range(100)]
    assert [part["data"]["progress"] for part in parts if part["type"] == "data-adk-progress"] == [99]
    assert len(seen) < 50
    assert caplog.text.count("too slow") == 1
    if is_inside:
        assert shown == stored


async def test_a_failure_is_raised_and_a_closed_reader_ends_the_run() -> None:
    failing = runner_of(agent("root", RuntimeError("boom")))
    with pytest.raises(RuntimeError, match="boom"):
        [event async for event in events_of(failing)]
    endless = runner_of(agent("root", ["Half", Wait(asyncio.Event())]))
    events = events_of(endless)
    await anext(events)
    await asyncio.wait_for(events.aclose(), HANG)


@pytest.mark.parametrize("wrong", [{"runner": None}, {"session_id": ""}])
def test_wrong_arguments_are_refused_at_once(wrong: Any) -> None:
    with pytest.raises((StreamProtocolError, TypeError)):
        run_events(**{"runner": planner(), "session_id": "c1", **wrong})
