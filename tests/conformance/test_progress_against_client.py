"""The real clients see what a tool reports while it runs: each tool waits until they have seen it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from stream_protocol.agents import emit_data, report_progress
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import AiSdkVersion
from tests.conformance.fixtures import VERSIONS
from tests.conformance.node_scripts import run_script
from tests.doors import Door
from tests.served import served

pytestmark = pytest.mark.node

ABOUT_GOOGLES_CLOUD = "ignore:.*:UserWarning"


@contextmanager
def app_of(tools: Callable[[str], list[Any]], door: Door, ai_sdk: AiSdkVersion, tool: str) -> Iterator[str]:
    """The address of an app whose agent calls the tool. ``tools``: makes its tools, with the URL of the open door."""
    services: list[ChatService] = []

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        for service in services:
            await service.aclose()

    doors = Starlette(routes=[Route("/opened", door.opened)])
    with served(doors) as behind:
        model = ScriptedLlm(turns=[Call(tool, {}), "Done."])
        service = ChatService(LlmAgent(name="root", model=model, tools=tools(f"{behind}/opened")), ai_sdk=ai_sdk)
        services.append(service)
        routes: list[Any] = [
            Route("/release", door.open, methods=["POST"]),
            Mount("/", create_app(service, page=False)),
        ]
        with served(Starlette(routes=routes, lifespan=lifespan)) as url:
            yield url


def watched(tools: Callable[[str], list[Any]], door: Door, tool: str) -> list[dict[str, Any]]:
    """Return the chunks that the client of each version received, one client after the other in one process."""
    with ExitStack() as apps:
        urls = {ai_sdk: apps.enter_context(app_of(tools, door, ai_sdk, tool)) for ai_sdk in VERSIONS}
        asked = [{"ai": ai_sdk, "url": url, "sees": ["data-adk-progress"]} for ai_sdk, url in urls.items()]
        reports: list[dict[str, Any]] = run_script("watch-tools.mjs", asked)
    for told in reports:
        assert told["error"] is None
        assert told["first"] == told["stored"]
        assert told["second"][-1] == told["stored"][-1]
    return reports


def card(message: dict[str, Any], tool: str) -> dict[str, Any]:
    [found] = [part for part in message["parts"] if part["type"] == f"tool-{tool}"]
    card: dict[str, Any] = found
    return card


def data(message: dict[str, Any], name: str) -> list[Any]:
    return [part["data"] for part in message["parts"] if part["type"] == f"data-{name}"]


@pytest.mark.parametrize("is_async", [False, True], ids=["a synchronous tool", "an asynchronous tool"])
def test_a_running_tool_is_seen(is_async: bool) -> None:
    door = Door()

    def begin(tool_context: ToolContext) -> None:
        emit_data(tool_context, "toast", "It begins.", transient=True)
        report_progress(tool_context, 1, 2, "half")

    def end(tool_context: ToolContext) -> str:
        emit_data(tool_context, "found", {"books": 3})
        report_progress(tool_context, 2, 2)
        return "worked"

    def work(tool_context: ToolContext) -> str:
        """Works."""
        begin(tool_context)
        door.wait()
        return end(tool_context)

    async def work_async(tool_context: ToolContext) -> str:
        """Works."""
        begin(tool_context)
        await asyncio.to_thread(door.wait)
        return end(tool_context)

    work_async.__name__ = "work"
    for told in watched(lambda _: [work_async if is_async else work], door, "work"):
        (then,) = told["seen"]
        call_id = card(then["first"], "work")["toolCallId"]
        for page in ("first", "second"):
            assert card(then[page], "work")["state"] == "input-available"
            assert data(then[page], "adk-progress") == [
                {"toolCallId": call_id, "progress": 1, "total": 2, "message": "half"}
            ]
        assert {"type": "data-toast", "data": "It begins.", "transient": True} in then["heard"]
        last = told["first"][-1]
        assert card(last, "work")["output"] == {"result": "worked"}
        assert data(last, "adk-progress") == [{"toolCallId": call_id, "progress": 2, "total": 2}]
        assert data(last, "found") == [{"books": 3}]
        assert data(last, "toast") == []


@pytest.mark.filterwarnings(ABOUT_GOOGLES_CLOUD)
@pytest.mark.parametrize("transport", ["stdio", "HTTP"])
def test_an_mcp_servers_tool_is_seen(transport: str) -> None:
    from tests.conformance.reporting_toolsets import TOOLSETS  # noqa: PLC0415 - to import MCP takes a second

    door = Door()
    doors = Starlette(routes=[Route("/opened", door.opened)])
    with served(doors) as url, TOOLSETS[transport](f"{url}/opened") as new_toolset:
        reports = watched(lambda _: [new_toolset()], door, "index")
    for told in reports:
        (then,) = told["seen"]
        call = card(then["first"], "index")
        assert call["state"] == "input-available"
        assert data(then["first"], "adk-progress") == [
            {"toolCallId": call["toolCallId"], "progress": 1, "total": 3, "message": "first shelf"}
        ]
        assert data(told["first"][-1], "adk-progress") == [
            {"toolCallId": call["toolCallId"], "progress": 3, "total": 3, "message": "last shelf"}
        ]
        assert card(told["first"][-1], "index")["state"] == "output-available"
        assert "a log message" not in json.dumps(told)
