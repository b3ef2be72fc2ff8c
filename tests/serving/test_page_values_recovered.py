"""Context, shared state and versions in a chat whose worker dies: another worker goes on with all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.tool_context import ToolContext

from stream_protocol.serving import PageContext, SharedState
from stream_protocol.testing import Call, ScriptedLlm, Wait
from stream_protocol.wire import ChatRequestError, parse_chat_request
from tests.serving.support import chat, said, soon
from tests.serving.test_orphaned_runs import USER, GatedWorkers, Worker, read, until
from tests.serving.test_page_context import SCHEMA, given, prompt

pytestmark = pytest.mark.usefixtures("patient_clock")

OPTIONS: dict[str, Any] = {
    "context": PageContext(SCHEMA),
    "shared_state": SharedState(write={"theme": {"enum": ["light", "dark"]}}),
}


class Tools:
    """The tools of one worker's agent: ``wait`` waits until it may go on, ``look`` tells the theme."""

    def __init__(self, *turns: Any) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.model = ScriptedLlm(turns=turns)

    def agent(self) -> LlmAgent:
        async def wait() -> str:
            """Waits."""
            self.begun.set()
            await self.go_on.wait()
            return "waited"

        async def look(tool_context: ToolContext) -> dict[str, Any]:
            """Looks."""
            return {"theme": tool_context.state.get("theme")}

        return LlmAgent(name="root", model=self.model, tools=[wait, look])


async def ask(worker: Worker, words: str, message_id: str, **more: Any) -> asyncio.Task[list[Any]]:
    body = parse_chat_request(chat(said(words, message_id), **more))
    return asyncio.create_task(read(await worker.service.respond(body, user_id=USER)))


async def test_a_recovered_run_has_the_context_and_what_the_page_wrote_meanwhile() -> None:
    gated = GatedWorkers()
    first = Tools(Call("wait", {}), [Wait(3600), "never"])
    async with gated.worker(launched=False, agent=first.agent(), **OPTIONS) as worker:
        reader = await ask(worker, "go", "u1", context={"path": "/orders"}, state={"theme": "light"})
        await soon(first.begun)
        assert await worker.service.write_state("c1", {"theme": "dark"}, user_id=USER) == {"theme": "dark"}
        first.go_on.set()
        await until(lambda: len(first.model.requests) == 2)
        worker.crash()
    await reader
    second = Tools(Call("wait", {}), Call("look", {}), "done")
    second.go_on.set()
    async with gated.worker(agent=second.agent(), **OPTIONS) as other:
        await gated.forgotten()
        stored = await other.service.read_chat("c1", user_id=USER)
    assert stored is not None
    assert [prompt(request)[0] for request in second.model.requests] == ["context"] * 3
    assert given(second.model.requests[2]) == {"path": "/orders"}
    outputs = [part["output"] for part in parts_of(stored.messages) if "output" in part]
    assert outputs == [{"result": "waited"}, {"theme": "dark"}]
    assert stored.state == {"theme": "dark"}


async def test_a_choice_is_refused_until_an_orphaned_run_is_recovered() -> None:
    gated = GatedWorkers()
    tools = Tools("one", "two", [Wait(3600), "never"])
    async with gated.worker(launched=False, agent=tools.agent(), **OPTIONS) as worker:
        await (await ask(worker, "go", "u1"))
        await (await ask(worker, "go", "u1", trigger="regenerate-message"))
        stored = await worker.service.read_chat("c1", user_id=USER)
        assert stored is not None
        (listed,) = stored.versions
        reader = await ask(worker, "on", "u2")
        await until(lambda: len(tools.model.requests) == 3)
        worker.crash()
    await reader
    async with gated.worker(launched=False, agent=Tools("three").agent(), **OPTIONS) as other:
        with pytest.raises(ChatRequestError) as refused:
            await other.service.choose_version("c1", listed["ids"][0], user_id=USER)
        assert refused.value.status == 409
        await other.service.start()
        await gated.forgotten()
        await other.service.runs.free()
        whole = await other.service.read_chat("c1", user_id=USER)
        assert whole is not None
        assert texts(whole.messages) == ["go", "two", "on", "three"]
        await other.service.choose_version("c1", listed["ids"][0], user_id=USER)
        chosen = await other.service.read_chat("c1", user_id=USER)
        assert chosen is not None
        assert texts(chosen.messages) == ["go", "one"]


def parts_of(messages: Any) -> list[Any]:
    return [part for message in messages for part in message["parts"]]


def texts(messages: Any) -> list[str]:
    return [part["text"] for part in parts_of(messages) if part.get("text")]
