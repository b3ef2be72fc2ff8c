"""Describes an agent, and the agents below it, for the Inspector."""

from typing import TypedDict

from google.adk.agents import LlmAgent
from google.adk.workflow import BaseNode

from stream_protocol.serving.adk_runner import tool_infos


class AgentInfo(TypedDict):
    """An agent as JSON. ``model`` is empty if the agent has no model of its own."""

    name: str
    type: str
    model: str
    description: str
    tools: list[str]
    agents: list["AgentInfo"]


def agent_info(agent: BaseNode) -> AgentInfo:
    """Describes an agent. Instructions are left out: they may be confidential."""
    model = agent.model if isinstance(agent, LlmAgent) else ""
    return AgentInfo(
        name=agent.name,
        type=type(agent).__name__,
        model=model if isinstance(model, str) else model.model,
        description=agent.description,
        tools=[tool["name"] for tool in tool_infos(agent)],
        agents=[agent_info(each) for each in getattr(agent, "sub_agents", ())],
    )
