"""A stored chat names the messages whose run failed, with the error text that the client received."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from stream_protocol.serving import ChatService, MemoryRunLog, ServiceLimits, create_app
from stream_protocol.testing import Call, ScriptedLlm, Step, Wait
from stream_protocol.wire import AiSdkVersion
from tests.serving.support import chat, chunks, client, post, said
from tests.serving.test_orphaned_runs import USER, GatedWorkers, until


def refused_by_provider(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse:
    return LlmResponse(error_code="QUOTA", error_message="The secret project has no quota.")


def without_details(error: BaseException) -> str:
    return f"Masked: {type(error).__name__}"


def shout(chunk: Any) -> Any:
    return {**chunk, "errorText": chunk["errorText"].upper()} if chunk["type"] == "error" else chunk


def exclaim(chunk: Any) -> Any:
    return {**chunk, "errorText": f"{chunk['errorText']}!"} if chunk["type"] == "error" else chunk


@pytest.mark.parametrize("ai_sdk", [6, 7])
@pytest.mark.parametrize("options", [{}, {"on_error": without_details}, {"transform": shout}], ids="".join)
@pytest.mark.parametrize("fault", ["text and exception", "exception", "event", "limit", "tool"])
async def test_a_loaded_chat_has_the_error_text_that_the_client_received(
    ai_sdk: AiSdkVersion, options: dict[str, Any], fault: str
) -> None:
    secret = RuntimeError("the password is 1234")

    def tool() -> None:
        raise secret

    steps: dict[str, list[Step]] = {
        "text and exception": ["Half", secret],
        "exception": [secret],
        "event": [],
        "limit": ["Half", Wait(asyncio.Event())],
        "tool": [Call("tool", {})],
    }
    agent = LlmAgent(
        name="root",
        model=ScriptedLlm(turns=[steps[fault]]),
        tools=[tool],
        before_model_callback=refused_by_provider if fault == "event" else None,
    )
    limits = ServiceLimits(run_timeout=0.2 if fault == "limit" else None)
    app = create_app(ChatService(agent, ai_sdk=ai_sdk, limits=limits, **options))
    told = chunks((await post(app, chat(said("hi", "u1")))).text)
    async with client(app) as http:
        (failed,) = (await http.get("/api/chat/c1")).json()["failed"]
    shown = [part for part in told if part["type"] not in ("start", "error", "start-step", "finish-step")]
    assert failed == {
        "messageId": told[0]["messageId"] if shown else "u1",
        "errorText": told[-1]["errorText"],
    }
    assert "1234" not in failed["errorText"]
    assert "secret" not in failed["errorText"]


@pytest.mark.parametrize("options", [{}, {"on_error": without_details}, {"transform": shout}], ids="".join)
@pytest.mark.parametrize("step", [["Half", RuntimeError("secret")], [RuntimeError("secret")]], ids=["half", "nothing"])
async def test_a_repeated_request_gets_the_error_text_that_the_client_received(
    options: dict[str, Any], step: list[Step]
) -> None:
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=[step, "Whole."]))
    app = create_app(ChatService(agent, **options))
    first = chat(said("hi", "u1"), trigger="submit-message")
    told = chunks((await post(app, first)).text)
    await post(app, chat(said("hi", "u1"), said("and?", "u2"), trigger="submit-message"))
    repeated = chunks((await post(app, first)).text)
    assert [chunk["type"] for chunk in repeated] == [chunk["type"] for chunk in told]
    assert repeated[-1] == told[-1]


@pytest.mark.usefixtures("patient_clock")
@pytest.mark.parametrize("options", [{"on_error": without_details}, {"transform": exclaim}], ids="".join)
async def test_another_worker_stores_the_error_text_that_the_client_received(options: dict[str, Any]) -> None:
    workers = GatedWorkers()

    def agent() -> LlmAgent:
        return LlmAgent(name="root", model=ScriptedLlm(turns=[["Half", RuntimeError("secret")]]))

    async with workers.worker(launched=False, agent=agent(), **options) as worker:
        workers.sessions.stores_ends.clear()
        told = await (await worker.say("c1"))
        await until(lambda: any("error" in kept.executions.values() for kept in workers.kept.runs.values()))
        await worker.die()
    workers.sessions.stores_ends.set()
    workers.log = MemoryRunLog()
    async with workers.worker(launched=False, agent=agent(), **options) as other:
        repeated = await (await other.say("c1"))
        await workers.forgotten()
        await other.service.runs.free()
        stored = await other.service.read_chat("c1", user_id=USER)
    assert stored is not None
    assert repeated[-1] == told[-1]
    assert [failed.get("errorText") for failed in stored.failed] == [told[-1]["errorText"]]


async def test_a_failure_that_the_service_did_not_see_has_no_error_text() -> None:
    sessions = InMemorySessionService()
    agent = LlmAgent(name="root", model=ScriptedLlm(turns=["Whole."]), before_model_callback=refused_by_provider)
    runner = Runner(app_name="app", agent=agent, session_service=sessions)
    await sessions.create_session(app_name="app", user_id="user", session_id="c1")
    message = types.Content(role="user", parts=[types.Part(text="hi")])
    async for _ in runner.run_async(user_id="user", session_id="c1", new_message=message):
        pass
    stored = await ChatService(runner).read_chat("c1", user_id="user")
    assert stored is not None
    assert [[*failed] for failed in stored.failed] == [["messageId"]]
