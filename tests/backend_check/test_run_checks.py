"""Each check against a server that obeys its rule, and against one that breaks it."""

import json
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stream_protocol.backend_check import Outcome, Settings, run_checks
from tests.served import served

SETTINGS = Settings(timeout=5)


def chat_app(fault: str = "") -> Starlette:
    """A small server that obeys all rules but one."""
    made: list[str] = []

    def refuse(body: bytes) -> Response | None:
        accepted = {"not JSON": b"{", "empty body": b""}
        if body == accepted.get(fault):
            return Response(status_code=200)
        try:
            request = json.loads(body)
        except ValueError:
            return Response("bad JSON", 400)
        if not isinstance(request["messages"], list):
            return Response("bad messages", 500 if fault == "wrong types" else 422)
        if fault == "extra keys" and "createdAt" in request["messages"][-1]:
            return Response("unknown key", 422)
        if fault == "file" and request["messages"][-1]["parts"][0]["type"] == "file":
            return Response("no files", 500)
        if fault == "regenerate" and request["trigger"] == "regenerate-message":
            return Response("no such trigger", 400)
        if fault == "repeated POST" and made.count(request["messages"][-1]["id"]):
            return Response("duplicate", 500)
        if fault == "cut connection" and len(request["messages"]) == 3:
            return Response("busy", 500)
        made.append(request["messages"][-1]["id"])
        return None

    async def chat(request: Request) -> Response:
        body = await request.body()
        if (refused := refuse(body)) is not None:
            return refused
        sent = json.loads(body)
        message_id = "m1" if fault == "several turns" else f"m{len(made)}"
        if fault == "edit" and "messageId" in sent:
            message_id = sent["messageId"]

        async def events() -> AsyncIterator[str]:
            chunks = [
                {"type": "start", "messageId": message_id},
                {"type": "start-step"},
                {"type": "text-start", "id": "t"},
                {"type": "text-delta", "id": "t", "delta": "Hi"},
                {"type": "text-end", "id": "t"},
                {"type": "finish-step"},
                {"type": "finish"},
            ]
            if fault == "text answer":
                chunks.pop(4)
            for chunk in chunks:
                yield f"data: {json.dumps(chunk)}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])


async def test_a_server_that_obeys_all_rules_has_no_broken_one() -> None:
    with served(chat_app()) as address:
        results = await run_checks(f"{address}/api/chat", SETTINGS)
    assert {result.outcome for result in results} == {Outcome.HOLDS}, results


@pytest.mark.parametrize(
    "fault",
    [
        "text answer",
        "not JSON",
        "empty body",
        "wrong types",
        "several turns",
        "regenerate",
        "edit",
        "file",
        "repeated POST",
        "extra keys",
        "cut connection",
    ],
)
async def test_a_broken_rule_is_found(fault: str) -> None:
    with served(chat_app(fault)) as address:
        results = await run_checks(f"{address}/api/chat", SETTINGS)
    assert fault in [result.check.name for result in results if result.outcome is Outcome.BROKEN]
    assert all(result.source for result in results if result.outcome is Outcome.BROKEN)
