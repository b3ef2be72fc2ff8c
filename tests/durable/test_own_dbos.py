"""An app with its own DBOS, which stores the runs."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream_protocol.testing import Wait
from tests.durable.shared_state import Gate, SharedState, begin, ended, history, outline, taken_up
from tests.serving.support import soon

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def own_dbos(url: str) -> Iterator[None]:
    """Start DBOS like an app without this package: the executor's id is DBOS's default."""
    from dbos import DBOS  # noqa: PLC0415 - may be missing

    DBOS(config={"name": "app", "system_database_url": url, "console_log_level": "ERROR", "enable_otlp": False})
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy(destroy_registry=True)


async def test_a_run_goes_on_in_the_apps_own_dbos_which_stays(
    tmp_path: Path, engine_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    from dbos import DBOS  # noqa: PLC0415 - may be missing

    shared = SharedState(tmp_path, None)
    agent = shared.agent(["Hello ", Wait(Gate(shared)), "there."])
    with own_dbos(engine_url):
        async with shared.service(agent) as service:
            _ = await begin(service)
            await soon(shared.reached)
            assert await service.unready() == ()
        assert await DBOS.list_workflows_async(status="PENDING")
    with own_dbos(engine_url):
        async with shared.service(agent) as service:
            resumed = asyncio.create_task(taken_up(service))
            while shared.asked < 2:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.01)
            shared.gate.set()
            await resumed
            await ended(service)
            _, answer = await history(service)
            assert outline(answer)[-1] == "Hello there."
            assert shared.asked == 2
        assert await DBOS.list_workflows_async() == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
