"""ADK's toolsets of a ``reporting_server``. To import MCP takes a second: a test imports this module when it runs."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Final

from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from mcp import StdioServerParameters
from starlette.applications import Starlette
from starlette.routing import Mount

from stream_protocol.agents import mcp_progress
from tests.conformance.reporting_server import RELEASE, reporting_server
from tests.processes import ROOT
from tests.served import served


@contextmanager
def _over_stdio(released_at: str) -> Iterator[Callable[[], McpToolset]]:
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "tests.conformance.reporting_server"], cwd=ROOT, env={RELEASE: released_at}
    )
    yield lambda: _toolset(StdioConnectionParams(server_params=program, timeout=60))


@contextmanager
def _over_http(released_at: str) -> Iterator[Callable[[], McpToolset]]:
    server = reporting_server(released_at)
    inner = server.streamable_http_app()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    with served(Starlette(routes=[Mount("/", inner)], lifespan=lifespan)) as url:
        yield lambda: _toolset(StreamableHTTPConnectionParams(url=f"{url}/mcp", timeout=60))


def _toolset(connection: StdioConnectionParams | StreamableHTTPConnectionParams) -> McpToolset:
    assert sys.__stderr__  # the default is `sys.stderr` at the import, which a test may have captured without a file
    return McpToolset(connection_params=connection, progress_callback=mcp_progress, errlog=sys.__stderr__)


TOOLSETS: Final[dict[str, Callable[[str], AbstractContextManager[Callable[[], McpToolset]]]]] = {
    "stdio": _over_stdio,
    "HTTP": _over_http,
}
"""Transport -> context manager, which gets the URL for ``reporting_server`` and yields a function that makes a toolset.

Over stdio each toolset starts a server process. Over HTTP all toolsets have one server.
"""
