"""Ending tasks for good."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

AGAIN_SECONDS: Final = 0.2


async def ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits for them; cancels again who swallowed that, as redis-py 8 does at times."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN_SECONDS)
