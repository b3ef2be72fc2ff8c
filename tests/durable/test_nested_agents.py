"""A worker dies while the card of a sub-agent is open: the next one finishes the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import LlmRequest
from google.adk.tools import AgentTool

from stream_protocol.durable._durable_tool import UNFINISHED_TEXT
from stream_protocol.serving import ChatService
from stream_protocol.testing import Call, ScriptedLlm, Turn, Wait
from tests.durable.shared_state import Gate, SharedState, begin, ended, history
from tests.serving.support import soon

pytestmark = pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning")

KINDS: dict[str, dict[str, Any]] = {"tool": {}, "single_turn": {"mode": "single_turn"}}


@pytest.fixture
def shared(tmp_path: Path, engine_url: str) -> SharedState:
    return SharedState(tmp_path, engine_url)


def planner(shared: SharedState, kind: str) -> LlmAgent:
    """Return an agent whose sub-agent calls a tool, and waits at the gate while it speaks."""

    def turns_of(*turns: Turn) -> ScriptedLlm:
        def respond(request: LlmRequest) -> Turn:
            parts = [part for content in request.contents for part in content.parts or ()]
            return turns[sum(part.function_response is not None for part in parts)]

        return ScriptedLlm(respond=respond)

    model = turns_of(["I note.", Call("quick", {})], ["Half of ", Wait(Gate(shared)), "it."])
    inner = LlmAgent(name="inner", description="inner", model=model, tools=[shared.quick], **KINDS[kind])
    calls: dict[str, Any] = {"tools": [AgentTool(inner)]} if kind == "tool" else {"sub_agents": [inner]}
    return LlmAgent(name="root", model=turns_of(Call("inner", {"request": "go"}), "Done."), **calls)


async def after_a_death(shared: SharedState, kind: str) -> list[dict[str, Any]]:
    async with shared.service(planner(shared, kind)) as service:
        first = await begin(service)
        await soon(shared.reached)
    await first
    shared.gate.set()
    async with shared.service(planner(shared, kind)) as service:
        await ended(service)
        _, answer = await history(service)
    parts: list[dict[str, Any]] = answer["parts"]
    return parts


def shown(parts: list[dict[str, Any]]) -> list[str]:
    return [one.get("text") or one["type"] for one in parts if one["type"] != "step-start"]


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_an_agent_in_a_call_is_repeated_only_if_its_tool_may_be(
    shared: SharedState, kind: str, idempotent: bool
) -> None:
    shared.idempotent = ["inner"] if idempotent else []
    parts = await after_a_death(shared, kind)
    [card] = [part for part in parts if part["type"] == "tool-inner"]
    assert shown(parts)[-1] == "Done."
    if idempotent:
        assert shown(card["output"]["parts"]) == ["I note.", "tool-quick", "Half of it."]
    else:
        assert card["errorText"] == UNFINISHED_TEXT
    assert shared.ran["quick"] == (2 if idempotent else 1)


def test_task_agents_run_as_without_an_engine_and_the_log_names_them(
    engine_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    from stream_protocol.durable import DbosEngine  # noqa: PLC0415 - may be missing

    booker = LlmAgent(name="booker", model=ScriptedLlm(turns=["Booked."]), mode="task")
    ChatService(
        LlmAgent(name="root", model=ScriptedLlm(turns=["Hi."]), sub_agents=[booker]), engine=DbosEngine(engine_url)
    )
    assert 'the engine does not support `booker` (`mode="task"`).' in caplog.text
