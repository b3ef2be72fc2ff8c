"""The time limit of what an app does while a chat is held for it: its hooks and its session store.

Without it one store that does not answer would hold the chat until the server is restarted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class HookTimeoutError(Exception):
    """The work took longer than its limit."""


async def with_timeout(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of the work. ``seconds``: how long it may take; ``None`` for no limit.

    Raises ``HookTimeoutError`` if it takes longer. It is cancelled then and not waited for: it may swallow that.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise HookTimeoutError(f"It took longer than {seconds} seconds.")
        return task.result()
    finally:
        if not task.done():
            task.add_done_callback(_ignore_failure)
            task.cancel()


def _ignore_failure(task: asyncio.Task[Any]) -> None:
    """Nobody waits for the task any more; without this its failure would be reported as never retrieved."""
    if not task.cancelled():
        task.exception()
