"""Unsent answers of a page when the user sends a new message: a denial and an output count, an approval runs
nothing.
"""

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import ToolContext, request_input
from google.adk.tools.function_tool import FunctionTool

from stream_protocol.agents import client_tool
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.comparable_messages import comparable
from tests.readings import replays
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import approval, begin, chat, post, said, stream, text

REJECTED = {"error": "This tool call is rejected."}
UNANSWERED = "The user went on without an answer."
WHO = {"message": "Who?", "response_schema": {"type": "object", "properties": {"age": {"type": "integer"}}}}


class ManualPage(Page):
    """A page that does not send its answers by itself, before an agent that asks."""

    def __init__(self, *turns: Any, sub_agents: Any = (), **options: Any) -> None:
        self.paid: list[int] = []
        self.model = ScriptedLlm(turns=turns)
        self.agent = LlmAgent(
            name="root",
            model=self.model,
            tools=[*self.tools(), client_tool("where", "Where the user is."), request_input],
            sub_agents=list(sub_agents),
        )
        self.service = InstrumentedService(self.agent, **options)
        super().__init__(create_app(self.service))

    def tools(self) -> list[Any]:
        return [FunctionTool(self.pay, require_confirmation=True), FunctionTool(self.book)]

    async def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        self.paid.append(amount)
        return {"paid": amount}

    async def book(self, tool_context: ToolContext) -> dict[str, Any]:
        """Books, once the user has chosen a seat."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Which seat?", payload={"seat": "12A"})
            return {"status": "The user is choosing."}
        self.paid.append(0)
        return {"booked": tool_context.tool_confirmation.confirmed}

    async def calls(self) -> list[Any]:
        """The state of each stored call, with the reason of its denial or its output."""
        parts = [part for message in await self.stored() for part in message["parts"] if "state" in part]
        return [
            (part["state"], part.get("errorText", part.get("output", part.get("approval", {}).get("reason"))))
            for part in parts
            if "toolCallId" in part
        ]

    def read(self) -> list[Any]:
        """The calls in the model's last request: their responses."""
        contents = self.model.requests[-1].contents
        responses = [part.function_response for content in contents for part in content.parts or []]
        return [response.response for response in responses if response is not None]


DENIED = ("output-denied", None)
SUPERSEDED = ("output-error", UNANSWERED)
PAY, WHERE = Call("pay", {"amount": 5}), Call("where", {})


async def test_a_denial_that_comes_with_a_message_closes_its_call_and_the_message_is_answered() -> None:
    manual = ManualPage(PAY, "As you like.", "Bye.")
    await manual.send("pay")
    manual.approve(False, "too much")
    await manual.send("cheaper?")
    assert manual.messages[-1]["parts"][-1]["text"] == "As you like."
    assert await manual.calls() == [("output-denied", "too much")]
    assert manual.read() == [REJECTED]
    assert manual.paid == []
    before = await manual.stored()
    assert [message["id"] for message in before] == manual.ids()
    await manual.send("bye")
    assert (await manual.stored())[:4] == before
    assert manual.read() == [REJECTED]


async def test_an_approval_that_comes_with_a_message_runs_nothing_and_is_superseded() -> None:
    manual = ManualPage(PAY, "Never mind, then.")
    await manual.send("pay")
    manual.approve(True)
    late = {**manual.body(), "messages": list(manual.messages)}
    await manual.send("wait")
    assert await manual.calls() == [SUPERSEDED]
    assert manual.paid == []
    assert (await post(manual.app, late)).status_code == 409


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        ([False, False], [DENIED, DENIED]),
        ([False, None], [DENIED, SUPERSEDED]),
        ([None, False], [SUPERSEDED, DENIED]),
        ([True, False], [SUPERSEDED, DENIED]),
    ],
)
async def test_of_calls_side_by_side_those_are_denied_that_were(answers: list[bool | None], calls: list[Any]) -> None:
    manual = ManualPage([PAY, Call("pay", {"amount": 7})], "Well.")
    await manual.send("pay")
    for part, approved in zip(manual.parts("approval-requested"), answers, strict=True):
        if approved is not None:
            part |= {"state": "approval-responded", "approval": {**part["approval"], "approved": approved}}
    await manual.send("wait")
    assert await manual.calls() == calls
    assert [response == REJECTED for response in manual.read()] == [call == DENIED for call in calls]
    assert manual.paid == []


async def test_a_tool_that_asks_by_itself_is_not_run_again_to_hear_no() -> None:
    manual = ManualPage(Call("book"), "I asked.", "As you like.")
    await manual.send("book")
    manual.approve(False, "no seat")
    await manual.send("by train?")
    assert await manual.calls() == [("output-denied", "no seat")]
    assert manual.read() == [REJECTED]
    assert manual.paid == []


