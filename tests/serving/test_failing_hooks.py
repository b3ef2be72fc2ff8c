"""Hooks of the app that raise where a response ends: it still has its one terminal, and other runs go on."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool

from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.support import answered, approval, begin, chat, chunks, only, post, said, stream, types

MASKED = {"type": "error", "errorText": "An error occurred."}


def service_for(*turns: Any, tools: Any = (), **options: Any) -> ChatService:
    return ChatService(LlmAgent(name="root", model=ScriptedLlm(turns=turns), tools=list(tools)), **options)


def no_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    raise ValueError("no metadata")


@pytest.mark.parametrize("at", ["text-delta", "text-end", "finish-step", "finish", "error"])
@pytest.mark.parametrize("turn", ["Hello.", ValueError("no model")])
async def test_a_transform_that_raises_leaves_one_terminal(at: str, turn: Any) -> None:
    def transform(chunk: Any) -> Any:
        if chunk["type"] == at:
            raise ValueError("no transform")
        return chunk

    service = service_for([turn], transform=transform)
    response = chunks((await post(create_app(service), chat(said("hi")))).text)
    assert [chunk for chunk in response if chunk["type"] in {"finish", "abort", "error"}] == [response[-1]]
    assert response[-1] == MASKED or at == "error" or turn != "Hello."


async def test_metadata_that_raises_is_the_responses_error() -> None:
    service = service_for("Hello.", message_metadata=no_metadata)
    assert (await stream(create_app(service), chat(said("hi"))))[-1] == MASKED


async def test_a_hook_that_raises_when_the_server_stops_does_not_keep_it_from_stopping_the_other_runs() -> None:
    never = asyncio.Event()
    service = service_for(["Half ", Wait(never)], ["Half ", Wait(never)], message_metadata=no_metadata)
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as one, begin(app, chat(said("hi"), chat_id="c2")) as other:
        for exchange in (one, other):
            await exchange.status()
            await exchange.until("text-delta")
        await service.aclose()
        for exchange in (one, other):
            await exchange.until("error")
            assert await exchange.event() == "data: [DONE]"


async def test_a_hook_that_raises_over_the_past_of_a_message_is_the_responses_error() -> None:
    def pay(to: str) -> str:
        return to

    def hidden(tool: str) -> bool:
        if answering:
            raise ValueError("no predicate")
        return False

    answering = False
    tool = FunctionTool(pay, require_confirmation=True)
    app = create_app(service_for([Call("pay", {"to": "Max"})], "Paid.", tools=[tool], hidden_tools=hidden))
    asked = await stream(app, chat(said("hi")))
    answering = True
    request = only(asked, "tool-approval-request")[0]
    response = await stream(app, answered(asked[0]["messageId"], approval(request, approved=True)))
    assert types(response) == ["start", "error"]
