"""Responses that wait until a request releases their chunks."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp

from stream_protocol.replay_server import HELD
from tests.replay_server.fixture_recordings import replay_app, write_recordings
from tests.serving.support import JSON_TYPE, Exchange, approval, begin, chat, client, said, types

WEATHER = chat(said("weather?"), chat_id="streamed_arguments--1")
STEP = "/__replay/streamed_arguments--1/step"


@pytest.fixture
def app(tmp_path: Path) -> Starlette:
    return replay_app(write_recordings(tmp_path, "streamed_arguments", "approval_approved"), pace=HELD)


class Get(Exchange):
    """A response to a GET that is read event by event."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        super().__init__(app, path)
        self._scope["method"] = "GET"


async def step(http: httpx.AsyncClient, url: str = STEP, **query: Any) -> dict[str, Any]:
    response = await http.post(url, params=query)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def test_a_held_response_is_let_go_in_mid_argument(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER) as exchange:
        first = await step(http)
        assert await exchange.status() == 200
        assert types(first["released"]) == ["start"]
        assert first["next"] == {"type": "start-step"}
        middle = await step(http, to="tool-input-delta")
        assert middle["released"][-1]["inputTextDelta"] == '{"city":"Bor'
        assert middle["next"]["inputTextDelta"] == "deaux"
        seen = [await exchange.chunk() for _ in range(4)]
        assert seen == first["released"] + middle["released"]
        rest = await step(http, all="true")
        assert (rest["next"], rest["left"]) == (None, 0)
        assert len(rest["released"]) == middle["left"]
        assert await exchange.until("finish") == rest["released"][-1]
        assert await exchange.event() == "data: [DONE]"
        assert await exchange.event() == ""


async def test_a_step_may_say_its_count_in_a_body(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER):
        response = await http.post(STEP, json={"count": 3})
        assert types(response.json()["released"]) == ["start", "start-step", "tool-input-start"]


async def test_a_step_that_is_early_waits_for_its_request(app: Starlette) -> None:
    async with client(app) as http:
        early = asyncio.create_task(step(http))
        await asyncio.sleep(0)
        async with begin(app, WEATHER):
            assert types((await early)["released"]) == ["start"]


async def test_a_step_for_which_no_request_comes_is_told_so(app: Starlette) -> None:
    async with client(app) as http:
        refused = await http.post(STEP, params={"wait": 0})
    assert refused.status_code == 409
    assert refused.text == "Chat streamed_arguments--1 has no unsent chunks: no request came within 0 seconds."


async def test_a_chat_may_be_named_by_its_recording(app: Starlette) -> None:
    async with client(app) as http, begin(app, chat(said("weather?"), chat_id="made-up-by-the-page")):
        told = await step(http, "/__replay/streamed_arguments/step")
    assert types(told["released"]) == ["start"]


async def test_a_type_that_is_not_held_is_told_with_what_is(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER):
        await step(http, to="tool-output-available")
        refused = await http.post(STEP, params={"to": "error"})
        assert (refused.status_code, refused.text) == (
            409,
            "No chunk error is unsent. Unsent: finish-step, start-step, text-start, text-delta, text-end, finish.",
        )
        assert (await step(http))["released"] == [{"type": "finish-step"}]


@pytest.mark.parametrize(
    "query",
    [
        {"count": 0},
        {"count": "many"},
        {"wait": "nan"},
        {"wait": -1},
        {"steps": 2},
        {"count": 2, "to": "finish"},
        {"all": "true", "count": 2},
    ],
)
async def test_a_step_that_says_nonsense_releases_nothing(app: Starlette, query: Mapping[str, Any]) -> None:
    async with client(app) as http, begin(app, WEATHER):
        assert (await http.post(STEP, params=dict(query))).status_code == 422
        assert (await http.post(STEP, content=b"[]")).status_code == 422
        assert types((await step(http))["released"]) == ["start"]


async def test_bodies_are_bounded_as_those_of_the_chat_endpoint(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER):
        refused = await http.post(STEP, content=b" " * 20_000)
        assert (refused.status_code, "larger than 16 KiB" in refused.text) == (413, True)
        assert types((await step(http))["released"]) == ["start"]
        declared = {**JSON_TYPE, "content-length": str(10**12)}
        assert (await http.post("/api/chat", content=b"", headers=declared)).status_code == 413
        assert (await http.post("/api/chat", content=b"{}", headers={"content-type": "text/plain"})).status_code == 415
        assert (await http.post("/api/chat", content=b"[" * 10_000, headers=JSON_TYPE)).status_code == 400


async def test_a_server_that_does_not_hold_says_so(tmp_path: Path) -> None:
    async with client(replay_app(write_recordings(tmp_path, "text"))) as http:
        refused = await http.post("/__replay/text/step")
    assert refused.status_code == 409
    assert refused.text == "This server does not wait for steps: start it with --pace held."


