"""The tools of an agent and of all its sub-agents, with JSON schemas of the tools' inputs and outputs.

The schema of an input is the one that the model gets from ADK. The schema of an output describes the JSON that the
client gets: a dictionary is sent unchanged, and any other value as ``{"result": …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.tools import AgentTool, BaseTool, FunctionTool
from google.adk.tools._node_tool import NodeTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.openapi_tool import RestApiTool
from google.adk.workflow import BaseNode
from google.genai import types

from stream_protocol.agents import ClientTool
from stream_protocol.serving import Target
from stream_protocol.serving.adk_runner import agent_tree
from stream_protocol.serving.errors import error_text
from stream_protocol.stream import CONTROL_TOOLS
from stream_protocol.typescript._wire_forms import ANYTHING, WireForm, agent_output, returned
from stream_protocol.wire import is_instance

NO_ARGUMENTS: Final = {"type": "object", "additionalProperties": False}

_AGENT_STARTED: Final = WireForm({"type": "object", "properties": {"agent": {"type": "string"}}, "required": ["agent"]})
"""The first output of a call that starts a sub-agent."""


class ToolsError(ValueError):
    """Raised if the tools of an agent cannot be read. ``str(error)`` is one line with the reason."""


@dataclass(frozen=True)
class ToolTypes:
    """The types of a tool's input and outputs. ``text``: the tool's description for the model. ``input``: a JSON
    schema.
    """

    name: str
    text: str
    input: Any
    outputs: tuple[WireForm, ...]


def root_of(target: Target) -> BaseNode | None:
    match target:
        case Runner():
            return target.agent
        case App():
            return target.root_agent
    return target


async def tools_of(root: BaseNode) -> list[ToolTypes]:
    """Return the tools whose calls the client receives. Raises ``ToolsError`` if a tool cannot declare its input.

    Opens and closes toolsets, so the MCP servers of toolsets must be running.
    """
    found: list[BaseTool] = []
    async with AsyncExitStack() as toolsets:
        waiting = [root]
        while waiting:
            for agent in agent_tree(waiting.pop()):
                tools = await _tools(agent, toolsets) if isinstance(agent, LlmAgent) else []
                waiting += [tool.node for tool in tools if isinstance(tool, NodeTool)]
                waiting += [tool.agent for tool in tools if type(tool) is AgentTool]
                found += tools
        return [read for tool in found if tool.name not in CONTROL_TOOLS and (read := _types(tool)) is not None]


async def _tools(agent: LlmAgent, toolsets: AsyncExitStack) -> list[BaseTool]:
    try:
        for toolset in agent.tools:
            if isinstance(toolset, BaseToolset):
                toolsets.push_async_callback(toolset.close)
                await toolset.get_tools_with_prefix()  # raises for unreachable tools; ADK would continue without them
        return await agent.canonical_tools()
    except Exception as error:
        raise ToolsError(f"cannot list the tools of agent {agent.name!r}: {error_text(error)}") from error


def _types(tool: BaseTool) -> ToolTypes | None:
    """Return the types of a tool; ``None`` for a tool that the model's provider runs, such as Google Search."""
    try:
        declaration = tool._get_declaration()  # noqa: SLF001 - ADK's own flows read the declaration in this way
    except Exception as error:
        raise ToolsError(f"cannot declare the tool {tool.name!r}: {error_text(error)}") from error
    if declaration is None:
        return None
    return ToolTypes(
        name=tool.name,
        text=declaration.description or "",
        input=_schema(declaration.parameters_json_schema, declaration.parameters) or NO_ARGUMENTS,
        outputs=tuple(_outputs(tool, _schema(declaration.response_json_schema, declaration.response))),
    )


def _schema(json_schema: Any, schema: types.Schema | None) -> Any:
    """Return ``json_schema``. If it is ``None``, convert ``schema`` to a JSON schema, and return the result."""
    if json_schema is not None or schema is None:
        return json_schema
    return schema.json_schema.model_dump(mode="json", by_alias=True, exclude_none=True)


def _outputs(tool: BaseTool, declared: Any) -> Iterator[WireForm]:
    """Yield the possible outputs of a tool. ``declared``: the response schema in the tool's declaration."""
    match tool:
        case ClientTool():
            yield WireForm(ANYTHING if tool.output_schema is None else tool.output_schema)
        case BaseTool(is_long_running=True):
            yield WireForm(ANYTHING)  # the result comes later, from outside the agent
        case FunctionTool():
            yield from returned(tool.func)
        case AgentTool():
            for form in _agent_outputs(tool):
                yield form
                yield replace(form, nested=True)
            if getattr(tool.agent, "mode", None) in ("single_turn", "task"):
                yield _AGENT_STARTED
        case RestApiTool():
            yield _declared(_response_of(tool))
        case BaseTool() if is_instance(tool, "google.adk.tools.mcp_tool.mcp_tool", "McpTool"):  # in an extra of ADK
            yield WireForm(_mcp_result(declared))
        case NodeTool():
            yield _declared(declared)
            yield _AGENT_STARTED
        case _:
            yield _declared(declared)


def _declared(schema: Any) -> WireForm:
    return WireForm(ANYTHING) if schema is None else WireForm(schema, wrapped=None)


def _agent_outputs(tool: AgentTool) -> Iterator[WireForm]:
    output_schema = output_schema_of(tool.agent)
    yield agent_output(output_schema)
    yield agent_output(None)  # ADK's error text, if the agent fails


def output_schema_of(agent: BaseAgent) -> Any:
    """Return the output schema of an agent; ``None`` if there is none. As in ADK, an agent that is not an ``LlmAgent``
    has the output schema of its last sub-agent.
    """
    if isinstance(agent, LlmAgent):
        return agent.output_schema
    return output_schema_of(agent.sub_agents[-1]) if agent.sub_agents else None


def _mcp_result(declared: Any) -> Any:
    """Return the schema of MCP's ``CallToolResult``, but only for successful results. The client gets failed results as
    errors.

    ``declared``: the schema of the result's structured content.
    """
    item = {
        "type": "object",
        "properties": {"type": {"type": "string"}, "text": {"type": "string"}},
        "required": ["type"],
    }
    properties: dict[str, Any] = {"content": {"type": "array", "items": item}}
    if declared is not None:
        properties["structuredContent"] = declared
    definitions = {key: declared[key] for key in ("$defs", "definitions") if key in (declared or {})}
    return {"type": "object", "properties": properties, "required": [*properties], **definitions}


def _response_of(tool: RestApiTool) -> Any:
    """Return the schema of the first successful response in the tool's OpenAPI operation, or ``ANYTHING`` if there is
    none.
    """
    parser = tool._operation_parser  # noqa: SLF001 - the tool has no public attribute for it
    schema = parser.get_return_value().param_schema
    return ANYTHING if isinstance(schema, str) else schema.model_dump(mode="json", by_alias=True, exclude_none=True)
