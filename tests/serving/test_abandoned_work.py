"""Work whose result nobody needs any more: its failure is not reported as one that nobody has retrieved."""

import asyncio
import gc
from typing import Any

from stream_protocol.serving.base import abandon, with_timeout


async def fail() -> None:
    raise ConnectionError


async def test_work_that_fails_just_before_its_caller_is_cancelled_reports_nothing() -> None:
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reports.append(context))
    limited = asyncio.create_task(with_timeout(60, fail()))
    await asyncio.sleep(0)  # the work is about to begin
    await asyncio.sleep(0)  # it has failed, and its caller does not know yet
    limited.cancel()
    await asyncio.wait({limited})
    assert limited.cancelled()
    del limited
    gc.collect()
    assert reports == []


async def test_a_task_that_has_failed_can_be_abandoned() -> None:
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reports.append(context))
    task = asyncio.create_task(fail())
    await asyncio.wait({task})
    abandon(task)
    del task
    gc.collect()
    assert reports == []
