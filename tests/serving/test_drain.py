"""A draining worker: its runs continue, and no new ones begin."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from starlette.types import ASGIApp

from stream_protocol.serving import ChatService, MemoryRunLog, ServiceLimits, create_app
from stream_protocol.testing import Call, ScriptedLlm, Wait
from tests.serving.support import HANG, answered, begin, chat, chunks, client, post, said, text

FIRST = chat(said("hi"))


def ask(question: str) -> None:
    """Asks the user."""


def service_for(*turns: Any, tools: Sequence[Any] = ()) -> ChatService:
    return ChatService(
        LlmAgent(name="root", model=ScriptedLlm(turns=list(turns)), tools=[LongRunningFunctionTool(ask), *tools])
    )


async def ready(app: ASGIApp) -> int:
    async with client(app) as http:
        return (await http.get("/readyz")).status_code


async def test_a_draining_worker_refuses_new_runs_and_ends_none() -> None:
    gate = asyncio.Event()
    service = service_for(["Half. ", Wait(gate), "Whole."])
    app = create_app(service)
    assert await ready(app) == 200
    async with begin(app, FIRST) as exchange, client(app) as http:
        await exchange.status()
        await exchange.until("text-delta")
        draining = asyncio.create_task(service.drain())
        await asyncio.sleep(0)
        assert await ready(app) == 503
        assert (await http.get("/healthz")).status_code == 200
        for body in (chat(said("new")) | {"id": "c2"}, chat(said("new", "u2")), chat(said("hello"))):
            refused = await http.post("/api/chat", json=body)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert not draining.done()
        reading = [
            asyncio.create_task(http.post("/api/chat", json=FIRST)),
            asyncio.create_task(http.get("/api/chat/c1/stream")),
        ]
        await asyncio.sleep(0.01)
        gate.set()
        for answer in await asyncio.gather(*reading):
            assert text(chunks(answer.text)) == "Half. Whole."
        assert (await exchange.until("finish"))["type"] == "finish"
        await asyncio.wait_for(draining, HANG)
        stored = (await http.get("/api/chat/c1")).json()["messages"]
        assert [message["role"] for message in stored] == ["user", "assistant"]
        assert (await http.get("/api/chat/c2")).status_code == 404


async def test_what_runs_on_a_draining_worker_can_be_stopped_and_its_chat_deleted() -> None:
    service = service_for(["Half. ", Wait(asyncio.Event())])
    app = create_app(service)
    async with begin(app, FIRST) as exchange, client(app) as http:
        await exchange.status()
        await exchange.until("text-delta")
        draining = asyncio.create_task(service.drain())
        await asyncio.sleep(0)
        assert (await http.post("/api/chat/c1/stop")).status_code == 202
        assert await exchange.until("abort") == {"type": "abort"}
        await asyncio.wait_for(draining, HANG)
        assert (await http.delete("/api/chat/c1")).status_code == 204


async def test_an_answer_that_came_before_has_its_chat_when_the_run_before_it_has_ended() -> None:
    gate = asyncio.Event()

    async def slow() -> str:
        """Takes its time."""
        await gate.wait()
        return "done"

    service = service_for(["Which? ", Call("ask", {"question": "?"}), Call("slow", {})], "Thanks.", tools=[slow])
    app = create_app(service)
    async with begin(app, FIRST) as exchange:
        await exchange.status()
        message_id = (await exchange.until("start"))["messageId"]
        asked = await exchange.until("tool-input-available")
        part = {"type": "tool-ask", "toolCallId": asked["toolCallId"], "state": "output-available", "input": {}}
        waiting = asyncio.create_task(post(app, answered(message_id, {**part, "output": "this"})))
        await asyncio.sleep(0.05)
        draining = asyncio.create_task(service.drain())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        gate.set()
        assert (await waiting).status_code == 200
        await asyncio.wait_for(draining, HANG)


async def test_a_closed_worker_is_not_ready() -> None:
    service = service_for("Never said.")
    app = create_app(service)
    await service.aclose()
    assert await ready(app) == 503
    refused = await post(app, FIRST)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")


class SlowSessions(InMemorySessionService):
    """Reads a session only when ``gate`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.asked = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def get_session(self, **key: Any) -> Session | None:
        self.asked.set()
        await self.gate.wait()
        return await super().get_session(**key)


class ClosingLog(MemoryRunLog):
    """Records calls after it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed, self.asked_late = False, False

    async def current(self, chat: str) -> Any:
        self.asked_late = self.asked_late or self.closed
        return await super().current(chat)

    async def aclose(self) -> None:
        self.closed = True
        await super().aclose()


async def test_a_history_that_is_being_read_is_answered_before_the_run_log_is_closed() -> None:
    sessions, run_log = SlowSessions(), ClosingLog()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[["Half. ", Wait(asyncio.Event())]]))
    service = ChatService(agent, session_service=sessions, run_log=run_log)
    app = create_app(service)
    async with begin(app, FIRST) as exchange, client(app) as http:
        await exchange.status()
        await exchange.until("text-delta")
        sessions.gate.clear()
        sessions.asked.clear()
        history = asyncio.create_task(http.get("/api/chat/c1"))
        await sessions.asked.wait()
        closing = asyncio.create_task(service.aclose())
        assert await exchange.until("abort") == {"type": "abort"}
        closed_before = run_log.closed
        sessions.gate.set()
        answer = await asyncio.wait_for(history, HANG)
        await asyncio.wait_for(closing, HANG)
    assert (answer.status_code, len(answer.json()["messages"])) == (200, 2)
    assert (closed_before, run_log.closed, run_log.asked_late) == (False, True, False)


@pytest.mark.parametrize("work", ["history", "stop"])
async def test_a_request_that_waits_for_the_run_of_another_worker_is_refused_when_this_worker_ends(work: str) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    class HangingSessions(InMemorySessionService):
        async def create_session(self, **key: Any) -> Session:
            begun.set()
            await gate.wait()
            return await super().create_session(**key)

    sessions, run_log = HangingSessions(), ClosingLog()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Never said."]))
    limits = ServiceLimits(stop_timeout=HANG, hook_timeout=None)
    first, second = (ChatService(agent, session_service=sessions, run_log=run_log, limits=limits) for _ in range(2))
    async with begin(create_app(first), FIRST), client(create_app(second)) as http:
        await asyncio.wait_for(begun.wait(), HANG)
        request = http.get("/api/chat/c1") if work == "history" else http.post("/api/chat/c1/stop")
        waiting = asyncio.create_task(request)
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await asyncio.wait_for(second.aclose(), HANG)
        assert waiting.done()
        refused = await waiting
        gate.set()
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