async def test_a_denial_beside_messages_of_a_task_agents_call_is_the_task_agents() -> None:
    paid: list[int] = []

    def pay(amount: int) -> None:
        """Pays."""
        paid.append(amount)

    model = ScriptedLlm(turns=[PAY, "Cheaper, then."])
    booker = LlmAgent(
        name="booker",
        mode="task",
        description="Books.",
        model=model,
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    manual = ManualPage(Call("booker", {"request": "a table"}), "Well.", sub_agents=[booker])
    await manual.send("book")
    manual.approve(False, "too much")
    await manual.send("cheaper?")
    assert manual.messages[-1]["parts"][-1]["text"] == "Cheaper, then."
    assert ("output-denied", "too much") in await manual.calls()
    responses = [part.function_response for content in model.requests[-1].contents for part in content.parts or []]
    assert [response.response for response in responses if response is not None] == [REJECTED]
    assert paid == []


@pytest.mark.parametrize("alone", ["as the last message alone", "in a message that is not the last of the assistant's"])
async def test_a_denial_that_is_not_there_cannot_count(alone: str) -> None:
    manual = ManualPage(PAY, "Never mind, then.")
    await manual.send("pay")
    manual.approve(False)
    words = said("wait", "u9")
    if alone == "as the last message alone":
        body: dict[str, Any] = {"id": "c1", "message": words}
    else:
        body = chat(*manual.messages, {"id": "other", "role": "assistant", "parts": []}, words)
    assert text(await stream(manual.app, body)) == "Never mind, then."
    assert await manual.calls() == [SUPERSEDED]


async def test_what_is_no_answer_to_an_open_call_does_not_hinder_the_messages() -> None:
    manual = ManualPage(PAY, "Well.")
    await manual.send("pay")
    strange = approval({"toolCallId": "x", "approvalId": "y"}, approved=False)
    parts = [*manual.messages[-1]["parts"], strange, {**strange, "approval": {"id": "z", "approved": False}}]
    manual.messages[-1] = {**manual.messages[-1], "parts": parts}
    assert (
        text(await stream(manual.app, {**chat(*manual.messages, said("hi", "u9")), "approvalPayloads": []})) == "Well."
    )
    assert await manual.calls() == [SUPERSEDED]


async def test_a_denial_counts_once_and_an_equal_request_is_answered_once() -> None:
    manual = ManualPage(PAY, "As you like.")
    await manual.send("pay")
    manual.approve(False, "no")
    body = {**chat(*manual.messages, said("cheaper?", "u9")), "trigger": "submit-message"}
    first = await stream(manual.app, body)
    assert text(first) == "As you like."
    assert await manual.calls() == [("output-denied", "no")]
    assert len(manual.model.requests) == 2


async def test_a_denial_before_an_edit_of_the_message_after_it_counts() -> None:
    """The card of the earlier message was still open on the page."""
    manual = ManualPage(PAY, "One.", "Two.")
    await manual.send("pay")
    page = [*manual.messages]
    await manual.send("wait")
    manual.messages = page
    manual.approve(False, "no")
    manual.messages.append(said("cheaper?", "c1-u2"))
    await manual.submit(messageId="c1-u2")
    assert [message["role"] for message in await manual.stored()] == ["user", "assistant", "user", "assistant"]
    assert await manual.calls() == [("output-denied", "no")]
    assert manual.read() == [REJECTED]


async def test_what_a_tool_of_the_page_gave_counts_with_a_message() -> None:
    manual = ManualPage([WHERE, PAY], "In Oslo, then.")
    await manual.send("go")
    manual.answer("where", {"city": "Oslo"})
    await manual.send("cheaper?")
    assert await manual.calls() == [("output-available", {"city": "Oslo"}), SUPERSEDED]
    assert {"city": "Oslo"} in manual.read()


async def test_an_error_of_a_tool_of_the_page_counts_with_a_message() -> None:
    """assistant-ui ends open calls in this way before it sends a new message."""
    manual = ManualPage(WHERE, "Well.")
    await manual.send("go")
    manual.refuse("where", "User cancelled tool call by sending a new message.")
    await manual.send("wait")
    assert await manual.calls() == [("output-error", "User cancelled tool call by sending a new message.")]
    assert manual.read() == [{"error": "User cancelled tool call by sending a new message."}]


@pytest.mark.parametrize(
    ("given", "call"), [({"age": 3}, ("output-available", {"age": 3})), ({"age": "x"}, SUPERSEDED)]
)
async def test_an_input_counts_with_a_message_if_it_fits(given: Any, call: Any) -> None:
    manual = ManualPage(Call("adk_request_input", WHO), "Well.")
    await manual.send("go")
    manual.answer("adk_request_input", given)
    await manual.send("wait")
    assert await manual.calls() == [call]
    assert [response.get("age", "error") for response in manual.read()] == [
        3 if call[0] == "output-available" else "error"
    ]


async def test_a_denial_is_stored_though_its_messages_are_interrupted() -> None:
    manual = ManualPage(PAY, ["Half ", Wait(3600)], "Whole.")
    await manual.send("pay")
    manual.approve(False)
    async with begin(manual.app, chat(*manual.messages, said("cheaper?", "u8"))) as running:
        await running.status()
        await running.until("text-delta")
        assert text(await stream(manual.app, chat(said("on", "u9")))) == "Whole."
    assert await manual.calls() == [DENIED]


async def test_every_reading_of_the_session_has_the_answers_that_came_with_a_message(tmp_path: Path) -> None:
    manual = ManualPage([WHERE, PAY, Call("pay", {"amount": 7})], "Well.")
    await manual.send("go")
    manual.answer("where", "Oslo")
    manual.approve(False, "no")
    await manual.send("wait")
    runner = manual.service.runner
    session = await runner.session_service.get_session(app_name=runner.app_name, user_id="local", session_id="c1")
    assert session is not None
    assert await manual.calls() == [("output-available", "Oslo"), ("output-denied", "no"), SUPERSEDED]
    stored = comparable(await manual.stored())
    for form, told in replays(session, tmp_path):
        assert (form, comparable(told)) == (form, stored)


async def test_the_app_hears_of_the_denial_when_the_messages_are_answered() -> None:
    heard: list[Any] = []

    async def keep(messages: Any, *_response: Any) -> None:
        heard.append(messages)

    manual = ManualPage(PAY, "As you like.", on_finish=keep)
    await manual.send("pay")
    manual.approve(False)
    await manual.send("cheaper?")
    await manual.service.runs.free()
    assert heard[-1] == await manual.stored()
