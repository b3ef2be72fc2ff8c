"""Events that code inside a run posts to its channel: they are written at once, in order with ADK's own."""

import asyncio
import gc
import logging
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions
from google.adk.events.ui_widget import UiWidget
from google.adk.tools import AgentTool, ToolContext

from stream_protocol.agents import RunChannel, posted_event, run_channel
from stream_protocol.recording import ChatRecorder, load_recording, replay
from stream_protocol.serving import ChatService, ServiceLimits, create_app
from stream_protocol.serving.runs._run_posts import RunPosts
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.support import HANG, begin, chat, chunks, only, said, stream, types

PART = "data-adk-ui-widget"


def posted(context: ToolContext, value: Any, kind: str = "widgets") -> Event:
    widget = UiWidget(id=f"w{value}", provider="test", payload={"value": value})
    return posted_event(context, kind, EventActions(render_ui_widgets=[widget]))


def post(context: ToolContext, value: Any, kind: str = "widgets") -> None:
    channel = run_channel()
    assert channel is not None
    channel.post(posted(context, value, kind))


def values(answer: list[dict[str, Any]]) -> list[Any]:
    return [chunk["data"]["payload"]["value"] for chunk in only(answer, PART)]


def agent(*tools: Any, turns: tuple[Any, ...] = (Call("work", {}), "Done.")) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=[*turns]), tools=[*tools])


