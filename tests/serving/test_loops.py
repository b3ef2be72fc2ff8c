"""No response ends so that a page sends again by itself without having been given something new."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from stream_protocol.serving import ChatService, Outcome, create_app
from stream_protocol.serving.runs._auto_resend import NOTHING_NEW_TEXT
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import AnyChunk, UIMessage
from tests.serving.eager_page import PREDICATES, EagerPage
from tests.serving.support import chat, only, said, soon, stream


def pay(amount: int) -> dict[str, int]:
    """Pays."""
    return {"paid": amount}


def look() -> str:
    """Looks."""
    return "blue"


def where(question: str) -> None:
    """Only the page knows."""


def service(*turns: Any, **options: Any) -> ChatService:
    tools: list[Any] = [FunctionTool(pay, require_confirmation=True), look, LongRunningFunctionTool(where)]
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=tools), **options)


def eager(*turns: Any, sends: str, answers: bool = False, **options: Any) -> EagerPage:
    """A page that sends by itself, with ``onToolCall`` if it answers."""
    return EagerPage(create_app(service(*turns, **options)), 6, sends, answers)


def without_steps(chunk: AnyChunk) -> AnyChunk | None:
    """An app's hook that makes every response with a tool loop."""
    return None if chunk["type"] == "start-step" else chunk


async def test_a_run_whose_response_would_be_sent_for_ever_ends_in_an_error_and_is_stored_as_it_is() -> None:
    outcomes: list[Outcome] = []
    all_noted = asyncio.Event()

    async def note(_messages: Any, _message: UIMessage, outcome: Outcome) -> None:  # when the response has ended
        outcomes.append(outcome)
        if len(outcomes) == 2:
            all_noted.set()

    page = eager(Call("look"), "Blue.", "Bye.", sends="tools", transform=without_steps, on_finish=note)
    await page.send("go")
    assert (page.posts, page.failed) == (1, True)
    assert NOTHING_NEW_TEXT in page.received[-1]
    assert "finishReason" not in page.received[-1]
    await page.send("bye")  # the run itself has not failed: nothing of it is taken for interrupted
    await soon(all_noted)
    assert [outcome.kind for outcome in outcomes] == ["error", "finish"]
    stored = [part for message in await page.stored() for part in message["parts"] if part["type"] == "text"]
    assert [part["text"] for part in stored] == ["go", "Blue.", "bye", "Bye."]


@pytest.mark.parametrize("sends", PREDICATES)
async def test_the_second_of_two_answers_is_sent_after_the_error_that_followed_the_first(sends: str) -> None:
    page = eager([Call("pay", {"amount": 1}), Call("pay", {"amount": 2})], "Both.", sends=sends)
    await page.send("pay")
    await page.decide(0, approved=True)
    assert (page.posts, page.failed) == ((2, True) if sends in ("template", "any") else (1, False))
    await page.decide(0, approved=False)
    if sends == "tools":
        await page.submit()
    assert not page.failed
    assert [part["state"] for part in page.messages[-1]["parts"] if "state" in part][:2] == [
        "output-available",
        "output-denied",
    ]


@pytest.mark.parametrize("sends", PREDICATES)
async def test_what_the_page_answers_while_the_response_comes_in_is_sent_once(sends: str) -> None:
    page = eager([Call("where", {"question": "city"})], "Oslo.", sends=sends, answers=True)
    await page.send("go")
    assert (page.posts, page.failed) == (2 if sends in ("tools", "helpers") else 1, False)


@pytest.mark.parametrize("approved", [True, False])
async def test_an_answer_that_is_repeated_when_nothing_follows_from_it_any_more_is_sent_once(approved: bool) -> None:
    page = eager(Call("pay", {"amount": 1}), "Done.", sends="any")
    await page.send("pay")
    asked = page.messages[-1]
    await page.decide(0, approved=approved)
    page.posts = 0
    page.messages[-1] = asked  # as a tab that never got the response
    await page.submit()
    assert (page.posts, page.failed) == (1, False)
    await page.submit()
    assert page.posts == 2


async def test_half_an_answer_without_an_approval_ends_as_ever() -> None:
    app = create_app(service([Call("where", {"question": "city"}), Call("pay", {"amount": 1})], "Paid."))
    first = await stream(app, chat(said("go")))
    (call,) = [chunk for chunk in only(first, "tool-input-available") if chunk["toolName"] == "where"]
    output = {"type": "tool-where", "toolCallId": call["toolCallId"], "state": "output-available", "output": 1}
    (request,) = only(first, "tool-approval-request")
    asked = {
        "type": "tool-pay",
        "toolCallId": request["toolCallId"],
        "state": "approval-requested",
        "approval": {"id": request["approvalId"]},
    }
    message = {"id": first[0]["messageId"], "role": "assistant", "parts": [{"type": "step-start"}, output, asked]}
    assert [chunk["type"] for chunk in await stream(app, chat(said("go"), message))] == ["start", "finish"]
