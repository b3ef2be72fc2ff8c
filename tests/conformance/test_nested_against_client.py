"""The real clients and agents in tool calls: live, after a reload in mid-answer, stopped, and with many events."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool

from stream_protocol.agents import client_tool
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call
from tests.conformance.fixtures import VERSIONS
from tests.fleet.browser import Browser, Page, browser
from tests.processes import HANG
from tests.served import served
from tests.serving.test_nested_agents import (
    Gate,
    agent,
    called,
    part,
    single_turn,
    two_side_by_side,
)
from tests.tools import OLD_ADK

pytestmark = [
    pytest.mark.node,
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),  # of ADK's AgentTool
]

clients = pytest.mark.parametrize("ai_sdk", VERSIONS, ids=["ai@6", "ai@7"])

asks = pytest.mark.skipif(OLD_ADK, reason="In ADK 2.11 an agent that is a tool gives no result once it has asked")

EVENTS: Final = 3_000

PRELIMINARY_BYTES: Final = 2**20
"""Maximum of the outputs of a call, without a share that grows with its message."""


@asynccontextmanager
async def opened(root: LlmAgent, ai_sdk: Any) -> AsyncIterator[tuple[Browser, str]]:
    """Serve the agent. Yields a browser, and the server's address."""
    with ExitStack() as stack:
        url = stack.enter_context(served(create_app(ChatService(root, ai_sdk=ai_sdk), page=False)))
        async with browser(url, ai_sdk) as pages:
            yield pages, url


def work_of(page: Any, tool: str) -> Any:
    """Return the message in the output of the call."""
    return part(page.messages[-1], f"tool-{tool}")["output"]


async def same_after_a_reload(pages: Browser, page: Page, chat: str) -> Any:
    """Return the page at rest. A reloaded page shows the same."""
    shown = await page.at_rest()
    assert (await (await pages.reloaded(chat)).at_rest()).messages == shown.messages
    return shown


@clients
async def test_agents_side_by_side_and_three_levels_deep_are_in_their_calls(ai_sdk: Any) -> None:
    chat = uuid4().hex
    async with opened(two_side_by_side(), ai_sdk) as (pages, _):
        page = await pages.page(chat)
        await page.send("hi")
        shown = await same_after_a_reload(pages, page, chat)
    weather, news = work_of(shown, "weather"), work_of(shown, "news")
    assert part(weather, "tool-look")["output"] == {"city": "Oslo", "wind": None}
    assert part(news, "text")["text"] == "Nothing is new."
    deepest = part(part(weather, "tool-deep")["output"], "tool-deepest")["output"]
    assert (part(deepest, "text")["text"], deepest["metadata"]["result"]) == ("The bottom.", {"result": "The bottom."})


@clients
@pytest.mark.parametrize("ends", ["stop", "reload"])
async def test_a_running_agent_is_seen_by_a_reloaded_page_and_stopped_by_it(ai_sdk: Any, ends: str) -> None:
    chat, gate = uuid4().hex, Gate()
    inner = agent("inner", ["Let me see. ", Call("hold", {})], "Seen.", tools=(gate.hold,))
    root = agent("root", called("inner"), "Done.", tools=(AgentTool(inner),))
    async with opened(root, ai_sdk) as (pages, _):
        page = await pages.page(chat)
        await page.send("hi")
        await page.until(type="tool-inner", preliminary=True)
        await asyncio.to_thread(gate.reached.wait, HANG)
        again = await pages.reloaded(chat)
        await again.until(type="tool-inner", preliminary=True)
        if ends == "stop":
            assert await again.stop() == 202
        gate.open.set()
        if ends == "reload":
            shown = await same_after_a_reload(pages, again, chat)
            assert (await page.at_rest()).messages == shown.messages
            assert work_of(shown, "inner")["metadata"]["result"] == {"result": "Seen."}
        else:
            shown = await again.settled()
            assert await again.stored_as(shown)
            assert work_of(shown, "inner")["metadata"]["stopped"] is True
        assert part(work_of(shown, "inner"), "text")["text"] == "Let me see. "


@clients
async def test_an_edited_message_runs_the_agent_again(ai_sdk: Any) -> None:
    chat, inner = uuid4().hex, agent("inner", "First.", "Second.")
    root = agent("root", called("inner"), "Done.", called("inner"), "Done again.", tools=(AgentTool(inner),))
    async with opened(root, ai_sdk) as (pages, _):
        page = await pages.page(chat)
        await page.send("hi")
        await page.at_rest()
        await page.edit("hello")
        shown = await same_after_a_reload(pages, page, chat)
    assert part(work_of(shown, "inner"), "text")["text"] == "Second."
    assert [message["role"] for message in shown.messages] == ["user", "assistant"]


@clients
@asks
async def test_a_question_inside_a_single_turn_agent_is_answered_by_the_client(ai_sdk: Any) -> None:
    chat, tools = uuid4().hex, (client_tool("locate", "Where the user is."),)
    root = single_turn(["One moment.", Call("locate", {})], "You are there.", tools=tools)
    async with opened(root, ai_sdk) as (pages, _):
        page = await pages.page(chat)
        await page.send("hi")
        await page.settled()
        await page.answer("locate", {"lat": 1})
        shown = await same_after_a_reload(pages, page, chat)
    assert part(work_of(shown, "inner"), "tool-locate")["output"] == {"lat": 1}
    assert work_of(shown, "inner")["metadata"]["result"] == {"result": "You are there."}


@clients
@asks
async def test_the_same_question_inside_an_agent_tool_is_refused(ai_sdk: Any) -> None:
    chat, tools = uuid4().hex, (client_tool("locate", "Where the user is."),)
    inner = agent("inner", ["One moment.", Call("locate", {})], "Never said.", tools=tools)
    async with opened(agent("root", called("inner"), "Sorry.", tools=(AgentTool(inner),)), ai_sdk) as (pages, _):
        page = await pages.page(chat)
        await page.send("hi")
        shown = await same_after_a_reload(pages, page, chat)
    refused = part(work_of(shown, "inner"), "tool-locate")
    assert (
        refused["errorText"] == "This needs an answer from you, and an agent that runs as a tool cannot wait for one."
    )
    assert shown.text() == "Sorry."


async def test_thousands_of_events_inside_are_shown_whole_in_few_bytes() -> None:
    words = [f"{number} " for number in range(EVENTS)]
    inner = agent("inner", [*words])
    root = agent("root", called("inner"), "Done.", tools=(AgentTool(inner),))
    chat = uuid4().hex
    async with opened(root, 7) as (pages, url):
        async with httpx.AsyncClient(timeout=HANG, trust_env=False, base_url=url) as http:
            said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
            response = await http.post("/api/chat", json={"id": chat, "messages": [said]})
        outputs = [line for line in response.content.splitlines() if b'"tool-output-available"' in line]
        shown = await (await pages.page(chat, stored=True)).at_rest()
    assert part(work_of(shown, "inner"), "text")["text"] == "".join(words)
    assert json.loads(outputs[-1].removeprefix(b"data: "))["output"] == work_of(shown, "inner")
    assert len(outputs) > 2
    assert sum(map(len, outputs)) < PRELIMINARY_BYTES + 8 * len(outputs[-1])
