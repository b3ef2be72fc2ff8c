"""After runs that were stopped, or whose worker died while ending them, nothing is left in the engine's store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from google.adk.agents import SequentialAgent

from stream_protocol.serving.base._times import ServiceTimes
from stream_protocol.testing import Call
from stream_protocol.wire import RUN_STOPPED_TEXT
from tests.durable.shared_state import USER, SharedState, begin, ended, history, outline
from tests.serving.support import soon


@pytest.fixture
def shared(tmp_path: Path, engine_url: str) -> SharedState:
    return SharedState(tmp_path, engine_url)


async def kept() -> dict[str, str]:
    """Return the ids and status of all workflows in the store of the launched engine."""
    from dbos import DBOS  # noqa: PLC0415 - may be missing

    return {each.workflow_id: each.status for each in await DBOS.list_workflows_async(load_output=False)}


async def test_a_stop_while_a_tool_goes_on_breaks_no_call_and_leaves_nothing(
    shared: SharedState, caplog: pytest.LogCaptureFixture
) -> None:
    async with shared.service(shared.agent([Call("book", {})], "Done.")) as service:
        reading = await begin(service)
        await soon(shared.reached)
        await service.stop("c1", user_id=USER)
        shared.gate.set()
        assert (await reading)[-1]["type"] == "abort"
        await ended(service)
        assert await kept() == {}
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_a_tool_does_not_start_if_the_stop_came_while_its_start_was_stored(
    shared: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stream_protocol.durable._workflows import Workflows  # noqa: PLC0415 - may be missing

    call = Workflows.call

    async def stopped_call(self: Workflows, workflow_id: str, work: Callable[[], Awaitable[str]]) -> str:
        if "/model/" not in workflow_id:
            stopping.append(asyncio.create_task(service.stop("c1", user_id=USER)))
            await asyncio.wait([reading])
        return await call(self, workflow_id, work)

    monkeypatch.setattr(Workflows, "call", stopped_call)
    stopping: list[asyncio.Task[None]] = []
    agent = SequentialAgent(name="line", sub_agents=[shared.agent([Call("quick", {})], "Done.")])
    async with shared.service(agent, times=ServiceTimes()) as service:
        reading = await begin(service)
        assert (await reading)[-1]["type"] == "abort"
        await asyncio.gather(*stopping)
        await ended(service)
        *_, answer = await history(service)
    assert shared.ran["quick"] == 0
    assert outline(answer) == [("tool-quick", "output-error", RUN_STOPPED_TEXT)]


@pytest.mark.parametrize("old", [True, False], ids=["old", "new"])
async def test_calls_whose_run_is_forgotten_are_deleted_when_they_are_old(
    old: bool, shared: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbos import DBOS  # noqa: PLC0415 - may be missing

    from stream_protocol.durable import _dbos_engine, _runs  # noqa: PLC0415 - may be missing

    if old:
        monkeypatch.setattr(_dbos_engine, "OLD", timedelta(0))
    async with shared.service(shared.agent([Call("book", {})], "Done.")) as service:
        _ = await begin(service)
        await soon(shared.reached)
        runs = {_runs.run_of_call(each) for each in await kept()}
        await DBOS.delete_workflows_async([*runs])
        calls = await kept()
        assert {*calls.values()} == {"PENDING", "SUCCESS"}
    async with shared.service(shared.agent("Done.")):
        assert await kept() == ({} if old else calls)


async def test_calls_of_a_run_that_goes_on_are_not_deleted(
    shared: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stream_protocol.durable import _dbos_engine  # noqa: PLC0415 - may be missing

    monkeypatch.setattr(_dbos_engine, "OLD", timedelta(0))
    agent = shared.agent([Call("look", {})], "Done.")
    async with shared.service(agent) as service:
        _ = await begin(service)
        await soon(shared.reached)
        before = await kept()
    async with shared.service(agent, launched=False) as service:
        await service.start()
        assert before.keys() <= (await kept()).keys()
        shared.gate.set()
        await ended(service)
        assert await kept() == {}
    assert shared.asked == 2
