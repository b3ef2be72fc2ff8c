"""The progress of an MCP server's tool inside a sub-agent is on the sub-agent's card while the tool runs."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver")

from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from mcp import StdioServerParameters
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from stream_protocol.agents import mcp_progress
from stream_protocol.serving import ChatService, create_app
from tests.conformance.reporting_server import RELEASE, reporting_server
from tests.doors import Door
from tests.processes import ROOT
from tests.served import served
from tests.serving.support import begin, chat, client, said
from tests.serving.test_nested_progress import KINDS, planner

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    pytest.mark.filterwarnings("ignore:.*:UserWarning"),  # about Google's cloud
]


@contextmanager
def over_stdio(released_at: str) -> Iterator[Any]:
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "tests.conformance.reporting_server"], cwd=ROOT, env={RELEASE: released_at}
    )
    yield StdioConnectionParams(server_params=program, timeout=60)


@contextmanager
def over_http(released_at: str) -> Iterator[Any]:
    server = reporting_server(released_at)
    inner = server.streamable_http_app()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    with served(Starlette(routes=[Mount("/", inner)], lifespan=lifespan)) as url:
        yield StreamableHTTPConnectionParams(url=f"{url}/mcp", timeout=60)


def progress(message: Any) -> list[Any]:
    return [part["data"] for part in message["parts"] if part["type"] == "data-adk-progress"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transport", [over_stdio, over_http], ids=["stdio", "HTTP"])
async def test_an_mcp_tool_of_a_sub_agent_is_seen_while_it_runs(transport: Any, kind: str) -> None:
    door = Door()
    doors = Starlette(routes=[Route("/opened", door.opened)])
    with served(doors) as url, transport(f"{url}/opened") as connection:
        toolset = McpToolset(connection_params=connection, progress_callback=mcp_progress)
        service = ChatService(planner(kind, toolset, call="index"))
        app = create_app(service)
        async with begin(app, chat(said("hi"))) as answer:
            assert await answer.status() == 200
            seen: Any = {"parts": []}
            while not progress(seen):
                seen = (await answer.until("tool-output-available"))["output"]
            assert [(one["progress"], one["message"]) for one in progress(seen)] == [(1, "first shelf")]
            assert [part["state"] for part in seen["parts"] if part["type"] == "tool-index"] == ["input-available"]
            door.let_pass()
            await answer.until("finish")
        async with client(app) as http:
            message = (await http.get("/api/chat/c1")).json()["messages"][-1]
        await service.aclose()
        await toolset.close()
    [card] = [part["output"] for part in message["parts"] if part["type"] == "tool-inner"]
    assert [(one["progress"], one["message"]) for one in progress(card)] == [(3, "last shelf")]
    assert progress(message) == []
