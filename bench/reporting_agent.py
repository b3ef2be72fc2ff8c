"""The agent of ``bench.progress``, and its MCP server: tools that report the time at which they report."""

import asyncio
import random
import sys
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from mcp import StdioServerParameters
from mcp.server.mcpserver import Context, MCPServer

from stream_protocol.agents import mcp_progress, report_progress
from stream_protocol.testing import Call, ScriptedLlm

REPORTS: Final = 100
"""The number of reports of each tool."""


def _pauses() -> Iterator[float]:
    """Yield the seconds before each report. Some reports come faster than they are sent, and some slower."""
    rng = random.Random(7)  # noqa: S311 - not a secret
    for _ in range(REPORTS):
        yield rng.uniform(0.01, 0.4)


def synchronous(tool_context: ToolContext) -> str:
    """Reports from a thread."""
    for number, pause in enumerate(_pauses()):
        sleep(pause)
        report_progress(tool_context, number, REPORTS, str(monotonic()))
    return "done"


async def asynchronous(tool_context: ToolContext) -> str:
    """Reports from a coroutine."""
    for number, pause in enumerate(_pauses()):
        await asyncio.sleep(pause)
        report_progress(tool_context, number, REPORTS, str(monotonic()))
    return "done"


async def over_mcp(context: Context) -> str:
    """Reports from an MCP server."""
    for number, pause in enumerate(_pauses()):
        await asyncio.sleep(pause)
        await context.report_progress(number, REPORTS, str(monotonic()))
    return "done"


_server = StdioServerParameters(command=sys.executable, args=["-m", "bench.reporting_agent"])
_toolset = McpToolset(
    connection_params=StdioConnectionParams(server_params=_server, timeout=300), progress_callback=mcp_progress
)

TOOLS: Final = ("synchronous", "asynchronous", "over_mcp")

root_agent = LlmAgent(
    name="reporting",
    model=ScriptedLlm(turns=[turn for tool in TOOLS for turn in (Call(tool, {}), "Done.")]),
    tools=[synchronous, asynchronous, _toolset],
)

if __name__ == "__main__":
    server = MCPServer("reports", log_level="ERROR")
    server.add_tool(over_mcp)
    server.run()
