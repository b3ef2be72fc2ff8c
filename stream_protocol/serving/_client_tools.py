"""Tools that run in the page: declared here, called by the model, answered by the browser's ``addToolOutput``."""

from collections.abc import Mapping
from typing import Any

from google.adk.tools import BaseTool, ToolContext
from google.genai import types


def client_tool(name: str, description: str, schema: Mapping[str, Any] | None = None) -> BaseTool:
    """A tool for ``LlmAgent(tools=[…])`` without a body: its call waits until the page gives the output.

    ``schema`` is the JSON schema of its arguments, an object; ``None`` for a tool without any. The output that the page
    gives is what the model reads, so treat it as user input. Raises ``ValueError`` for a schema that is no object's.
    """
    if schema is not None and schema.get("type") != "object":
        raise ValueError(f"the schema of the client tool `{name}` must be of type object, not {schema.get('type')!r}")
    return _ClientTool(name, description, schema)


class _ClientTool(BaseTool):
    def __init__(self, name: str, description: str, schema: Mapping[str, Any] | None) -> None:
        super().__init__(name=name, description=description, is_long_running=True)
        self._schema = None if schema is None else dict(schema)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> None:
        """Nothing: ADK leaves a long-running call without a response open."""
