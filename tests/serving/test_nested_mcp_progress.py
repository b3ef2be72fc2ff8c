"""The progress of an MCP server's tool inside a sub-agent is on the sub-agent's card while the tool runs."""

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from stream_protocol.serving import ChatService, create_app
from tests.doors import Door
from tests.served import served
from tests.serving.support import begin, chat, client, said
from tests.serving.test_nested_progress import KINDS, planner

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
    pytest.mark.filterwarnings("ignore:.*:UserWarning"),  # about Google's cloud
]


def progress(message: Any) -> list[Any]:
    return [part["data"] for part in message["parts"] if part["type"] == "data-adk-progress"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transport", ["stdio", "HTTP"])
async def test_an_mcp_tool_of_a_sub_agent_is_seen_while_it_runs(transport: str, kind: str) -> None:
    pytest.importorskip("mcp.server.mcpserver")
    from tests.conformance.reporting_toolsets import TOOLSETS  # noqa: PLC0415 - to import MCP takes a second

    door = Door()
    doors = Starlette(routes=[Route("/opened", door.opened)])
    with served(doors) as url, TOOLSETS[transport](f"{url}/opened") as new_toolset:
        toolset = new_toolset()
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
