"""Copies the app's agents. The copies store the results of models and tools. So no call is repeated when a run is
executed again.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.tools import BaseTool, FunctionTool
from google.adk.tools.base_toolset import BaseToolset

from stream_protocol.durable._durable_model import ModelCallNames, durable_model
from stream_protocol.durable._durable_tool import durable_tool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.workflow import BaseNode

_SUPPORTED = (LlmAgent, SequentialAgent, ParallelAgent, LoopAgent)
"""The supported agent classes, which only call models and tools. An app's own class may make other calls."""


def unsupported_agents(root: BaseNode) -> list[str]:
    """Find the agents below ``root`` that durable runs do not support. Return a text for each, with its name, and its
    mode or class.

    Agents with ``mode="task"`` are not supported, because they continue an earlier invocation.
    """
    found: list[str] = []
    for agent in _tree(root):
        if getattr(agent, "mode", None) == "task":
            found.append(f'`{agent.name}` (`mode="task"`)')
        elif type(agent) not in _SUPPORTED:
            found.append(f"`{agent.name}` (`{type(agent).__name__}`)")
    return found


def durable_agents(root: BaseAgent, idempotent_tools: Collection[str]) -> BaseAgent:
    """Return a copy of an agent and its sub-agents, with models and tools whose results are stored.

    An agent inside an ``AgentTool`` is not copied, because the result of the tool is stored as a whole.
    """
    durable = root.clone()
    for agent in _tree(durable):
        if isinstance(agent, LlmAgent):
            _make_durable(agent, idempotent_tools)
    return durable


def shape(root: BaseNode) -> list[str]:
    """Return the type and the name of each agent below ``root``. If this list changes, the app counts as a new
    version.
    """
    return [f"{type(agent).__name__} {agent.name}" for agent in _tree(root)]


def _tree(root: BaseNode) -> Iterator[Any]:
    yield root
    for agent in root.sub_agents if isinstance(root, BaseAgent) else ():
        yield from _tree(agent)


def _make_durable(agent: LlmAgent, idempotent_tools: Collection[str]) -> None:
    names = ModelCallNames()
    agent.model = durable_model(agent.canonical_model, names)
    agent.before_model_callback = [*agent.canonical_before_model_callbacks, names.note]
    agent.tools = [_durable(tool, idempotent_tools) for tool in agent.tools]


def _durable(tool: Any, idempotent_tools: Collection[str]) -> Any:
    match tool:
        case BaseTool():
            return durable_tool(tool, idempotent_tools)
        case BaseToolset():
            return _durable_toolset(tool, idempotent_tools)
    return durable_tool(FunctionTool(tool), idempotent_tools)


def _durable_toolset(toolset: BaseToolset, idempotent_tools: Collection[str]) -> BaseToolset:
    async def get_tools(readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return [durable_tool(tool, idempotent_tools) for tool in await toolset.get_tools(readonly_context)]

    durable = copy(toolset)
    durable.get_tools = get_tools  # type: ignore[method-assign]  # only on the copy
    return durable
