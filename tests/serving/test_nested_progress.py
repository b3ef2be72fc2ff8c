"""Progress and data of a tool inside a sub-agent are on the sub-agent's card while the tool runs."""

import asyncio
import json
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool, ToolContext

from stream_protocol.agents import emit_data, report_progress
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.doors import Door
from tests.serving.chat_client import Page
from tests.serving.support import begin, chat, said

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    pytest.mark.filterwarnings("ignore:.*:UserWarning"),  # about Google's cloud
]

KINDS: dict[str, dict[str, Any]] = {"tool": {}, "single_turn": {"mode": "single_turn"}, "task": {"mode": "task"}}


def planner(kind: str, *tools: Any, call: str) -> LlmAgent:
    """Return an agent that calls an agent of this kind. "deep": an ``AgentTool`` inside a single-turn agent."""
    if kind == "deep":
        deep = LlmAgent(name="deep", model=ScriptedLlm(turns=[Call(call, {}), "Deep."]), tools=[*tools])
        return planner("single_turn", AgentTool(deep), call="deep")
    end = Call("finish_task", {"result": "Seen."}) if kind == "task" else "Seen."
    asked = Call(call, {"request": "go"} if call == "deep" else {})
    model = ScriptedLlm(turns=[asked, end])
    inner = LlmAgent(name="inner", description="inner", model=model, tools=[*tools], **KINDS[kind])
    calls: dict[str, Any] = {"tools": [AgentTool(inner)]} if kind == "tool" else {"sub_agents": [inner]}
    return LlmAgent(name="root", model=ScriptedLlm(turns=[Call("inner", {"request": "go"}), "Done."]), **calls)


def reporting(door: Door, *, is_async: bool) -> Any:
    """Return a tool that reports, waits at the door, and reports again."""

    def report(tool_context: ToolContext, number: int) -> None:
        report_progress(tool_context, number, 2)
        emit_data(tool_context, "found", number)
        emit_data(tool_context, "toast", number, transient=True)

    def work(tool_context: ToolContext) -> str:
        """Works."""
        report(tool_context, 1)
        door.wait()
        report(tool_context, 2)
        return "worked"

    async def work_async(tool_context: ToolContext) -> str:
        """Works."""
        report(tool_context, 1)
        await asyncio.to_thread(door.wait)
        report(tool_context, 2)
        return "worked"

    work_async.__name__ = "work"
    return work_async if is_async else work


@pytest.mark.parametrize("is_async", [False, True], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize("kind", [*KINDS, "deep"])
async def test_a_tool_of_a_sub_agent_is_seen_while_it_runs(kind: str, is_async: bool) -> None:
    door = Door()
    app = create_app(planner(kind, reporting(door, is_async=is_async), call="work"))
    async with begin(app, chat(said("hi"))) as answer:
        assert await answer.status() == 200
        seen: Any = (await answer.until("tool-output-available"))["output"]
        while "data-found" not in json.dumps(seen):
            seen = (await answer.until("tool-output-available"))["output"]
        assert '"progress": 1' in json.dumps(seen)
        assert '"input-available"' in json.dumps(seen)
        assert (await answer.until("data-toast"))["data"] == 1
        door.let_pass()
        await answer.until("finish")


@pytest.mark.parametrize("shows", ["nested", "flat", "hidden"])
@pytest.mark.parametrize("kind", [*KINDS, "deep"])
async def test_each_report_is_in_the_message_once_live_and_stored(kind: str, shows: Any) -> None:
    door = Door()
    door.let_pass()
    root = planner(kind, reporting(door, is_async=True), call="work")
    page = Page(create_app(ChatService(root, nested_agents=shows)))
    await page.send("hi")
    assert await page.stored() == page.messages
    text = json.dumps(page.messages[-1])
    is_hidden = shows == "hidden" and kind != "tool"  # the outer message gets the data of an agent in an `AgentTool`
    assert text.count('"type": "data-found"') == (0 if is_hidden else 2)
    assert text.count('"type": "data-adk-progress"') == (0 if is_hidden else 1)
    assert "toast" not in text
