"""Tools of a simulated MCP server."""

from typing import Any

from google.adk.tools import BaseTool
from google.adk.tools.mcp_tool.mcp_session_manager import MCPSessionManager, StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_tool import McpTool
from mcp import StdioServerParameters
from mcp.types import CallToolResult, TextContent, Tool


class FakeSession:
    """Session with an MCP server that responds at once."""

    async def call_tool(self, name: str, **_more: Any) -> CallToolResult:
        return CallToolResult.model_validate(
            {
                "content": [TextContent(type="text", text="5")],
                "structuredContent": {"price": 5} if name == "price" else None,
            }
        )


class FakeSessions(MCPSessionManager):
    async def create_session(self, *_: Any, **__: Any) -> Any:
        return FakeSession()


def listed_tools() -> list[BaseTool]:
    sessions = FakeSessions(StdioConnectionParams(server_params=StdioServerParameters(command="none")))
    item = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    price = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    listed = [
        {"name": "price", "description": "What it costs.", "inputSchema": item, "outputSchema": price},
        {"name": "tell", "inputSchema": item},
    ]
    return [McpTool(mcp_tool=Tool.model_validate(tool), mcp_session_manager=sessions) for tool in listed]
