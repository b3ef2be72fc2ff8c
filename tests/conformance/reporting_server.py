"""MCP server whose tools report progress and wait. As a program it uses stdin and stdout."""

import os
from typing import Final

import httpx
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

RELEASE: Final = "RELEASED_AT"
"""Environment variable with a URL. The URL responds when the tool may continue."""


def reporting_server(released_at: str) -> MCPServer:
    server = MCPServer("reports", log_level="ERROR")

    async def wait() -> None:
        async with httpx.AsyncClient(timeout=60) as http:
            await http.get(released_at)

    @server.tool(title="Index the library")
    async def index(context: Context) -> str:
        """Indexes."""
        await context.info("a log message")
        await context.report_progress(1, 3, "first shelf")
        await wait()
        await context.report_progress(3, 3, "last shelf")
        return "indexed"

    @server.tool(annotations=ToolAnnotations(title="Count the books"))
    async def count() -> str:
        """Counts."""
        return "three"

    return server


if __name__ == "__main__":
    reporting_server(os.environ[RELEASE]).run()
