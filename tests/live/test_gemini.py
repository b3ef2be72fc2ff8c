"""A real Gemini behind the routes, as a page meets it. Only the structure is asserted: its words are its own."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool
from starlette.applications import Starlette

from stream_protocol.demo._agent import MODEL
from stream_protocol.serving import ChatService
from stream_protocol.serving.http._routes import chat_routes
from tests.serving.chat_client import Message, Page

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        not os.environ.get("GOOGLE_API_KEY"), reason="GOOGLE_API_KEY is not set: a real Gemini is asked"
    ),
    pytest.mark.filterwarnings("default"),  # what a backend's library warns of is not ours
]

WEATHER = {"celsius": 7, "sky": "light rain"}
INSTRUCTION = "Use your tools whenever one fits, and ask for nothing that is not needed. Answer in one short sentence."


def get_weather(city: str) -> dict[str, Any]:
    """Tells the weather in a city."""
    return WEATHER


def pay(amount_eur: int, to: str) -> dict[str, Any]:
    """Pays somebody. The user is asked for approval by itself."""
    return {"paid": amount_eur, "to": to}


@pytest.fixture
def page() -> Page:
    gated = FunctionTool(pay, require_confirmation=True)
    agent = LlmAgent(name="assistant", model=MODEL, instruction=INSTRUCTION, tools=[get_weather, gated])
    return Page(Starlette(routes=chat_routes(ChatService(agent))))


def texts(message: Message) -> list[str]:
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def calls(message: Message, tool: str) -> Iterator[Message]:
    return (part for part in message["parts"] if part["type"] == f"tool-{tool}")


async def check(page: Page) -> None:
    """The answer has text and no error, and a reloaded page has the same messages."""
    message = page.messages[-1]
    assert message["role"] == "assistant"
    assert any(texts(message))
    assert {part["state"] for part in message["parts"] if part["type"] in ("text", "reasoning")} == {"done"}
    assert message["metadata"]["usage"]["totalTokens"] > 0
    assert message["metadata"]["modelId"]
    shown = [(one["id"], [part["type"] for part in one["parts"]]) for one in page.messages]
    assert [(one["id"], [part["type"] for part in one["parts"]]) for one in await page.stored()] == shown


async def test_gemini_answers_and_remembers(page: Page) -> None:
    await page.send("My name is Ann. Say hello.")
    await check(page)
    await page.send("What is my name?")
    await check(page)
    assert [message["role"] for message in page.messages] == ["user", "assistant"] * 2
    assert "Ann" in "".join(texts(page.messages[-1]))


async def test_gemini_calls_a_tool(page: Page) -> None:
    await page.send("What is the weather in Oslo?")
    await check(page)
    call = next(calls(page.messages[-1], "get_weather"))
    assert call["state"] == "output-available"
    assert call["input"]["city"]
    assert call["output"] == WEATHER


@pytest.mark.parametrize("approved", [True, False])
async def test_gemini_waits_for_an_approval_and_goes_on(page: Page, approved: bool) -> None:
    await page.send("Pay Ann 5 euros.")
    (request,) = calls(page.messages[-1], "pay")
    assert request["state"] == "approval-requested"
    page.approve(approved)
    await page.submit()
    await check(page)
    assert len(page.messages) == 2
    call = next(part for part in calls(page.messages[-1], "pay") if part["toolCallId"] == request["toolCallId"])
    assert call["input"]["amount_eur"] == 5
    assert call["state"] == ("output-available" if approved else "output-denied")
