"""``aclose`` closes the toolsets and plugins of an agent whose ``Runner`` the service has created."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.apps import App
from google.adk.plugins import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from stream_protocol.serving import ChatService, RunOverrides, create_app
from stream_protocol.serving.base import ServiceTimes
from stream_protocol.testing import ScriptedLlm, Wait
from stream_protocol.wire import parse_chat_request
from tests.serving.support import HANG, begin, chat, said


class Tools(BaseToolset):
    """A toolset with a connection, such as an MCP server."""

    def __init__(self, *, fails: BaseException | None = None, hangs: bool = False) -> None:
        super().__init__()
        self.fails, self.hangs = fails, hangs
        self.closed: list[bool] = []
        """For each call of ``close``: whether the run had ended."""
        self.run_ended = asyncio.Event()

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return []

    async def close(self) -> None:
        self.closed.append(self.run_ended.is_set())
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails is not None:
            raise self.fails


class Plugin(BasePlugin):
    def __init__(self, *, fails: bool = False) -> None:
        super().__init__("mine")
        self.closed = 0
        self.fails = fails

    async def close(self) -> None:
        self.closed += 1
        if self.fails:
            raise OSError("gone")


def agent(*tools: Any, turns: Any = ("Hello.",), **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=ScriptedLlm(turns=[*turns]), tools=[*tools], **fields)


async def test_the_service_closes_the_toolsets_of_its_agents_once() -> None:
    mine, inner = Tools(), Tools()
    helper = LlmAgent(name="helper", model=ScriptedLlm(turns=["Hello."]), tools=[inner])
    service = ChatService(agent(mine, sub_agents=[helper]))
    await service.aclose()
    await service.aclose()
    assert (len(mine.closed), len(inner.closed)) == (1, 1)


async def test_the_service_closes_the_plugins_of_an_app() -> None:
    plugin = Plugin()
    await ChatService(App(name="app", root_agent=agent(), plugins=[plugin])).aclose()
    assert plugin.closed == 1


async def test_the_apps_own_runner_stays_open() -> None:
    mine = Tools()
    await ChatService(InMemoryRunner(agent(mine))).aclose()
    assert mine.closed == []


async def test_a_toolset_is_closed_after_the_runs() -> None:
    mine = Tools()

    async def after(*_: Any) -> None:
        mine.run_ended.set()

    service = ChatService(agent(mine, turns=[["Half. ", Wait(asyncio.Event())]]), on_finish=after)
    async with begin(create_app(service), chat(said("hi"))) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        await asyncio.wait_for(service.aclose(), HANG)
    assert mine.closed == [True]


@pytest.mark.parametrize("shares_agent", [True, False])
async def test_the_last_of_several_services_closes_shared_toolsets(*, shares_agent: bool) -> None:
    mine = Tools()
    root = agent(mine)
    services = [ChatService(root), ChatService(root if shares_agent else agent(mine))]
    await services[0].aclose()
    assert mine.closed == []
    await services[1].aclose()
    assert len(mine.closed) == 1


async def test_the_apps_own_runner_keeps_a_shared_toolset_open() -> None:
    mine = Tools()
    root = agent(mine)
    using, own = ChatService(InMemoryRunner(root)), ChatService(root)
    await own.aclose()
    assert mine.closed == []
    await using.aclose()


async def test_a_request_with_its_own_agent_closes_nothing() -> None:
    mine, tenants = Tools(), Tools()
    service = ChatService(agent(mine))
    request = parse_chat_request(chat(said("hi")))
    events: AsyncIterator[bytes] = await service.respond(
        request, user_id="ann", overrides=RunOverrides(agent=agent(tenants))
    )
    assert b"Hello." in b"".join([event async for event in events])
    assert (mine.closed, tenants.closed) == ([], [])
    await service.aclose()
    assert (len(mine.closed), tenants.closed) == (1, [])


@pytest.mark.parametrize("kind", ["hangs", "fails", "is cancelled"])
async def test_a_failure_is_one_line_in_the_log(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    if kind == "hangs":
        service = ChatService(agent(Tools(hangs=True)), times=ServiceTimes(closing=0.01))
    elif kind == "is cancelled":  # as a connection of `anyio` can be
        service = ChatService(agent(Tools(fails=asyncio.CancelledError())))
    else:
        service = ChatService(App(name="app", root_agent=agent(), plugins=[Plugin(fails=True)]))
    with caplog.at_level(logging.WARNING, "stream_protocol"):
        await asyncio.wait_for(service.aclose(), HANG)
    (line,) = [each for each in caplog.records if each.name.startswith("stream_protocol")]
    assert line.getMessage().startswith("The toolsets and plugins of the agent were not all closed. ")
    assert line.exc_info is None