async def test_a_continuation_is_held_too(app: Starlette) -> None:
    url = "/__replay/approval_approved/step"
    async with client(app) as http:
        async with begin(app, chat(said("pay 5"), chat_id="approval_approved")):
            told = await step(http, url, all="true")
        (asked,) = (chunk for chunk in told["released"] if chunk["type"] == "tool-approval-request")
        message = {"id": "e-0001", "role": "assistant", "parts": [approval(asked, approved=True)]}
        async with begin(app, chat(said("pay 5"), message, chat_id="approval_approved")) as exchange:
            await step(http, url, to="tool-output-available")
            assert await exchange.status() == 200
            assert (await exchange.until("tool-output-available"))["toolCallId"] == asked["toolCallId"]


async def test_a_page_that_comes_back_to_a_continuation_gets_the_message_that_it_continues(app: Starlette) -> None:
    question = {"toolCallId": "adk-0004", "approvalId": "adk-0007"}
    message = {"id": "e-0001", "role": "assistant", "parts": [approval(question, approved=True)]}
    async with begin(app, chat(said("pay 5"), message, chat_id="approval_approved")) as exchange:
        assert await exchange.status() == 200
        async with client(app) as http, Get(app, "/api/chat/approval_approved/stream").begin(b"") as again:
            assert await again.status() == 200
            await step(http, "/__replay/approval_approved/step", all="true")
            assert (await again.chunk())["type"] == "start"
            assert await again.until("tool-input-available")
            assert await again.until("tool-output-available")


async def test_a_page_that_comes_back_reads_the_stream_from_its_beginning(app: Starlette) -> None:
    stream = "/api/chat/streamed_arguments--1/stream"
    async with client(app) as http:
        async with begin(app, WEATHER) as exchange:
            await step(http, to="tool-input-delta")
            assert await exchange.status() == 200
            await exchange.until("tool-input-delta")
        assert (await http.get("/api/chat/streamed_arguments--1")).json() == {"messages": [said("weather?")]}
        async with Get(app, stream).begin(b"") as again:
            seen = [await again.status(), *[(await again.chunk())["type"] for _ in range(4)]]
            assert seen == [200, "start", "start-step", "tool-input-start", "tool-input-delta"]
            await step(http, all="true")
            await again.until("finish")
        assert (await http.get(stream)).status_code == 204
        assert len((await http.get("/api/chat/streamed_arguments--1")).json()["messages"]) == 2


async def test_stop_ends_a_held_response_as_a_run_that_is_stopped(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER) as exchange:
        await step(http, to="text-delta")
        assert (await http.post("/api/chat/streamed_arguments--1/stop")).status_code == 202
        assert await exchange.status() == 200
        await exchange.until("text-delta")
        assert [(await exchange.chunk())["type"] for _ in range(3)] == ["text-end", "finish-step", "abort"]
        assert await exchange.event() == "data: [DONE]"
        messages = (await http.get("/api/chat/streamed_arguments--1")).json()["messages"]
        assert messages[-1]["parts"][-1]["type"] == "text"


async def test_a_call_that_is_stopped_in_mid_argument_is_closed_as_a_live_one_is(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER) as exchange:
        await step(http, to="tool-input-delta")
        await http.post("/api/chat/streamed_arguments--1/stop")
        assert await exchange.status() == 200
        await exchange.until("tool-output-error")
        ending = ["finish-step", "start-step", "finish-step", "message-metadata", "abort"]
        assert [(await exchange.chunk())["type"] for _ in ending] == ending


async def test_a_chat_that_is_deleted_is_new_again(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER) as exchange:
        assert await exchange.status() == 200
        assert (await http.delete("/api/chat/streamed_arguments--1")).status_code == 204
        assert await exchange.until("abort")
        assert (await http.get("/api/chat/streamed_arguments--1")).json() == {"messages": []}


async def test_a_new_request_in_a_chat_ends_what_is_held_there(app: Starlette) -> None:
    async with client(app) as http, begin(app, WEATHER) as first:
        assert await first.status() == 200
        async with begin(app, WEATHER) as second:
            assert await second.status() == 200
            assert await first.until("abort")
            await step(http, all="true")
            assert await second.until("finish")


async def test_nothing_that_is_held_keeps_a_server_from_stopping(app: Starlette) -> None:
    lifespan = app.router.lifespan_context(app)
    await lifespan.__aenter__()
    async with begin(app, WEATHER) as exchange:
        assert await exchange.status() == 200
        await lifespan.__aexit__(None, None, None)
        assert [(await exchange.chunk())["type"] for _ in range(2)] == ["start", "abort"]
