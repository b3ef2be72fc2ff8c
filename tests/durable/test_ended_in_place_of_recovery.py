"""Runs that are ended in place of being recovered: what their page and the history show, and what is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest

from stream_protocol.serving import ChatService, RunOverrides, create_app
from stream_protocol.serving._overrides import NO_OVERRIDES
from stream_protocol.serving.engine._left_runs import OTHER_VERSION_TEXT
from stream_protocol.serving.engine._records import OVERRIDDEN_TEXT
from stream_protocol.testing import Call, ScriptedLlm
from tests.comparable_messages import comparable
from tests.durable.world import USER, World, begin, ended, history, outline
from tests.serving.chat_client import Page
from tests.serving.support import soon


@pytest.fixture
def world(tmp_path: Path, engine_url: str) -> World:
    return World(tmp_path, engine_url)


def talking(world: World) -> LlmAgent:
    return world.agent(["First. ", Call("quick", {})], ["Second. ", Call("look", {})], "Done.")


def with_helper(world: World) -> LlmAgent:
    return talking(world).clone({"sub_agents": [LlmAgent(name="helper", model=ScriptedLlm(turns=["Hi."]))]})


SHOWN: Final = ["First. ", ("tool-quick", "output-available", {"result": "noted"}), "Second. "]


async def stored(service: ChatService) -> list[Any]:
    _, answer = await history(service)
    *shown, (tool, state, _text) = outline(answer)
    assert (tool, state) == ("tool-look", "output-error")
    return shown


@pytest.mark.parametrize(
    ("agent", "version", "overrides", "text"),
    [
        (with_helper, "", NO_OVERRIDES, OTHER_VERSION_TEXT),
        (talking, "2", NO_OVERRIDES, OTHER_VERSION_TEXT),
        (talking, "", RunOverrides(secrets={"token": "t0p"}), OVERRIDDEN_TEXT),
    ],
    ids=["other agents", "another version", "secrets"],
)
@pytest.mark.parametrize("retried", [True, False], ids=["a retry", "a look"])
async def test_what_earlier_executions_have_stored_stays_on_the_page_and_in_the_history(
    agent: Callable[[World], LlmAgent],
    version: str,
    overrides: RunOverrides,
    text: str,
    retried: bool,
    world: World,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with world.service(talking(world), launched=False) as service:
        _ = await begin(service, overrides)
        await soon(world.reached)
    async with world.service(agent(world), version=version, launched=not retried) as service:
        if retried:
            chunks = await (await begin(service))
            assert chunks[-1] == {"type": "error", "errorText": text}
            assert [chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"] == ["First. ", "Second. "]
            assert [chunk["type"] for chunk in chunks if chunk["type"].startswith("tool-output")] == [
                "tool-output-available",
                "tool-output-error",
            ]
        await ended(service)
        assert await stored(service) == SHOWN
        (record,) = [record for record in caplog.records if "in place of being recovered" in record.message]
        assert record.levelname == "ERROR"
        assert " of chat c1 " in record.message
        assert record.message.endswith(text)
    async with world.service(talking(world)) as service:
        await ended(service)  # nothing is left of it
        assert await stored(service) == SHOWN
    assert world.ran == {"quick": 1, "look": 1}


async def test_the_next_words_are_answered_with_all_that_was_stored(world: World) -> None:
    async with world.service(talking(world), launched=False) as service:
        page = Page(create_app(service, identify=lambda _: USER))
        _ = await begin(service)
        await soon(world.reached)
    world.gate.set()
    async with world.service(talking(world), version="2") as service:
        await ended(service)
        page = Page(create_app(service, identify=lambda _: USER))
        page.messages = await page.stored()
        asked = world.asked
        await page.send("again")
        assert world.asked == asked + 1
        assert outline(page.messages[-1]) == ["Done."]  # the model has read both results
        assert comparable(page.messages) == comparable(await page.stored())


async def test_a_recovered_run_that_is_stopped_early_keeps_what_earlier_executions_have_stored(world: World) -> None:
    async with world.service(talking(world), launched=False) as service:
        _ = await begin(service)
        await soon(world.reached)
    again = asyncio.Event()

    async def hang(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        again.set()
        await asyncio.Event().wait()

    async with world.service(talking(world).clone({"before_model_callback": hang})) as service:
        await soon(again)
        await service.stop("c1", user_id=USER)
        await ended(service)
        assert await stored(service) == SHOWN
