"""A page that was reloaded, or a second tab, takes up the response that is being written."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from starlette.types import ASGIApp

from stream_protocol import parse_chat_request, reduce_chunks
from stream_protocol.agents import client_tool
from stream_protocol.serving import LogBounds, MemoryRunLog, ServiceLimits, create_app, header_user
from stream_protocol.testing import Call, ScriptedLlm, Thought, Wait
from tests.comparable_messages import comparable
from tests.serving.chat_client import Page
from tests.serving.instrumented import InstrumentedService
from tests.serving.support import (
    HANG,
    Exchange,
    answered,
    approval,
    begin,
    chat,
    chunks,
    client,
    only,
    post,
    said,
    stream,
    text,
    types,
)


def service_for(*turns: Any, tools: Any = (), **options: Any) -> InstrumentedService:
    return InstrumentedService(
        LlmAgent(name="root", model=ScriptedLlm(turns=list(turns)), tools=list(tools)), **options
    )


async def resumed(app: ASGIApp, chat_id: str = "c1", **headers: str) -> httpx.Response:
    async with client(app) as http:
        return await http.get(f"/api/chat/{chat_id}/stream", headers=headers)


def resuming(app: ASGIApp) -> Any:
    """A second page, which reads as it comes."""
    return Exchange(app, "/api/chat/c1/stream", method="GET").begin(b"")


async def test_an_idle_chat_an_unknown_one_and_somebody_elses_have_nothing_to_resume() -> None:
    go_on = asyncio.Event()
    service = service_for(["Half ", Wait(go_on), "whole."])
    app = create_app(service, identify=header_user("X-User"))
    async with begin(app, chat(said("hi")), headers={"content-type": "application/json", "x-user": "ann"}) as exchange:
        await exchange.status()
        await exchange.until("text-delta")
        idle = [await resumed(app, "none", **{"x-user": "ann"}), await resumed(app, "c1", **{"x-user": "bob"})]
        go_on.set()
        await exchange.until("finish")
        await service.runs.free()
        idle.append(await resumed(app, "c1", **{"x-user": "ann"}))
    assert [(answer.status_code, answer.content) for answer in idle] == [(204, b"")] * 3


async def test_a_second_page_reads_from_the_start_in_fewer_events_and_then_along() -> None:
    go_on = asyncio.Event()
    app = create_app(service_for([Thought("Hm. "), "One ", "two ", "three ", Wait(go_on), "four."]))
    async with begin(app, chat(said("hi"))) as first:
        await first.status()
        heard = ""
        while "three " not in heard:
            heard += (await first.until("text-delta"))["delta"]
        async with resuming(app) as second:
            await second.status()
            start = await second.chunk()
            assert start["type"] == "start"
            assert (await second.until("text-delta"))["delta"] == heard
            go_on.set()
            assert (await second.until("text-delta"))["delta"] == "four."
            await second.until("finish")
            assert await second.event() == "data: [DONE]"
        await first.until("finish")


async def test_the_first_page_may_leave_and_the_second_still_gets_all() -> None:
    go_on = asyncio.Event()
    app = create_app(service_for(["Half ", Wait(go_on), "whole."], limits=ServiceLimits(disconnect_grace=HANG)))
    async with begin(app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
    async with resuming(app) as second:
        await second.status()
        go_on.set()
        assert (await second.until("text-delta"))["delta"] == "Half "
        assert (await second.until("text-delta"))["delta"] == "whole."
        await second.until("finish")


@pytest.mark.parametrize("ai_sdk", [6, 7])
async def test_a_continued_message_is_rebuilt_for_a_page_that_has_nothing_of_it(ai_sdk: Any) -> None:
    go_on = asyncio.Event()

    def pay(to: str) -> str:
        return f"paid {to}"

    tool = FunctionTool(pay, require_confirmation=True)
    script = [[Thought("Hm."), "Shall I? ", Call("pay", {"to": "Max"})], ["Half ", Wait(go_on), "whole."]]
    app = create_app(service_for(*script, tools=[tool], ai_sdk=ai_sdk))
    asked = await stream(app, chat(said("hi")))
    request = only(asked, "tool-approval-request")[0]
    body = answered(asked[0]["messageId"], approval(request, approved=True))
    async with begin(app, body) as first:
        await first.status()
        await first.until("text-delta")
        resumption = asyncio.create_task(resumed(app))
        await asyncio.sleep(0.01)
        go_on.set()
        replay: Any = chunks((await resumption).text)
        await first.until("finish")
    message = reduce_chunks(replay, ai_sdk=ai_sdk)
    async with client(app) as http:
        stored = (await http.get("/api/chat/c1")).json()["messages"][-1]
    assert message["id"] == stored["id"] == asked[0]["messageId"]
    assert [without_approval(part) for part in message["parts"]] == [without_approval(part) for part in stored["parts"]]
    assert types(replay).count("start") == 1
    assert "tool-approval-request" not in types(replay) or ai_sdk == 7


def without_approval(part: Any) -> Any:
    """A v6 client has no chunk for an answered approval: the result has no approval."""
    return {key: value for key, value in part.items() if key != "approval"}


async def test_the_same_answer_again_attaches_to_the_run_and_does_not_rebuild() -> None:
    go_on, ran = asyncio.Event(), list[str]()

    def pay(to: str) -> str:
        ran.append(to)
        return f"paid {to}"

    tool = FunctionTool(pay, require_confirmation=True)
    app = create_app(service_for([Call("pay", {"to": "Max"})], ["Half ", Wait(go_on), "whole."], tools=[tool]))
    asked = await stream(app, chat(said("hi")))
    body = answered(asked[0]["messageId"], approval(only(asked, "tool-approval-request")[0], approved=True))
    async with begin(app, body) as first:
        await first.status()
        await first.until("text-delta")
        second = asyncio.create_task(post(app, body))
        await asyncio.sleep(0.01)
        go_on.set()
        await first.until("finish")
        assert types(chunks((await second).text))[:2] == ["start", "tool-output-available"]
    assert ran == ["Max"]


async def test_the_same_messages_again_while_they_are_answered_attach_and_other_messages_are_refused() -> None:
    go_on = asyncio.Event()
    service = service_for(["Half ", Wait(go_on), "whole."], on_busy="reject")
    app = create_app(service)
    async with begin(app, chat(said("hi", "u1"))) as first:
        await first.status()
        await first.until("text-delta")
        again = asyncio.create_task(post(app, chat(said("hi", "u1"))))
        refused = await post(app, chat(said("hi", "u2")))
        go_on.set()
        await first.until("finish")
        assert text(chunks((await again).text)) == "Half whole."
    assert refused.status_code == 409


async def test_a_request_that_is_refused_takes_no_other_with_it() -> None:
    app = create_app(service_for("Hello."))
    body = answered("m1", {"type": "tool-pay", "toolCallId": "none", "state": "output-available", "output": 1})
    responses = await asyncio.gather(*(post(app, body) for _ in range(3)))
    assert [response.status_code for response in responses] == [responses[0].status_code] * 3
    assert responses[0].status_code >= 400
    assert text(await stream(app, chat(said("hi", "u2")))) == "Hello."


async def test_resuming_in_mid_argument_gives_the_whole_argument() -> None:
    go_on = asyncio.Event()

    def write(letter: str) -> str:
        return letter

    call = Call("write", {"letter": "Dear Max, " * 20}, streamed=True)
    service = service_for([call, Wait(go_on)], "Done.", tools=[write])
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as first:
        await first.status()
        await first.until("tool-input-delta")
        async with resuming(app) as second:
            await second.status()
            shown = [await second.until("tool-input-delta")]
            go_on.set()
            while (chunk := await second.chunk())["type"] != "tool-input-available":
                shown.append(chunk)
            assert chunk["input"] == call.args
        await first.until("finish")


async def test_a_response_that_outgrows_its_bound_ends_in_an_error_and_the_run_is_stopped() -> None:
    def shout(words: str) -> str:
        return words * 1000

    log = MemoryRunLog(LogBounds(max_size=2000))
    service = service_for(Call("shout", {"words": "loud"}), "Next.", tools=[shout], run_log=log)
    app = create_app(service)
    assert types(await stream(app, chat(said("hi"))))[-1] == "error"
    assert text(await stream(app, chat(said("next", "u2")))) == "Next."


async def test_a_reader_that_stops_reading_loses_its_connection_and_can_resume() -> None:
    go_on, said_all = asyncio.Event(), asyncio.Event()
    log = MemoryRunLog(LogBounds(max_backlog=1000))
    words = [f"word {number} " for number in range(200)]

    async def on_finish(*_: Any) -> None:
        said_all.set()

    service = service_for(["First. ", Wait(go_on), *words], run_log=log, on_finish=on_finish)
    app = create_app(service)
    async with begin(app, chat(said("hi"))) as first:
        await first.status()
        await first.until("text-delta")
        first.may_send.clear()
        go_on.set()
        await asyncio.wait_for(said_all.wait(), HANG)
        await first.gone()
    async with client(app) as http:
        stored = (await http.get("/api/chat/c1")).json()["messages"][-1]
    assert stored["parts"][-1]["text"] == "First. " + "".join(words)


async def test_a_service_can_be_asked_without_a_server() -> None:
    go_on = asyncio.Event()
    service = service_for(["Half ", Wait(go_on), "whole."])
    request = parse_chat_request(chat(said("hi")))
    events = await service.respond(request, user_id="ann")
    await anext(events)
    assert await service.resume("c1", user_id="bob") is None
    again = await service.resume("c1", user_id="ann")
    assert again is not None
    go_on.set()
    assert b"".join([batch async for batch in again]).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("kind", ["root", "single_turn", "task"])
async def test_a_resumed_client_gets_the_output_of_another_client_once(kind: Any) -> None:
    go_on = asyncio.Event()
    agent = LlmAgent(
        name="inner",
        description="inner",
        model=ScriptedLlm(turns=[Call("where", {}), ["Half ", Wait(go_on), "whole."], "Bye."]),
        tools=[client_tool("where", "Where the user is.")],
        **({} if kind == "root" else {"mode": kind}),
    )
    root = LlmAgent(
        name="root", model=ScriptedLlm(turns=[Call("inner", {"request": "go"}), "Bye."]), sub_agents=[agent]
    )
    app = create_app(InstrumentedService(agent if kind == "root" else root))
    page = Page(app)
    await page.send("hi")
    page.answer("where", "Oslo")
    async with begin(app, page.body()) as first:
        assert await first.status() == 200
        await first.until("tool-output-available")
        async with resuming(app) as second:
            assert await second.status() == 200
            received = [await second.chunk()]
            go_on.set()
            while (event := await second.event()) != "data: [DONE]":
                received.append(json.loads(event.removeprefix("data: ")))
    (asked,) = (chunk for chunk in received if chunk.get("toolName") == "where")
    (output,) = (
        chunk for chunk in only(received, "tool-output-available") if chunk["toolCallId"] == asked["toolCallId"]
    )
    assert output["output"] == "Oslo"
    page.messages[-1:] = [reduce_chunks(received)]
    assert comparable(await page.stored()) == comparable(page.messages)
