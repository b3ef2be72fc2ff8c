"""Calls that wait for a user when their run ends early: on the page, in history, and for a later answer."""

import asyncio
import copy
from typing import Any, Literal

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext

from stream_protocol.serving import create_app
from stream_protocol.serving.base._times import DEFAULT_TIMES, ServiceTimes
from stream_protocol.testing import Call, ScriptedLlm
from stream_protocol.wire import AiSdkVersion
from tests.comparable_messages import comparable
from tests.serving.chat_client import Message, Page
from tests.serving.instrumented import InstrumentedService, let_time_out
from tests.serving.support import begin, chunks, post, soon

pytestmark = pytest.mark.usefixtures("patient_clock")

End = Literal["abort", "timeout", "error"]

WAITING = [
    Call("pay", {"amount": 1}, id="p1"),
    Call("pay", {"amount": 2}, id="p2"),
    Call("where", {"question": "a"}, id="w1"),
]


def where(question: str) -> None:
    """Only the page knows."""


class Chat:
    """A page with two approvals and a question on it, whose agent digs until something ends that."""

    def __init__(self, ai_sdk: AiSdkVersion, *, stubborn: bool = False) -> None:
        self.digging, self.fail = asyncio.Event(), asyncio.Event()
        self.paid: list[int] = []
        self._stubborn = stubborn
        model = ScriptedLlm(turns=[["Let me.", *WAITING], ["Now I dig.", Call("dig", id="d1")], "Well.", "Better."])
        tools: list[Any] = [self.pay, LongRunningFunctionTool(where), self.dig]
        agent = LlmAgent(name="root", model=model, tools=tools)
        times = ServiceTimes(stop=0.01) if stubborn else DEFAULT_TIMES
        self.service = InstrumentedService(agent, ai_sdk=ai_sdk, times=times)
        self.app = create_app(self.service)
        self.page = Page(self.app, ai_sdk=ai_sdk)

    async def pay(self, amount: int, tool_context: ToolContext) -> dict[str, Any]:
        """Asks while it runs."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Pay?")
            return {"status": "asked"}
        if not tool_context.tool_confirmation.confirmed:
            return {"paid": None}
        self.paid.append(amount)
        return {"paid": amount}

    async def dig(self) -> None:
        """Never ends well."""
        self.digging.set()
        try:
            await self.fail.wait()
        except asyncio.CancelledError:
            if self._stubborn:
                await asyncio.Event().wait()
            raise
        raise RuntimeError("hunter2")

    async def end(self, how: End) -> None:
        """Lets the agent dig, ends that, and takes in the response."""
        self.page.messages.append({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]})
        async with begin(self.app, self.page.body()) as exchange:
            await exchange.status()
            await soon(self.digging)
            match how:
                case "abort":
                    self.service.runs.run.stop()
                case "timeout":
                    let_time_out()
                case "error":
                    self.fail.set()
            received: list[Any] = []
            while (event := await exchange.event()) and event != "data: [DONE]":
                received += chunks(f"{event}\n\ndata: [DONE]\n\n")
        assert received[-1]["type"] == ("abort" if how == "abort" else "error")
        self.page.take(received)

    def states(self) -> dict[str, str]:
        parts = self.page.messages[-1]["parts"]
        return {part["toolCallId"]: part["state"] for part in parts if "toolCallId" in part}

    async def assert_stored_is_shown(self) -> None:
        assert comparable(await self.page.stored()) == comparable(self.page.messages)


each_version = pytest.mark.parametrize("ai_sdk", [6, 7])
CLOSED = dict.fromkeys(["p1", "p2", "w1", "d1"], "output-error")


@each_version
@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("how", ["abort", "timeout"])
async def test_a_run_that_was_stopped_takes_its_questions_along(ai_sdk: AiSdkVersion, how: End, stubborn: bool) -> None:
    """Either ADK closes them (if the run listens to it) or we do."""
    chat = Chat(ai_sdk, stubborn=stubborn)
    await chat.end(how)
    assert chat.states() == CLOSED
    await chat.assert_stored_is_shown()


@each_version
@pytest.mark.parametrize("how", ["abort", "timeout"])
async def test_an_answer_that_crosses_with_the_stop_gets_409_and_runs_nothing(ai_sdk: AiSdkVersion, how: End) -> None:
    chat = Chat(ai_sdk)
    await chat.end(how)
    late: list[Message] = copy.deepcopy(chat.page.messages)
    for part in late[-1]["parts"]:
        if part.get("toolCallId") in ("p1", "p2"):
            part |= {"state": "approval-responded", "approval": {**part["approval"], "approved": True}}
        elif part.get("toolCallId") == "w1":
            part |= {"state": "output-available", "output": "Oslo"}
    response = await post(chat.app, chat.page.body(messages=late))
    assert (response.status_code, chat.paid) == (409, [])
    await chat.assert_stored_is_shown()
    await chat.page.send("again")
    await chat.assert_stored_is_shown()


@each_version
async def test_what_waits_beside_a_failure_can_still_be_answered(ai_sdk: AiSdkVersion) -> None:
    chat = Chat(ai_sdk)
    await chat.end("error")
    waiting = {"p1": "approval-requested", "p2": "approval-requested", "w1": "input-available"}
    assert chat.states() == {**waiting, "d1": "output-error"}
    await chat.assert_stored_is_shown()
    chat.page.approve(True)
    chat.page.approve(False)
    chat.page.answer("where", "Oslo")
    await chat.page.submit()
    assert chat.paid == [1]
    assert chat.page.messages[-1]["parts"][-1]["text"] == "Well."
    await chat.assert_stored_is_shown()
