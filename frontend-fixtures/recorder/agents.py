"""Scenarios with several agents: transfer, sequence, parallel branches, loops, workflows, tasks, agents as tools."""

from typing import Any

from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.workflow import START, JoinNode, Workflow
from google.genai import types

from recorder.fixture import JsonEvent
from recorder.functions import get_weather
from recorder.model import call, calls, chunk, end, text
from recorder.scenario import Scenario
from recorder.texts import agent, named
from recorder.tools import weather_stream
from recorder.user import say


def _transfer() -> LlmAgent:
    return agent(
        [chunk(types.Part(text="One moment.")), chunk(call("transfer_to_agent", {"agent_name": "billing"})), end()],
        sub_agents=[named("billing", text("Billing ", "here."), text("Billing again."))],
    )


def _parallel() -> ParallelAgent:
    return ParallelAgent(
        name="par",
        sub_agents=[
            named("a", text("A1 ", "A2 ", "A3")),
            named("b", [*weather_stream("Paris"), end()], text("B1 ", "B2"), tools=[get_weather]),
        ],
    )


def _loop() -> LoopAgent:
    return LoopAgent(
        name="loop",
        max_iterations=3,
        sub_agents=[named("writer", text("Draft."), calls(call("exit_loop")), tools=[exit_loop])],
    )


def _summary(node_input: Any) -> dict[str, Any]:
    return {"summary": sorted(node_input)}


def _fanout() -> Workflow:
    a, b = named("a", text("A1 ", "A2")), named("b", text("B1 ", "B2"))
    return Workflow(name="wf", edges=[(START, (a, b), JoinNode(name="join"), _summary)])


def _sort_outputs(events: list[JsonEvent]) -> list[JsonEvent]:
    """Sort the join node's output. Its order is that of a set, which differs between processes."""
    for event in events:
        if "output" in event:
            event["output"] = dict(sorted(event["output"].items()))
    return events


def _task() -> LlmAgent:
    booker = named(
        "booker",
        text("Which ", "day?"),
        calls(call("finish_task", {"result": "Monday"})),
        mode="task",
    )
    return agent(
        [chunk(types.Part(text="I hand over.")), chunk(call("booker", {"request": "a table"})), end()],
        text("Booked for ", "Monday."),
        sub_agents=[booker],
    )


def _single_turn() -> LlmAgent:
    poet = named("poet", text("Roses ", "are red."), mode="single_turn")
    return agent(calls(call("poet", {"request": "a poem"})), text("There you are."), sub_agents=[poet])


def _single_turn_with_tool() -> LlmAgent:
    poet = named(
        "poet",
        calls(call("get_weather", {"city": "Paris"})),
        text("Sunny ", "Paris."),
        mode="single_turn",
        tools=[get_weather],
    )
    return agent(calls(call("poet", {"request": "a poem"})), text("There you are."), sub_agents=[poet])


def _agent_tool() -> LlmAgent:
    poet = named("poet", text("Roses are red."))
    return agent(calls(call("poet", {"request": "a poem"})), text("There you are."), tools=[AgentTool(poet)])


def _agent_tool_shown() -> LlmAgent:
    poet = named("poet", text("Roses are red."))
    tool = AgentTool(poet, skip_summarization=True)
    return agent(calls(call("poet", {"request": "a poem"})), tools=[tool])


AGENTS = (
    Scenario(
        name="transfer",
        description="The root hands over; the next user message is answered by the other agent.",
        build=_transfer,
        turns=[say("my bill"), say("more")],
    ),
    Scenario(
        name="sequential",
        description="Two agents, one after the other.",
        build=lambda: SequentialAgent(name="seq", sub_agents=[named("a", text("A1 ", "A2")), named("b", text("B."))]),
        turns=[say("go")],
    ),
    Scenario(
        name="parallel_agents",
        description="Two branches whose fragments interleave, one of them with a streamed call: texts never mix.",
        build=_parallel,
        turns=[say("go")],
    ),
    Scenario(
        name="loop",
        description="A loop that the agent leaves by exit_loop, which is not shown.",
        build=_loop,
        turns=[say("write")],
    ),
    Scenario(
        name="workflow_fanout",
        description="Workflow nodes side by side, joined; outputs without content are data.",
        build=_fanout,
        turns=[say("go")],
        edit=_sort_outputs,
    ),
    Scenario(
        name="task_over_two_turns",
        description="A task agent asks, and the next text is answered in the same invocation: a message of its own.",
        build=_task,
        turns=[say("book a table"), say("Monday")],
        options={"hidden_tools": ["booker"]},
    ),
    Scenario(
        name="single_turn_agent",
        description="A sub-agent that is called like a function and streams its own text.",
        build=_single_turn,
        turns=[say("a poem")],
    ),
    Scenario(
        name="single_turn_agent_with_tool",
        description="A sub-agent that is called like a function and calls a tool of its own.",
        build=_single_turn_with_tool,
        turns=[say("a poem")],
    ),
    Scenario(
        name="agent_tool",
        description="An agent as a tool: only the call and its output are seen.",
        build=_agent_tool,
        turns=[say("a poem")],
    ),
    Scenario(
        name="agent_tool_without_summary",
        description="An agent as a tool whose answer is shown as it is: text inside the response event.",
        build=_agent_tool_shown,
        turns=[say("a poem")],
    ),
)
