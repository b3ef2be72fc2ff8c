"""A tab lacks newer calls of the message whose older call it answers: the response first brings what it lacks."""

import asyncio
import copy
import json
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from stream_protocol.agents import client_tool
from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import HANG, begin, client, only
from tests.serving.two_tabs import WAITS, TwoTabs
from tests.tools import OLD_ADK

pytestmark = pytest.mark.filterwarnings("ignore:ParallelAgent is deprecated:DeprecationWarning")


def texts(page: Page) -> list[str]:
    return [part["text"] for part in page.messages[-1]["parts"] if part["type"] == "text"]


@pytest.mark.skipif(OLD_ADK, reason="ADK resumes one of the agents alone from 2.11 on")
@pytest.mark.parametrize("ai_sdk", [6, 7])
@pytest.mark.parametrize("is_stopped", [False, True])
async def test_a_stale_tab_gets_the_calls_that_it_lacks_before_their_outputs(ai_sdk: Any, is_stopped: bool) -> None:
    tabs = TwoTabs(ai_sdk=ai_sdk)
    await tabs.ask()
    received = await tabs.approve_in_stale_tab(is_stopped=is_stopped)
    tabs.stale.take(received)
    assert [chunk["toolCallId"] for chunk in only(received, "tool-input-available")] == ["right"]
    assert texts(tabs.stale)[:2] == ["I am left. ", "I am right. "]
    assert len(tabs.stale.parts(WAITS)) == (0 if is_stopped else 1)
    assert {part["toolCallId"] for part in tabs.stale.messages[-1]["parts"] if "toolCallId" in part} == {
        "left",
        "right",
    }


@pytest.mark.skipif(OLD_ADK, reason="ADK resumes one of the agents alone from 2.11 on")
async def test_a_tab_that_resumes_the_response_to_a_stale_tab_gets_everything_once() -> None:
    tabs = TwoTabs()
    await tabs.ask()
    tabs.stale.approve(True)
    async with begin(tabs.app, tabs.stale.body()):
        await asyncio.wait_for(tabs.paying.wait(), HANG)
        async with client(tabs.app) as http:
            resuming = asyncio.create_task(http.get("/api/chat/c1/stream"))
            for _ in range(50):
                await asyncio.sleep(0)
            tabs.may_pay.set()
            stream = (await asyncio.wait_for(resuming, HANG)).text
    tabs.stale.messages = tabs.stale.messages[:1]
    tabs.stale.take(
        json.loads(line.removeprefix("data: ")) for line in stream.split("\n\n") if line.startswith("data: {")
    )
    assert sorted(texts(tabs.stale)) == ["I am left. ", "I am right. ", "Left paid."]
    assert len(tabs.stale.parts(WAITS)) == 1


async def test_a_stale_answer_that_is_not_enough_brings_the_questions_that_are_open() -> None:
    where = client_tool("where", "Where the user is.")
    first, second = Call("where", {"q": 1}, id="w1"), Call("where", {"q": 3}, id="w3")
    model = ScriptedLlm(turns=[first, ["More. ", second], Call("finish_task", {"result": "Booked."})])
    booker = LlmAgent(name="booker", description="books", mode="task", model=model, tools=[where])
    calls = [Call("booker", {"request": "go"}), Call("where", {"q": 0}, id="w0")]
    root = LlmAgent(name="root", model=ScriptedLlm(turns=[calls, "Done."]), tools=[where], sub_agents=[booker])
    app = create_app(InstrumentedService(root))
    tab, stale = Page(app), Page(app)
    await tab.send("hi")
    stale.messages = copy.deepcopy(tab.messages)
    [question] = [part for part in tab.parts("input-available") if part["toolCallId"] == "w1"]
    question |= {"state": "output-available", "output": "Oslo"}
    await tab.submit()
    [question] = [part for part in stale.parts("input-available") if part["toolCallId"] == "w0"]
    question |= {"state": "output-available", "output": "Rome"}
    await stale.submit()
    assert [part["toolCallId"] for part in stale.parts("input-available")] == ["w3"]
    question["output"] = "Rome"
    [question] = stale.parts("input-available")
    question |= {"state": "output-available", "output": "Bonn"}
    await stale.submit()
    assert not stale.parts("input-available")
    assert comparable(await stale.stored()) == comparable(stale.messages)
