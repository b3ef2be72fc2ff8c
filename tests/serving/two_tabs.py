"""Two tabs of a chat in which two agents ask at the same time."""

import asyncio
import json
from typing import Any

from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.tools.function_tool import FunctionTool

from stream_protocol.serving import create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import HANG, begin, client

WAITS = "approval-requested"


class TwoTabs:
    """Two agents ask side by side. The first tab sees both questions. The stale tab was loaded between them."""

    def __init__(self, **options: Any) -> None:
        self.second_asks = asyncio.Event()
        self.paying = asyncio.Event()
        self.may_pay = asyncio.Event()
        turns: dict[str, list[Any]] = {
            "left": [["I am left. ", Call("pay", {"amount": 1}, id="left")], "Left paid."],
            "right": [[Wait(self.second_asks), "I am right. ", Call("pay", {"amount": 2}, id="right")], "Right paid."],
        }
        tool = FunctionTool(self.pay, require_confirmation=True)
        agents = [LlmAgent(name=name, model=ScriptedLlm(turns=own), tools=[tool]) for name, own in turns.items()]
        root = ParallelAgent(name="root", sub_agents=[*agents])
        self.app = create_app(InstrumentedService(root, **options))
        self.tab = Page(self.app, **options)
        self.stale = Page(self.app, **options)

    async def pay(self, amount: int) -> dict[str, int]:
        """Pays."""
        self.paying.set()
        await asyncio.wait_for(self.may_pay.wait(), HANG)
        return {"paid": amount}

    async def ask(self) -> None:
        sending = asyncio.create_task(self.tab.send("pay"))
        while not (self.stale.messages and self.stale.messages[-1]["role"] == "assistant" and self.stale.parts(WAITS)):
            await asyncio.sleep(0)
            async with client(self.app) as http:
                response = await http.get("/api/chat/c1")
            self.stale.messages = response.json()["messages"] if response.status_code == 200 else []
        self.second_asks.set()
        await asyncio.wait_for(sending, HANG)
        assert len(self.stale.parts(WAITS)) == 1
        assert len(self.tab.parts(WAITS)) == 2

    async def approve_in_stale_tab(self, *, is_stopped: bool) -> list[Any]:
        """Approve the question that the stale tab shows. ``is_stopped``: stop the run while the tool works. Returns the
        chunks of the response."""
        self.stale.approve(True)
        async with begin(self.app, self.stale.body()) as response:
            assert await response.status() == 200
            await asyncio.wait_for(self.paying.wait(), HANG)
            if is_stopped:
                async with client(self.app) as http:
                    await http.post("/api/chat/c1/stop")
            self.may_pay.set()
            received = []
            while (event := await response.event()) != "data: [DONE]":
                received += [] if event.startswith(":") else [json.loads(event.removeprefix("data: "))]
        return received