async def test_a_synchronous_tool_is_heard_while_it_runs() -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works in a thread."""
        post(tool_context, 1)
        assert seen.wait(HANG)
        post(tool_context, 2)
        return "worked"

    async with begin(create_app(agent(work)), chat(said("hi"))) as answer:
        assert await answer.status() == 200
        assert (await answer.until(PART))["data"]["payload"] == {"value": 1}
        seen.set()
        assert (await answer.until(PART))["data"]["payload"] == {"value": 2}
        assert (await answer.until("tool-output-available"))["output"] == {"result": "worked"}


async def test_an_asynchronous_tool_is_heard_while_it_runs() -> None:
    seen = asyncio.Event()

    async def work(tool_context: ToolContext) -> str:
        """Works on the event loop."""
        post(tool_context, 1)
        await asyncio.wait_for(seen.wait(), HANG)
        return "worked"

    async with begin(create_app(agent(work)), chat(said("hi"))) as answer:
        assert await answer.status() == 200
        assert (await answer.until(PART))["data"]["payload"] == {"value": 1}
        seen.set()
        assert (await answer.until("tool-output-available"))["output"] == {"result": "worked"}


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")  # of ADK's AgentTool
async def test_a_tool_inside_an_agent_tool_is_heard_while_it_runs() -> None:
    seen = threading.Event()

    def work(tool_context: ToolContext) -> str:
        """Works in a thread."""
        post(tool_context, 1)
        assert seen.wait(HANG)
        return "worked"

    inner = LlmAgent(name="inner", model=ScriptedLlm(turns=[Call("work", {}), "Inner."]), tools=[work])
    outer = agent(AgentTool(inner), turns=(Call("inner", {"request": "go"}), "Done."))
    async with begin(create_app(outer), chat(said("hi"))) as answer:
        assert await answer.status() == 200
        output = (await answer.until("tool-output-available"))["output"]
        while not (parts := [part for part in output["parts"] if part["type"] == PART]):
            output = (await answer.until("tool-output-available"))["output"]
        assert parts[0]["data"]["payload"] == {"value": 1}
        seen.set()
        while "metadata" not in output:
            output = (await answer.until("tool-output-available"))["output"]
        assert output["metadata"]["result"] == {"result": "Inner."}


async def test_the_order_of_one_tool_is_kept_and_its_result_comes_last() -> None:
    def work(tool_context: ToolContext) -> str:
        """Works in a thread."""
        for value in range(50):
            post(tool_context, value)
        return "worked"

    answer = await stream(create_app(agent(work)), chat(said("hi")))
    assert values(answer) == [*range(50)]
    assert types(answer).index("tool-output-available") > max(
        place for place, kind in enumerate(types(answer)) if kind == PART
    )


async def test_runs_side_by_side_hear_their_own_tools() -> None:
    both = threading.Barrier(2, timeout=HANG)

    def work(name: str, tool_context: ToolContext) -> str:
        """Works in a thread."""
        both.wait()
        post(tool_context, name)
        both.wait()
        return "worked"

    app = create_app(
        LlmAgent(
            name="root",
            model=ScriptedLlm(turns=[Call("work", {"name": "a"}), Call("work", {"name": "b"}), "Done.", "Done."]),
            tools=[work],
        )
    )
    answers = await asyncio.gather(
        *(stream(app, chat(said("hi"), chat_id=chat_id)) for chat_id in ("c1", "c2")),
    )
    for answer in answers:
        (call,) = only(answer, "tool-input-available")
        assert values(answer) == [call["input"]["name"]]


async def test_what_comes_after_the_end_is_dropped_and_the_run_is_freed() -> None:
    kept: list[RunChannel] = []
    context: list[ToolContext] = []

    def work(tool_context: ToolContext) -> str:
        """Keeps the channel."""
        channel = run_channel()
        assert channel is not None
        kept.append(channel)
        context.append(tool_context)
        return "worked"

    answer = await stream(create_app(agent(work)), chat(said("hi")))
    assert types(answer)[-1] == "finish"
    kept[0].post(posted(context[0], 1))
    await asyncio.to_thread(kept[0].post, posted(context[0], 2))
    assert run_channel() is None
    writes = [one for one in gc.get_referents(kept[0]) if callable(one) and getattr(one, "__self__", None)]
    assert writes == []


async def test_what_comes_before_adk_says_anything_begins_the_response() -> None:
    class Eager(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event]:
            channel = run_channel()
            assert channel is not None
            widget = UiWidget(id="w", provider="test", payload={"value": 1})
            event = Event(
                author="eager",
                invocation_id=ctx.invocation_id,
                partial=True,
                actions=EventActions(render_ui_widgets=[widget]),
                custom_metadata={"adk_ui_stream_posted": "widgets"},
            )
            channel.post(event)
            yield Event(author="eager", invocation_id=ctx.invocation_id)

    answer = await stream(create_app(Eager(name="eager")), chat(said("hi")))
    assert types(answer) == ["start", PART, "finish"]
    assert answer[0]["messageId"]


async def test_an_event_of_an_unknown_kind_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    def work(tool_context: ToolContext) -> str:
        """Works in a thread."""
        post(tool_context, 1, kind="of a later version")
        return "worked"

    with caplog.at_level(logging.WARNING):
        answer = await stream(create_app(agent(work)), chat(said("hi")))
    assert values(answer) == []
    assert types(answer)[-1] == "finish"
    assert "unknown kind 'of a later version'" in caplog.text


async def test_a_tool_that_posts_without_end_is_stopped_at_the_bound_of_the_log() -> None:
    def work(tool_context: ToolContext) -> str:
        """Posts a lot."""
        for value in range(300):
            post(tool_context, value)
        return "worked"

    service = ChatService(agent(work), limits=ServiceLimits(max_chunks=100))
    answer = await stream(create_app(service), chat(said("hi")))
    assert types(answer)[-1] == "error"
    assert len(answer) < 120


async def test_posted_events_are_recorded_and_replayed_and_not_stored(tmp_path: Any) -> None:
    def work(tool_context: ToolContext) -> str:
        """Works in a thread."""
        post(tool_context, 1)
        post(tool_context, 2)
        return "worked"

    service = ChatService(agent(work), recorder=ChatRecorder(tmp_path))
    answer = await stream(create_app(service), chat(said("hi")))
    (file,) = tmp_path.glob("*.jsonl")
    assert chunks(b"".join(replay(load_recording(file))).decode()) == answer
    session = await service.runner.session_service.get_session(app_name="root", user_id="local", session_id="c1")
    assert session is not None
    assert not [event for event in session.events if event.partial]


async def test_a_tool_with_an_event_loop_of_its_own_waits_for_room_until_the_run_ends() -> None:
    has_room, asked = asyncio.Event(), asyncio.Event()

    async def room() -> None:
        asked.set()
        await has_room.wait()

    posts = RunPosts(lambda _event: None, pause=0, room=room)
    waiting = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(posts.ready())))
    await asyncio.wait_for(asked.wait(), HANG)
    assert not waiting.done()
    has_room.set()
    await asyncio.wait_for(waiting, HANG)
    has_room.clear()
    posts.close()
    await asyncio.wait_for(posts.ready(), HANG)
