"""Agents of other kinds in an ``AgentTool``: live and stored messages agree, and the card has the agent's work."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.tools import AgentTool, LongRunningFunctionTool, ToolContext, exit_loop
from google.genai import types

from stream_protocol.agents import emit_data, report_progress
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.serving.chat_client import Page
from tests.tools import OLD_ADK

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    pytest.mark.filterwarnings("ignore:(Sequential|Parallel|Loop)Agent is deprecated:DeprecationWarning"),
]


def agent(name: str, *turns: Any, **more: Any) -> LlmAgent:
    return LlmAgent(name=name, description=name, model=ScriptedLlm(turns=[*turns]), **more)


async def draw(tool_context: ToolContext) -> str:
    """Saves a picture."""
    await tool_context.save_artifact("a.png", types.Part.from_bytes(data=b"x", mime_type="image/png"))
    return "saved"


def tell(tool_context: ToolContext) -> str:
    """Reports progress and data."""
    report_progress(tool_context, 1, total=2)
    emit_data(tool_context, "gone", 1, transient=True)
    emit_data(tool_context, "kept", 2)
    return "told"


def later() -> None:
    """Has no result yet."""


def inner(*turns: Any, **more: Any) -> AgentTool:
    return AgentTool(agent("inner", *turns, **more))


TO_HELPER = Call("helper", {"request": "go"})
FINISH = Call("finish_task", {"result": "Found."})

KINDS: dict[str, tuple[Callable[[], AgentTool], str]] = {
    "agents in a row": (
        lambda: AgentTool(
            SequentialAgent(name="inner", description="i", sub_agents=[agent("a", "First."), agent("b", "Second.")])
        ),
        "First. Second.",
    ),
    "agents side by side": (
        lambda: AgentTool(
            ParallelAgent(name="inner", description="i", sub_agents=[agent("a", "One here."), agent("b", "Two there.")])
        ),
        "One here. Two there.",
    ),
    "a loop": (
        lambda: AgentTool(
            LoopAgent(
                name="inner",
                description="i",
                max_iterations=3,
                sub_agents=[agent("a", "Once.", ["Twice.", Call("exit_loop", {})], tools=[exit_loop])],
            )
        ),
        "Once. Twice.",
    ),
    "an agent that says nothing": (lambda: inner(""), ""),
    "an agent that saves a file": (
        lambda: inner(Call("draw", {}), "Saved.", tools=[draw]),
        "tool-draw data-adk-artifact Saved.",
    ),
    "a model that draws": (
        lambda: inner([types.Part.from_bytes(data=b"x", mime_type="image/png"), "Drawn."]),
        "file Drawn.",
    ),
    "a task agent whose model draws": (
        lambda: inner(
            TO_HELPER,
            "After.",
            sub_agents=[
                agent("helper", [types.Part.from_bytes(data=b"x", mime_type="image/png"), FINISH], mode="task")
            ],
        ),
        "tool-helper After.",
    ),
    "an agent with a schema": (lambda: inner('{"city":"Oslo"}', output_schema={"type": "object"}), '{"city":"Oslo"}'),
    "a result that is not summarized": (
        lambda: AgentTool(agent("inner", "Words."), skip_summarization=True),
        "Words.",
    ),
    "progress and data of a tool": (
        lambda: inner(Call("tell", {}), "Told.", tools=[tell]),
        "tool-tell data-adk-progress data-kept Told.",
    ),
    "a transfer": (
        lambda: inner(
            ["Over.", Call("transfer_to_agent", {"agent_name": "helper"})], sub_agents=[agent("helper", "Mine.")]
        ),
        "Over. data-adk-agent Mine.",
    ),
    "a task agent": (
        lambda: inner(TO_HELPER, "After.", sub_agents=[agent("helper", ["Work.", FINISH], mode="task")]),
        "tool-helper After.",
    ),
    "a single-turn agent": (
        lambda: inner(TO_HELPER, "After.", sub_agents=[agent("helper", "Work.", mode="single_turn")]),
        "tool-helper After.",
    ),
}


async def visit(tool: AgentTool, *calls: Call) -> list[Any]:
    """Return the outputs of the calls in a chat with an agent that has the tool."""
    page = Page(create_app(agent("root", [*calls], "Done.", tools=[tool])))
    await page.send("hi")
    assert await page.stored() == page.messages
    parts: Any = page.messages[-1]["parts"]
    return [part["output"] for part in parts if part["type"] == "tool-inner"]


GO = Call("inner", {"request": "go"})


@pytest.mark.parametrize("kind", KINDS)
async def test_the_card_has_the_work_live_and_stored(kind: str) -> None:
    make, shown = KINDS[kind]
    [output] = await visit(make(), GO)
    parts = [part for part in output["parts"] if part["type"] != "step-start"]
    assert " ".join(part.get("text") or part["type"] for part in parts) == shown
    assert "result" in output["metadata"]


async def test_calls_of_one_agent_side_by_side_have_their_own_work() -> None:
    outputs = await visit(inner("Alpha.", "Beta."), GO, GO)
    assert {output["parts"][-1]["text"] for output in outputs} == {"Alpha.", "Beta."}


@pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")
async def test_a_tool_that_takes_long_is_refused_inside() -> None:
    [output] = await visit(inner(Call("later", {}), "Never.", tools=[LongRunningFunctionTool(later)]), GO)
    assert "an agent that runs as a tool cannot wait for one" in json.dumps(output)
