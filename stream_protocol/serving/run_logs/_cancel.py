"""Cancels tasks, and waits until they have really ended."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

RETRY_SECONDS: Final = 0.2


async def cancel_and_wait(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until all have ended.

    A task that goes on is cancelled again: redis-py 8 swallows a cancellation at times.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=RETRY_SECONDS)
