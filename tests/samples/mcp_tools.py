"""MCP server with one tool of each kind. As a program it uses stdin and stdout."""

from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

PNG = b"\x89PNG\r\n\x1a\n"


def mcp_server() -> MCPServer:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool()
    def price(item: str) -> dict[str, Any]:
        """Returns the price of an item."""
        return {"item": item, "price": 5}

    @server.tool()
    def tell(item: str) -> str:
        """Tells of it in words."""
        return f"A fine {item}."

    @server.tool()
    def photo(item: str) -> Image:
        """A picture of it."""
        return Image(data=PNG, format="png")

    @server.tool()
    def order(item: str) -> str:
        """Fails."""
        raise ToolError(f"no {item} left")

    @server.tool()
    async def pack(item: str, context: Context) -> str:
        """Tells of its progress."""
        await context.report_progress(1, 2, "half")
        return f"packed {item}"

    return server


if __name__ == "__main__":
    mcp_server().run()
