"""Compares a model's request for a history from the client with its request in the live session."""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai.types import UserContent

from stream_protocol import UIMessage
from stream_protocol.serving import ChatService
from stream_protocol.session import messages_to_events, repair_thought_signatures
from stream_protocol.testing import Call, Thought
from tests.conformance.model_wires import WIRES, Page, Said

pytestmark = pytest.mark.samples

SIGNATURE = b"\xfb\xff signed"
ROME, PARIS = Call("get_weather", {"city": "Rome"}, signature=SIGNATURE), Call("get_weather", {"city": "Paris"})
PAY = Call("pay", {"amount": 5}, signature=SIGNATURE)
IMAGE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,+/8=", "filename": "a.png"}

LAST_WORDS = "And now?"


@dataclass(frozen=True)
class Shape:
    """A chat: the user's actions, and the model's answers."""

    answers: list[Said]
    acts: Callable[[Page], Coroutine[Any, Any, None]]


async def one_text(page: Page) -> None:
    await page.say("Hi")


async def two_texts(page: Page) -> None:
    await page.say("Hi")
    await page.say("Go on")


async def a_file(page: Page) -> None:
    await page.say("What is this?", IMAGE)


async def denies(page: Page) -> None:
    await page.say("Pay")
    await page.decide(approved=False)


async def approves(page: Page) -> None:
    await page.say("Pay")
    await page.decide(approved=True)


async def answers_a_page_tool(page: Page) -> None:
    await page.say("Ask me")
    await page.answer("Oslo")


SHAPES = {
    "text": Shape([["Hello ", "there."]], one_text),
    "two turns": Shape([["Hello."], ["Well."]], two_texts),
    "thoughts with a signature": Shape([[Thought("Let me think.", SIGNATURE), "Forty-two."]], one_text),
    "a signature behind the text": Shape([["Forty-two.", SIGNATURE]], one_text),
    "a tool": Shape([["Let me look.", ROME], ["Sunny."]], one_text),
    "a thought before a tool": Shape([[Thought("I need it.", SIGNATURE), ROME], ["Sunny."]], one_text),
    "parallel calls": Shape([[ROME, PARIS], ["Both sunny."]], one_text),
    "several steps": Shape([["First.", ROME], ["Then.", PARIS], ["Both sunny."]], one_text),
    "tools in two turns": Shape([[ROME], ["Sunny."], [PARIS], ["Sunny, too."]], two_texts),
    "a tool that fails": Shape([[Call("fail", signature=SIGNATURE)], ["No."]], one_text),
    "a tool that gives a file": Shape([[Call("draw", signature=SIGNATURE)], ["There."]], one_text),
    "a file": Shape([["A cat."]], a_file),
    "a denied approval": Shape([[PAY], ["As you like."]], denies),
    "a given approval": Shape([[PAY], ["Paid."]], approves),
    "an approval that was never answered": Shape([["I pay.", PAY]], one_text),
    "an approval beside a call": Shape([[ROME, PAY], ["Paid."]], approves),
    "an answer of the page": Shape([[Call("ask_page", {"question": "Where?"})], ["Oslo."]], answers_a_page_tool),
}


async def ask_with_imported_history(agent: LlmAgent, messages: list[UIMessage]) -> None:
    """Imports the chat into a new session, and sends the last message there."""
    runner = InMemoryRunner(agent=agent)
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    for event in messages_to_events(messages, agent=agent.name):
        await runner.session_service.append_event(session, event)
    run = runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=UserContent(LAST_WORDS),
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    assert [event async for event in run]


@pytest.mark.parametrize("wire_name", WIRES)
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_clients_history_asks_the_model_what_the_servers_does(wire_name: str, shape: str) -> None:
    wire, chat = WIRES[wire_name], SHAPES[shape]
    requests: list[dict[str, Any]] = []
    async with wire.agent([*chat.answers, ["Bye."], ["Bye."]], requests) as agent:
        page = Page(ChatService(agent))
        await chat.acts(page)
        shown = list(page.messages)
        await page.say(LAST_WORDS)
        await ask_with_imported_history(agent, shown)
    of_server, of_client = requests[-2:]
    assert wire.history(of_client) == wire.history(of_server)
    assert len(wire.history(of_client)) > len(wire.history(requests[0]))


def part(call_id: str, state: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-get_weather", "toolCallId": call_id, "state": state, "input": {"city": "Rome"}, **more}


BROKEN: list[dict[str, Any]] = [
    {"type": "step-start"},
    part("A", "output-available", output={"result": "Sunny"}),
    part("B", "input-available"),
    part("C", "input-streaming", rawInput='{"ci'),
    part("D", "approval-responded", approval={"id": "P", "approved": True}),
    part("A", "output-error", errorText="no"),
    {"type": "step-start"},
    part("E", "input-available"),
    {"type": "step-start"},
    {"type": "text", "text": "Sunny", "state": "streaming"},
]


def broken_chat() -> list[UIMessage]:
    """The messages that a browser sends after stops and errors."""
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Weather?"}]}
    answers = [{"id": f"a{n}", "role": "assistant", "parts": BROKEN} for n in range(2)]
    return cast("list[UIMessage]", [said, answers[0], {**said, "id": "u2"}, answers[1]])


async def test_unexpected_role_tool_after_role_user() -> None:
    """OpenAI-compatible servers refuse a history in which a result does not follow its call."""
    requests: list[dict[str, Any]] = []
    async with WIRES["litellm"].agent([["Bye."]], requests) as agent:
        await ask_with_imported_history(agent, broken_chat())
    WIRES["litellm"].check(requests[0])
    assert [message["role"] for message in requests[0]["messages"]] == [
        "system",
        *("user", "assistant", "tool", "tool", "assistant"),
        *("user", "assistant", "tool", "tool", "assistant"),
        "user",
    ]


async def test_gemini_gets_each_response_right_after_its_call_and_no_foreign_id() -> None:
    requests: list[dict[str, Any]] = []
    async with WIRES["google-genai"].agent([["Bye."]], requests) as agent:
        await ask_with_imported_history(agent, broken_chat())
    WIRES["google-genai"].check(requests[0])
    assert [content["role"] for content in requests[0]["contents"]] == ["user", "model"] * 4 + ["user"]


@pytest.mark.parametrize(("signature", "sent"), [(None, b"skip_thought_signature_validator"), (SIGNATURE, SIGNATURE)])
async def test_a_call_that_gemini_did_not_sign_goes_back_with_the_value_that_it_takes(
    signature: bytes | None, sent: bytes
) -> None:
    requests: list[dict[str, Any]] = []
    call = Call("get_weather", {"city": "Rome"}, signature=signature)
    async with WIRES["google-genai"].agent([[call], ["Sunny."]], requests) as agent:
        agent.before_model_callback = repair_thought_signatures
        await Page(ChatService(agent)).say("Weather?")
    parts = [part for content in requests[-1]["contents"] for part in content["parts"] if "functionCall" in part]
    assert [urlsafe_b64decode(part["thoughtSignature"]) for part in parts] == [sent]
